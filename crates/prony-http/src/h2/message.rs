//! What a list of fields means: the rules for messages (RFC 9113 section 8).

use crate::framing::content_length;
use crate::h2::error::Http2Error;
use crate::h2::hpack::fields::Fields;
use crate::request::RequestKind;
use crate::syntax::is_token;

/// Where in a response a list of fields stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Before the body: an interim or the final head.
    Head,
    /// Behind the body.
    Trailers,
}

/// What a valid list of fields means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// An interim head.
    Interim { status: u16 },
    /// A final head.
    Final {
        status: u16,
        /// The announced length of the body, if there may be one.
        length: Option<u64>,
        /// There is no body, whatever the length says.
        is_bodiless: bool,
    },
    /// Trailers.
    Trailers,
}

/// Fields that describe a connection of HTTP/1.1 (section 8.2.2). TE may stand in requests alone.
const CONNECTION_FIELDS: [&[u8]; 6] =
    [b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding", b"upgrade"];

/// Checks `fields`, and reads what a client needs of them.
pub(crate) fn read(fields: Fields<'_>, part: Part, kind: RequestKind) -> Result<Meaning, Http2Error> {
    let mut status = None;
    let mut length: Option<Result<u64, Http2Error>> = None;
    let mut is_behind_pseudo = part == Part::Trailers;
    for (name, value) in fields {
        if name.first() == Some(&b':') {
            if is_behind_pseudo || name != b":status" || status.is_some() {
                return Err(Http2Error::PseudoField);
            }
            status = Some(read_status(value)?);
            continue;
        }
        is_behind_pseudo = true;
        check_field(name, value)?;
        if name == b"content-length" {
            length = Some(match length {
                Some(Err(error)) => Err(error),
                earlier => {
                    content_length(earlier.and_then(Result::ok), value).map_err(|_| Http2Error::ContentLength)
                }
            });
        }
    }
    if part == Part::Trailers {
        return Ok(Meaning::Trailers);
    }
    match status {
        None => Err(Http2Error::PseudoField),
        Some(101) => Err(Http2Error::Upgrade),
        Some(status @ ..200) => Ok(Meaning::Interim { status }),
        Some(status) => {
            let is_bodiless = kind == RequestKind::Head || matches!(status, 204 | 304);
            // As in HTTP/1.1, where there is no body its length means nothing.
            let length = if is_bodiless { None } else { length.transpose()? };
            Ok(Meaning::Final { status, length, is_bodiless })
        }
    }
}

/// Section 8.3.2: three digits.
fn read_status(value: &[u8]) -> Result<u16, Http2Error> {
    let [hundreds @ b'1'..=b'5', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = *value else {
        return Err(Http2Error::Status);
    };
    let digit = |digit: u8| u16::from(digit - b'0');
    Ok(digit(hundreds) * 100 + digit(tens) * 10 + digit(ones))
}

/// Sections 8.2.1 and 8.2.2.
fn check_field(name: &[u8], value: &[u8]) -> Result<(), Http2Error> {
    if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
        return Err(Http2Error::FieldName);
    }
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
        || matches!(value.first(), Some(b' ' | b'\t'))
        || matches!(value.last(), Some(b' ' | b'\t'))
    {
        return Err(Http2Error::FieldValue);
    }
    if CONNECTION_FIELDS.contains(&name) {
        return Err(Http2Error::ConnectionField);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::hpack::fields::{FieldList, ListLimits};

    fn read_list(fields: &[(&str, &str)], part: Part, kind: RequestKind) -> Result<Meaning, Http2Error> {
        let mut list = FieldList::default();
        for (name, value) in fields {
            list.tail().extend_from_slice(name.as_bytes());
            list.tail().extend_from_slice(value.as_bytes());
            list.push(name.len(), ListLimits { bytes: 10_000, fields: 100 }).unwrap();
        }
        read(list.fields(), part, kind)
    }

    fn check(fields: &[(&str, &str)], expected: Result<(u16, Option<u64>, bool), Http2Error>) {
        let expected =
            expected.map(|(status, length, is_bodiless)| Meaning::Final { status, length, is_bodiless });
        assert_eq!(read_list(fields, Part::Head, RequestKind::Normal), expected, "{fields:?}");
    }

    #[test]
    fn heads() {
        check(&[(":status", "200")], Ok((200, None, false)));
        check(&[(":status", "599"), ("content-length", "12"), ("a", "\u{e9}")], Ok((599, Some(12), false)));
        check(&[(":status", "204"), ("content-length", "x")], Ok((204, None, true)));
        check(&[(":status", "304"), ("content-length", "12")], Ok((304, None, true)));
        let head = [(":status", "200"), ("content-length", "12")];
        let expected = Meaning::Final { status: 200, length: None, is_bodiless: true };
        assert_eq!(read_list(&head, Part::Head, RequestKind::Head), Ok(expected));
        let interim = read_list(&[(":status", "103"), ("link", "x")], Part::Head, RequestKind::Normal);
        assert_eq!(interim, Ok(Meaning::Interim { status: 103 }));
    }

    #[test]
    fn lengths() {
        let check = |lengths: &[&str], expected: Option<u64>| {
            let mut fields = vec![(":status", "200")];
            fields.extend(lengths.iter().map(|length| ("content-length", *length)));
            super::tests::check(
                &fields,
                expected.map(|length| (200, Some(length), false)).ok_or(Http2Error::ContentLength),
            );
        };
        check(&["7"], Some(7));
        check(&["7", "7"], Some(7));
        check(&["7, 7"], Some(7));
        for bad in
            [&["7", "8"][..], &["8, 7"], &[""], &["-1"], &["7x"], &["18446744073709551616"], &["x", "7"]]
        {
            check(bad, None);
        }
    }

    #[test]
    fn statuses() {
        for bad in ["", "20", "2000", "099", "600", "2 0", "+20", "abc"] {
            check(&[(":status", bad)], Err(Http2Error::Status));
        }
        check(&[(":status", "101")], Err(Http2Error::Upgrade));
    }

    #[test]
    fn pseudo_fields() {
        let error = || Err(Http2Error::PseudoField);
        check(&[], error());
        check(&[("a", "b")], error());
        check(&[(":status", "200"), (":status", "200")], error());
        check(&[("a", "b"), (":status", "200")], error());
        check(&[(":status", "200"), (":path", "/")], error());
        check(&[(":method", "GET")], error());
        check(&[(":", "")], error());
        let trailers = |fields: &[(&str, &str)]| read_list(fields, Part::Trailers, RequestKind::Normal);
        assert_eq!(trailers(&[(":status", "200")]), Err(Http2Error::PseudoField));
        assert_eq!(trailers(&[("grpc-status", "0")]), Ok(Meaning::Trailers));
        assert_eq!(trailers(&[]), Ok(Meaning::Trailers));
        assert_eq!(trailers(&[("A", "0")]), Err(Http2Error::FieldName));
    }

    #[test]
    fn names_and_values() {
        for name in ["A", "content-Length", "", "a b", "a\r", "a:b", "\u{e9}", "\u{7f}"] {
            check(&[(":status", "200"), (name, "x")], Err(Http2Error::FieldName));
        }
        for value in ["a\rb", "a\n", "\0", " a", "a ", "\ta", "a\t", " "] {
            check(&[(":status", "200"), ("a", value)], Err(Http2Error::FieldValue));
        }
        check(&[(":status", "200"), ("a", ""), ("b", "x\ty")], Ok((200, None, false)));
        for name in ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"] {
            check(&[(":status", "200"), (name, "trailers")], Err(Http2Error::ConnectionField));
        }
    }
}
