//! How often somebody may try to log in.
//!
//! Two buckets fill up at their own pace: one for the address that asks, one for the name that it asks for. A table of
//! fixed size holds the buckets, keyed by a hash that nobody outside can compute: memory is bounded whatever comes in, and
//! no flood of names pushes out what is known of one. Two that meet in a slot share it, which only makes it stricter.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Slots of each table: 64 KiB, and room for more users than a lab has.
const SLOTS: usize = 4_096;
/// Tries in a row for one name, and then one in so long: 10 a person's typing errors, then 2,880 a day, with which
/// nobody guesses a password.
const PER_NAME: Pace = Pace { at_once: 10, gap: Duration::from_secs(30) };
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
    addresses: Box<[Bucket]>,
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
        Self { hash: RandomState::new(), tables: Mutex::new(Tables { names: slots(), addresses: slots() }) }
    }

    /// Takes one try of `name` from `address`; `now` is the time since any fixed moment. A try that is refused costs
    /// nothing, so that waiting helps.
    pub fn attempt(&self, name: &str, address: IpAddr, now: Duration) -> Result<(), TooManyLogins> {
        let [name, address] = self.slots(name, address);
        let mut tables = self.tables.lock().expect("invariant: nobody panics with the tables in hand");
        let wait =
            tables.addresses[address].wait(PER_ADDRESS, now).max(tables.names[name].wait(PER_NAME, now));
        if !wait.is_zero() {
            return Err(TooManyLogins { wait });
        }
        tables.addresses[address].take(PER_ADDRESS, now);
        tables.names[name].take(PER_NAME, now);
        Ok(())
    }

    /// Gives back what the tries of `name` cost: its password was right.
    pub fn succeeded(&self, name: &str, address: IpAddr) {
        let [name, _] = self.slots(name, address);
        self.tables.lock().expect("invariant: nobody panics with the tables in hand").names[name] =
            Bucket::default();
    }

    fn slots(&self, name: &str, address: IpAddr) -> [usize; 2] {
        let network = match address.to_canonical() {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits() >> (128 - IPV6_BITS),
        };
        [self.slot(name), self.slot(network)]
    }

    fn slot(&self, key: impl Hash) -> usize {
        let hash = self.hash.hash_one(key);
        usize::try_from(hash % SLOTS as u64).expect("invariant: smaller than SLOTS")
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

    /// Tries that get through.
    fn passing(
        limit: &LoginLimit,
        tries: u32,
        mut who: impl FnMut(u32) -> (String, IpAddr),
        now: Duration,
    ) -> u32 {
        (0..tries).map(&mut who).map(|(name, at)| u32::from(limit.attempt(&name, at, now).is_ok())).sum()
    }

    #[test]
    fn a_name_is_tried_a_few_times_from_wherever() {
        let limit = LoginLimit::new();
        let start = Duration::from_secs(1_000);
        let from_anywhere = |index: u32| ("ada".to_owned(), IpAddr::V4(index.into()));
        assert_eq!(passing(&limit, 100, from_anywhere, start), 10);
        let refused = limit.attempt("ada", address("127.0.0.1"), start).expect_err("too many");
        assert_eq!(refused.wait, Duration::from_secs(30));
        assert_eq!(refused.to_string(), "too many tries: the next one is possible in 30 s");
        assert_eq!(passing(&limit, 100, from_anywhere, start + Duration::from_mins(1)), 2);
        assert_eq!(passing(&limit, 100, from_anywhere, start + Duration::from_hours(1)), 10);
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
        limit.succeeded("ada", at);
        assert_eq!(passing(&limit, 20, ada, Duration::ZERO), 10);
    }

    #[test]
    fn a_flood_of_names_lets_nobody_try_more_often() {
        let limit = LoginLimit::new();
        assert_eq!(passing(&limit, 10, |_| ("ada".to_owned(), address("10.0.0.3")), Duration::ZERO), 10);
        passing(&limit, 100_000, |index| (format!("n{index}"), IpAddr::V4(index.into())), Duration::ZERO);
        assert!(limit.attempt("ada", address("10.0.0.4"), Duration::ZERO).is_err());
    }
}
