//! A response body for anyone who wants to keep it, in bounds.

/// The body of one response, up to a size.
///
/// It is kept in memory until the response is complete: a file written meanwhile would be part of the measured
/// transfer.
#[derive(Debug)]
pub struct KeptBody {
    limit_bytes: u64,
    bytes: Vec<u8>,
    seen_bytes: u64,
    complete: bool,
}

/// Why there is no body to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyNotKept {
    /// The response has no end that was seen, or did not come at all.
    #[error("the response is not complete")]
    Incomplete,
    /// Longer than the limit.
    #[error("the body has {body_bytes} bytes and at most {limit_bytes} are kept")]
    TooLong {
        /// Its length.
        body_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
}

impl KeptBody {
    /// Room for a body of up to `limit_bytes`; memory is taken as the body comes.
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, bytes: Vec::new(), seen_bytes: 0, complete: false }
    }

    /// The whole body.
    ///
    /// # Errors
    /// If it is not complete, or was too long to be kept.
    pub fn whole(self) -> Result<Vec<u8>, BodyNotKept> {
        let Self { limit_bytes, bytes, seen_bytes, complete } = self;
        match complete {
            false => Err(BodyNotKept::Incomplete),
            true if seen_bytes > limit_bytes => {
                Err(BodyNotKept::TooLong { body_bytes: seen_bytes, limit_bytes })
            }
            true => Ok(bytes),
        }
    }

    /// The next bytes of it.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.seen_bytes += bytes.len() as u64;
        if self.seen_bytes <= self.limit_bytes {
            self.bytes.extend_from_slice(bytes);
        } else {
            // What is kept so far is of no use any more.
            self.bytes = Vec::new();
        }
    }

    /// Nothing more will come.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], complete: bool, expected: Result<&[u8], BodyNotKept>) {
        let mut body = KeptBody::new(5);
        for piece in pieces {
            body.add(piece);
        }
        if complete {
            body.complete();
        }
        assert_eq!(body.whole(), expected.map(<[u8]>::to_vec), "{pieces:?}");
    }

    #[test]
    fn whole_or_not_at_all() {
        check(&[], true, Ok(b""));
        check(&[b"he", b"llo"], true, Ok(b"hello"));
        check(&[b"he", b"llo"], false, Err(BodyNotKept::Incomplete));
        check(&[], false, Err(BodyNotKept::Incomplete));
        let too_long = BodyNotKept::TooLong { body_bytes: 7, limit_bytes: 5 };
        check(&[b"hello", b"!", b"!"], true, Err(too_long));
    }
}
