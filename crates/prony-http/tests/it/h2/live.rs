//! Against the HTTP/2 server of Node, whose protocol is nghttp2's: an encoder and a decoder of fields, and a flow control,
//! that we did not write.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Event, Http2Error, Limits, Scheme, Shared};

/// Answers with the request's fields and body, and more as the path asks for.
const SERVER: &str = r"
const http2 = require('node:http2');
// Bodies that wait to be sent count: by default 10 MB of them end a session.
const server = http2.createServer({ maxSessionMemory: 1000 });
let seen = 0;
server.on('session', (session) => session.on('error', () => {}));
server.on('stream', (stream, headers) => {
  seen += 1;
  stream.on('error', () => {});
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('end', () => {
    const path = headers[':path'];
    const body = Buffer.concat(chunks);
    if (path === '/interim') stream.additionalHeaders({ ':status': 103, link: '<x>' });
    if (path === '/refuse') return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    if (path === '/echo') {
      const answer = { ':status': 200, 'x-body': String(body.length) };
      for (const [name, value] of Object.entries(headers)) {
        if (!name.startsWith(':')) answer['x-' + name] = value;
      }
      stream.respond(answer);
      return stream.end(body);
    }
    if (path === '/fields') {
      const answer = { ':status': 200 };
      for (let i = 0; i < seen % 30; i += 1) answer['f' + (seen * 7 + i) % 50] = 'v'.repeat((seen * 31 + i * 17) % 200);
      answer['x-sum'] = String(Object.values(answer).join('').length);
      stream.respond(answer);
      return stream.end();
    }
    if (path === '/trailers') {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      return stream.end('hello');
    }
    stream.respond({ ':status': 200, 'content-type': 'text/plain' });
    stream.end(Buffer.alloc(path === '/large' ? 3000000 : 12, 'x'));
    if (path === '/goaway' && seen === 1000) stream.session.goaway(0, stream.id);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
";

/// A running server; ends with its input.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(what: &str) -> Option<Self> {
        let mut command = Command::new("node");
        command.args(["-e", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut process) = command.spawn() else {
            prony_testing::skip_without("node", what);
            return None;
        };
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self { port: line.trim().parse().expect("a port"), process })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// What came of all requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    ended: u32,
    refused: u32,
    interim: u32,
    trailers: u32,
    body_bytes: u64,
}

/// A client over a blocking socket.
struct Client {
    socket: TcpStream,
    shared: Shared,
    connection: Connection,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn connect(server: &Server, request: &Request) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let shared = Shared::new(EncodedRequest::new(request, Scheme::Http).unwrap(), Limits::default());
        let connection = Connection::new(&shared);
        let mut out = Vec::new();
        connection.preface(&shared, &mut out);
        Self { socket, shared, connection, out, buffer: vec![0; 20_000] }
    }

    /// Sends `count` requests, `at_once` of them at a time; `look` sees every event.
    fn run(
        &mut self,
        count: u32,
        at_once: u16,
        mut look: impl FnMut(&Event<'_>),
    ) -> Result<Tally, Http2Error> {
        let (mut tally, mut begun) = (Tally::default(), 0);
        loop {
            while begun < count && self.connection.in_flight() < at_once {
                match self.connection.send_request(&self.shared, &mut self.out) {
                    Ok(_) => begun += 1,
                    Err(_) => break,
                }
            }
            while !self.out.is_empty() {
                self.socket.write_all(&self.out).unwrap();
                self.out.clear();
                self.connection.send_more(&self.shared, &mut self.out);
            }
            if self.connection.in_flight() == 0 && (begun == count || self.connection.is_going_away()) {
                return Ok(tally);
            }
            let length = self.socket.read(&mut self.buffer).unwrap();
            if length == 0 {
                self.connection.finish()?;
                return Ok(tally);
            }
            let mut input = &self.buffer[..length];
            loop {
                let step = self.connection.next(&mut self.shared, input, &mut self.out)?;
                input = &input[step.consumed..];
                let Some(event) = step.event else { break };
                look(&event);
                match event {
                    Event::End { end, .. } => {
                        assert_eq!(end.status, 200);
                        tally.ended += 1;
                        tally.body_bytes += end.body_bytes;
                    }
                    Event::Reset { refused, code, .. } => {
                        assert!(refused, "{code}");
                        tally.refused += 1;
                    }
                    Event::Interim { .. } => tally.interim += 1,
                    Event::Trailers { .. } => tally.trailers += 1,
                    Event::Malformed { error, .. } => return Err(error),
                    _ => {}
                }
            }
        }
    }
}

fn get(path: &str) -> Request {
    Request::get("127.0.0.1", path)
}

/// One run against a server of its own.
fn check(what: &str, request: &Request, count: u32, at_once: u16, expected: &Tally) {
    let Some(server) = Server::start(what) else { return };
    let tally = Client::connect(&server, request).run(count, at_once, |_| {});
    assert_eq!(tally.as_ref(), Ok(expected), "{what}");
}

#[test]
fn many_small_answers() {
    let expected = Tally { ended: 5000, body_bytes: 60_000, ..Tally::default() };
    check("many requests over HTTP/2", &get("/"), 5000, 10, &expected);
}

#[test]
fn large_bodies_both_ways() {
    let expected = Tally { ended: 30, body_bytes: 90_000_000, ..Tally::default() };
    check("large answers over HTTP/2", &get("/large"), 30, 10, &expected);
    let request = Request { method: "POST".to_owned(), body: vec![b'y'; 1_000_000], ..get("/echo") };
    let expected = Tally { ended: 30, body_bytes: 30_000_000, ..Tally::default() };
    check("large requests over HTTP/2", &request, 30, 10, &expected);
}

#[test]
fn interim_answers_trailers_and_refusals() {
    let once = |tally: Tally| Tally { ended: 20, ..tally };
    let body_bytes = 20 * 12;
    check(
        "103 over HTTP/2",
        &get("/interim"),
        20,
        5,
        &once(Tally { interim: 20, body_bytes, ..Tally::default() }),
    );
    let body_bytes = 20 * 5;
    check(
        "trailers over HTTP/2",
        &get("/trailers"),
        20,
        5,
        &once(Tally { trailers: 20, body_bytes, ..Tally::default() }),
    );
    let expected = Tally { refused: 20, ..Tally::default() };
    check("refused streams of HTTP/2", &get("/refuse"), 20, 5, &expected);
}

/// nghttp2 decodes what we encode, and encodes what we decode.
#[test]
fn fields_both_ways() {
    let Some(server) = Server::start("fields over HTTP/2") else { return };
    let long = "a long value ".repeat(300);
    let headers: Vec<(String, String)> = (0..40_u8)
        .map(|number| {
            let value: String = (0..number * 5).map(|at| char::from(b' ' + at % 95)).collect();
            (format!("field-{number}"), format!("v{value}v"))
        })
        .chain([("long".to_owned(), long.trim().to_owned())])
        .collect();
    let request = Request { headers: headers.clone(), ..get("/echo") };
    let mut heads = 0;
    let look = |event: &Event<'_>| {
        let Event::Head { head, .. } = event else { return };
        heads += 1;
        for (name, value) in &headers {
            let found = head.header(&format!("x-{name}")).map(String::from_utf8_lossy);
            assert_eq!(found.as_deref(), Some(value.as_str()), "{name}");
        }
    };
    let tally = Client::connect(&server, &request).run(50, 5, look);
    assert_eq!(tally, Ok(Tally { ended: 50, ..Tally::default() }));
    assert_eq!(heads, 50);
}

/// Lists that differ from each other, so that nghttp2's table is always full and evicts.
#[test]
fn a_table_that_evicts() {
    let Some(server) = Server::start("changing fields over HTTP/2") else { return };
    let look = |event: &Event<'_>| {
        let Event::Head { head, .. } = event else { return };
        let sum: usize = head
            .headers()
            .filter(|(name, _)| !matches!(*name, "x-sum" | "date"))
            .map(|(_, value)| value.len())
            .sum();
        let counted = head.header("x-sum").and_then(|value| str::from_utf8(value).ok());
        assert_eq!(counted, Some((sum + 3).to_string().as_str()), "three more for :status");
    };
    let tally = Client::connect(&server, &get("/fields")).run(2000, 10, look);
    assert_eq!(tally, Ok(Tally { ended: 2000, ..Tally::default() }));
}

#[test]
fn a_server_that_goes_away_after_1000_requests() {
    let Some(server) = Server::start("GOAWAY of HTTP/2") else { return };
    let mut done = 0;
    let mut connections = 0;
    let mut refused = 0;
    while done < 1500 {
        let mut client = Client::connect(&server, &get("/goaway"));
        let tally = client.run(1500 - done, 10, |_| {}).expect("no error");
        done += tally.ended;
        refused += tally.refused;
        connections += 1;
    }
    assert_eq!((done, connections), (1500, 2), "{refused} were refused and sent again");
}
