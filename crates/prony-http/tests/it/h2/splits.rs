//! Properties: what is reported and answered depends on the bytes only, not on how they came nor on what came before.

use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Limits, Scheme, Shared};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::peer::*;
use super::transcript::{Habits, Transcript, read};
use crate::transcript::cut;

/// Limits that a few frames can reach.
const TIGHT: Limits = Limits {
    streams: 3,
    stream_window_bytes: 65_535,
    connection_window_bytes: 65_535,
    block_bytes: 100,
    list_bytes: 300,
    fields: 5,
    body_bytes: 60,
    interim_responses: 1,
    barren_frames: 6,
};

/// Reads `bytes` in one piece, byte by byte and in the given pieces, on new connections and on one that was used: all
/// must give the same transcript, which is returned.
fn check(bytes: &[u8], cuts: &[usize], limits: Limits, body_bytes: usize, habits: Habits) -> Transcript {
    let request = Request { body: vec![7; body_bytes], ..Request::get("a", "/") };
    let mut shared = Shared::new(EncodedRequest::new(&request, Scheme::Http).unwrap(), limits);
    let mut new = Connection::new(&shared);
    let expected = read(&mut new, &mut shared, habits, [bytes]);
    let mut used = new;
    for round in 0..2 {
        let mut new = Connection::new(&shared);
        assert_eq!(read(&mut new, &mut shared, habits, bytes.chunks(1)), expected, "byte by byte");
        used.reset(&shared);
        assert_eq!(
            read(&mut used, &mut shared, habits, cut(bytes, cuts)),
            expected,
            "in pieces, round {round}"
        );
    }
    expected
}

const BLOCKS: &[&[u8]] = &[
    &[0x88],
    &[0x88, 0x40, 1, b'a', 1, b'b'],
    &[0x88, 0xbe],
    &[0x88, 0xbf, 0xbe],
    &[0x89],
    &[0x48, 3, b'1', b'0', b'3'],
    &[0x88, 0x0f, 0x0d, 1, b'5'],
    &[0x00, 1, b'a', 1, b'b'],
    &[0x20, 0x88],
    &[0x88, 0x00, 1, b'A', 0],
    &[0xff, 0xff],
    &[],
];

const SETTING_LISTS: &[&[(u16, u32)]] = &[&[], &[(3, 1)], &[(4, 0)], &[(4, 70_000)], &[(1, 0)], &[(2, 1)]];

/// A frame as a server might send it, or might not: most are allowed by themselves.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = select(&[1_u32, 3, 5, 7, 1, 3, 5, 7, 9, 11, 0, 2][..]);
    let fields = select(BLOCKS);
    let flags = select(&[END_HEADERS, END_HEADERS | END_STREAM, END_HEADERS, 0, END_STREAM][..]);
    let data_flags = select(&[0, END_STREAM, PADDED, PADDED | END_STREAM][..]);
    let small = vec(any::<u8>(), 0..30);
    prop_oneof![
        8 => (stream.clone(), flags.clone(), fields.clone())
            .prop_map(|(stream, flags, fields)| frame(HEADERS, flags, stream, fields)),
        2 => (stream.clone(), flags, fields.clone())
            .prop_map(|(stream, flags, fields)| frame(CONTINUATION, flags, stream, fields)),
        2 => (stream.clone(), fields).prop_map(|(stream, fields)| {
            [frame(HEADERS, 0, stream, fields), frame(CONTINUATION, END_HEADERS, stream, &[])].concat()
        }),
        8 => (stream.clone(), data_flags, small.clone()).prop_map(|(stream, flags, mut bytes)| {
            if flags & PADDED != 0 && let Some(padding) = bytes.first_mut() {
                *padding %= 8;
            }
            frame(DATA, flags, stream, &bytes)
        }),
        2 => (stream.clone(), select(&[0_u32, 7, 8][..]))
            .prop_map(|(stream, code)| number(RST_STREAM, stream, code)),
        2 => (stream.clone(), select(&[0_u32, 1, 20, 70_000, 0x7fff_ffff][..]))
            .prop_map(|(stream, bytes)| number(WINDOW_UPDATE, stream, bytes)),
        2 => select(SETTING_LISTS).prop_map(settings),
        1 => Just(frame(PING, 0, 0, b"12345678")),
        1 => (select(&[0_u32, 3, 5, 0x7fff_ffff][..]), small.clone())
            .prop_map(|(last, debug)| go_away(last, 0, &debug)),
        1 => (any::<u8>(), any::<u8>(), stream, small)
            .prop_map(|(kind, flags, stream, bytes)| frame(kind, flags, stream, &bytes)),
    ]
}

fn habits() -> impl Strategy<Value = Habits> {
    (0..4_u16, 0..6_u16, 0..6_u32, any::<bool>()).prop_map(|(first, more, cancels, mixes)| Habits {
        first,
        more,
        cancels,
        mixes,
    })
}

proptest! {
    #[test]
    fn frames_in_any_order(
        frames in vec(any_frame(), 0..30),
        cuts in vec(any::<usize>(), 0..12),
        habits in habits(),
        body_bytes in select(&[0_usize, 0, 10, 20_000][..]),
        is_tight in any::<bool>(),
    ) {
        let bytes = [settings(&[]), frames.concat()].concat();
        check(&bytes, &cuts, if is_tight { TIGHT } else { Limits::default() }, body_bytes, habits);
    }

    #[test]
    fn spoiled_bytes(
        frames in vec(any_frame(), 0..10),
        changes in vec((any::<usize>(), any::<u8>()), 1..4),
        cuts in vec(any::<usize>(), 0..12),
        habits in habits(),
    ) {
        let mut bytes = [settings(&[]), frames.concat()].concat();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        check(&bytes, &cuts, Limits::default(), 10, habits);
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..100), cuts in vec(any::<usize>(), 0..4), habits in habits()) {
        check(&bytes, &cuts, Limits::default(), 0, habits);
    }
}
