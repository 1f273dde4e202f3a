//! Properties: what is reported depends on the bytes only, not on how they came nor on what came before.

use prony_http::{HeadCache, Limits, RequestKind};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::streams::{spoiled, stream};
use crate::transcript::{Transcript, Way, cut, read};

/// Reads `bytes` in one piece, byte by byte and in the given pieces, with new and used caches, with and
/// without the fast way: all must give the same transcript, which is returned.
fn check(bytes: &[u8], cuts: &[usize], kind: RequestKind, limits: Limits) -> Transcript {
    let cache = || HeadCache::new(kind, limits);
    let expected = read([bytes], &mut cache(), Way::Next);
    let mut used = cache();
    for way in [Way::Next, Way::WholeFirst] {
        let pieces = || cut(bytes, cuts);
        assert_eq!(read(pieces(), &mut cache(), way), expected, "{way:?} in pieces");
        assert_eq!(read(bytes.chunks(1), &mut cache(), way), expected, "{way:?} byte by byte");
        for round in 0..2 {
            assert_eq!(read([bytes], &mut used, way), expected, "{way:?} in one piece, round {round}");
            assert_eq!(read(pieces(), &mut used, way), expected, "{way:?} in pieces, round {round}");
        }
    }
    expected
}

/// Limits that a small answer can reach.
fn tight() -> Limits {
    Limits {
        head_bytes: 100,
        headers: 3,
        body_bytes: 40,
        interim_responses: 1,
        chunk_line_bytes: 20,
        trailer_bytes: 10,
    }
}

proptest! {
    #[test]
    fn valid_streams_are_read_as_meant((bytes, expected) in stream(), cuts in vec(any::<usize>(), 0..12)) {
        prop_assert_eq!(check(&bytes, &cuts, RequestKind::Normal, Limits::default()), expected);
    }

    #[test]
    fn valid_streams_meet_limits_at_the_same_byte((bytes, _) in stream(), cuts in vec(any::<usize>(), 0..12)) {
        check(&bytes, &cuts, RequestKind::Normal, tight());
    }

    #[test]
    fn spoiled_streams_fail_the_same_way(
        bytes in spoiled(),
        cuts in vec(any::<usize>(), 0..12),
        to_head in any::<bool>(),
        is_tight in any::<bool>(),
    ) {
        let kind = if to_head { RequestKind::Head } else { RequestKind::Normal };
        check(&bytes, &cuts, kind, if is_tight { tight() } else { Limits::default() });
    }
}
