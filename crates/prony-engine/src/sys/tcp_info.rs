//! What the kernel says of one connection (TCP_INFO), which no crate wraps whole.

use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Bytes of `struct tcp_info` up to `tcpi_dsack_dups`, which Linux 4.19 added; later kernels append.
const BYTES: usize = 220;

/// Some of `struct tcp_info` (include/uapi/linux/tcp.h). The times are of the whole life of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// The smoothed round trip, microseconds.
    pub round_trip_us: u32,
    /// Its mean deviation, microseconds.
    pub round_trip_deviation_us: u32,
    /// Segments with data that were sent, those sent again included.
    pub data_segments_sent: u32,
    /// Bytes in the send buffer that were not sent yet.
    pub unsent_bytes: u32,
    /// Time with bytes on their way or waiting, microseconds.
    pub busy_us: u64,
    /// The part of it in which the peer's window or our send buffer held bytes back, microseconds.
    pub held_back_us: u64,
    /// Segments sent again that the peer did not have: not those of a kernel that only became impatient (a tail loss
    /// probe, RFC 8985, which a busy machine provokes), and no SYNs, which are counted where connecting is.
    pub retransmitted: u32,
}

/// Asks for `socket`; `None` if it is no TCP socket, or of a kernel that says less.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    let mut bytes = [0_u8; BYTES];
    let mut length = libc::socklen_t::try_from(BYTES).expect("invariant: a few hundred bytes");
    // SAFETY: the kernel writes at most `length` bytes to `bytes` and the number of them to `length`, during the
    // call only; both live until it returns.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (result == 0 && length as usize >= BYTES).then(|| TcpInfo::parse(&bytes))
}

impl TcpInfo {
    fn parse(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("invariant: 4 bytes"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("invariant: 8 bytes"));
        // tcpi_rwnd_limited and tcpi_sndbuf_limited follow tcpi_busy_time.
        let (total_retrans, bytes_retrans, had_already) = (word(100), long(208), word(216));
        Self {
            round_trip_us: word(68),
            round_trip_deviation_us: word(72),
            data_segments_sent: word(156),
            unsent_bytes: word(144),
            busy_us: long(168),
            held_back_us: long(176) + long(184),
            retransmitted: if bytes_retrans > 0 { total_retrans.saturating_sub(had_already) } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_that_the_peer_does_not_take_are_unsent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let fresh = tcp_info(sender.as_fd()).unwrap();
        let TcpInfo { round_trip_us, round_trip_deviation_us, .. } = fresh;
        let of_the_handshake = TcpInfo { round_trip_us, round_trip_deviation_us, ..TcpInfo::default() };
        assert_eq!(fresh, of_the_handshake);
        sender.set_nonblocking(true).unwrap();
        let piece = vec![b'x'; 64 * 1024];
        // Written until the kernel takes no more.
        let refused = std::iter::repeat_with(|| sender.write_all(&piece)).find_map(Result::err);
        assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::WouldBlock));
        let full = tcp_info(sender.as_fd()).unwrap();
        assert!(full.unsent_bytes > 0 && full.held_back_us <= full.busy_us, "{full:?}");
    }

    #[test]
    fn a_unix_socket_has_none() {
        let (socket, _other) = UnixStream::pair().unwrap();
        assert_eq!(tcp_info(socket.as_fd()), None);
    }

    #[test]
    fn only_data_that_was_lost_was_sent_again() {
        let check = |bytes_retrans: u64, had_already: u32, expected: u32| {
            let mut bytes = [0; BYTES];
            bytes[100..104].copy_from_slice(&3_u32.to_ne_bytes());
            bytes[208..216].copy_from_slice(&bytes_retrans.to_ne_bytes());
            bytes[216..220].copy_from_slice(&had_already.to_ne_bytes());
            assert_eq!(TcpInfo::parse(&bytes).retransmitted, expected);
        };
        check(0, 0, 0);
        check(1460, 0, 3);
        check(1460, 1, 2);
        check(1460, 3, 0);
    }
}
