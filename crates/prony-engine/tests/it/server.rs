//! Servers that do what a script says: a thread per connection, and everything counted.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What a server does with a connection, from accept to close.
type Handler = dyn Fn(&mut Peer) + Send + Sync;

/// A running server. Dropping it closes everything and waits for its threads.
pub(crate) struct Server {
    shared: Arc<Shared>,
    url: String,
    /// Accepts until the listener is shut down, and returns the threads of the connections.
    acceptor: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

/// What the threads of a server share.
struct Shared {
    listener: OwnedFd,
    /// No longer: connections are refused.
    listening: AtomicBool,
    /// Connections on which a byte came: the engine's probe before a run sends none.
    used_connections: AtomicU64,
    requests: AtomicU64,
    peers: Mutex<Vec<IpAddr>>,
    open: Mutex<Vec<OwnedFd>>,
    script: Box<Handler>,
}

/// One accepted connection.
pub(crate) struct Peer {
    stream: Box<dyn Stream>,
    address: Option<IpAddr>,
    shared: Arc<Shared>,
    read: Vec<u8>,
    used: bool,
}

/// One request, whole.
pub(crate) struct Request {
    /// How many came before it, over all connections.
    pub number: u64,
    /// Up to and including the blank line.
    pub head: String,
    pub body: Vec<u8>,
}

trait Stream: Read + Write + AsFd + Send {
    /// The TLS of it.
    fn tls(&mut self) -> Option<&mut TlsStream> {
        None
    }
}

impl Stream for TcpStream {}
impl Stream for UnixStream {}
impl Stream for TlsStream {
    fn tls(&mut self) -> Option<&mut TlsStream> {
        Some(self)
    }
}

impl Server {
    /// On a free port of 127.0.0.1.
    pub(crate) fn start(script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("loopback has free ports"), script)
    }

    /// Answers every request with `answer`, on connections that stay open.
    pub(crate) fn answering(answer: &[u8]) -> Self {
        let answer = answer.to_vec();
        Self::start(move |peer| while peer.request().is_some() && peer.answer(&answer) {})
    }

    /// Does `script` on the connections that `listener` accepts.
    pub(crate) fn on(listener: TcpListener, script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::accepting(listener, u64::MAX, script)
    }

    /// The same for the first `limit` connections; any other stays in the listener's queue.
    pub(crate) fn accepting(
        listener: TcpListener,
        limit: u64,
        script: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let shared = Shared::new(listener.as_fd(), script);
        let left = Cell::new(limit);
        let accept = move || {
            if left.replace(left.get().saturating_sub(1)) == 0 {
                // Returns when the listener is shut down.
                rustix::event::poll(&mut [PollFd::new(&listener, PollFlags::empty())], None)?;
            }
            let (stream, address) = listener.accept()?;
            // Answers written in two pieces must not wait for the first to be acknowledged.
            stream.set_nodelay(true)?;
            let open = OwnedFd::from(stream.try_clone()?);
            Ok((Box::new(stream) as Box<dyn Stream>, open, Some(address.ip())))
        };
        Self::spawn(shared, url, accept)
    }

    /// The same over TLS on a free port of 127.0.0.1.
    pub(crate) fn over_tls(config: ServerConfig, script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let url = format!("https://{}/", listener.local_addr().expect("it is bound"));
        let shared = Shared::new(listener.as_fd(), script);
        let config = Arc::new(config);
        let accept = move || {
            let (stream, address) = listener.accept()?;
            stream.set_nodelay(true)?;
            let open = OwnedFd::from(stream.try_clone()?);
            let session = ServerConnection::new(Arc::clone(&config)).map_err(std::io::Error::other)?;
            let stream = TlsStream(StreamOwned::new(session, stream));
            Ok((Box::new(stream) as Box<dyn Stream>, open, Some(address.ip())))
        };
        Self::spawn(shared, url, accept)
    }

    /// The same on a Unix socket at `path`.
    pub(crate) fn on_unix(path: &Path, script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(path).expect("a fresh path");
        let shared = Shared::new(listener.as_fd(), script);
        let accept = move || {
            let (stream, _): (UnixStream, _) = listener.accept()?;
            let open = OwnedFd::from(stream.try_clone()?);
            Ok((Box::new(stream) as Box<dyn Stream>, open, None))
        };
        Self::spawn(shared, "http://localhost/".to_owned(), accept)
    }

    fn spawn(
        shared: Arc<Shared>,
        url: String,
        accept: impl Fn() -> std::io::Result<(Box<dyn Stream>, OwnedFd, Option<IpAddr>)> + Send + 'static,
    ) -> Self {
        let mine = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            let mut workers = Vec::new();
            while mine.listening.load(Ordering::SeqCst) {
                let Ok((stream, open, address)) = accept() else { continue };
                mine.open.lock().expect("no panic").push(open);
                let shared = Arc::clone(&mine);
                workers.push(thread::spawn(move || {
                    let mut peer = Peer { stream, address, shared, read: Vec::new(), used: false };
                    let shared = Arc::clone(&peer.shared);
                    (shared.script)(&mut peer);
                    // The copy that is kept to end the server would hold the connection open.
                    let _closed = rustix::net::shutdown(&peer.stream, rustix::net::Shutdown::Both);
                }));
            }
            workers
        });
        Self { shared, url, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its address; TCP only.
    pub(crate) fn address(&self) -> SocketAddr {
        let authority = self.url.trim_start_matches("http://").trim_start_matches("https://");
        authority.trim_end_matches('/').parse().expect("made of an address")
    }

    /// Requests that came whole.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Connections on which a byte came.
    pub(crate) fn used_connections(&self) -> u64 {
        self.shared.used_connections.load(Ordering::SeqCst)
    }

    /// Where the used connections came from, in the order of their first bytes.
    pub(crate) fn peers(&self) -> Vec<IpAddr> {
        self.shared.peers.lock().expect("no panic").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop_listening();
        let workers = self.acceptor.take().and_then(|acceptor| acceptor.join().ok()).unwrap_or_default();
        for open in self.shared.open.lock().expect("no panic").iter() {
            let _closed = rustix::net::shutdown(open, rustix::net::Shutdown::Both);
        }
        let ended: Vec<_> = workers.into_iter().map(JoinHandle::join).collect();
        assert!(ended.iter().all(Result::is_ok) || thread::panicking(), "a script panicked");
    }
}

impl Shared {
    fn new(
        listener: std::os::fd::BorrowedFd<'_>,
        script: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            listener: listener.try_clone_to_owned().expect("a descriptor is free"),
            listening: AtomicBool::new(true),
            used_connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            peers: Mutex::new(Vec::new()),
            open: Mutex::new(Vec::new()),
            script: Box::new(script),
        })
    }

    /// From now on connections are refused; an `accept` that waits returns.
    fn stop_listening(&self) {
        self.listening.store(false, Ordering::SeqCst);
        let _may_be_closed = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }
}

impl Peer {
    /// The next request; `None` when the client has finished.
    pub(crate) fn request(&mut self) -> Option<Request> {
        let head = self.head()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |length| length.parse().expect("a number"));
        while self.read.len() < length {
            self.read_more()?;
        }
        let body = self.read.drain(..length).collect();
        let number = self.shared.requests.fetch_add(1, Ordering::SeqCst);
        Some(Request { number, head, body })
    }

    /// The head of the next request; its body stays unread.
    pub(crate) fn head(&mut self) -> Option<String> {
        let head_bytes = loop {
            match self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.read_more()?,
            }
        };
        Some(String::from_utf8(self.read.drain(..head_bytes).collect()).expect("heads are ASCII"))
    }

    /// The next `count` bytes; `None` when the client has finished before.
    pub(crate) fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.read.len() < count {
            self.read_more()?;
        }
        Some(self.read.drain(..count).collect())
    }

    /// Whether bytes have come that were not taken yet.
    pub(crate) fn has_more(&self) -> bool {
        !self.read.is_empty()
    }

    /// A request has come that is not of HTTP/1; how many came before it, over all connections.
    pub(crate) fn count_request(&self) -> u64 {
        self.shared.requests.fetch_add(1, Ordering::SeqCst)
    }

    /// Sends `bytes`; false when the client has gone.
    pub(crate) fn answer(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).is_ok()
    }

    /// Answers all requests that have come at once, for as long as they come. They must be alike.
    pub(crate) fn answer_in_bulk(&mut self) {
        let Some(first) = self.request() else { return };
        let (one, request_bytes) = (ok("hello"), first.head.len());
        let mut answers = one.clone();
        while self.answer(&answers) {
            while self.read.len() < request_bytes {
                if self.read_more().is_none() {
                    return;
                }
            }
            let count = self.read.len() / request_bytes;
            self.read.drain(..count * request_bytes);
            self.shared.requests.fetch_add(count as u64, Ordering::SeqCst);
            answers = one.repeat(count);
        }
    }

    /// Reads until `bytes` bytes have come that were not taken, or the client goes.
    pub(crate) fn hold_until(&mut self, bytes: usize) {
        while self.read.len() < bytes && self.read_more().is_some() {}
    }

    /// From now on a small piece waits until the one before it is acknowledged, as it does by default.
    pub(crate) fn delay_small_pieces(&mut self) {
        rustix::net::sockopt::set_tcp_nodelay(&self.stream, false).expect("a TCP socket");
    }

    /// Sends `bytes` past the TLS that it speaks.
    pub(crate) fn answer_in_plain(&mut self, bytes: &[u8]) {
        let _gone = self.stream.tls().expect("a server over TLS").0.sock.write_all(bytes);
    }

    /// The TLS that it speaks.
    pub(crate) fn tls(&mut self) -> &mut ServerConnection {
        &mut self.stream.tls().expect("a server over TLS").0.conn
    }

    /// Reads nothing more until the client has gone.
    pub(crate) fn wait_until_the_client_goes(&self) {
        let mut polled = [PollFd::new(&self.stream, PollFlags::RDHUP | PollFlags::HUP)];
        let _gone = rustix::event::poll(&mut polled, None);
    }

    /// Says nothing more until the client goes.
    pub(crate) fn hold(&mut self) {
        while self.read_more().is_some() {
            self.read.clear();
        }
    }

    /// Ends the connection with a reset instead of a goodbye.
    pub(crate) fn reset(&mut self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).expect("a TCP socket");
        self.leave();
    }

    /// Closes the connection at once; where bytes are unread, that resets it.
    pub(crate) fn leave(&mut self) {
        // Only the last descriptor closes it; the server keeps one of each connection.
        self.shared.open.lock().expect("no panic").retain(|open| !same_socket(open, &*self.stream));
        let spare = UnixStream::pair().expect("a descriptor is free").0;
        self.stream = Box::new(spare);
    }

    /// From now on connections to the server are refused.
    pub(crate) fn stop_listening(&self) {
        self.shared.stop_listening();
    }

    fn read_more(&mut self) -> Option<()> {
        let mut piece = [0; 16 * 1024];
        let count = self.stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        self.read.extend_from_slice(&piece[..count]);
        if !std::mem::replace(&mut self.used, true) {
            self.shared.used_connections.fetch_add(1, Ordering::SeqCst);
            self.shared.peers.lock().expect("no panic").extend(self.address);
        }
        Some(())
    }
}

/// A TCP connection with TLS on it.
pub(crate) struct TlsStream(StreamOwned<ServerConnection, TcpStream>);

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl AsFd for TlsStream {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.sock.as_fd()
    }
}

fn same_socket(one: &OwnedFd, other: &dyn Stream) -> bool {
    let inode = |fd: std::os::fd::BorrowedFd<'_>| rustix::fs::fstat(fd).expect("it is open").st_ino;
    inode(one.as_fd()) == inode(other.as_fd())
}

/// A complete answer with a length.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The clock of the scripts.
#[expect(clippy::disallowed_methods, reason = "what a server measures is the truth for a test")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A connection of the test's own.
pub(crate) fn visit(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.shutdown(Shutdown::Write).expect("it is open");
    stream
}
