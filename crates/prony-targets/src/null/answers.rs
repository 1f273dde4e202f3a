//! The answers, built once.

use crate::head::{Head, Method, Version};

/// Copies of a short answer stand one after another up to about this length, so that the answers to a batch of
/// pipelined requests leave in one system call. 16 KiB of requests (the read buffer) rarely ask for more.
const COPIES_BYTES: usize = 32 * 1024;

/// Which of the answers a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    body: bool,
    connection: Connection,
}

/// The Connection header of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// HTTP/1.1 keeps it open without a word.
    Keep,
    /// HTTP/1.0 (ab -k) needs the word.
    KeepWithHeader,
    Close,
}

impl Kind {
    pub(super) fn of(head: &Head<'_>) -> Self {
        let connection = match (head.keep_alive, head.version) {
            (false, _) => Connection::Close,
            (true, Version::Http11) => Connection::Keep,
            (true, Version::Http10) => Connection::KeepWithHeader,
        };
        Self { body: head.method == Method::Other, connection }
    }

    pub(super) fn closes(self) -> bool {
        self.connection == Connection::Close
    }

    fn index(self) -> usize {
        let column = match self.connection {
            Connection::Keep => 0,
            Connection::KeepWithHeader => 1,
            Connection::Close => 2,
        };
        usize::from(self.body) * 3 + column
    }
}

/// Every answer there is.
#[derive(Debug)]
pub(super) struct Answers {
    variants: [Copies; 6],
}

/// One answer, as often as fits.
#[derive(Debug)]
struct Copies {
    bytes: Vec<u8>,
    one_bytes: usize,
}

impl Answers {
    pub(super) fn new(body_bytes: usize) -> Self {
        let body: Vec<u8> = b"Hello World!".iter().copied().cycle().take(body_bytes).collect();
        let variants = std::array::from_fn(|index| {
            let header = ["", "Connection: keep-alive\r\n", "Connection: close\r\n"][index % 3];
            let mut one = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n{header}\r\n"
            )
            .into_bytes();
            if index >= 3 {
                one.extend_from_slice(&body);
            }
            Copies { one_bytes: one.len(), bytes: one.repeat((COPIES_BYTES / one.len()).max(1)) }
        });
        Self { variants }
    }

    /// The length of one answer.
    pub(super) fn one_bytes(&self, kind: Kind) -> u64 {
        self.variants[kind.index()].one_bytes as u64
    }

    /// The next bytes to send when `left_bytes` of some answers are left: as many as stand in one piece.
    pub(super) fn piece(&self, kind: Kind, left_bytes: u64) -> &[u8] {
        let Copies { bytes, one_bytes } = &self.variants[kind.index()];
        let one = *one_bytes as u64;
        // How far into an answer the last piece got, counted from the end of all.
        let gone =
            usize::try_from((one - left_bytes % one) % one).expect("invariant: shorter than one answer");
        let rest = &bytes[gone..];
        let fits = usize::try_from(left_bytes).map_or(rest.len(), |left| left.min(rest.len()));
        &rest[..fits]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `count` answers in pieces of at most `step` bytes and compares with what should have come.
    fn check(body_bytes: usize, count: u64, step: usize) {
        let answers = Answers::new(body_bytes);
        let kind = Kind { body: true, connection: Connection::Keep };
        let one = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n{}",
            "Hello World!".chars().cycle().take(body_bytes).collect::<String>()
        );
        let mut left_bytes = answers.one_bytes(kind) * count;
        let mut sent = Vec::new();
        while left_bytes > 0 {
            let piece = answers.piece(kind, left_bytes);
            let piece = &piece[..piece.len().min(step)];
            sent.extend_from_slice(piece);
            left_bytes -= piece.len() as u64;
        }
        assert_eq!(String::from_utf8(sent).unwrap(), one.repeat(usize::try_from(count).unwrap()));
    }

    #[test]
    fn any_pieces_make_up_whole_answers() {
        check(12, 1, usize::MAX);
        check(12, 1000, usize::MAX);
        check(12, 1000, 17);
        check(0, 3, 1);
        check(100_000, 3, 4096);
    }
}
