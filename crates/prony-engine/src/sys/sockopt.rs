//! Socket options that rustix does not wrap.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Lets `bind` with port 0 leave the choice of the port to `connect`, which may then share one port among
/// many destinations (IP_BIND_ADDRESS_NO_PORT, Linux 4.2).
pub(crate) fn defer_port_choice(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of_val(&on)).expect("invariant: an int has 4 bytes");
    // SAFETY: the kernel reads `length` bytes at `&on` during the call only, and `on` lives until it returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
