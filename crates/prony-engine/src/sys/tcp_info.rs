//! What the kernel knows of a TCP connection.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

/// Some of the kernel's figures of one connection (TCP_INFO, tcp(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// The smoothed round trip.
    pub round_trip: Duration,
    /// Its mean deviation.
    pub round_trip_deviation: Duration,
    /// Segments sent again since the connection was opened.
    pub retransmitted_segments: u32,
}

/// Asks for them; an error for any socket but one of TCP.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    // SAFETY: the struct has integers only, and any of them may be 0.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).expect("invariant: some 200 bytes");
    // SAFETY: the kernel writes at most `length` bytes to `info`, and their number to `length`, during the call
    // only; both live until it returns.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpInfo {
        round_trip: Duration::from_micros(info.tcpi_rtt.into()),
        round_trip_deviation: Duration::from_micros(info.tcpi_rttvar.into()),
        retransmitted_segments: info.tcpi_total_retrans,
    })
}
