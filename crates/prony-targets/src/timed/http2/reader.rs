//! What a client sends, out of the pieces that a connection delivers. Bytes in, events out: no socket, no clock.

use super::{PAYLOAD_BYTES_MAX, STREAMS_MAX};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Something that the server has to react to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A request has come completely, body and all.
    Request {
        stream: u32,
    },
    /// So many bytes of windows are used up: of the connection, and of the stream where more may come on it.
    Data {
        stream: Option<u32>,
        bytes: u32,
    },
    /// The client has given the stream up.
    Reset {
        stream: u32,
    },
    /// The client's settings, with its window for each stream where it names one.
    Settings {
        window_bytes: Option<u32>,
    },
    Ping([u8; 8]),
    /// A window was opened; stream 0 is the connection.
    Room {
        stream: u32,
        bytes: u32,
    },
}

/// The client broke a rule that ends the connection: the error code of RFC 9113 section 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Protocol = 1,
    FlowControl = 3,
    FrameSize = 6,
}

/// Reads the frames of one connection. It holds at most one frame and what one read brought; bodies are dropped.
#[derive(Debug, Default)]
pub(super) struct Reader {
    buffer: Vec<u8>,
    /// The preface has come.
    begun: bool,
    /// The highest stream so far.
    last_stream: u32,
    /// Requests whose body is under way.
    open: Vec<u32>,
    /// The header block that goes on in the next frame, and whether its request ends with it.
    block: Option<(u32, bool)>,
    /// A request that ended with the frame before.
    ended: Option<u32>,
}

impl Reader {
    /// Takes what a read brought. Call [`Reader::next`] until it is `None` before the next piece.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The highest stream so far.
    pub(super) fn last_stream(&self) -> u32 {
        self.last_stream
    }

    /// Requests whose body is under way.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// The next event, if there is one. After a fault the reader is of no more use.
    pub(super) fn next(&mut self) -> Result<Option<Event>, Fault> {
        if let Some(stream) = self.ended.take() {
            return Ok(Some(Event::Request { stream }));
        }
        if !self.begun {
            let here = self.buffer.len().min(PREFACE.len());
            if self.buffer[..here] != PREFACE[..here] {
                return Err(Fault::Protocol);
            }
            if here < PREFACE.len() {
                return Ok(None);
            }
            self.begun = true;
            self.buffer.drain(..PREFACE.len());
        }
        while let Some(head) = self.buffer.first_chunk::<HEAD_BYTES>().copied() {
            let bytes = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            if bytes > PAYLOAD_BYTES_MAX {
                return Err(Fault::FrameSize);
            }
            let end = HEAD_BYTES + bytes;
            if self.buffer.len() < end {
                break;
            }
            let frame: Vec<u8> = self.buffer.drain(..end).collect();
            let stream = u32_at(&frame, 5) & 0x7fff_ffff;
            if let Some(event) = self.frame(head[3], head[4], stream, &frame[HEAD_BYTES..])? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Result<Option<Event>, Fault> {
        const DATA: u8 = 0;
        const HEADERS: u8 = 1;
        const PRIORITY: u8 = 2;
        const RST_STREAM: u8 = 3;
        const SETTINGS: u8 = 4;
        const PUSH_PROMISE: u8 = 5;
        const PING: u8 = 6;
        const GOAWAY: u8 = 7;
        const WINDOW_UPDATE: u8 = 8;
        const CONTINUATION: u8 = 9;
        if self.block.is_some() != (kind == CONTINUATION) {
            return Err(Fault::Protocol);
        }
        let is_of_stream = match kind {
            DATA | HEADERS | PRIORITY | RST_STREAM | CONTINUATION => true,
            SETTINGS | PING | GOAWAY => false,
            _ => stream > 0,
        };
        if is_of_stream != (stream > 0) {
            return Err(Fault::Protocol);
        }
        match kind {
            HEADERS => {
                self.begin(stream)?;
                self.block = Some((stream, flags & END_STREAM != 0));
                self.block_goes_on(stream, flags)
            }
            CONTINUATION => self.block_goes_on(stream, flags),
            DATA => self.data(stream, flags, payload),
            RST_STREAM | WINDOW_UPDATE if payload.len() != 4 => Err(Fault::FrameSize),
            RST_STREAM if stream > self.last_stream => Err(Fault::Protocol),
            RST_STREAM => {
                self.open.retain(|open| *open != stream);
                Ok(Some(Event::Reset { stream }))
            }
            SETTINGS => settings(flags, payload),
            PING => match <[u8; 8]>::try_from(payload) {
                Ok(_) if flags & ACK != 0 => Ok(None),
                Ok(payload) => Ok(Some(Event::Ping(payload))),
                Err(_) => Err(Fault::FrameSize),
            },
            WINDOW_UPDATE => match u32_at(payload, 0) & 0x7fff_ffff {
                0 => Err(Fault::Protocol),
                bytes => Ok(Some(Event::Room { stream, bytes })),
            },
            PUSH_PROMISE => Err(Fault::Protocol),
            // GOAWAY changes nothing for a server that pushes nothing; PRIORITY and unknown frames are skipped.
            _ => Ok(None),
        }
    }

    /// A header block begins: a new request, or the trailers of one.
    fn begin(&mut self, stream: u32) -> Result<(), Fault> {
        if self.open.contains(&stream) {
            return Ok(());
        }
        if stream.is_multiple_of(2) || stream <= self.last_stream || self.open.len() >= STREAMS_MAX {
            return Err(Fault::Protocol);
        }
        self.last_stream = stream;
        self.open.push(stream);
        Ok(())
    }

    fn block_goes_on(&mut self, stream: u32, flags: u8) -> Result<Option<Event>, Fault> {
        let Some((begun, ends)) = self.block.filter(|(begun, _)| *begun == stream) else {
            return Err(Fault::Protocol);
        };
        if flags & END_HEADERS == 0 {
            return Ok(None);
        }
        self.block = None;
        if !ends {
            return Ok(None);
        }
        self.open.retain(|open| *open != begun);
        Ok(Some(Event::Request { stream: begun }))
    }

    fn data(&mut self, stream: u32, flags: u8, payload: &[u8]) -> Result<Option<Event>, Fault> {
        if stream > self.last_stream {
            return Err(Fault::Protocol);
        }
        let is_open = self.open.contains(&stream);
        let ends = flags & END_STREAM != 0;
        if is_open && ends {
            self.open.retain(|open| *open != stream);
            self.ended = Some(stream);
        }
        let bytes = u32::try_from(payload.len()).expect("invariant: PAYLOAD_BYTES_MAX");
        if bytes == 0 {
            return Ok(self.ended.take().map(|stream| Event::Request { stream }));
        }
        Ok(Some(Event::Data { stream: (is_open && !ends).then_some(stream), bytes }))
    }
}

fn settings(flags: u8, payload: &[u8]) -> Result<Option<Event>, Fault> {
    if flags & ACK != 0 {
        return Ok(None);
    }
    if !payload.len().is_multiple_of(6) {
        return Err(Fault::FrameSize);
    }
    let values = payload.chunks_exact(6).map(|one| (u16::from_be_bytes([one[0], one[1]]), u32_at(one, 2)));
    // The last one of several counts.
    let window_bytes = values.rev().find(|(id, _)| *id == INITIAL_WINDOW_SIZE).map(|(_, value)| value);
    if window_bytes.is_some_and(|bytes| i64::from(bytes) > super::WINDOW_BYTES_MAX) {
        return Err(Fault::FlowControl);
    }
    Ok(Some(Event::Settings { window_bytes }))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pieces::{cuts, pieces};

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// All events of the pieces, and how it ended.
    fn read_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Result<(), Fault>) {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            loop {
                match reader.next() {
                    Ok(Some(event)) => events.push(event),
                    Ok(None) => break,
                    Err(fault) => return (events, Err(fault)),
                }
            }
        }
        (events, Ok(()))
    }

    fn check(frames: &[Vec<u8>], expected: &[Event], end: Result<(), Fault>) {
        let input = [PREFACE, &frames.concat()].concat();
        assert_eq!(read_all([&input[..]]), (expected.to_vec(), end), "{frames:x?}");
        assert_eq!(read_all(input.chunks(1)), (expected.to_vec(), end), "{frames:x?}");
    }

    #[test]
    fn a_request_ends_with_its_head_its_body_or_its_trailers() {
        let request = |stream| Event::Request { stream };
        check(&[frame(1, 5, 1, b"h"), frame(1, 5, 3, b"h")], &[request(1), request(3)], Ok(()));
        check(&[frame(1, 1, 1, b"h"), frame(9, 0, 1, b"h"), frame(9, 4, 1, b"h")], &[request(1)], Ok(()));
        let used = |stream, bytes| Event::Data { stream, bytes };
        check(
            &[frame(1, 4, 1, b"h"), frame(0, 0, 1, b"abc"), frame(0, 1, 1, b"d")],
            &[used(Some(1), 3), used(None, 1), request(1)],
            Ok(()),
        );
        check(&[frame(1, 4, 1, b"h"), frame(0, 1, 1, b"")], &[request(1)], Ok(()));
        check(&[frame(1, 4, 1, b"h"), frame(1, 5, 1, b"trailers")], &[request(1)], Ok(()));
        check(
            &[frame(1, 4, 1, b"h"), frame(3, 0, 1, &[0, 0, 0, 8]), frame(0, 1, 1, b"late")],
            &[Event::Reset { stream: 1 }, used(None, 4)],
            Ok(()),
        );
    }

    #[test]
    fn what_is_about_the_connection() {
        check(
            &[frame(4, 0, 0, &[0, 4, 0, 1, 0, 0]), frame(4, 1, 0, b""), frame(6, 0, 0, b"12345678")],
            &[Event::Settings { window_bytes: Some(65_536) }, Event::Ping(*b"12345678")],
            Ok(()),
        );
        check(
            &[frame(8, 0, 0, &[0, 0, 0, 9]), frame(200, 7, 5, b"?"), frame(7, 0, 0, &[0; 8])],
            &[Event::Room { stream: 0, bytes: 9 }],
            Ok(()),
        );
    }

    #[test]
    fn broken_rules_end_the_connection() {
        use Fault::{FlowControl, FrameSize, Protocol};
        check(&[frame(1, 5, 2, b"h")], &[], Err(Protocol));
        check(&[frame(1, 5, 0, b"h")], &[], Err(Protocol));
        check(&[frame(0, 1, 1, b"before its head")], &[], Err(Protocol));
        check(&[frame(1, 1, 1, b"h"), frame(6, 0, 0, &[0; 8])], &[], Err(Protocol));
        check(&[frame(9, 4, 1, b"")], &[], Err(Protocol));
        check(&[frame(3, 0, 7, &[0; 4])], &[], Err(Protocol));
        check(&[frame(6, 0, 0, b"short")], &[], Err(FrameSize));
        check(&[frame(4, 0, 0, b"four")], &[], Err(FrameSize));
        check(&[frame(4, 0, 0, &[0, 4, 255, 0, 0, 0])], &[], Err(FlowControl));
        check(&[frame(8, 0, 0, &[0; 4])], &[], Err(Protocol));
        check(&[vec![0, 64, 1, 0, 0, 0, 0, 0, 1]], &[], Err(FrameSize));
        assert_eq!(read_all([&b"GET / HTTP/1.1"[..]]), (vec![], Err(Protocol)));
        let streams = (0..=1024).map(|number| frame(1, 4, 2 * number + 1, b"h")).collect::<Vec<_>>();
        check(&streams, &[], Err(Protocol));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            frames in proptest::collection::vec(
                (0_u8..12, 0_u8..8, 0_u32..8, proptest::collection::vec(any::<u8>(), 0..12)),
                0..12,
            ),
            cuts in cuts(),
        ) {
            let frames: Vec<u8> =
                frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
            let input = [PREFACE, &frames].concat();
            prop_assert_eq!(read_all(pieces(&input, &cuts)), read_all([&input[..]]));
        }

        #[test]
        fn arbitrary_bytes_never_panic(input in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read_all([PREFACE, &input]);
        }
    }
}
