//! What lets a client keep an answer: its tag, as Express makes it, and whether the client has it already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha1::{Digest as _, Sha1};

/// The weak tag of a body: its length in hexadecimal and its SHA-1 in base64.
pub(super) fn tag(body: &[u8]) -> String {
    format!("W/\"{:x}-{}\"", body.len(), STANDARD_NO_PAD.encode(Sha1::digest(body)))
}

/// Whether a field If-None-Match names the tag, or any (RFC 9110 section 13.1.2; weak tags compare as strong ones).
pub(super) fn is_named(tag: &str, if_none_match: &str) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let wanted = opaque(tag);
    let mut listed = if_none_match.split(',').map(str::trim);
    if_none_match.trim() == "*" || listed.any(|named| opaque(named) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_express() {
        let check = |body: &str, expected: &str| assert_eq!(tag(body.as_bytes()), expected);
        // Of the published write-up, and of Express 4.22.
        check("Hello World!", "W/\"c-Lve95gjOVATpfV8EL5X4nxwjKHE\"");
        check("GET,HEAD", "W/\"8-ZRAf8oNBS3Bjb/SU2GYZCmbtmXg\"");
        check("", "W/\"0-2jmj7l5rSw0yVb/vlWAYkK/YBwk\"");
    }

    #[test]
    fn a_tag_is_found_in_a_list() {
        let check = |list: &str, expected: bool| assert_eq!(is_named("W/\"c-a\"", list), expected, "{list}");
        check("W/\"c-a\"", true);
        check("\"x\" , \"c-a\"", true);
        check(" * ", true);
        check("\"x\", *", false);
        check("c-a", false);
        check("", false);
    }
}
