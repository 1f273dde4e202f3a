//! The bytes that are sent: one request, over and over.

/// One request repeated, so that several can go out in one piece.
///
/// What is to be sent on a connection is always the same endless sequence; a connection only knows its
/// position within the request and how many bytes are due.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    copies: Box<[u8]>,
    request_bytes: u32,
}

/// Copies are added up to this size, beyond which one larger piece saves nothing.
const COPIES_MAX_BYTES: usize = 64 * 1024;

impl Payload {
    /// For up to `depth` requests in a row.
    pub(crate) fn new(request: &[u8], depth: u32) -> Self {
        let request_bytes =
            u32::try_from(request.len()).expect("invariant: request bodies are bounded far below 4 GiB");
        // One more than the depth: a piece may begin in the middle of the first copy.
        let wanted = if depth == 1 { 1 } else { depth as usize + 1 };
        let copies = wanted.min((COPIES_MAX_BYTES / request.len().max(1)).max(2)).min(wanted);
        Self { copies: request.repeat(copies).into_boxed_slice(), request_bytes }
    }

    /// Bytes of one request.
    #[inline]
    pub(crate) fn request_bytes(&self) -> usize {
        self.request_bytes as usize
    }

    /// All copies: what [`Self::span`] counts in.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.copies
    }

    /// Start and length, within [`Self::bytes`], of the next piece of `unsent` bytes from `position`.
    #[inline]
    pub(crate) fn span(&self, position: u32, unsent: u64) -> (usize, usize) {
        let start = position as usize;
        let room = self.copies.len() - start;
        (start, usize::try_from(unsent).map_or(room, |unsent| unsent.min(room)))
    }

    /// The next piece of `unsent` bytes from `position`.
    #[inline]
    pub(crate) fn piece(&self, position: u32, unsent: u64) -> &[u8] {
        let (start, length) = self.span(position, unsent);
        &self.copies[start..start + length]
    }

    /// The position after `count` bytes more.
    #[inline]
    pub(crate) fn advance(&self, position: u32, count: usize) -> u32 {
        let position = position as usize + count;
        let within = if position < self.request_bytes() { position } else { position % self.request_bytes() };
        u32::try_from(within).expect("invariant: less than a request")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `requests` requests in pieces of at most `step` bytes and compares with the plain repetition.
    fn check(request: &[u8], depth: u32, requests: usize, step: usize) {
        let payload = Payload::new(request, depth);
        let (mut sent, mut position) = (Vec::new(), 0);
        let mut unsent = (request.len() * requests) as u64;
        while unsent > 0 {
            let piece = payload.piece(position, unsent);
            let count = piece.len().min(step);
            sent.extend_from_slice(&piece[..count]);
            position = payload.advance(position, count);
            unsent -= count as u64;
        }
        assert!(sent == request.repeat(requests), "depth {depth}, {requests} requests, step {step}");
    }

    #[test]
    fn any_pieces_make_the_same_sequence() {
        for step in [1, 3, 7, 1000] {
            check(b"GET / HTTP/1.1\r\n\r\n", 1, 1, step);
            check(b"GET / HTTP/1.1\r\n\r\n", 8, 5, step);
            check(b"GET / HTTP/1.1\r\n\r\n", 8, 8, step);
        }
        check(&vec![b'x'; 200_000], 1, 1, 65_536);
        check(&vec![b'x'; 200_000], 16, 16, 65_536);
    }
}
