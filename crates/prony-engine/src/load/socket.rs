//! One client socket, not yet connected.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, bind, socket_with, sockopt};

use crate::sys;

/// A congestion control that every kernel has and that never waits between two packets.
const UNPACED: &str = "reno";

/// Makes a non-blocking stream socket for `peer`, bound to `source` if one is given. `unpaced`: no congestion
/// control may put time between packets.
pub(crate) fn open(
    peer: &SocketAddrAny,
    source: Option<&SocketAddrAny>,
    unpaced: bool,
) -> Result<OwnedFd, Errno> {
    let family = peer.address_family();
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if family != AddressFamily::UNIX {
        // Requests go out as they are written: a delay by Nagle's algorithm would be the client's, not the server's.
        sockopt::set_tcp_nodelay(&socket, true)?;
        if unpaced {
            // Where the kernel refuses, requests are paced as those of any other client.
            let _as_before = sockopt::set_tcp_congestion(&socket, UNPACED);
        }
    }
    if let Some(source) = source {
        // Only widens the choice of ports; where the kernel lacks it, `bind` chooses.
        let _widened = sys::defer_port_choice(socket.as_fd());
        bind(&socket, source)?;
    }
    Ok(socket)
}

/// The local port of `socket`; 0 where it has none.
pub(crate) fn local_port(socket: &OwnedFd) -> u16 {
    let name = rustix::net::getsockname(socket);
    name.ok().and_then(|name| std::net::SocketAddr::try_from(name).ok()).map_or(0, |address| address.port())
}
