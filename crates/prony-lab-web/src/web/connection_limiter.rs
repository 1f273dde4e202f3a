//! How many connections are open, whole and per address (S13).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections at once. Each costs some kilobytes and, while a body comes, at most 1 MiB.
const CONNECTIONS_MAX: u64 = 4_096;
/// Descriptors that everything else needs: the store, builds, event streams' files.
const DESCRIPTORS_KEPT: u64 = 128;
/// Connections of one address at once: a whole office behind one address, with six for each browser.
const PER_ADDRESS_MAX: u32 = 256;
/// An IPv6 address's owner has the whole network of this many bits.
const IPV6_BITS: u32 = 64;

/// The limiter of a lab. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLimiter {
    inside: Arc<Mutex<Inside>>,
    most: u64,
    per_address: u32,
}

#[derive(Debug, Default)]
struct Inside {
    all: u64,
    /// Addresses with a connection: no more than there are connections.
    of: HashMap<u128, u32>,
}

/// A connection that is let in, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    limiter: ConnectionLimiter,
    /// Absent where addresses aren't counted.
    network: Option<u128>,
}

impl ConnectionLimiter {
    /// For as many connections as this process may have open.
    pub(super) fn new() -> Self {
        Self::with(
            CONNECTIONS_MAX.min(descriptors().saturating_sub(DESCRIPTORS_KEPT)).max(1),
            PER_ADDRESS_MAX,
        )
    }

    fn with(most: u64, per_address: u32) -> Self {
        Self { inside: Arc::default(), most, per_address }
    }

    /// Lets one more in from `address`. This machine's own connections are only counted as a whole: anyone who runs
    /// programs here has other ways to disturb, and a proxy is one address for everybody.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Permit> {
        let network = network(address);
        let mut inside = self.inside();
        if inside.all >= self.most {
            return None;
        }
        if let Some(network) = network {
            let count = inside.of.entry(network).or_insert(0);
            if *count >= self.per_address {
                return None;
            }
            *count += 1;
        }
        inside.all += 1;
        drop(inside);
        Some(Permit { limiter: self.clone(), network })
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().expect("invariant: nobody panics while counting")
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut inside = self.limiter.inside();
        inside.all -= 1;
        let Some(network) = self.network else { return };
        if let Some(count) = inside.of.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                inside.of.remove(&network);
            }
        }
    }
}

/// The network that counts as one address.
fn network(address: IpAddr) -> Option<u128> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V4(address) => Some(u128::from(address.to_bits())),
        IpAddr::V6(address) => Some(address.to_bits() >> (128 - IPV6_BITS)),
    }
}

/// Descriptors that this process may have, after asking for as many as it can get.
fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(CONNECTIONS_MAX + DESCRIPTORS_KEPT, |most| most.min(CONNECTIONS_MAX + DESCRIPTORS_KEPT));
    let now = limit.current.unwrap_or(u64::MAX);
    if now < wanted && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).is_ok() {
        return wanted;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_as_a_whole_and_by_address() {
        let limiter = ConnectionLimiter::with(5, 2);
        let enter = |text: &str| limiter.enter(text.parse().expect(text));
        let first = enter("10.0.0.1").expect("room");
        let second = enter("::ffff:10.0.0.1").expect("room");
        assert!(enter("10.0.0.1").is_none(), "two of one address");
        drop(first);
        let third = enter("10.0.0.1").expect("room again");
        let other = [enter("2001:db8::1"), enter("2001:db8::2")].map(|permit| permit.expect("room"));
        assert!(enter("2001:db8::3").is_none(), "two of one network");
        let last = enter("127.0.0.1").expect("room");
        assert!(enter("127.0.0.1").is_none(), "five in all");
        drop((second, third, other, last));
        let inside = limiter.inside();
        assert_eq!((inside.all, inside.of.len()), (0, 0));
    }
}
