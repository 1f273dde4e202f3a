//! SETTINGS: what we send and what the server says (RFC 9113 section 6.5).

use crate::h2::error::Http2Error;
use crate::h2::frame::{FrameKind, write_head};
use crate::h2::hpack::table::TABLE_BYTES;
use crate::h2::limits::{Limits, WINDOW_BYTES_MAX};
use crate::h2::windows::WINDOW_BYTES;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Bytes of one setting: its identifier and its value.
const SETTING_BYTES: usize = 6;

/// What the server has sent so far. Its largest frame is not kept: ours are never longer than the shortest that it may
/// allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerSettings {
    /// Requests at once.
    pub streams: u32,
    /// The window of a new stream.
    pub initial_window: u32,
    /// The smallest table of ours that it has ever allowed.
    pub table_bytes: usize,
}

impl PeerSettings {
    /// What holds before the first SETTINGS frame.
    pub(crate) fn new() -> Self {
        Self { streams: u32::MAX, initial_window: WINDOW_BYTES, table_bytes: TABLE_BYTES }
    }

    /// Applies the payload of a SETTINGS frame, whose length is right. Unknown settings are ignored.
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<(), Http2Error> {
        let (settings, _) = payload.as_chunks::<SETTING_BYTES>();
        for [id_high, id_low, value @ ..] in settings {
            let value = u32::from_be_bytes(*value);
            match u16::from_be_bytes([*id_high, *id_low]) {
                HEADER_TABLE_SIZE => {
                    let bytes = usize::try_from(value).unwrap_or(usize::MAX);
                    self.table_bytes = self.table_bytes.min(bytes);
                }
                ENABLE_PUSH if value != 0 => return Err(Http2Error::EnablePush),
                MAX_CONCURRENT_STREAMS => self.streams = value,
                INITIAL_WINDOW_SIZE if value > WINDOW_BYTES_MAX => return Err(Http2Error::InitialWindow),
                INITIAL_WINDOW_SIZE => self.initial_window = value,
                MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(Http2Error::MaxFrameSize);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a SETTINGS payload can have this length.
pub(crate) fn is_length(bytes: usize) -> bool {
    bytes.is_multiple_of(SETTING_BYTES)
}

/// Appends our SETTINGS frame.
pub(crate) fn write(out: &mut Vec<u8>, limits: &Limits) {
    let settings = [
        (ENABLE_PUSH, 0),
        (INITIAL_WINDOW_SIZE, limits.stream_window_bytes),
        (MAX_HEADER_LIST_SIZE, limits.list_bytes),
    ];
    write_head(out, settings.len() * SETTING_BYTES, FrameKind::SETTINGS, 0, 0);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &[(u16, u32)], expected: Result<PeerSettings, Http2Error>) {
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend_from_slice(&id.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        let mut found = PeerSettings::new();
        assert_eq!(found.apply(&payload).map(|()| found), expected, "{settings:?}");
    }

    #[test]
    fn settings() {
        let none = PeerSettings::new();
        check(&[], Ok(none));
        check(&[(0xabcd, 7), (MAX_HEADER_LIST_SIZE, 0), (ENABLE_PUSH, 0)], Ok(none));
        check(&[(MAX_CONCURRENT_STREAMS, 0)], Ok(PeerSettings { streams: 0, ..none }));
        let twice = [(INITIAL_WINDOW_SIZE, 5), (INITIAL_WINDOW_SIZE, 0x7fff_ffff)];
        check(&twice, Ok(PeerSettings { initial_window: 0x7fff_ffff, ..none }));
        let lowered = [(HEADER_TABLE_SIZE, 65_536), (HEADER_TABLE_SIZE, 9), (HEADER_TABLE_SIZE, 4096)];
        check(&lowered, Ok(PeerSettings { table_bytes: 9, ..none }));
        check(&[(MAX_FRAME_SIZE, 16_384), (MAX_FRAME_SIZE, 16_777_215)], Ok(none));
        check(&[(ENABLE_PUSH, 1)], Err(Http2Error::EnablePush));
        check(&[(ENABLE_PUSH, 2)], Err(Http2Error::EnablePush));
        check(&[(INITIAL_WINDOW_SIZE, 0x8000_0000)], Err(Http2Error::InitialWindow));
        check(&[(MAX_FRAME_SIZE, 16_383)], Err(Http2Error::MaxFrameSize));
        check(&[(MAX_FRAME_SIZE, 16_777_216)], Err(Http2Error::MaxFrameSize));
    }
}
