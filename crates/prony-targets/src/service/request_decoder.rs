//! Whole requests, bodies and all, out of the pieces that a connection delivers. Bytes in, requests out: no
//! socket, no clock.
//!
//! A request that lies in one piece is handed out where it lies. Only what is half done is kept.

use super::chunks::Chunks;
use crate::head::{self, Framing, Head, Reject};

/// What one connection has half done.
#[derive(Debug, Default)]
pub(crate) struct RequestDecoder {
    /// Boxed, because most connections have none at most times.
    collecting: Option<Box<Collecting>>,
}

/// A request whose head is here and whose body is not, or only just.
#[derive(Debug)]
struct Collecting {
    head: Vec<u8>,
    body: Vec<u8>,
    left: Left,
    owes_continue: bool,
}

#[derive(Debug)]
enum Left {
    Bytes(u64),
    Chunks(Chunks),
}

/// What the bytes amount to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    Request(Head<'a>, &'a [u8]),
    /// The client waits for "100 Continue" before it sends the body. Sent at most once per request, and not at
    /// all when the body came without it.
    Continue,
    /// What was not used is the beginning of a head, or nothing.
    More,
}

impl RequestDecoder {
    /// A head is here whose body is still to come.
    pub(crate) fn is_in_body(&self) -> bool {
        self.collecting.as_ref().is_some_and(|collecting| !collecting.is_whole())
    }

    /// The memory that is taken.
    pub(crate) fn held_bytes(&self) -> usize {
        self.collecting.as_ref().map_or(0, |half| half.head.capacity() + half.body.capacity())
    }

    /// What `input` begins with, and how many bytes of it were used for that. After a rejection it is of no more
    /// use.
    pub(crate) fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<(usize, Next<'a>), Reject> {
        if self.collecting.as_ref().is_some_and(|collecting| collecting.is_whole()) {
            self.collecting = None;
        }
        if self.collecting.is_some() {
            return self.collect(input);
        }
        if input.is_empty() {
            return Ok((0, Next::More));
        }
        let Some(head) = head::parse(input)? else { return Ok((0, Next::More)) };
        let rest = &input[head.bytes..];
        let left = match head.framing {
            Framing::Length(length) => {
                if let Some(body) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
                    return Ok((head.bytes + body.len(), Next::Request(head, body)));
                }
                Left::Bytes(length)
            }
            Framing::Chunked => Left::Chunks(Chunks::default()),
        };
        let (used, owes_continue) = (head.bytes, head.expects_continue);
        let head = input[..used].to_vec();
        self.collecting = Some(Box::new(Collecting { head, body: Vec::new(), left, owes_continue }));
        let (more, next) = self.collect(rest)?;
        Ok((used + more, next))
    }

    fn collect(&mut self, input: &[u8]) -> Result<(usize, Next<'_>), Reject> {
        let collecting = self.collecting.as_mut().expect("invariant: the caller has checked");
        let used = collecting.take(input)?;
        if collecting.is_whole() {
            let head = head::parse(&collecting.head)?.expect("invariant: it was whole before");
            return Ok((used, Next::Request(head, &collecting.body)));
        }
        // Once a byte of the body is here, the client isn't waiting.
        let says_continue = std::mem::take(&mut collecting.owes_continue) && used == 0;
        Ok((used, if says_continue { Next::Continue } else { Next::More }))
    }
}

impl Collecting {
    fn take(&mut self, input: &[u8]) -> Result<usize, Reject> {
        match &mut self.left {
            Left::Bytes(left) => {
                let here = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                self.body.extend_from_slice(&input[..here]);
                *left -= here as u64;
                Ok(here)
            }
            Left::Chunks(chunks) => chunks.take(input, &mut self.body),
        }
    }

    fn is_whole(&self) -> bool {
        match &self.left {
            Left::Bytes(left) => *left == 0,
            Left::Chunks(chunks) => chunks.is_done(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pieces::{cuts, long_head, pieces, post};

    /// Method, target and body.
    type Seen = (String, String, Vec<u8>);

    /// All requests of the pieces, and how it ended.
    fn read_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, Result<(), Reject>) {
        let (mut intake, mut rest, mut requests) = (RequestDecoder::default(), Vec::new(), Vec::new());
        for piece in pieces {
            rest.extend_from_slice(piece);
            loop {
                match intake.next(&rest) {
                    Ok((used, next)) => {
                        let more = matches!(next, Next::More);
                        if let Next::Request(head, body) = next {
                            requests.push((head.verb.to_owned(), head.target.to_owned(), body.to_vec()));
                        }
                        rest.drain(..used);
                        if more {
                            break;
                        }
                    }
                    Err(reject) => return (requests, Err(reject)),
                }
            }
        }
        (requests, Ok(()))
    }

    #[test]
    fn bodies_come_by_length_and_in_chunks() {
        let input = "PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\
                     POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n\
                     GET /c HTTP/1.1\r\n\r\nGET /d HT";
        let (requests, end) = read_all([input.as_bytes()]);
        assert_eq!(end, Ok(()));
        let seen: Vec<_> =
            requests.iter().map(|(verb, target, body)| (&verb[..], &target[..], &body[..])).collect();
        assert_eq!(seen, [("PUT", "/a", &b"abc"[..]), ("POST", "/b", b"de"), ("GET", "/c", b"")]);
    }

    #[test]
    fn continue_is_sent_once_and_only_to_waiting_clients() {
        let head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        let mut intake = RequestDecoder::default();
        assert_eq!(intake.next(head).unwrap(), (head.len(), Next::Continue));
        assert_eq!(intake.next(b"").unwrap(), (0, Next::More));
        assert_eq!(intake.next(b"a").unwrap(), (1, Next::More));
        assert!(intake.is_in_body());
        assert!(matches!(intake.next(b"b").unwrap(), (1, Next::Request(_, b"ab"))));
        assert!(!intake.is_in_body());
        assert_eq!(intake.next(b"").unwrap(), (0, Next::More));
        assert_eq!(intake.held_bytes(), 0);
        assert_eq!(intake.next(&[&head[..], b"a"].concat()).unwrap(), (head.len() + 1, Next::More));
    }

    /// Requests, and now and then something that is none.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => "(GET|HEAD|POST) /[a-z]{0,5} HTTP/1\\.[01]\r\n(A: [a-z]{0,9}\r\n){0,3}\r\n",
            4 => post(),
            4 => proptest::collection::vec("[a-z]{1,20}", 0..4).prop_map(|chunks| {
                let chunk = |text: &String| format!("{:x}\r\n{text}\r\n", text.len());
                let chunks = chunks.iter().map(chunk).collect::<Vec<_>>().concat();
                format!("PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
            }),
            1 => long_head(),
            1 => "[ -~\r\n]{0,30}",
        ];
        proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_requests(
            input in stream(),
            cuts in cuts(),
        ) {
            prop_assert_eq!(read_all(pieces(&input, &cuts)), read_all([&input[..]]));
            prop_assert_eq!(read_all(input.chunks(1)), read_all([&input[..]]));
        }

        #[test]
        fn arbitrary_bytes_never_panic(input in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read_all([&input[..]]);
        }
    }
}
