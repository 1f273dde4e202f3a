//! What the kernel says of sockets over netlink (sock_diag(7)): the queues of listening ones, and which Unix socket
//! is connected with which.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

use super::socket_table::{TcpSocket, TcpState};

/// Type of a request and of what answers it (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST and NLM_F_DUMP: all sockets that fit.
const DUMP: u16 = 0x301;
/// NLMSG_DONE: that was all.
const DONE: u16 = 3;
/// Length of a message's head.
const HEAD: usize = 16;
/// Answers come in parts of up to 32 KiB (NLMSG_GOODSIZE's upper end); more parts than this are not read.
const PART_BYTES: usize = 32 * 1024;
const PARTS_MAX: usize = 4096;
const LISTENING: u32 = 1 << 10;
const ESTABLISHED: u32 = 1 << 1;
const TIME_WAIT: u32 = 1 << 6;
/// AF_INET and AF_INET6.
const IPV4: u8 = 2;
const IPV6: u8 = 10;

/// A listening socket's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue {
    pub inode: u64,
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// So many may wait.
    pub backlog: u32,
}

/// A connected Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnixPair {
    pub inode: u64,
    pub peer: u64,
    /// The path that it is bound to: that of the listener, where it was accepted.
    pub path: Option<String>,
}

/// The way to ask.
#[derive(Debug)]
pub(super) struct SockDiag {
    socket: OwnedFd,
}

impl SockDiag {
    /// `None` where this kernel can't be asked.
    pub(super) fn open() -> Option<Self> {
        let netlink = AddressFamily::NETLINK;
        let socket = socket_with(netlink, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG)).ok()?;
        Some(Self { socket })
    }

    /// The queues of all listening TCP sockets of one family.
    pub(super) fn tcp_queues(&self, family: u8) -> Option<Vec<Queue>> {
        self.dump(&tcp_request(family, LISTENING), &mut |message| tcp_queue(message))
    }

    /// All TCP sockets of this network namespace that listen or are connected, of both families. Connections that have
    /// ended, of which there may be tens of thousands, cost next to nothing here; in /proc/net/tcp each is a line.
    pub(super) fn tcp_sockets(&self) -> Option<Vec<TcpSocket>> {
        self.tcp_sockets_in(LISTENING | ESTABLISHED)
    }

    /// TCP connections that ended and keep their port, by the end that closed first.
    pub(super) fn time_wait_sockets(&self) -> Option<Vec<TcpSocket>> {
        self.tcp_sockets_in(TIME_WAIT)
    }

    /// TCP sockets of both families in these states.
    fn tcp_sockets_in(&self, states: u32) -> Option<Vec<TcpSocket>> {
        let mut found = Vec::new();
        for family in [IPV4, IPV6] {
            found.extend(self.dump(&tcp_request(family, states), &mut |message| tcp_socket(message))?);
        }
        Some(found)
    }

    /// The queues of all listening Unix sockets.
    pub(super) fn unix_queues(&self) -> Option<Vec<Queue>> {
        const SHOW_QUEUE: u32 = 0x10;
        self.dump(&unix_request(LISTENING, SHOW_QUEUE), &mut |message| unix_queue(message))
    }

    /// All connected Unix sockets.
    pub(super) fn unix_pairs(&self) -> Option<Vec<UnixPair>> {
        const SHOW_NAME: u32 = 1;
        const SHOW_PEER: u32 = 4;
        self.dump(&unix_request(ESTABLISHED, SHOW_NAME | SHOW_PEER), &mut |message| unix_pair(message))
    }

    fn dump<T>(&self, request: &[u8], read: &mut dyn FnMut(&[u8]) -> Option<T>) -> Option<Vec<T>> {
        let mut message = Vec::with_capacity(HEAD + request.len());
        message.extend(u32::try_from(HEAD + request.len()).ok()?.to_ne_bytes());
        message.extend(BY_FAMILY.to_ne_bytes());
        message.extend(DUMP.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(request);
        sendto(&self.socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).ok()?;
        let mut found = Vec::new();
        let mut part = vec![0; PART_BYTES];
        for _ in 0..PARTS_MAX {
            // The kernel answers within the call; nothing to read is an end, not a wait.
            let (length, _) = recv(&self.socket, part.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
            let mut is_over = false;
            for (kind, body) in messages(&part[..length.min(PART_BYTES)]) {
                match kind {
                    BY_FAMILY => found.extend(read(body)),
                    DONE => is_over = true,
                    _ => return None,
                }
            }
            if is_over {
                return Some(found);
            }
        }
        None
    }
}

fn tcp_request(family: u8, states: u32) -> Vec<u8> {
    const TCP: u8 = 6;
    // struct inet_diag_req_v2: family, protocol, extensions, padding, states, and a socket that may be any.
    let mut request = vec![family, TCP, 0, 0];
    request.extend(states.to_ne_bytes());
    request.extend([0; 48]);
    request
}

fn unix_request(states: u32, show: u32) -> Vec<u8> {
    // struct unix_diag_req: family, protocol, padding, states, inode, what to show, cookie.
    let mut request = vec![1, 0, 0, 0];
    request.extend(states.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(show.to_ne_bytes());
    request.extend([0xff; 8]);
    request
}

/// Types and bodies of the messages in `bytes` (netlink(7)).
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::try_from(number(bytes, 0)?).ok()?;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(HEAD..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Types and values of the attributes in `bytes`.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(0..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// From a struct inet_diag_msg.
fn tcp_queue(message: &[u8]) -> Option<Queue> {
    Some(Queue {
        waiting: number(message, 56)?,
        backlog: number(message, 60)?,
        inode: u64::from(number(message, 68)?),
    })
}

/// From a struct inet_diag_msg: family and state, ports and addresses as they are on the wire, user and inode.
fn tcp_socket(message: &[u8]) -> Option<TcpSocket> {
    let family = *message.first()?;
    let end = |port_at: usize, address_at: usize| {
        let port = u16::from_be_bytes(message.get(port_at..port_at + 2)?.try_into().ok()?);
        let ip: IpAddr = match family {
            IPV4 => <[u8; 4]>::try_from(message.get(address_at..address_at + 4)?).ok()?.into(),
            IPV6 => Ipv6Addr::from(<[u8; 16]>::try_from(message.get(address_at..address_at + 16)?).ok()?)
                .to_canonical(),
            _ => return None,
        };
        Some(SocketAddr::from((ip, port)))
    };
    Some(TcpSocket {
        local: end(4, 8)?,
        remote: end(6, 24)?,
        state: match 1_u32.checked_shl((*message.get(1)?).into())? {
            ESTABLISHED => TcpState::Established,
            LISTENING => TcpState::Listening,
            _ => TcpState::Other,
        },
        user: number(message, 64)?,
        inode: u64::from(number(message, 68)?),
    })
}

/// From a struct unix_diag_msg and its attributes.
fn unix_queue(message: &[u8]) -> Option<Queue> {
    const QUEUE: u16 = 4;
    let queue = attributes(message.get(16..)?).find(|(kind, _)| *kind == QUEUE)?.1;
    Some(Queue {
        inode: u64::from(number(message, 4)?),
        waiting: number(queue, 0)?,
        backlog: number(queue, 4)?,
    })
}

fn unix_pair(message: &[u8]) -> Option<UnixPair> {
    const NAME: u16 = 0;
    const PEER: u16 = 2;
    let find = |wanted: u16| attributes(message.get(16..)?).find(|(kind, _)| *kind == wanted);
    let path = find(NAME).map(|(_, path)| {
        // An abstract name begins with a zero; a path may end with one.
        let text = String::from_utf8_lossy(path);
        let text = text.strip_suffix('\0').unwrap_or(&text);
        text.strip_prefix('\0').map_or_else(|| text.to_owned(), |name| format!("@{name}"))
    });
    Some(UnixPair {
        inode: u64::from(number(message, 4)?),
        peer: u64::from(number(find(PEER)?.1, 0)?),
        path: path.filter(|path| !path.is_empty()),
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::super::socket_table::tcp_sockets;
    use super::*;

    fn inode(socket: impl std::os::fd::AsFd) -> u64 {
        rustix::fs::fstat(socket.as_fd()).expect("it is open").st_ino
    }

    #[test]
    fn a_listener_with_two_that_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let _waiting = [TcpStream::connect(address), TcpStream::connect(address)];
        let Some(diag) = SockDiag::open() else { return };
        let Some(queues) = diag.tcp_queues(2) else { return };
        let own = queues.iter().find(|queue| queue.inode == inode(&listener)).expect("it listens");
        assert!(own.waiting == 2 && own.backlog >= 2, "{own:?}");
    }

    #[test]
    fn sockets_are_those_of_the_table() {
        let listeners = [TcpListener::bind("127.0.0.1:0"), TcpListener::bind("[::]:0")];
        let addresses: Vec<_> =
            listeners.iter().flatten().map(|bound| bound.local_addr().expect("it is bound")).collect();
        let ends: Vec<_> = addresses
            .iter()
            .map(|address| TcpStream::connect(("127.0.0.1", address.port())).expect("it listens"))
            .collect();
        let Some(found) = SockDiag::open().and_then(|diag| diag.tcp_sockets()) else { return };
        let tables =
            ["tcp", "tcp6"].map(|family| std::fs::read_to_string(format!("/proc/self/net/{family}")));
        let listed: Vec<TcpSocket> =
            tables.iter().flatten().flat_map(|table| tcp_sockets(table).collect::<Vec<_>>()).collect();
        let own: Vec<u64> = listeners.iter().flatten().map(inode).chain(ends.iter().map(inode)).collect();
        for inode in own {
            let of = |sockets: &[TcpSocket]| sockets.iter().find(|socket| socket.inode == inode).copied();
            assert_eq!(of(&found), of(&listed));
            assert!(of(&found).is_some());
        }
    }

    #[test]
    fn who_closes_first_keeps_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let pair = || (TcpStream::connect(address).expect("it listens"), listener.accept().expect("one").0);
        let (first, second) = (pair(), pair());
        let own = first.0.local_addr().expect("it is connected");
        drop(first.0);
        drop(first.1);
        drop(second.1);
        drop(second.0);
        let Some(found) = SockDiag::open().and_then(|diag| diag.time_wait_sockets()) else { return };
        let of_clients: Vec<SocketAddr> =
            found.iter().filter(|socket| socket.remote == address).map(|socket| socket.local).collect();
        assert_eq!(of_clients, [own]);
    }

    #[test]
    fn unix_sockets() {
        let name = std::env::temp_dir().join(format!("prony-sock-diag-{}", std::process::id()));
        let listener = UnixListener::bind(&name).expect("a path");
        let client = UnixStream::connect(&name).expect("it listens");
        let found = SockDiag::open().and_then(|diag| Some((diag.unix_queues()?, diag.unix_pairs()?)));
        let (server, _) = listener.accept().expect("a connection");
        let later = SockDiag::open().and_then(|diag| diag.unix_pairs());
        std::fs::remove_file(&name).expect("it is there");
        // Kernels without CONFIG_UNIX_DIAG have nothing to say.
        let Some(((queues, _), pairs)) = found.zip(later) else { return };
        assert_eq!(
            queues.iter().find(|queue| queue.inode == inode(&listener)).expect("it listens").waiting,
            1
        );
        let accepted = pairs.iter().find(|pair| pair.inode == inode(&server)).expect("it is connected");
        assert_eq!((accepted.peer, accepted.path.as_deref()), (inode(&client), name.to_str()));
    }

    #[test]
    fn odd_messages() {
        let all = |bytes: &[u8]| messages(bytes).count();
        assert_eq!(all(&[]), 0);
        assert_eq!(all(&[16, 0, 0, 0, 3, 0]), 0, "cut short");
        assert_eq!(all(&[0; 32]), 0, "a length of nothing must end it");
        assert_eq!(attributes(&[0; 8]).count(), 0);
        assert_eq!((tcp_queue(&[0; 71]), tcp_socket(&[2; 71]), tcp_socket(&[0; 72])), (None, None, None));
        assert_eq!((unix_queue(&[0; 16]), unix_pair(&[0; 3])), (None, None));
    }
}
