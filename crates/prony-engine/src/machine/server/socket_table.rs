//! The sockets of this network namespace: /proc/net/tcp, tcp6 and unix, as functions of their texts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longer tables are read to here only: half a million connections.
pub(super) const TABLE_BYTES_MAX: u64 = 96 << 20;

/// One line of /proc/net/tcp or tcp6. IPv4 addresses that IPv6 carries are IPv4 addresses here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TcpSocket {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub state: TcpState,
    /// The user that opened it.
    pub user: u32,
    /// What descriptors of it are called; 0 where no process has one.
    pub inode: u64,
}

/// The states that matter here (net/tcp_states.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TcpState {
    Established,
    Listening,
    Other,
}

/// All sockets of a table; lines that make no sense are left out, the heading among them.
pub(super) fn tcp_sockets(table: &str) -> impl Iterator<Item = TcpSocket> {
    table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        let &[_, local, remote, state, _, _, _, user, _, inode] = fields.as_slice() else { return None };
        Some(TcpSocket {
            local: address(local)?,
            remote: address(remote)?,
            state: match state {
                "01" => TcpState::Established,
                "0A" => TcpState::Listening,
                _ => TcpState::Other,
            },
            user: user.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    })
}

/// `0100007F:0BB8`: words of 32 bits as this machine keeps them, in hexadecimal, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some((ip, port).into())
}

/// Whether a socket that listens on `local` accepts connections to `target`.
pub(super) fn accepts(local: SocketAddr, target: SocketAddr) -> bool {
    let (own, asked) = (local.ip(), target.ip().to_canonical());
    // An unspecified IPv6 address takes IPv4 connections as well, unless it was configured not to.
    local.port() == target.port()
        && (own == asked || own.is_unspecified() && (own.is_ipv6() || asked.is_ipv4()))
}

/// Unix sockets that listen: inode and path.
pub(super) fn unix_listeners(table: &str) -> impl Iterator<Item = (u64, &str)> {
    /// SO_ACCEPTCON: it listens.
    const LISTENS: u32 = 1 << 16;
    table.lines().filter_map(|line| {
        // `Num RefCount Protocol Flags Type St Inode Path`; a path may hold spaces.
        let mut rest = line;
        let mut fields = [""; 7];
        for field in &mut fields {
            rest = rest.trim_start();
            let end = rest.find(' ').unwrap_or(rest.len());
            (*field, rest) = rest.split_at(end);
        }
        let listens = u32::from_str_radix(fields[3], 16).ok()? & LISTENS != 0;
        let path = rest.strip_prefix(' ')?;
        listens.then(|| Some((fields[6].parse().ok()?, path)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \x20  0: 0100007F:0BB8 00000000:0000 0A 00000000:00000003 00:00000000 00000000  1000        0 12345 1 0000 100 0 0 10 0\n\
        \x20  1: 0100007F:0BB8 0200007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 12346 1 0000\n\
        \x20  2: 0100007F:0BB8 0200007F:D432 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0000\n\
        broken\n\
        \x20  3: 01007F:0BB8 0200007F:D432 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0000\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn tcp_tables() {
        let sockets: Vec<_> = tcp_sockets(TCP).collect();
        assert_eq!(sockets.len(), 3, "{sockets:?}");
        let expected = TcpSocket {
            local: "127.0.0.1:3000".parse().expect("an address"),
            remote: "0.0.0.0:0".parse().expect("an address"),
            state: TcpState::Listening,
            user: 1000,
            inode: 12345,
        };
        assert_eq!(sockets[0], expected);
        assert_eq!(sockets[1].remote.to_string(), "127.0.0.2:54321");
        assert_eq!((sockets[1].state, sockets[2].state), (TcpState::Established, TcpState::Other));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), expected, "{text}");
        };
        check("00000000000000000000000001000000:1F90", Some("[::1]:8080"));
        check("0000000000000000FFFF00000100007F:1F90", Some("127.0.0.1:8080"));
        check("B80D01200000000067452301EFCDAB89:0050", Some("[2001:db8::123:4567:89ab:cdef]:80"));
        for text in [
            "",
            ":",
            "0100007F",
            "0100007F:",
            "0100007F:10000",
            "zz00007F:0050",
            "\u{e4}\u{e4}\u{e4}\u{e4}:0050",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn who_accepts() {
        let check = |local: &str, target: &str, expected| {
            let parse = |text: &str| text.parse().expect("an address");
            assert_eq!(accepts(parse(local), parse(target)), expected, "{local} for {target}");
        };
        check("127.0.0.1:80", "127.0.0.1:80", true);
        check("127.0.0.1:80", "127.0.0.2:80", false);
        check("127.0.0.1:80", "127.0.0.1:81", false);
        check("0.0.0.0:80", "127.0.0.1:80", true);
        check("0.0.0.0:80", "[::1]:80", false);
        check("[::]:80", "127.0.0.1:80", true);
        check("[::]:80", "[::1]:80", true);
        check("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true);
    }

    #[test]
    fn unix_tables() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000: 00000002 00000000 00010000 0001 01 101 /run/app one.sock\n\
            00000000: 00000003 00000000 00000000 0001 03 102 /run/app one.sock\n\
            00000000: 00000002 00000000 00010000 0001 01 103 /run/app\n\
            00000000: 00000002 00000000 00010000 0001 01 104\n\
            00000000: 00000002 00000000 00010000 0001 01 105 @abstract\n\nx\n";
        let found: Vec<_> = unix_listeners(table).collect();
        assert_eq!(found, [(101, "/run/app one.sock"), (103, "/run/app"), (105, "@abstract")]);
    }
}
