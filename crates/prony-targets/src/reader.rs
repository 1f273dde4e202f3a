//! Whole requests out of the pieces a connection delivers. Bytes in, requests out: no socket, no clock.

use crate::head::{self, Method, Reject};

/// A request that has come completely, body and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) target: String,
    pub(crate) method: Method,
    /// The client would like to send another on this connection.
    pub(crate) keep_alive: bool,
    /// The id that the client gave it: the field X-Request-Id, else `id` in the query.
    pub(crate) id: Option<u64>,
}

/// What the bytes so far amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Request(Request),
    /// The client waits for "100 Continue" before it sends the body. Sent at most once per request, and not at
    /// all when the body came without it.
    Continue,
}

/// Reads the requests of one connection. It holds at most one head (8 KiB) and what one read brought; bodies
/// are counted and dropped.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// The request whose body is under way, and how much of that is still to come.
    pending: Option<Request>,
    body_left: u64,
    owes_continue: bool,
}

impl Reader {
    /// Takes what a read brought. Call [`Reader::next`] until it is `None` before the next piece.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// No request has begun.
    pub(crate) fn is_idle(&self) -> bool {
        self.buffer.is_empty() && self.pending.is_none()
    }

    /// The next whole request, if there is one. After a rejection the reader is of no more use.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, Reject> {
        if self.pending.is_none() {
            let Some(head) = head::parse(&self.buffer)? else { return Ok(None) };
            self.body_left = head.known_length()?;
            self.owes_continue = head.expects_continue;
            self.pending = Some(Request {
                target: head.target.to_owned(),
                method: head.method,
                keep_alive: head.keep_alive,
                id: head.request_id.or_else(|| id_of_query(head.target)),
            });
            let bytes = head.bytes;
            self.drop_front(bytes);
        }
        let here =
            usize::try_from(self.body_left).map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
        self.drop_front(here);
        self.body_left -= here as u64;
        if self.body_left == 0 {
            return Ok(self.pending.take().map(Event::Request));
        }
        // Once a byte of the body is here, the client isn't waiting.
        let says_continue = std::mem::take(&mut self.owes_continue) && here == 0;
        Ok(says_continue.then_some(Event::Continue))
    }

    fn drop_front(&mut self, bytes: usize) {
        if bytes == self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.drain(..bytes);
        }
    }
}

/// The number after `id=` in the query.
fn id_of_query(target: &str) -> Option<u64> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| head::number(pair.strip_prefix("id=")?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pieces::{cuts, long_head, pieces, post};

    /// All requests of the pieces, and how it ended.
    fn read_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Request>, Result<(), Reject>) {
        let mut reader = Reader::default();
        let mut requests = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            loop {
                match reader.next() {
                    Ok(Some(Event::Request(request))) => requests.push(request),
                    Ok(Some(Event::Continue)) => {}
                    Ok(None) => break,
                    Err(reject) => return (requests, Err(reject)),
                }
            }
        }
        (requests, Ok(()))
    }

    fn check(input: &str, targets: &[&str], ids: &[Option<u64>]) {
        let (requests, end) = read_all([input.as_bytes()]);
        assert_eq!(end, Ok(()), "{input:?}");
        assert_eq!(requests.iter().map(|request| &request.target).collect::<Vec<_>>(), targets, "{input:?}");
        assert_eq!(requests.iter().map(|request| request.id).collect::<Vec<_>>(), ids, "{input:?}");
    }

    #[test]
    fn requests_follow_one_another() {
        check("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HT", &["/a", "/b"], &[None, None]);
        check(
            "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET GET /b HTTP/1.1\r\n\r\n",
            &["/a", "/b"],
            &[None; 2],
        );
    }

    #[test]
    fn ids_come_from_field_or_query() {
        check("GET /?id=7 HTTP/1.1\r\n\r\n", &["/?id=7"], &[Some(7)]);
        check("GET /?a=1&id=7&b HTTP/1.1\r\n\r\n", &["/?a=1&id=7&b"], &[Some(7)]);
        check("GET /?id=x&kid=3 HTTP/1.1\r\n\r\n", &["/?id=x&kid=3"], &[None]);
        check("GET /?id=7 HTTP/1.1\r\nX-Request-Id: 9\r\n\r\n", &["/?id=7"], &[Some(9)]);
    }

    #[test]
    fn continue_is_sent_once_and_only_to_waiting_clients() {
        let head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        let mut reader = Reader::default();
        reader.feed(head);
        assert_eq!(reader.next(), Ok(Some(Event::Continue)));
        assert_eq!(reader.next(), Ok(None));
        reader.feed(b"a");
        assert_eq!(reader.next(), Ok(None));
        reader.feed(b"b");
        assert!(matches!(reader.next(), Ok(Some(Event::Request(_)))));
        assert!(reader.is_idle());

        reader.feed(head);
        reader.feed(b"a");
        assert_eq!(reader.next(), Ok(None));
    }

    /// Requests, and now and then something that is none.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => "(GET|HEAD|POST) /[a-z]{0,5}(\\?id=[0-9]{1,3})? HTTP/1\\.[01]\r\n(A: [a-z]{0,9}\r\n){0,3}\r\n",
            4 => post(),
            1 => long_head(),
            1 => Just("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned()),
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
