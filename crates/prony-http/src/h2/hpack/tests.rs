//! The examples of RFC 7541 appendix C, and blocks that no decoder may accept.

use super::decoder::decode;
use super::fields::{FieldList, ListLimits};
use super::table::Table;
use crate::h2::error::{HpackError, Http2Error};

const LIMITS: ListLimits = ListLimits { bytes: 1000, fields: 10 };

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

/// A block, its fields, and the size of the table after it.
type Block<'a> = (&'a str, &'a [(&'a str, &'a str)], usize);

/// The blocks of one connection.
fn check(size_max: usize, blocks: &[Block<'_>]) {
    let mut table = Table::new();
    table.resize(size_max);
    for (hex, expected, size) in blocks {
        let mut list = FieldList::default();
        decode(&mut table, &bytes(hex), LIMITS, &mut list).unwrap();
        let found: Vec<_> = list.fields().collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        assert_eq!(found, expected, "{hex}");
        assert_eq!(table.size(), *size, "{hex}");
    }
}

#[test]
fn appendix_c_2() {
    check(
        4096,
        &[(
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            &[("custom-key", "custom-header")],
            55,
        )],
    );
    check(4096, &[("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")], 0)]);
    check(4096, &[("1008 7061 7373 776f 7264 0673 6563 7265 74", &[("password", "secret")], 0)]);
    check(4096, &[("82", &[(":method", "GET")], 0)]);
}

const REQUESTS: [&[(&str, &str)]; 3] = [
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")],
    &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
        ("cache-control", "no-cache"),
    ],
    &[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ],
];

#[test]
fn appendix_c_3_and_c_4() {
    check(
        4096,
        &[
            ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUESTS[0], 57),
            ("8286 84be 5808 6e6f 2d63 6163 6865", REQUESTS[1], 110),
            ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUESTS[2], 164),
        ],
    );
    check(
        4096,
        &[
            ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUESTS[0], 57),
            ("8286 84be 5886 a8eb 1064 9cbf", REQUESTS[1], 110),
            ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUESTS[2], 164),
        ],
    );
}

const RESPONSES: [&[(&str, &str)]; 3] = [
    &[
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "307"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "200"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
        ("location", "https://www.example.com"),
        ("content-encoding", "gzip"),
        ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
    ],
];

#[test]
fn appendix_c_5_and_c_6_with_eviction() {
    check(
        256,
        &[
            (
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 \
                 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 \
                 6c65 2e63 6f6d",
                RESPONSES[0],
                222,
            ),
            ("4803 3330 37c1 c0bf", RESPONSES[1], 222),
            (
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
                 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 \
                 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e \
                 3d31",
                RESPONSES[2],
                215,
            ),
        ],
    );
    check(
        256,
        &[
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 \
                 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                RESPONSES[0],
                222,
            ),
            ("4883 640e ffc1 c0bf", RESPONSES[1], 222),
            (
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
                 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f \
                 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                RESPONSES[2],
                215,
            ),
        ],
    );
}

fn refused(block: &[u8], expected: impl Into<Http2Error>) {
    let mut list = FieldList::default();
    let found = decode(&mut Table::new(), block, LIMITS, &mut list);
    assert_eq!(found, Err(expected.into()), "{block:x?}");
}

#[test]
fn blocks_that_are_cut_or_name_nothing() {
    let whole = bytes("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572");
    for cut in 1..whole.len() {
        refused(&whole[..cut], HpackError::Truncated);
    }
    refused(&[0x80], HpackError::Index);
    refused(&[0xbe], HpackError::Index);
    refused(&[0x7f, 0x00, 0x00], HpackError::Index);
    refused(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], HpackError::Integer);
    refused(&[0x00, 0x81, 0xff, 0x00], HpackError::Huffman);
}

#[test]
fn sizes_of_the_table() {
    refused(&[0x3f, 0xe2, 0x1f], HpackError::TableSize);
    refused(&[0x88, 0x20], HpackError::LateTableSize);
    let mut list = FieldList::default();
    let effect = decode(&mut Table::new(), &[0x20, 0x3f, 0xe1, 0x1f, 0x88], LIMITS, &mut list).unwrap();
    assert!(effect.changes_table && !effect.uses_table);
}

#[test]
fn a_small_block_cannot_become_a_long_list() {
    // A long value in the table, then its index again and again.
    let mut bomb = vec![0x41, 0x7f, 0x81, 0x03];
    bomb.extend_from_slice(&[b'x'; 512]);
    bomb.extend_from_slice(&[0xbe; 5000]);
    refused(&bomb, Http2Error::ListTooLong { limit_bytes: 1000 });
    refused(&[0x88; 11], Http2Error::TooManyFields { limit: 10 });
    // 32 bytes are counted for each field.
    let mut list = FieldList::default();
    let found = decode(&mut Table::new(), &[0x88; 100], ListLimits { bytes: 1000, fields: 1000 }, &mut list);
    assert_eq!(found, Err(Http2Error::ListTooLong { limit_bytes: 1000 }));
}
