//! Input cut into pieces at will, as a network may cut it: for the tests of all that reads requests.

use proptest::prelude::*;
use proptest::sample::Index;

/// Where to cut.
pub(crate) fn cuts() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 0..20)
}

/// `input` from cut to cut, whole if joined again. Some pieces may be empty.
pub(crate) fn pieces<'a>(input: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
    cuts.extend([0, input.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect()
}

/// A request with a body of up to 40 bytes.
pub(crate) fn post() -> impl Strategy<Value = String> {
    (0_usize..40).prop_map(|length| {
        format!("POST /b HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))
    })
}

/// A request whose head is about as long as a head may be.
pub(crate) fn long_head() -> impl Strategy<Value = String> {
    (8000_usize..8300).prop_map(|length| format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(length)))
}
