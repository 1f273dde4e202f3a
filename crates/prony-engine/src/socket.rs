//! One client socket, not yet connected.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, bind, socket_with, sockopt};

use crate::sys;

/// Makes a non-blocking stream socket for `peer`, bound to `source` if one is given.
pub(crate) fn open(peer: &SocketAddrAny, source: Option<&SocketAddrAny>) -> Result<OwnedFd, Errno> {
    let family = peer.address_family();
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if family != AddressFamily::UNIX {
        // Requests go out as they are written: a delay by Nagle's algorithm would be the client's, not the server's.
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    if let Some(source) = source {
        // Only widens the choice of ports; where the kernel lacks it, `bind` chooses.
        let _widened = sys::defer_port_choice(socket.as_fd());
        bind(&socket, source)?;
    }
    Ok(socket)
}
