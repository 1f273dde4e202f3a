//! The client: writes the given bytes and reads replies, with nothing of the servers in it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use prony_targets::Running;

/// A reply as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A connection with the bytes that were read too far.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    ahead: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        // A test that would hang fails instead; no test waits for this.
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Self { stream, ahead: Vec::new() }
    }

    /// The same connection, to send on while replies are read from this one.
    pub(crate) fn second(&self) -> Self {
        Self { stream: self.stream.try_clone().unwrap(), ahead: Vec::new() }
    }

    pub(crate) fn send(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.stream.write_all(text.as_ref()).unwrap();
        self
    }

    /// Sends what the server may refuse to take to its end.
    pub(crate) fn send_as_far_as_taken(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.stream.write_all(text.as_ref());
        self
    }

    pub(crate) fn finish_sending(&mut self) -> &mut Self {
        self.stream.shutdown(Shutdown::Write).unwrap();
        self
    }

    /// The next reply, with its body by Content-Length.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let length = reply.field("Content-Length").map_or(0, |value| value.parse().unwrap());
        while self.ahead.len() < length {
            assert!(self.more(), "the connection ended in a body: {reply:?}");
        }
        reply.body = self.ahead.drain(..length).collect();
        reply
    }

    /// The next reply to a HEAD request: a head alone.
    pub(crate) fn head(&mut self) -> Reply {
        let end = loop {
            if let Some(at) = self.ahead.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(
                self.more(),
                "the connection ended in a head: {:?}",
                String::from_utf8_lossy(&self.ahead)
            );
        };
        let head = String::from_utf8(self.ahead.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head, body: Vec::new() }
    }

    /// The next of a stream of events, without the blank line behind it; `None` when the stream has ended.
    pub(crate) fn event(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.ahead.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.ahead.drain(..at + 2).collect();
                return Some(String::from_utf8(event[..at].to_vec()).unwrap());
            }
            if !self.more() {
                assert!(self.ahead.is_empty(), "the connection ended in an event");
                return None;
            }
        }
    }

    /// The server has closed and nothing is left.
    pub(crate) fn ended(&mut self) -> bool {
        self.ahead.is_empty() && !self.more()
    }

    /// The server has reset the connection.
    pub(crate) fn was_reset(&mut self) -> bool {
        let mut byte = [0];
        self.stream.read(&mut byte).is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    }

    fn more(&mut self) -> bool {
        let mut piece = [0; 4096];
        let count = self.stream.read(&mut piece).unwrap();
        self.ahead.extend_from_slice(&piece[..count]);
        count > 0
    }
}

/// Waits until the server has read a request. It may even have answered it.
pub(crate) fn wait_until_asked(server: &Running) {
    loop {
        let counts = server.counters();
        if counts.in_flight + counts.requests > 0 {
            return;
        }
        std::thread::yield_now();
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(address: SocketAddr, request: &str) -> Reply {
    Client::connect(address).send(request).reply()
}

/// Calls `ask` so many times with each of so many connections, which are busy all at once.
pub(crate) fn many(
    address: SocketAddr,
    connections: usize,
    kept: usize,
    ask: impl Fn(usize, &mut Client) + Sync,
) {
    std::thread::scope(|scope| {
        for number in 0..connections {
            let ask = &ask;
            scope.spawn(move || {
                let mut client = Client::connect(address);
                for _ in 0..kept {
                    ask(number, &mut client);
                }
            });
        }
    });
}
