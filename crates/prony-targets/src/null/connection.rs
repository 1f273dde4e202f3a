//! One connection: bytes in, answers out, nothing kept unless something is half done.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::answers::{Answers, Kind};
use crate::head::{self, Reject};
use crate::reply::rejection;
use crate::tls::Socket;

/// How much is read at once. Larger than a head may be, so a whole head always fits.
pub(super) const INPUT_BYTES: usize = 16 * 1024;
const _: () = assert!(INPUT_BYTES > head::HEAD_LIMIT_BYTES);

/// An open connection. Between requests it is these 24 bytes.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    half_done: Option<Box<HalfDone>>,
}

/// What has begun and not ended.
#[derive(Debug, Default)]
struct HalfDone {
    /// Bytes read and not understood yet: part of a head, or requests behind a blocked answer.
    input: Vec<u8>,
    /// Bytes of a body still to come, and the answer it will get.
    body_left: u64,
    after_body: Option<Kind>,
    /// Answers being sent: all of one kind, `owed_bytes` of them left.
    owed: Option<Kind>,
    owed_bytes: u64,
    /// A client that never reads or never finishes is cut off then, ns.
    expires_ns: u64,
}

/// What becomes of a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnResult {
    Open,
    /// It ended the way it should.
    Done,
    /// The client left in the middle, or broke a rule.
    Broken,
    Rejected,
}

/// What the turns of all connections share.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) answers: &'a Answers,
    pub(super) input: &'a mut [u8; INPUT_BYTES],
    /// Requests answered in this turn.
    pub(super) answered: u64,
    /// When a connection left half done in this turn expires.
    pub(super) expires_ns: u64,
}

/// Why the reading of a turn ends.
enum Pause {
    /// All that came is understood.
    NeedInput,
    /// The client doesn't take its answers.
    Blocked,
    End(TurnResult),
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, half_done: None }
    }

    /// Between requests, with nothing owed.
    pub(super) fn is_idle(&self) -> bool {
        self.half_done.is_none()
    }

    pub(super) fn expires_ns(&self) -> Option<u64> {
        self.half_done.as_ref().map(|half| half.expires_ns)
    }

    /// Reads and answers all that can be now. `until_empty`: read until the kernel reports that there is no more
    /// (the peer has closed its side, and edge-triggered polling won't report it again); otherwise a read that
    /// does not fill the buffer is taken as the last one, which saves a system call per request.
    pub(super) fn drive(&mut self, turn: &mut Turn<'_>, until_empty: bool) -> TurnResult {
        let mut half = self.half_done.take().map_or_else(HalfDone::default, |boxed| *boxed);
        let before = (turn.answered, half.owed_bytes, half.body_left, half.expires_ns);
        let mut filled = half.input.len();
        turn.input[..filled].copy_from_slice(&half.input);
        half.input.clear();
        let result = self.read_and_answer(turn, &mut half, &mut filled, until_empty);
        if result == TurnResult::Open && half.is_under_way(filled) {
            half.input.extend_from_slice(&turn.input[..filled]);
            // A byte of a head now and then is no progress; answers and bodies that move are.
            if before.3 == 0 || before != (turn.answered, half.owed_bytes, half.body_left, before.3) {
                half.expires_ns = turn.expires_ns;
            }
            self.half_done = Some(Box::new(half));
        }
        result
    }

    fn read_and_answer(
        &mut self,
        turn: &mut Turn<'_>,
        half: &mut HalfDone,
        filled: &mut usize,
        until_empty: bool,
    ) -> TurnResult {
        loop {
            match self.answer(turn, half, filled) {
                Pause::NeedInput => {}
                Pause::Blocked => return TurnResult::Open,
                Pause::End(result) => return result,
            }
            let room = INPUT_BYTES - *filled;
            match self.socket.recv(&mut turn.input[*filled..]) {
                Ok(0) if half.is_under_way(*filled) => return TurnResult::Broken,
                Ok(0) => return TurnResult::Done,
                Ok(count) => {
                    *filled += count;
                    if count < room && !until_empty {
                        return match self.answer(turn, half, filled) {
                            Pause::End(result) => result,
                            Pause::NeedInput | Pause::Blocked => TurnResult::Open,
                        };
                    }
                }
                Err(Errno::AGAIN) => return TurnResult::Open,
                Err(Errno::INTR) => {}
                Err(_) => return TurnResult::Broken,
            }
        }
    }

    /// Answers the whole requests in the first `filled` bytes of the input and moves what is left to its start.
    fn answer(&mut self, turn: &mut Turn<'_>, half: &mut HalfDone, filled: &mut usize) -> Pause {
        // What had been blocked goes first: it may be the last answer.
        let unblocked = self.settle(turn, half, Pause::NeedInput);
        if !matches!(unblocked, Pause::NeedInput) {
            return unblocked;
        }
        let mut start = 0;
        let pause = loop {
            if half.body_left > 0 {
                let here = half.body_left.min((*filled - start) as u64);
                start += usize::try_from(here).expect("invariant: at most what is in the buffer");
                half.body_left -= here;
                if half.body_left > 0 {
                    break self.settle(turn, half, Pause::NeedInput);
                }
            }
            if let Some(kind) = half.after_body {
                if half.owed.is_some_and(|owed| owed != kind)
                    && let blocked @ (Pause::Blocked | Pause::End(_)) =
                        self.settle(turn, half, Pause::NeedInput)
                {
                    break blocked;
                }
                half.after_body = None;
                half.owed = Some(kind);
                half.owed_bytes += turn.answers.one_bytes(kind);
                turn.answered += 1;
                if kind.closes() {
                    break self.settle(turn, half, Pause::End(TurnResult::Done));
                }
            }
            if start == *filled {
                break self.settle(turn, half, Pause::NeedInput);
            }
            let head = head::parse(&turn.input[start..*filled]);
            match head.and_then(|head| head.map(|head| Ok((head.known_length()?, head))).transpose()) {
                Ok(Some((body_bytes, head))) => {
                    start += head.bytes;
                    half.body_left = body_bytes;
                    half.after_body = Some(Kind::of(&head));
                }
                Ok(None) => break self.settle(turn, half, Pause::NeedInput),
                Err(reject) => {
                    let _ = self.settle(turn, half, Pause::NeedInput);
                    break self.reject(reject);
                }
            }
        };
        turn.input.copy_within(start..*filled, 0);
        *filled -= start;
        pause
    }

    /// Sends what is owed; `then` if all went out.
    fn settle(&mut self, turn: &Turn<'_>, half: &mut HalfDone, then: Pause) -> Pause {
        while let Some(kind) = half.owed {
            match self.socket.send(turn.answers.piece(kind, half.owed_bytes)) {
                Ok(count) => half.owed_bytes -= count as u64,
                Err(Errno::AGAIN) => return Pause::Blocked,
                Err(Errno::INTR) => {}
                Err(_) => return Pause::End(TurnResult::Broken),
            }
            if half.owed_bytes == 0 {
                half.owed = None;
                // A last answer that had been blocked: the connection ends behind it.
                if kind.closes() {
                    return Pause::End(TurnResult::Done);
                }
            }
        }
        then
    }

    /// Best effort: who sends nonsense may miss the reply when the kernel resets the connection.
    fn reject(&mut self, reject: Reject) -> Pause {
        let _ = self.socket.send(&rejection(reject));
        Pause::End(TurnResult::Rejected)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HalfDone {
    fn is_under_way(&self, filled: usize) -> bool {
        filled > 0 || self.after_body.is_some() || self.owed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::*;
    use crate::pieces::{cuts, pieces, post};

    /// What comes back when the input is sent piece by piece, and how it ends.
    fn exchange<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, u64, TurnResult) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let mut connection = Connection::new(Socket::new(server.into(), None));
        let answers = Answers::new(12);
        let mut input = [0; INPUT_BYTES];
        let (mut output, mut answered, mut result) = (Vec::new(), 0, TurnResult::Open);
        for piece in pieces {
            client.write_all(piece).unwrap();
            let mut turn = Turn { answers: &answers, input: &mut input, answered: 0, expires_ns: 1 };
            result = connection.drive(&mut turn, false);
            answered += turn.answered;
            // It ends with an error: nothing more is there, but more could come.
            let _ = client.read_to_end(&mut output);
            if result != TurnResult::Open {
                break;
            }
        }
        (output, answered, result)
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => "(GET|HEAD) /[a-z]{0,5} HTTP/1\\.1\r\n(A: [a-z]{0,9}\r\n){0,3}\r\n",
            2 => Just("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned()),
            4 => post(),
            1 => Just("GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned()),
            1 => "[ -~\r\n]{0,30}",
        ];
        proptest::collection::vec(part, 1..8).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_answers(
            input in stream(),
            cuts in cuts(),
        ) {
            prop_assume!(!input.is_empty());
            let pieces = pieces(&input, &cuts).into_iter().filter(|piece| !piece.is_empty());
            prop_assert_eq!(exchange(pieces), exchange([&input[..]]));
        }
    }
}
