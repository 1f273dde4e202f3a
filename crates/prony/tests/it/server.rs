//! Small servers on a free port, good ones and bad ones.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// A server that lives as long as the test process.
pub(crate) struct Server {
    pub(crate) url: String,
    /// One message for each request that was read.
    pub(crate) requests: Receiver<()>,
}

impl Server {
    /// `Hello World!` to every request.
    pub(crate) fn good() -> Self {
        Self::answering(|stream, _| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello World!")
        })
    }

    /// 404 to every request.
    pub(crate) fn not_found() -> Self {
        Self::answering(|stream, _| stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
    }

    /// Reads requests and lets `answer` write to the connection, with the number of the request on it; an
    /// error closes the connection.
    pub(crate) fn answering(
        answer: impl Fn(&mut TcpStream, u64) -> std::io::Result<()> + Clone + Send + 'static,
    ) -> Self {
        // More requests than any test sends: a full queue would stop the server.
        let (sender, requests) = sync_channel(1 << 20);
        let url = Self::accepting(move |mut stream| {
            let (answer, sender) = (answer.clone(), sender.clone());
            thread::spawn(move || {
                for number in 0.. {
                    if !read_request(&mut stream) {
                        return;
                    }
                    // The test may be over.
                    let _ = sender.try_send(());
                    if answer(&mut stream, number).is_err() {
                        return;
                    }
                }
            });
        });
        Self { url, requests }
    }

    /// Answers each request with the status and the body that `reply` has for its head and its body; returns the URL.
    pub(crate) fn replying(
        reply: impl Fn(&str, &str) -> (&'static str, String) + Clone + Send + 'static,
    ) -> String {
        Self::accepting(move |mut stream| {
            let reply = reply.clone();
            thread::spawn(move || {
                while let Some((head, body)) = read_whole(&mut stream) {
                    let (status, text) = reply(&head, &body);
                    let sent = if head.starts_with("HEAD ") { "" } else { &text };
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{sent}", text.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        })
    }

    /// Hands every connection to `handle`.
    pub(crate) fn accepting(mut handle: impl FnMut(TcpStream) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                handle(stream);
            }
        });
        url
    }
}

/// Reads to the end of a head; a body that may follow is left unread.
pub(crate) fn read_request(stream: &mut TcpStream) -> bool {
    read_head(stream).is_some()
}

/// A head, with its empty line, and the body of its `Content-Length`; `None` if the client left before.
fn read_whole(stream: &mut TcpStream) -> Option<(String, String)> {
    let head = read_head(stream)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).expect("text")))
}

/// A head, with its empty line; `None` if the client left before.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}
