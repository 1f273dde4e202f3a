//! One connection: requests in, replies and events out, nothing kept unless something is half done.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::request_decoder::{Next, RequestDecoder};
use super::{Options, Owed, Request, Service, Stream, Then, Ticket};
use crate::clock::{SECOND_NS, monotonic_ns};
use crate::head::{HEAD_LIMIT_BYTES, Head, Reject};
use crate::reply::{CONTINUE, rejection};
use crate::tls::Socket;

/// How much is read at once. Larger than a head may be, so a whole head always fits.
pub(super) const INPUT_BYTES: usize = 16 * 1024;
const _: () = assert!(INPUT_BYTES > HEAD_LIMIT_BYTES);
/// Replies to pipelined requests leave together, up to about this length.
const OUTPUT_BYTES: usize = 64 * 1024;
/// How long a connection that was served may stay without another request.
const IDLE_LIMIT_NS: u64 = 60 * SECOND_NS;
/// How long a body may take: 1 MiB in that time are 17 KiB a second.
const BODY_LIMIT_NS: u64 = 60 * SECOND_NS;
/// How long the kernel may have no room, because the client takes nothing.
const SEND_LIMIT_NS: u64 = 10 * SECOND_NS;
/// How long what a rejected client still sends is thrown away.
const LINGER_LIMIT_NS: u64 = 2 * SECOND_NS;
/// How long a stream may be silent. Proxies and browsers give up after 30 s and more.
const HEARTBEAT_NS: u64 = 15 * SECOND_NS;

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection<S> {
    socket: Socket,
    number: u64,
    intake: RequestDecoder,
    /// Read and not understood yet: part of a head, or requests behind a reply that is not made or not taken.
    rest: Vec<u8>,
    /// What the kernel had no room for.
    unsent: Vec<u8>,
    /// Bytes the kernel has taken, ever.
    sent_bytes: u64,
    phase: Phase<S>,
    /// The client has closed its side.
    pub(super) hung_up: bool,
    /// When it last began to wait for what it waits for.
    since_ns: u64,
}

/// What the next step is, once all is sent.
#[derive(Debug)]
enum Phase<S> {
    /// Requests are read and answered.
    Reading,
    /// Another thread makes the reply.
    Waiting(Owed),
    Streaming(S),
    /// The connection ends. Behind a rejection what the client still sends is thrown away first, because closing
    /// the socket on unread bytes would reset the connection, and the client might lose the reply.
    Ending {
        linger: bool,
    },
    Lingering,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Head,
    Body,
    Reply,
    Events,
    Writable,
    Linger,
}

/// What becomes of a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnResult {
    Open,
    /// It ended the way it should.
    Done,
    /// The client left in the middle, or took nothing for too long.
    Broken,
}

/// What the turns of all connections share.
#[derive(Debug)]
pub(super) struct Turn<'a, S> {
    pub(super) service: &'a mut S,
    pub(super) options: Options,
    /// Where replies are made; empty between two turns.
    pub(super) out: &'a mut Vec<u8>,
    pub(super) slot: usize,
    pub(super) now_ns: u64,
    pub(super) stopping: bool,
    /// Too much is half done: nothing more is begun.
    pub(super) overloaded: bool,
    /// What the turn came to.
    pub(super) tally: Tally,
}

/// Counts of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) answered: u64,
    pub(super) rejected: u64,
    /// Left for later.
    pub(super) deferred: u64,
}

/// What sending came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    All,
    Blocked,
    Failed,
}

impl<S: Stream> Connection<S> {
    pub(super) fn new(socket: Socket, number: u64, since_ns: u64) -> Self {
        Self {
            socket,
            number,
            intake: RequestDecoder::default(),
            rest: Vec::new(),
            unsent: Vec::new(),
            sent_bytes: 0,
            phase: Phase::Reading,
            hung_up: false,
            since_ns,
        }
    }

    pub(super) fn is(&self, ticket: Ticket) -> bool {
        self.number == ticket.number
    }

    /// The kernel had no room for all that was to be sent.
    pub(super) fn waits_for_room(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The memory that is taken by what is half done.
    pub(super) fn held_bytes(&self) -> usize {
        self.rest.capacity() + self.unsent.capacity() + self.intake.held_bytes()
    }

    /// Does all that can be done now.
    pub(super) fn drive<V>(&mut self, input: &mut [u8; INPUT_BYTES], turn: &mut Turn<'_, V>) -> TurnResult
    where
        V: Service<Stream = S>,
    {
        let before = (self.stage(), self.sent_bytes);
        let result = self.steps(input, turn);
        // A byte of a head now and then is no progress.
        if before != (self.stage(), self.sent_bytes) {
            self.since_ns = turn.now_ns;
        }
        result
    }

    /// The reply that another thread has made possible, and all that can be done then.
    pub(super) fn conclude<V>(
        &mut self,
        outcome: V::Outcome,
        input: &mut [u8; INPUT_BYTES],
        turn: &mut Turn<'_, V>,
    ) -> TurnResult
    where
        V: Service<Stream = S>,
    {
        let Phase::Waiting(owed) = self.phase else { return TurnResult::Open };
        self.phase = if owed.close { Phase::Ending { linger: false } } else { Phase::Reading };
        turn.service.conclude(outcome, owed, turn.out);
        turn.tally.answered += 1;
        self.since_ns = turn.now_ns;
        if self.flush(turn.out) == Sent::Failed { TurnResult::Broken } else { self.drive(input, turn) }
    }

    /// Once a second: what waiting too long comes to.
    pub(super) fn check_timeout<V>(
        &mut self,
        input: &mut [u8; INPUT_BYTES],
        turn: &mut Turn<'_, V>,
    ) -> TurnResult
    where
        V: Service<Stream = S>,
    {
        let head_limit_ns = u64::try_from(turn.options.head_timeout.as_nanos()).unwrap_or(u64::MAX);
        let stage = self.stage();
        let limit_ns = match stage {
            Stage::Idle if self.sent_bytes > 0 => IDLE_LIMIT_NS,
            Stage::Idle | Stage::Head => head_limit_ns,
            Stage::Body => BODY_LIMIT_NS,
            Stage::Writable => SEND_LIMIT_NS,
            Stage::Linger => LINGER_LIMIT_NS,
            Stage::Events => HEARTBEAT_NS,
            Stage::Reply => u64::MAX,
        };
        if turn.now_ns.saturating_sub(self.since_ns) < limit_ns {
            return TurnResult::Open;
        }
        self.since_ns = turn.now_ns;
        match stage {
            Stage::Idle | Stage::Linger | Stage::Reply => return TurnResult::Done,
            Stage::Writable => return TurnResult::Broken,
            Stage::Head | Stage::Body => self.reject(Reject::TooSlow, turn),
            Stage::Events => {
                if let Phase::Streaming(stream) = &self.phase {
                    turn.out.extend_from_slice(stream.heartbeat());
                }
            }
        }
        if self.flush(turn.out) == Sent::Failed { TurnResult::Broken } else { self.drive(input, turn) }
    }

    fn stage(&self) -> Stage {
        match &self.phase {
            _ if !self.unsent.is_empty() => Stage::Writable,
            Phase::Reading if self.intake.is_in_body() => Stage::Body,
            Phase::Reading if !self.rest.is_empty() => Stage::Head,
            Phase::Reading => Stage::Idle,
            Phase::Waiting(_) => Stage::Reply,
            Phase::Streaming(_) => Stage::Events,
            Phase::Ending { .. } => Stage::Writable,
            Phase::Lingering => Stage::Linger,
        }
    }

    fn steps<V>(&mut self, input: &mut [u8; INPUT_BYTES], turn: &mut Turn<'_, V>) -> TurnResult
    where
        V: Service<Stream = S>,
    {
        loop {
            match self.send_rest() {
                Sent::All => {}
                Sent::Blocked => return TurnResult::Open,
                Sent::Failed => return TurnResult::Broken,
            }
            let result = match &mut self.phase {
                Phase::Reading => self.read_and_answer(input, turn),
                Phase::Waiting(_) if self.hung_up && turn.options.leave_with_client => {
                    return TurnResult::Broken;
                }
                Phase::Waiting(_) => return TurnResult::Open,
                Phase::Streaming(_) => self.stream(input, turn),
                Phase::Ending { linger: false } => return TurnResult::Done,
                Phase::Ending { linger: true } => {
                    self.socket.finish_sending();
                    self.phase = Phase::Lingering;
                    None
                }
                Phase::Lingering => return self.discard(input),
            };
            if let Some(result) = result {
                return result;
            }
        }
    }

    /// Reads until nothing is left, or something else comes first (`None`).
    fn read_and_answer<V>(
        &mut self,
        input: &mut [u8; INPUT_BYTES],
        turn: &mut Turn<'_, V>,
    ) -> Option<TurnResult>
    where
        V: Service<Stream = S>,
    {
        let mut filled = self.rest.len();
        input[..filled].copy_from_slice(&self.rest);
        self.rest = Vec::new();
        let mut read_ns = turn.now_ns;
        let mut emptied = false;
        loop {
            let used = self.answer(&input[..filled], read_ns, turn);
            let is_full = turn.out.len() >= OUTPUT_BYTES;
            input.copy_within(used..filled, 0);
            filled -= used;
            let sent = self.flush(turn.out);
            if sent == Sent::Failed {
                return Some(TurnResult::Broken);
            }
            if sent == Sent::Blocked || !matches!(self.phase, Phase::Reading) {
                self.rest.extend_from_slice(&input[..filled]);
                return if sent == Sent::Blocked { Some(TurnResult::Open) } else { None };
            }
            if is_full {
                continue;
            }
            let is_midway = filled > 0 || self.intake.is_in_body();
            if emptied {
                self.rest.extend_from_slice(&input[..filled]);
                return Some(if turn.stopping && !is_midway { TurnResult::Done } else { TurnResult::Open });
            }
            let room = INPUT_BYTES - filled;
            match self.socket.recv(&mut input[filled..]) {
                Ok(0) => return Some(if is_midway { TurnResult::Broken } else { TurnResult::Done }),
                Ok(count) => {
                    filled += count;
                    read_ns = monotonic_ns();
                    // A read that does not fill the buffer is the last one, which saves a system call per request;
                    // but not if the client's end is behind it, which edge-triggered polling won't report again.
                    emptied = count < room && !self.hung_up && !turn.stopping;
                }
                Err(Errno::AGAIN) => emptied = true,
                Err(Errno::INTR) => {}
                Err(_) => return Some(TurnResult::Broken),
            }
        }
    }

    /// Answers the whole requests in `input`, as far as there is room for the replies: how many bytes of it were
    /// used.
    fn answer<V>(&mut self, input: &[u8], read_ns: u64, turn: &mut Turn<'_, V>) -> usize
    where
        V: Service<Stream = S>,
    {
        let mut used = 0;
        while matches!(self.phase, Phase::Reading) && turn.out.len() < OUTPUT_BYTES {
            if turn.overloaded && used < input.len() {
                self.reject(Reject::Overloaded, turn);
                return input.len();
            }
            match self.intake.next(&input[used..]) {
                Ok((bytes, next)) => {
                    used += bytes;
                    match next {
                        Next::Request(head, body) => {
                            let from = Ticket { slot: turn.slot, number: self.number };
                            self.phase = turn.serve(&head, body, from, read_ns);
                        }
                        Next::Continue => turn.out.extend_from_slice(CONTINUE),
                        Next::More => break,
                    }
                }
                Err(reject) => {
                    self.reject(reject, turn);
                    return input.len();
                }
            }
        }
        used
    }

    fn reject<V>(&mut self, reject: Reject, turn: &mut Turn<'_, V>) {
        turn.tally.rejected += 1;
        turn.out.extend_from_slice(&rejection(reject));
        self.phase = Phase::Ending { linger: true };
        self.intake = RequestDecoder::default();
        self.rest = Vec::new();
    }

    /// Sends what events there are; what the client sends meanwhile is thrown away.
    fn stream<V>(&mut self, input: &mut [u8; INPUT_BYTES], turn: &mut Turn<'_, V>) -> Option<TurnResult> {
        self.rest = Vec::new();
        if self.discard(input) == TurnResult::Done {
            return Some(TurnResult::Done);
        }
        let Phase::Streaming(stream) = &mut self.phase else { return None };
        let goes_on = stream.pull(turn.out) && !turn.stopping;
        if !goes_on {
            self.phase = Phase::Ending { linger: false };
        }
        match self.flush(turn.out) {
            Sent::Failed => Some(TurnResult::Broken),
            Sent::All if !goes_on => None,
            Sent::All | Sent::Blocked => Some(TurnResult::Open),
        }
    }

    /// Throws away what has come; done when the client is.
    fn discard(&mut self, input: &mut [u8; INPUT_BYTES]) -> TurnResult {
        loop {
            match self.socket.recv(&mut input[..]) {
                Ok(0) => return TurnResult::Done,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return TurnResult::Open,
                Err(_) => return TurnResult::Done,
            }
        }
    }

    /// Sends `out` behind what is unsent, and keeps what the kernel has no room for.
    fn flush(&mut self, out: &mut Vec<u8>) -> Sent {
        if !self.unsent.is_empty() {
            self.unsent.append(out);
            return self.send_rest();
        }
        let (taken, sent) = send_all(&mut self.socket, out);
        self.sent_bytes += taken as u64;
        if sent == Sent::Blocked {
            self.unsent = out[taken..].to_vec();
        }
        out.clear();
        sent
    }

    fn send_rest(&mut self) -> Sent {
        if self.unsent.is_empty() {
            return Sent::All;
        }
        let (taken, sent) = send_all(&mut self.socket, &self.unsent);
        self.sent_bytes += taken as u64;
        if sent == Sent::Blocked {
            self.unsent.drain(..taken);
        } else {
            self.unsent = Vec::new();
        }
        sent
    }
}

impl<S> AsFd for Connection<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<V: Service> Turn<'_, V> {
    /// Has a request answered; what its connection does next.
    fn serve(&mut self, head: &Head<'_>, body: &[u8], from: Ticket, read_ns: u64) -> Phase<V::Stream> {
        let close = !(head.keep_alive && self.options.keep_alive) || self.stopping;
        let owed = Owed { method: head.method, close, read_ns };
        let Head { verb, target, wants_events, if_none_match, .. } = *head;
        let request = Request { verb, target, wants_events, if_none_match, body, from, owed };
        let then = self.service.answer(&request, self.out);
        if matches!(then, Then::Later) {
            self.tally.deferred += 1;
            return Phase::Waiting(owed);
        }
        self.tally.answered += 1;
        match then {
            Then::Stream(stream) => Phase::Streaming(stream),
            _ if close => Phase::Ending { linger: false },
            _ => Phase::Reading,
        }
    }
}

/// How much the kernel took.
fn send_all(socket: &mut Socket, bytes: &[u8]) -> (usize, Sent) {
    let mut taken = 0;
    while taken < bytes.len() {
        match socket.send(&bytes[taken..]) {
            Ok(count) => taken += count,
            Err(Errno::AGAIN) => return (taken, Sent::Blocked),
            Err(Errno::INTR) => {}
            Err(_) => return (taken, Sent::Failed),
        }
    }
    (taken, Sent::All)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    /// Answers 1 MiB to a GET, ticks after an OPTIONS, and leaves the rest for later.
    #[derive(Debug)]
    struct Example;

    #[derive(Debug)]
    struct Ticks;

    impl Stream for Ticks {
        fn pull(&mut self, _out: &mut Vec<u8>) -> bool {
            true
        }

        fn heartbeat(&self) -> &'static [u8] {
            b"tick"
        }
    }

    impl Service for Example {
        type Outcome = &'static str;
        type Stream = Ticks;

        fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Ticks> {
            match request.verb {
                "GET" => request.owed.reply("200 OK", &vec![b'x'; 1024 * 1024]).write(out),
                "OPTIONS" => return Then::Stream(Ticks),
                _ => return Then::Later,
            }
            Then::Next
        }

        fn conclude(&mut self, outcome: &'static str, _owed: Owed, out: &mut Vec<u8>) {
            out.extend_from_slice(outcome.as_bytes());
        }
    }

    struct Ends {
        client: UnixStream,
        connection: Connection<Ticks>,
    }

    impl Ends {
        fn new() -> Self {
            let (client, server) = UnixStream::pair().unwrap();
            client.set_nonblocking(true).unwrap();
            server.set_nonblocking(true).unwrap();
            Self { client, connection: Connection::new(Socket::new(server.into(), None), 0, 0) }
        }

        fn turn(
            &mut self,
            now_ns: u64,
            overloaded: bool,
            act: impl FnOnce(&mut Connection<Ticks>, &mut [u8; INPUT_BYTES], &mut Turn<'_, Example>) -> TurnResult,
        ) -> TurnResult {
            let options =
                Options { keep_alive: true, head_timeout: Duration::from_secs(10), leave_with_client: false };
            let (service, out, tally) = (&mut Example, &mut Vec::new(), Tally::default());
            let mut turn =
                Turn { service, options, out, slot: 0, now_ns, stopping: false, overloaded, tally };
            act(&mut self.connection, &mut [0; INPUT_BYTES], &mut turn)
        }

        /// All that has come back.
        fn received(&mut self) -> String {
            let mut bytes = Vec::new();
            // It ends with an error: nothing more is there, but more could come.
            let _ = self.client.read_to_end(&mut bytes);
            String::from_utf8(bytes).unwrap()
        }
    }

    /// Sends `input` at 1 s, and checks the timeout just before and just when `limit_ns` are over.
    fn check(input: &str, limit_ns: u64, expected: TurnResult, reply: &str) {
        let mut ends = Ends::new();
        ends.client.write_all(input.as_bytes()).unwrap();
        assert_eq!(ends.turn(SECOND_NS, false, Connection::drive), TurnResult::Open, "{input}");
        for (now_ns, expected) in [(limit_ns - 1, TurnResult::Open), (limit_ns, expected)] {
            let result = ends.turn(SECOND_NS + now_ns, false, Connection::check_timeout);
            assert_eq!(result, expected, "{input} after {now_ns} ns");
        }
        assert!(ends.received().contains(reply), "{input}");
    }

    #[test]
    fn nothing_waits_for_ever() {
        let head_limit_ns = 10 * SECOND_NS;
        check("GET / HTT", head_limit_ns, TurnResult::Open, "HTTP/1.1 408 ");
        check(
            "PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
            BODY_LIMIT_NS,
            TurnResult::Open,
            "HTTP/1.1 408 ",
        );
        check("GET / HTTP/1.1\r\n\r\n", SEND_LIMIT_NS, TurnResult::Broken, "HTTP/1.1 200 OK");
        check("nonsense\r\n\r\n", LINGER_LIMIT_NS, TurnResult::Done, "HTTP/1.1 400 ");
        check("OPTIONS / HTTP/1.1\r\n\r\n", HEARTBEAT_NS, TurnResult::Open, "tick");
        let mut silent = Ends::new();
        assert_eq!(silent.turn(head_limit_ns, false, Connection::check_timeout), TurnResult::Done);
    }

    #[test]
    fn a_late_answer_keeps_its_place_among_the_requests() {
        let mut ends = Ends::new();
        ends.client.write_all(b"PUT /1 HTTP/1.1\r\n\r\nPUT /2 HTTP/1.1\r\n\r\nnonsense\r\n\r\n").unwrap();
        assert_eq!(ends.turn(0, false, Connection::drive), TurnResult::Open);
        assert_eq!(ends.received(), "");
        for outcome in ["first", "second"] {
            let result =
                ends.turn(0, false, |connection, input, turn| connection.conclude(outcome, input, turn));
            assert_eq!(result, TurnResult::Open);
            assert!(ends.received().starts_with(outcome));
        }
        let result = ends.turn(0, false, |connection, input, turn| connection.conclude("third", input, turn));
        assert_eq!((result, ends.received().as_str()), (TurnResult::Open, ""), "nobody waits for it");
    }

    #[test]
    fn nothing_is_begun_when_too_much_is_half_done() {
        let mut ends = Ends::new();
        assert_eq!(
            ends.turn(0, true, Connection::drive),
            TurnResult::Open,
            "who sends nothing is left alone"
        );
        ends.client.write_all(b"PUT / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(ends.turn(0, true, Connection::drive), TurnResult::Open);
        assert!(ends.received().starts_with("HTTP/1.1 503 "));
    }

    #[test]
    fn what_is_half_done_is_counted_and_let_go() {
        let mut ends = Ends::new();
        ends.client.write_all(b"PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc").unwrap();
        ends.turn(0, false, Connection::drive);
        assert!(ends.connection.held_bytes() > 3);
        ends.client.write_all(b"defghi").unwrap();
        ends.turn(0, false, Connection::drive);
        ends.turn(0, false, |connection, input, turn| connection.conclude("done", input, turn));
        assert_eq!((ends.received().as_str(), ends.connection.held_bytes()), ("done", 0));
    }
}
