//! What the network stack of this machine counts: /proc/net/snmp, /proc/net/netstat, /proc/net/softnet_stat.
//!
//! The counts of TCP are those of our network namespace, for all of its programs.

/// Counts since boot; `None` where this kernel has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TcpCounts {
    /// Segments sent, without those sent again.
    pub segments_sent: Option<u64>,
    /// Segments sent again, SYNs among them.
    pub retransmitted: Option<u64>,
    /// SYNs and answers to SYNs sent again.
    pub syn_retransmitted: Option<u64>,
    /// Connections that found an accept queue full.
    pub listen_overflows: Option<u64>,
    /// Requests for a connection that a listener dropped, also for that reason.
    pub listen_drops: Option<u64>,
}

impl TcpCounts {
    /// Reads the texts of /proc/net/snmp and /proc/net/netstat.
    pub(super) fn parse(snmp: &str, netstat: &str) -> Self {
        Self {
            segments_sent: count(snmp, "Tcp:", "OutSegs"),
            retransmitted: count(snmp, "Tcp:", "RetransSegs"),
            syn_retransmitted: count(netstat, "TcpExt:", "TCPSynRetrans"),
            listen_overflows: count(netstat, "TcpExt:", "ListenOverflows"),
            listen_drops: count(netstat, "TcpExt:", "ListenDrops"),
        }
    }
}

/// The count called `name`: a line of names is followed by a line of their numbers, both after `prefix`.
fn count(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let column = names.split_whitespace().position(|column| column == name)?;
    numbers.split_whitespace().nth(column)?.parse().ok()
}

/// Packets that the CPUs dropped because their backlog was full: the second column of each line, hexadecimal
/// (net/core/net-procfs.c).
pub(super) fn softnet_dropped(text: &str) -> Option<u64> {
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    text.lines().map(dropped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens OutSegs RetransSegs InErrs\n\
        Tcp: 1 200 120000 -1 19 1468 3 0\nUdp: InDatagrams\nUdp: 5\n";
    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans\n\
        TcpExt: 0 4 6 2\nIpExt: InNoRoutes\nIpExt: 0\n";

    #[test]
    fn tcp_counts() {
        let expected = TcpCounts {
            segments_sent: Some(1468),
            retransmitted: Some(3),
            syn_retransmitted: Some(2),
            listen_overflows: Some(4),
            listen_drops: Some(6),
        };
        assert_eq!(TcpCounts::parse(SNMP, NETSTAT), expected);
        assert_eq!(TcpCounts::parse("", ""), TcpCounts::default());
        let without = "TcpExt: SyncookiesSent ListenDrops\nTcpExt: 0 6\n";
        let counts = TcpCounts::parse(SNMP, without);
        assert_eq!((counts.listen_drops, counts.syn_retransmitted), (Some(6), None));
        assert_eq!(TcpCounts::parse("Tcp: OutSegs\n", "").segments_sent, None, "a line is missing");
    }

    #[test]
    fn drops_of_all_cpus() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(softnet_dropped(text), expected);
        check("00000005 00000000 00000000\n000008e9 00000000 00000000\n", Some(0));
        check("00000005 0000000a 00000000\n000008e9 00000010 00000000\n", Some(26));
        check("00000005\n", None);
    }
}
