//! The way out for tasks with `network = true`: an HTTP proxy in front of the sandbox.
//!
//! Such a task has a network of its own, as every task has. In there, `relay.rs` listens on loopback and hands each
//! connection through a socket to the lab, which resolves the name, checks the address, and connects. So neither what
//! listens on this machine nor the lab's database nor a cloud's metadata can be reached, whatever a name stands for.
//!
//! Anyone who fetches dependencies speaks to proxies: cargo, npm, pip, go, git by HTTPS, curl.

mod head;
mod relay;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use self::relay::{relay, variables};

use self::head::Head;
use prony_lab_core::policy::{Kind, kind};

/// Where tasks find it.
pub const SOCKET: &str = "/run/prony-egress";
/// Connections of one task at once: package managers open some tens.
const CONNECTIONS_MAX: usize = 64;
/// Until a request is there, and until somebody answers to a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// After an error of the system.
const PAUSE: Duration = Duration::from_millis(50);
/// A request line with its headers.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// A way out, for one task. Dropped, it is closed.
#[derive(Debug)]
pub(super) struct Egress {
    path: PathBuf,
    /// By which the socket has a short name: those of sockets have 107 bytes.
    folder: File,
    is_stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Egress {
    /// Opens one at the socket `path`, for the user `owner` if that is not the lab's. Nobody gets to `closed`.
    pub(super) fn start(path: &Path, owner: Option<u32>, closed: Vec<IpAddr>) -> io::Result<Self> {
        let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
        let listener = UnixListener::bind(short(&folder, path))?;
        if let Some(owner) = owner {
            std::os::unix::fs::lchown(path, Some(owner), Some(owner))?;
        }
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let thread = std::thread::Builder::new()
            .name("lab-egress".to_owned())
            .spawn(move || accept(&listener, &stopping, &Arc::new(closed)))?;
        Ok(Self { path: path.to_owned(), folder, is_stopping, thread: Some(thread) })
    }
}

impl Egress {
    /// Its socket.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Release);
        // It waits for a connection, and this is one.
        let _ = UnixStream::connect(short(&self.folder, &self.path));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn short(folder: &File, path: &Path) -> PathBuf {
    let folder = format!("/proc/self/fd/{}", folder.as_raw_fd());
    Path::new(&folder).join(path.file_name().unwrap_or_default())
}

fn accept(listener: &UnixListener, is_stopping: &AtomicBool, closed: &Arc<Vec<IpAddr>>) {
    let open = Arc::new(AtomicUsize::new(0));
    for connection in listener.incoming() {
        if is_stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(connection) = connection else {
            // No descriptor is free: one will be.
            std::thread::sleep(PAUSE);
            continue;
        };
        if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (closed, count) = (Arc::clone(closed), Arc::clone(&open));
        let started = std::thread::Builder::new().name("lab-egress".to_owned()).spawn(move || {
            // What goes wrong with a connection ends it, which the task sees.
            let _ = serve(connection, &closed);
            count.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// One connection of a task.
fn serve(mut task: UnixStream, closed: &[IpAddr]) -> io::Result<()> {
    task.set_read_timeout(Some(PATIENCE))?;
    let mut bytes = Vec::new();
    let head = loop {
        let mut byte = [0];
        // A byte at a time: what follows the head is not ours to read, and a head is short.
        if bytes.len() as u64 >= HEAD_BYTES_MAX || task.read(&mut byte)? == 0 {
            return Ok(());
        }
        bytes.push(byte[0]);
        if bytes.ends_with(b"\r\n\r\n") {
            break Head::parse(&bytes);
        }
    };
    let Some(head) = head else { return refuse(&mut task, "400 Bad Request", "this is a proxy for HTTP") };
    let mut server = match connect(&head.host, head.port, closed) {
        Ok(server) => server,
        Err(words) => return refuse(&mut task, "403 Forbidden", &words),
    };
    match &head.forwarded {
        Some(forwarded) => server.write_all(forwarded)?,
        None => task.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    task.set_read_timeout(None)?;
    let (mut from_task, mut to_server) = (task.try_clone()?, server.try_clone()?);
    let up = std::thread::Builder::new().name("lab-egress".to_owned()).spawn(move || {
        let _ = io::copy(&mut from_task, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    })?;
    let _ = io::copy(&mut server, &mut task);
    let _ = task.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    let _ = up.join();
    Ok(())
}

fn refuse(task: &mut UnixStream, status: &str, words: &str) -> io::Result<()> {
    let body = format!("{words}\n");
    write!(task, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A connection to `host`, if one of its addresses may be reached.
fn connect(host: &str, port: u16, closed: &[IpAddr]) -> Result<TcpStream, String> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
    let mut last = format!("{host} has no address");
    for address in addresses {
        match connect_to(address, closed) {
            Ok(server) => return Ok(server),
            Err(words) => last = words,
        }
    }
    Err(last)
}

fn connect_to(address: SocketAddr, closed: &[IpAddr]) -> Result<TcpStream, String> {
    let refused = |what: &str| format!("{address} is {what}, which builds don't reach");
    match kind(address.ip()) {
        Kind::Private | Kind::Public => {}
        Kind::Loopback => return Err(refused("this machine")),
        Kind::Metadata => return Err(refused("a service that tells a cloud's credentials")),
        Kind::LinkLocal | Kind::Nobody => return Err(refused("no machine's own address")),
    }
    if closed.contains(&address.ip()) {
        return Err(refused("the lab's database"));
    }
    let failed = |error: io::Error| format!("{address}: {error}");
    if is_own(address).map_err(failed)? {
        return Err(refused("this machine"));
    }
    TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)
}

/// Whether `address` is one of this machine's own, which the kernel says without a packet: anyone who connects to an
/// address of their own has it on both sides. A connection that is refused afterwards would show which ports are open.
fn is_own(address: SocketAddr) -> io::Result<bool> {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(address)?;
    Ok(socket.local_addr()?.ip() == address.ip())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What the proxy answers to `request`.
    fn answer_to(request: &str) -> String {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("egress");
        let egress = Egress::start(&path, None, vec![[10, 255, 255, 1].into()]).expect("a socket");
        let mut task = UnixStream::connect(&path).expect("it listens");
        task.write_all(request.as_bytes()).expect("it listens");
        let mut answer = String::new();
        task.read_to_string(&mut answer).expect("text");
        drop(egress);
        assert!(!path.exists());
        answer
    }

    #[test]
    fn this_machine_the_database_and_metadata_are_out_of_reach() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        for (target, reason) in [
            (format!("127.0.0.1:{port}"), "is this machine"),
            (format!("localhost:{port}"), "is this machine"),
            (format!("[::1]:{port}"), "is this machine"),
            (format!("[::ffff:127.0.0.1]:{port}"), "is this machine"),
            (format!("0.0.0.0:{port}"), "no machine's own address"),
            ("169.254.169.254:80".to_owned(), "a cloud's credentials"),
            ("10.255.255.1:5432".to_owned(), "the lab's database"),
        ] {
            let answer = answer_to(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(reason), "{target}: {answer}");
        }
        let answer = answer_to(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        listener.set_nonblocking(true).expect("ours");
        assert!(listener.accept().is_err(), "nobody came");
        assert!(answer_to("SMTP\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }

    /// The addresses by which others reach this machine, as far as it has any.
    #[test]
    fn nothing_is_sent_to_this_machine_by_its_other_addresses() {
        let mut checked = 0;
        // Addresses for documentation: nothing is sent there either.
        for (any, elsewhere) in [("0.0.0.0:0", "198.51.100.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
            let Ok(socket) = UdpSocket::bind(any) else { continue };
            let Ok(own) = socket.connect(elsewhere).and_then(|()| socket.local_addr()) else { continue };
            let listener = TcpListener::bind((own.ip(), 0)).expect("it is ours");
            let open = listener.local_addr().expect("it has one");
            let closed_port = TcpListener::bind((own.ip(), 0)).and_then(|other| other.local_addr());
            let answers = [open, closed_port.expect("it has one")].map(|target| {
                let answer = answer_to(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
                assert!(
                    answer.starts_with("HTTP/1.1 403 ") && answer.contains("is this machine"),
                    "{answer}"
                );
                answer.replace(&target.to_string(), "")
            });
            assert_eq!(answers[0], answers[1], "they show which port is open");
            listener.set_nonblocking(true).expect("ours");
            assert!(listener.accept().is_err(), "nobody came");
            checked += 1;
        }
        if checked == 0 {
            prony_testing::skip(
                "nothing_is_sent_to_this_machine",
                "this machine has no address but loopback",
            );
        }
    }
}
