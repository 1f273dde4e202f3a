//! Listening sockets: who may be served, and a clear error when it can't be.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, getsockname, ipproto, listen, socket_with,
    sockopt,
};

use crate::StartError;
use crate::tls::{Socket, Tls};

/// The queue of connections not accepted yet, where the caller has no wish: the kernel cuts it down to
/// `net.core.somaxconn`, 4,096 by default, so this asks for as much as there is.
pub(crate) const DEFAULT_BACKLOG: u32 = 65_535;

/// A congestion control that every kernel has and that never waits between two packets.
const UNPACED: &str = "reno";

/// How to listen.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) address: SocketAddr,
    pub(crate) backlog: u32,
    pub(crate) allow_remote: bool,
    pub(crate) tls: Option<Tls>,
}

/// A listening, non-blocking socket.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: OwnedFd,
    tls: Option<Tls>,
}

/// One listener, and the address it got.
pub(crate) fn one(options: &Options) -> Result<(Listener, SocketAddr), StartError> {
    check_reach(options)?;
    let listener = open(options, options.address, false)?;
    let address = address_of(&listener, options.address)?;
    Ok((listener, address))
}

/// `count` sockets on one port, among which the kernel spreads new connections by a hash (SO_REUSEPORT).
pub(crate) fn many(options: &Options, count: usize) -> Result<(Vec<Listener>, SocketAddr), StartError> {
    check_reach(options)?;
    if count == 1 {
        return one(options).map(|(listener, address)| (vec![listener], address));
    }
    // A second server that shares its port too would be let in silently, and take half of the connections. A
    // socket that does not share finds it out.
    drop(open(options, options.address, false)?);
    let first = open(options, options.address, true)?;
    let address = address_of(&first, options.address)?;
    let mut listeners = vec![first];
    for _ in 1..count {
        listeners.push(open(options, address, true)?);
    }
    Ok((listeners, address))
}

/// An accepted connection.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) socket: Socket,
    /// The client's end; the kernel returns it with the connection, even when the client has left already.
    pub(crate) peer: Option<SocketAddr>,
}

/// The next connection that waits. `None`: none is left, or the machine has no room for one (MFILE, NFILE,
/// NOBUFS), and the next look tries again.
pub(crate) fn accept(listener: &Listener) -> Option<Accepted> {
    loop {
        match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok((socket, peer)) => {
                return Some(Accepted {
                    socket: listener.socket(socket),
                    peer: peer.and_then(|peer| SocketAddr::try_from(peer).ok()),
                });
            }
            // The client left while it waited: the queue is shorter by one.
            Err(Errno::CONNABORTED | Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

impl Listener {
    /// What serves a connection that was accepted here.
    pub(crate) fn socket(&self, accepted: OwnedFd) -> Socket {
        Socket::new(accepted, self.tls.as_ref())
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check_reach(options: &Options) -> Result<(), StartError> {
    if options.allow_remote || options.address.ip().is_loopback() {
        Ok(())
    } else {
        Err(StartError::NotLoopback { address: options.address })
    }
}

fn open(options: &Options, address: SocketAddr, share_port: bool) -> Result<Listener, StartError> {
    let backlog = options.backlog;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let attempt = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        // Connections of an earlier server in TIME_WAIT don't hold the port.
        sockopt::set_socket_reuseaddr(&listener, true)?;
        if share_port {
            sockopt::set_socket_reuseport(&listener, true)?;
        }
        // Accepted sockets inherit both. Replies go out as they are written: time that the system's congestion
        // control puts between packets (BBR does) would be neither the server's nor the client's.
        sockopt::set_tcp_nodelay(&listener, true)?;
        let _as_before = sockopt::set_tcp_congestion(&listener, UNPACED);
        bind(&listener, &address)?;
        listen(&listener, i32::try_from(backlog).unwrap_or(i32::MAX))?;
        Ok(listener)
    };
    let fd = attempt().map_err(|errno| explain(errno, address))?;
    Ok(Listener { fd, tls: options.tls.clone() })
}

fn address_of(listener: &Listener, asked: SocketAddr) -> Result<SocketAddr, StartError> {
    let name = getsockname(listener).map_err(|errno| explain(errno, asked))?;
    Ok(SocketAddr::try_from(name).expect("invariant: the socket was made for IP"))
}

fn explain(errno: Errno, address: SocketAddr) -> StartError {
    match errno {
        Errno::ADDRINUSE => StartError::PortTaken { address },
        Errno::ACCESS => StartError::PortForbidden { address },
        Errno::ADDRNOTAVAIL => StartError::NoSuchAddress { address },
        other => StartError::Listen { address, source: other.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(address: &str) -> Options {
        Options { address: address.parse().unwrap(), backlog: 16, allow_remote: false, tls: None }
    }

    #[test]
    fn other_machines_are_kept_out_unless_allowed() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = one(&options(address)).unwrap_err();
            assert!(matches!(error, StartError::NotLoopback { .. }), "{address}: {error}");
        }
        let (_listener, address) =
            one(&Options { allow_remote: true, ..options("0.0.0.0:0") }).expect("a free port");
        assert_ne!(address.port(), 0);
    }

    #[test]
    fn a_taken_port_is_named_even_when_it_is_shared() {
        let (_held, address) = many(&options("127.0.0.1:0"), 2).unwrap();
        for count in [1, 2] {
            let error = many(&Options { address, ..options("127.0.0.1:0") }, count).unwrap_err();
            assert!(matches!(error, StartError::PortTaken { .. }), "{count}: {error}");
        }
    }

    #[test]
    fn an_address_of_another_machine_is_named() {
        let error = one(&Options { allow_remote: true, ..options("192.0.2.1:0") }).unwrap_err();
        assert!(matches!(error, StartError::NoSuchAddress { .. }), "{error}");
    }
}
