//! Replies as Express writes them.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use super::cached::{is_named, tag};
use super::calendar;
use super::queries::Spans;
use crate::clock::{SECOND_NS, clocks, monotonic_ns};
use crate::reply::{Reply, put_ms};
use crate::service::Owed;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

/// What is to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) status: &'a str,
    pub(super) content_type: &'a str,
    pub(super) body: &'a str,
    /// Whole lines of further header fields, each with its end.
    pub(super) fields: &'a str,
    /// Whether a client may keep it.
    pub(super) tagged: bool,
    /// Where the time went, and what was waited for.
    pub(super) spans: Option<(&'static str, Spans)>,
}

impl<'a> Page<'a> {
    /// A text, which Express takes for HTML.
    pub(super) fn text(body: &'a str) -> Self {
        Self { status: "200 OK", content_type: HTML, body, fields: "", tagged: true, spans: None }
    }

    pub(super) fn json(body: &'a str) -> Self {
        Self { content_type: JSON, ..Self::text(body) }
    }

    /// The reply of Express for an unknown path.
    pub(super) fn missing(body: &'a str) -> Self {
        let fields = "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\n";
        Self { status: "404 Not Found", fields, tagged: false, ..Self::text(body) }
    }
}

/// The body of [`Page::missing`].
pub(super) fn cannot(verb: &str, path: &str) -> String {
    let (verb, path) = (escaped(verb), escaped(&encoded(path)));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n\
         <body>\n<pre>Cannot {verb} {path}</pre>\n</body>\n</html>\n"
    )
}

/// Writes pages; one for each worker.
#[derive(Debug, Default)]
pub(super) struct Replies {
    date: Date,
    /// Lines of the head, made for each reply.
    fields: String,
}

impl Replies {
    /// Puts the reply behind what is in `out`.
    pub(super) fn write(
        &mut self,
        page: &Page<'_>,
        owed: Owed,
        if_none_match: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let now_ns = monotonic_ns();
        let took_ns = now_ns.saturating_sub(owed.read_ns);
        let tag = page.tagged.then(|| tag(page.body.as_bytes()));
        self.fields.clear();
        self.fields.push_str("X-Powered-By: Express\r\n");
        self.fields.push_str(page.fields);
        if let Some(tag) = &tag {
            self.fields.extend(["ETag: ", tag, "\r\n"]);
        }
        self.fields.extend(["Date: ", self.date.at(now_ns), "\r\n"]);
        if let Some((wait, spans)) = page.spans {
            let ms = |span_ns: u64| Duration::from_nanos(span_ns).as_secs_f64() * 1e3;
            let (wait_ms, query_ms) = (ms(spans.wait_ns), ms(spans.query_ns));
            // A text takes whatever is written to it.
            let _ = write!(self.fields, "Server-Timing: {wait};dur={wait_ms:.6}, db;dur={query_ms:.6}\r\n");
        }
        let is_known = tag.zip(if_none_match).is_some_and(|(tag, list)| is_named(&tag, list));
        if is_known && page.status == "200 OK" {
            return self.not_modified(took_ns, owed.close, out);
        }
        let Page { status, content_type, body, .. } = *page;
        let (fields, body, close, method) = (&self.fields, body.as_bytes(), owed.close, owed.method);
        Reply { status, content_type, fields, body, took_ns, id: None, close, method }.write(out);
    }

    /// No content, and so none of the fields that speak of it.
    fn not_modified(&self, took_ns: u64, close: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 304 Not Modified\r\nConnection: ");
        out.extend_from_slice(if close { b"close" } else { b"keep-alive" });
        out.extend_from_slice(b"\r\nServer-Timing: app;dur=");
        put_ms(took_ns, out);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.fields.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// The field Date, made once a second.
#[derive(Debug, Default)]
struct Date {
    text: String,
    /// Until when it is right, on the monotonic clock.
    until_ns: u64,
}

impl Date {
    fn at(&mut self, now_ns: u64) -> &str {
        if now_ns >= self.until_ns {
            let both = clocks();
            self.text = calendar::http(UNIX_EPOCH + Duration::from_nanos(both.realtime_ns));
            self.until_ns = both.monotonic_ns + SECOND_NS - both.realtime_ns % SECOND_NS;
        }
        &self.text
    }
}

/// Percent signs for what a URL can't have, but for those that it has already.
fn encoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = String::with_capacity(path.len());
    for (at, &byte) in bytes.iter().enumerate() {
        let is_percent = byte == b'%'
            && !bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
        if is_percent || !byte.is_ascii_graphic() || b"\"<>`{}".contains(&byte) {
            // A text takes whatever is written to it.
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// Text as HTML has it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Method;

    #[test]
    fn a_path_is_shown_as_express_shows_it() {
        let check = |path: &str, expected: &str| {
            let page = cannot("GET", path);
            assert!(page.contains(&format!("<pre>Cannot GET {expected}</pre>")), "{path}: {page}");
        };
        check("/x%3Cy<z", "/x%3Cy%3Cz");
        check("/a'b\"c&d", "/a&#39;b%22c&amp;d");
        check("/100%/%zz/%", "/100%25/%25zz/%25");
        check("/é{`}", "/%C3%A9%7B%60%7D");
        assert_eq!(cannot("POST", "/").len(), 140, "as Express 4.22 answers");
    }

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        let owed = Owed { method: Method::Other, close: false, read_ns: 0 };
        let check = |page: Page<'_>, list: &str, expected: &str| {
            let mut out = Vec::new();
            Replies::default().write(&page, owed, Some(list), &mut out);
            let text = String::from_utf8(out).unwrap();
            assert!(text.starts_with(expected), "{text}");
            assert_eq!(text.contains("Content-"), !expected.contains("304"), "{text}");
        };
        let known = "W/\"c-Lve95gjOVATpfV8EL5X4nxwjKHE\"";
        let hello = Page::text("Hello World!");
        check(hello, known, "HTTP/1.1 304 Not Modified\r\n");
        check(hello, "\"other\"", "HTTP/1.1 200 OK\r\n");
        check(Page { status: "500 Internal Server Error", ..hello }, known, "HTTP/1.1 500 ");
        check(Page::missing("Hello World!"), known, "HTTP/1.1 404 ");
    }
}
