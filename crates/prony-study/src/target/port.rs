//! Ports: free ones, and who has one that is not.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_pcg::Pcg64;

/// The range of outgoing connections where the kernel doesn't say (ip_sysctl(7), the kernel's default).
const DEFAULT_OUTGOING: (u16, u16) = (32_768, 60_999);
/// Five digits, so that the `Host` header has the same length every time.
const FIRST: u16 = 10_000;
/// Ports that are tried before giving up.
const TRIES: u32 = 1000;

/// Hands out ports that nobody listens on.
#[derive(Debug)]
pub(crate) struct Ports {
    range: RangeInclusive<u16>,
    chance: Pcg64,
    /// Handed out, and perhaps not listened on yet.
    lent: BTreeSet<u16>,
}

impl Ports {
    /// `seed`: two studies at once should not try the same ports.
    pub(crate) fn new(seed: u64) -> Self {
        let outgoing = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        Self { range: range(&outgoing), chance: Pcg64::seed_from_u64(seed), lent: BTreeSet::new() }
    }

    /// A free port; `None` where none was found.
    pub(crate) fn free(&mut self) -> Option<u16> {
        for _ in 0..TRIES {
            let port = self.chance.random_range(self.range.clone());
            if !self.lent.contains(&port) && is_free(port) {
                self.lent.insert(port);
                return Some(port);
            }
        }
        None
    }

    /// Takes a port back.
    pub(crate) fn give_back(&mut self, port: u16) {
        self.lent.remove(&port);
    }
}

/// Outside the range for outgoing connections, where a client may sit on a port.
fn range(outgoing: &str) -> RangeInclusive<u16> {
    let mut bounds = outgoing.split_whitespace().map_while(|bound| bound.parse::<u16>().ok());
    let (first, last) = bounds.next().zip(bounds.next()).unwrap_or(DEFAULT_OUTGOING);
    if first > FIRST {
        FIRST..=first - 1
    } else if last < u16::MAX {
        last.max(FIRST) + 1..=u16::MAX
    } else {
        FIRST..=u16::MAX
    }
}

/// Whether nobody listens on `port` of the loopback interface. Connections that are over don't count: the standard
/// library sets SO_REUSEADDR, and so do servers.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Who listens on `port`, as far as /proc shows: `nginx (process 4711)`.
pub(crate) fn holder(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inode = tables.iter().find_map(|table| listener(table, port))?;
    let socket = format!("socket:[{inode}]");
    let holds = |process: &fs::DirEntry| {
        let is_process = process.file_name().to_string_lossy().parse::<u32>().is_ok();
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { return false };
        is_process
            && descriptors.flatten().any(|link| {
                fs::read_link(link.path()).is_ok_and(|target| target.as_os_str() == socket.as_str())
            })
    };
    let process = fs::read_dir("/proc").ok()?.flatten().find(holds)?;
    let name = fs::read_to_string(process.path().join("comm")).ok()?;
    Some(format!("{} (process {})", name.trim_end(), process.file_name().to_string_lossy()))
}

/// The inode of the socket that listens on `port`, in a table as of /proc/net/tcp (proc_net(5)).
fn listener(table: &str, port: u16) -> Option<&str> {
    const LISTEN: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, own) = fields.get(1)?.rsplit_once(':')?;
        let is_it = *fields.get(3)? == LISTEN && u16::from_str_radix(own, 16) == Ok(port);
        is_it.then(|| fields.get(9).copied()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lie_outside_those_of_outgoing_connections() {
        let check = |outgoing: &str, expected| assert_eq!(range(outgoing), expected, "{outgoing}");
        check("32768\t60999\n", 10_000..=32_767);
        check("", 10_000..=32_767);
        check("1024\t60999\n", 61_000..=65_535);
        check("1024\t5000\n", 10_001..=65_535);
        check("1024\t65535\n", 10_000..=65_535);
    }

    #[test]
    fn a_free_port_is_not_lent_twice() {
        let (mut ports, mut same) = (Ports::new(7), Ports::new(7));
        let first = ports.free().expect("a port");
        assert!(ports.free().is_some_and(|second| second != first));
        ports.give_back(first);
        assert!(!ports.lent.contains(&first));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        assert!(!is_free(listener.local_addr().expect("an address").port()));
        assert!(same.free().is_some());
    }

    #[test]
    fn who_listens() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let holder = holder(port).expect("it is this process");
        assert!(holder.ends_with(&format!("(process {})", std::process::id())), "{holder}");
    }
}
