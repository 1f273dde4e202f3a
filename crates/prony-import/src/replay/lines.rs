//! A line of a log, read by its format.

use std::borrow::Cow;

use super::format::{Field, LogFormat, Piece};
use super::json_lines;
use super::stamp::{Stamp, clf, stamp};

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) stamp: Stamp,
    /// Empty where the log has no method: then it is GET.
    pub(super) method: Cow<'a, str>,
    /// Path and query as they were sent; empty where there was no request.
    pub(super) target: Cow<'a, [u8]>,
    /// 0 for none.
    pub(super) status: u16,
    /// How long the request took, nanoseconds; the stamp is of its end then.
    pub(super) took: Option<u64>,
}

/// What the parts of a line are, before they are put together.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) stamp: Option<Stamp>,
    pub(super) request: Option<Cow<'a, [u8]>>,
    pub(super) method: Option<Cow<'a, [u8]>>,
    pub(super) target: Option<Cow<'a, [u8]>>,
    pub(super) query: Option<Cow<'a, [u8]>>,
    pub(super) status: u16,
    pub(super) took: Option<u64>,
}

/// Reads `line` as one of `format`; `None` if it is none.
pub(super) fn read<'a>(format: &LogFormat, line: &'a [u8]) -> Option<Line<'a>> {
    match format {
        LogFormat::Lines { pieces, is_open, .. } => by_pieces(pieces, *is_open, line)?.line(),
        LogFormat::Json => json_lines::read(line)?.line(),
    }
}

fn by_pieces<'a>(pieces: &[Piece], is_open: bool, line: &'a [u8]) -> Option<Parts<'a>> {
    let mut parts = Parts::default();
    let mut rest = line;
    let mut pieces = pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(text) => rest = rest.strip_prefix(text.as_slice())?,
            Piece::Value(field) => {
                let next = match pieces.peek() {
                    Some(Piece::Text(text)) => Some(text.as_slice()),
                    _ => None,
                };
                let (value, behind) = rest.split_at(end(*field, rest, next)?);
                rest = behind;
                parts.set(*field, value)?;
            }
        }
    }
    (rest.is_empty() || is_open).then_some(parts)
}

/// How long the value at the beginning of `rest` is, which ends before `next`, or with the line.
fn end(field: Field, rest: &[u8], next: Option<&[u8]>) -> Option<usize> {
    let Some(next) = next else { return Some(rest.len()) };
    // A time of the common log format has a blank in it.
    let from = if field == Field::Time && next.starts_with(b" ") {
        let is_clf = rest.get(..26).and_then(|text| std::str::from_utf8(text).ok()).and_then(clf).is_some();
        if is_clf { 26 } else { 0 }
    } else {
        0
    };
    let escapes = next.first() == Some(&b'"');
    let mut at = from;
    while at < rest.len() {
        if escapes && rest[at] == b'\\' {
            at += 2;
        } else if rest[at..].starts_with(next) {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

impl<'a> Parts<'a> {
    fn set(&mut self, field: Field, value: &'a [u8]) -> Option<()> {
        let text = || std::str::from_utf8(value).ok();
        match field {
            Field::Time => self.stamp = Some(stamp(text()?)?),
            Field::Request => self.request = Some(unescaped(value)),
            Field::Method => self.method = Some(value.into()),
            // $request_uri stands above $uri, which nginx may have changed.
            Field::Target => self.target = Some(unescaped(value)),
            Field::Path => {
                self.target.get_or_insert_with(|| unescaped(value));
            }
            Field::Query => {
                self.query = Some(unescaped(value)).filter(|query| !matches!(&**query, b"" | b"-"));
            }
            Field::Status => self.status = status(text()?)?,
            Field::Took => self.took = seconds(text()?),
            Field::Other => {}
        }
        Some(())
    }

    /// The line that has these parts; `None` without a time or a request.
    fn line(self) -> Option<Line<'a>> {
        let stamp = self.stamp?;
        let (method, target) = match (self.request, self.target) {
            (Some(request), _) => split_request(request),
            (None, Some(target)) => {
                let target = match self.query {
                    Some(query) if !target.contains(&b'?') => [&*target, b"?", &*query].concat().into(),
                    _ => target,
                };
                (self.method.unwrap_or_default(), target)
            }
            (None, None) => return None,
        };
        let method = match method {
            Cow::Borrowed(method) => String::from_utf8_lossy(method),
            Cow::Owned(method) => String::from_utf8_lossy(&method).into_owned().into(),
        };
        Some(Line { stamp, method, target, status: self.status, took: self.took })
    }
}

/// Method and target of a request line; both empty where it is none.
fn split_request(request: Cow<'_, [u8]>) -> (Cow<'_, [u8]>, Cow<'_, [u8]>) {
    fn split(request: &[u8]) -> Option<(&[u8], &[u8])> {
        let blank = request.iter().position(|byte| *byte == b' ')?;
        let (method, rest) = (&request[..blank], &request[blank + 1..]);
        // HTTP/0.9 has no version; a target may have blanks that its client should have encoded.
        let end = rest.windows(6).rposition(|part| part == b" HTTP/").unwrap_or(rest.len());
        Some((method, &rest[..end]))
    }
    match request {
        Cow::Borrowed(request) => {
            split(request).map_or_else(Default::default, |(method, target)| (method.into(), target.into()))
        }
        Cow::Owned(request) => split(&request).map_or_else(Default::default, |(method, target)| {
            (method.to_vec().into(), target.to_vec().into())
        }),
    }
}

pub(super) fn status(text: &str) -> Option<u16> {
    match text {
        // nginx, where the client went away before there was one.
        "000" | "-" => Some(0),
        _ => text.parse().ok().filter(|status| (100..=999).contains(status)),
    }
}

/// Seconds in nanoseconds; `-` and the like are none.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let seconds: f64 = text.parse().ok()?;
    u64::try_from(std::time::Duration::try_from_secs_f64(seconds).ok()?.as_nanos()).ok()
}

/// A value without the escapes of nginx and Apache: `\xHH`, `\"`, `\\`.
fn unescaped(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\\') {
        return value.into();
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        let hex = |digits: &[u8]| {
            std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
        };
        match (value[at], value.get(at + 1)) {
            (b'\\', Some(b'x' | b'X')) if value.get(at + 2..at + 4).and_then(hex).is_some() => {
                plain.extend(value.get(at + 2..at + 4).and_then(hex));
                at += 4;
            }
            (b'\\', Some(escaped @ (b'"' | b'\\'))) => {
                plain.push(*escaped);
                at += 2;
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::FormatChoice;

    fn format(text: &str) -> LogFormat {
        match FormatChoice::parse(text).expect("a format") {
            FormatChoice::Log(format) => format,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(format: &LogFormat, line: &str, expected: Option<(&str, &str, u16, Option<u64>)>) {
        let found = read(format, line.as_bytes());
        let target = |line: &Line<'_>| String::from_utf8_lossy(&line.target).into_owned();
        let found =
            found.as_ref().map(|line| (line.method.to_string(), target(line), line.status, line.took));
        let expected = expected
            .map(|(method, target, status, took)| (method.to_owned(), target.to_owned(), status, took));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn combined_lines_and_what_looks_like_them() {
        let combined = LogFormat::combined();
        let line = |request: &str| {
            format!(
                "1.2.3.4 - ann [10/Oct/2000:13:55:36 -0700] \"{request}\" 200 23 \"http://a/?q=\\\"\" \"x \\\"y\\\"\""
            )
        };
        check(&combined, &line("GET /a?b=c HTTP/1.1"), Some(("GET", "/a?b=c", 200, None)));
        check(&combined, &line("GET /a b HTTP/2.0"), Some(("GET", "/a b", 200, None)));
        check(&combined, &line("GET /old"), Some(("GET", "/old", 200, None)));
        check(&combined, &line("-"), Some(("", "", 200, None)));
        check(&combined, &line(r"\x16\x03\x01"), Some(("", "", 200, None)));
        check(&combined, &line(r"GET /\xC3\xA9\x22 HTTP/1.1"), Some(("GET", "/é\"", 200, None)));
        check(&combined, &format!("{} \"-\" 0.1", line("GET / HTTP/1.1")), Some(("GET", "/", 200, None)));
        let common = "::1 - a user [10/Oct/2000:13:55:36 -0700] \"HEAD /x HTTP/1.0\" 304 -";
        check(&combined, common, None);
        check(&LogFormat::common(), common, Some(("HEAD", "/x", 304, None)));
        check(&LogFormat::common(), &common.replace("Oct", "Okt"), None);
        check(&LogFormat::common(), &common.replace("304", "3o4"), None);
        check(&LogFormat::common(), "", None);
    }

    #[test]
    fn a_log_format_may_put_anything_anywhere() {
        let timed = format("$msec|$request_method|$request_uri|$status|$request_time|$upstream");
        check(
            &timed,
            "971211336.125|GET|/a?x=1|200|0.250|-",
            Some(("GET", "/a?x=1", 200, Some(250_000_000))),
        );
        check(&timed, "971211336.125|GET|/a|499|-|0.1, 0.2", Some(("GET", "/a", 499, None)));
        check(&timed, "971211336.125|GET|/a|200", None);
        let split = format("$time_local $uri $args $status");
        check(&split, "10/Oct/2000:13:55:36 -0700 /a b=1 200", Some(("", "/a?b=1", 200, None)));
        check(&split, "10/Oct/2000:13:55:36 -0700 /a - 200", Some(("", "/a", 200, None)));
        check(&split, "10/Oct/2000:13:55:36 -0700 /a - 200 more", None);
    }
}
