//! How often somebody may try to log in.
//!
//! Buckets fill up at their own pace: one for the address that asks, one for the name that it asks for from there, and one
//! for the name from wherever. A browser from which somebody has logged in before has a bucket of its own instead, so that
//! nobody locks them out by trying their name. A table of fixed size holds the buckets, keyed by a hash that nobody outside can compute: memory is bounded whatever comes in, and
//! no flood of names pushes out what is known of one. Two that meet in a slot share it, which only makes it stricter.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Slots of each table: 64 KiB, and room for more users than a lab has.
const SLOTS: usize = 4_096;
/// Tries in a row for one name from one address, or from a known device, and then one in so long: 10 a person's typing
/// errors.
const PER_SOURCE: Pace = Pace { at_once: 10, gap: Duration::from_secs(30) };
/// The same for one name from wherever: with 2,880 a day nobody guesses a password.
const PER_NAME: Pace = Pace { at_once: 100, gap: Duration::from_secs(30) };
/// The same for one address, behind which may be a whole office.
const PER_ADDRESS: Pace = Pace { at_once: 60, gap: Duration::from_secs(5) };
/// An IPv6 address's owner has the whole network of this many bits.
const IPV6_BITS: u32 = 64;

/// Too many tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many tries: the next one is possible in {} s", .wait.as_secs().max(1))]
pub struct TooManyLogins {
    /// How long until the next one can be.
    pub wait: Duration,
}

/// Counts tries to log in.
#[derive(Debug)]
pub struct LoginLimit {
    hash: RandomState,
    tables: Mutex<Tables>,
}

#[derive(Debug)]
struct Tables {
    names: Box<[Bucket]>,
    sources: Box<[Bucket]>,
    addresses: Box<[Bucket]>,
}

/// Where a try comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The address.
    pub address: IpAddr,
    /// The device, where somebody of the name that is tried has logged in from it before.
    pub device: Option<&'a str>,
}

#[derive(Debug, Clone, Copy)]
struct Pace {
    at_once: u32,
    gap: Duration,
}

/// A bucket, kept as the moment at which it will be full again: GCRA, one number.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket(Duration);

impl LoginLimit {
    /// With nothing tried yet.
    pub fn new() -> Self {
        let slots = || vec![Bucket::default(); SLOTS].into_boxed_slice();
        let tables = Tables { names: slots(), sources: slots(), addresses: slots() };
        Self { hash: RandomState::new(), tables: Mutex::new(tables) }
    }

    /// Takes one try of `name` from `source`; `now` is the time since any fixed moment. A try that is refused costs
    /// nothing, so that waiting helps.
    pub fn attempt(&self, name: &str, source: Source<'_>, now: Duration) -> Result<(), TooManyLogins> {
        let mut tables = self.tables.lock().expect("invariant: nobody panics with the tables in hand");
        let mut buckets = Vec::with_capacity(3);
        let Tables { names, sources, addresses } = &mut *tables;
        buckets.push((&mut sources[self.source(name, source)], PER_SOURCE));
        if source.device.is_none() {
            buckets.push((&mut names[self.slot(name)], PER_NAME));
            buckets.push((&mut addresses[self.slot(network(source.address))], PER_ADDRESS));
        }
        let wait = buckets.iter().map(|(bucket, pace)| bucket.wait(*pace, now)).max().unwrap_or_default();
        if !wait.is_zero() {
            return Err(TooManyLogins { wait });
        }
        for (bucket, pace) in buckets {
            bucket.take(pace, now);
        }
        Ok(())
    }

    /// Gives back what the tries of `name` from there cost: its password was right.
    pub fn succeeded(&self, name: &str, source: Source<'_>) {
        let slot = self.source(name, source);
        self.tables.lock().expect("invariant: nobody panics with the tables in hand").sources[slot] =
            Bucket::default();
    }

    fn source(&self, name: &str, source: Source<'_>) -> usize {
        match source.device {
            Some(device) => self.slot((name, device)),
            None => self.slot((name, network(source.address))),
        }
    }

    fn slot(&self, key: impl Hash) -> usize {
        let hash = self.hash.hash_one(key);
        usize::try_from(hash % SLOTS as u64).expect("invariant: smaller than SLOTS")
    }
}

/// What of an address its owner can't choose.
fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> (128 - IPV6_BITS),
    }
}

impl Default for LoginLimit {
    fn default() -> Self {
        Self::new()
    }
}

impl Bucket {
    /// How long until there is something in it.
    fn wait(self, pace: Pace, now: Duration) -> Duration {
        let earliest = (self.0 + pace.gap).saturating_sub(pace.gap * pace.at_once);
        earliest.saturating_sub(now)
    }

    fn take(&mut self, pace: Pace, now: Duration) {
        self.0 = self.0.max(now) + pace.gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn from(address: IpAddr) -> Source<'static> {
        Source { address, device: None }
    }

    /// Tries that get through.
    fn passing(
        limit: &LoginLimit,
        tries: u32,
        mut who: impl FnMut(u32) -> (String, IpAddr),
        now: Duration,
    ) -> u32 {
        let tried = (0..tries).map(&mut who);
        tried.map(|(name, at)| u32::from(limit.attempt(&name, from(at), now).is_ok())).sum()
    }

    #[test]
    fn a_name_is_tried_a_few_times_from_one_address_and_some_from_wherever() {
        let limit = LoginLimit::new();
        let start = Duration::from_secs(1_000);
        let at = address("10.0.0.9");
        assert_eq!(passing(&limit, 100, |_| ("ada".to_owned(), at), start), 10);
        let refused = limit.attempt("ada", from(at), start).expect_err("too many");
        assert_eq!(refused.wait, Duration::from_secs(30));
        assert_eq!(refused.to_string(), "too many tries: the next one is possible in 30 s");
        let from_anywhere = |index: u32| ("ada".to_owned(), IpAddr::V4((index << 16).into()));
        assert_eq!(passing(&limit, 1_000, from_anywhere, start), 90, "100 of one name");
        assert_eq!(passing(&limit, 100, from_anywhere, start + Duration::from_mins(1)), 2);
    }

    #[test]
    fn nobody_locks_a_known_device_out() {
        let limit = LoginLimit::new();
        let start = Duration::from_secs(1_000);
        let home = address("10.0.0.1");
        // Somebody tries the name from everywhere, this address included.
        passing(&limit, 1_000, |index| ("ada".to_owned(), IpAddr::V4((index << 16).into())), start);
        passing(&limit, 1_000, |index| (format!("n{index}"), home), start);
        assert!(limit.attempt("ada", from(home), start).is_err());
        let laptop = Source { address: home, device: Some("laptop") };
        let tries = (0..100).filter(|_| limit.attempt("ada", laptop, start).is_ok()).count();
        // Now and then another one's try is in the same slot.
        assert!((8..=10).contains(&tries), "it has its own allowance, and no more: {tries}");
        limit.succeeded("ada", laptop);
        assert!(limit.attempt("ada", laptop, start).is_ok());
    }

    #[test]
    fn an_address_tries_few_names() {
        let limit = LoginLimit::new();
        let names = |index: u32| (format!("user {index}"), address("10.0.0.1"));
        assert_eq!(passing(&limit, 1_000, names, Duration::ZERO), 60);
        let one_network = |index: u32| (format!("name {index}"), address(&format!("2001:db8::{index:x}")));
        assert_eq!(passing(&limit, 1_000, one_network, Duration::ZERO), 60);
        let mapped = |index: u32| (format!("mapped {index}"), address("::ffff:10.0.0.1"));
        assert_eq!(passing(&limit, 10, mapped, Duration::ZERO), 0);
    }

    #[test]
    fn a_right_password_forgets_the_wrong_ones() {
        let limit = LoginLimit::new();
        let at = address("10.0.0.2");
        let ada = |_| ("ada".to_owned(), at);
        assert_eq!(passing(&limit, 10, ada, Duration::ZERO), 10);
        limit.succeeded("ada", from(at));
        assert_eq!(passing(&limit, 20, ada, Duration::ZERO), 10);
    }

    #[test]
    fn a_flood_of_names_lets_nobody_try_more_often() {
        let limit = LoginLimit::new();
        let at = address("10.0.0.3");
        assert_eq!(passing(&limit, 10, |_| ("ada".to_owned(), at), Duration::ZERO), 10);
        passing(&limit, 100_000, |index| (format!("n{index}"), IpAddr::V4(index.into())), Duration::ZERO);
        assert!(limit.attempt("ada", from(at), Duration::ZERO).is_err());
    }
}
