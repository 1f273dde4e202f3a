//! Finds one value in a text of JSON by its pointer (RFC 6901), without building a tree and without recursion.

/// A pointer, as the names and indices on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer(Box<[Box<str>]>);

impl Pointer {
    /// The pointer that `text` is: empty, or beginning with a slash.
    pub(super) fn new(text: &str) -> Self {
        let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~").into_boxed_str();
        Self(text.split('/').skip(1).map(unescaped).collect())
    }

    /// The text of the value that it points at, if there is one.
    pub(super) fn find<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let mut at = space(text, 0);
        for token in &self.0 {
            at = match text.get(at)? {
                b'{' => member(text, at, token)?,
                b'[' => item(text, at, token)?,
                _ => return None,
            };
        }
        let end = value_end(text, at)?;
        // What is in something is followed by its end; otherwise the text was cut off, perhaps within a number.
        let is_whole = self.0.is_empty() || end < text.len();
        is_whole.then(|| &text[at..end])
    }
}

/// Where the value of the member `name` begins, in the object at `at`.
fn member(text: &[u8], at: usize, name: &str) -> Option<usize> {
    let mut at = space(text, at + 1);
    while text.get(at) == Some(&b'"') {
        let end = string_end(text, at)?;
        let colon = space(text, end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let value = space(text, colon + 1);
        if is_text(&text[at + 1..end - 1], name) {
            return Some(value);
        }
        at = next(text, value)?;
    }
    None
}

/// Where the item number `index` begins, in the list at `at`.
fn item(text: &[u8], at: usize, index: &str) -> Option<usize> {
    let has_zero_before = index.len() > 1 && index.starts_with('0');
    let mut left: usize = index.parse().ok().filter(|_| !has_zero_before && !index.starts_with('+'))?;
    let mut at = space(text, at + 1);
    while text.get(at).is_some_and(|byte| *byte != b']') {
        if left == 0 {
            return Some(at);
        }
        left -= 1;
        at = next(text, at)?;
    }
    None
}

/// Where the entry behind the value at `at` begins.
fn next(text: &[u8], at: usize) -> Option<usize> {
    let end = space(text, value_end(text, at)?);
    (text.get(end) == Some(&b',')).then(|| space(text, end + 1))
}

/// Where the value at `at` ends.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at),
        b'{' | b'[' => {
            let (mut depth, mut at) = (0_usize, at);
            loop {
                match text.get(at)? {
                    b'"' => at = string_end(text, at)? - 1,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        b',' | b':' | b'}' | b']' => None,
        _ => {
            let rest = &text[at..];
            let length = rest.iter().position(|byte| b",]} \t\r\n".contains(byte)).unwrap_or(rest.len());
            Some(at + length)
        }
    }
}

/// Behind the quote that closes the string at `at`.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Behind white space.
fn space(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !b" \t\r\n".contains(byte)).unwrap_or(rest.len())
}

/// Whether the inside of a string means `expected`.
fn is_text(inside: &[u8], expected: &str) -> bool {
    if !inside.contains(&b'\\') {
        return inside == expected.as_bytes();
    }
    let mut decoded = Vec::new();
    decode(inside, &mut decoded);
    decoded == expected.as_bytes()
}

/// Adds what `value` means to `out`: a string without its quotes and escapes, anything else as it is written.
pub(super) fn plain(value: &[u8], out: &mut Vec<u8>) {
    match value {
        [b'"', inside @ .., b'"'] => decode(inside, out),
        other => out.extend_from_slice(other),
    }
}

/// Adds the inside of a string without its escapes; what is none stays as it is.
fn decode(inside: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(&byte) = inside.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&escaped) = inside.get(at) else { return };
        at += 1;
        match escaped {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let unit = hex(inside, at);
                at += 4;
                let mut code = unit.unwrap_or(0xfffd);
                if (0xd800..0xdc00).contains(&code)
                    && inside.get(at..at + 2) == Some(b"\\u")
                    && let Some(low @ 0xdc00..0xe000) = hex(inside, at + 2)
                {
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    at += 6;
                }
                let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
}

fn hex(inside: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(inside.get(at..at + 4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#" {"a": [1, {"b": "x\"y"}, [ ], -2.5e3], "c/d": null, "m~n": true, "é": "\u00e9\ud83d\ude00\n", "k\u0065y": {"": 7}} "#;

    fn check(pointer: &str, expected: Option<&str>) {
        let found = Pointer::new(pointer).find(TEXT.as_bytes()).map(|value| {
            let mut out = Vec::new();
            plain(value, &mut out);
            String::from_utf8(out).expect("UTF-8")
        });
        assert_eq!(found.as_deref(), expected, "{pointer}");
    }

    #[test]
    fn pointers_as_in_rfc_6901() {
        check("", Some(TEXT.trim()));
        check("/a/0", Some("1"));
        check("/a/1/b", Some("x\"y"));
        check("/a/2", Some("[ ]"));
        check("/a/3", Some("-2.5e3"));
        check("/a/4", None);
        check("/a/00", None);
        check("/a/-", None);
        check("/c~1d", Some("null"));
        check("/m~0n", Some("true"));
        check("/é", Some("é😀\n"));
        check("/key/", Some("7"));
        check("/none", None);
        check("/a/0/x", None);
    }

    #[test]
    fn what_is_cut_off_has_no_value() {
        for length in 0..TEXT.trim_end().len() - 1 {
            let Some(text) = TEXT.get(..length) else { continue };
            for pointer in ["", "/key/", "/none"] {
                assert_eq!(Pointer::new(pointer).find(text.as_bytes()), None, "{pointer} in {text}");
            }
        }
        let deep = "[".repeat(1_000_000);
        assert_eq!(Pointer::new("/0").find(deep.as_bytes()), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:0-9a-c\\\\u ]{0,40}", pointer in "(/[a-c0-2]?){0,3}") {
            if let Some(value) = Pointer::new(&pointer).find(text.as_bytes()) {
                plain(value, &mut Vec::new());
            }
        }
    }
}
