//! A request for HTTP/2, checked once and encoded once: a run sends the same bytes again and again.
//!
//! The fields are those of HTTP/1.1 ([`crate::request`]), with names in lower case and the request line as pseudo-header
//! fields (RFC 9113 section 8.3.1). `Host` becomes `:authority`. Fields that describe a connection of HTTP/1.1 are
//! refused, for they have no meaning here.

use crate::h2::hpack::encoder::EncodedBlock;
use crate::request::{Request, RequestKind, USER_AGENT, check_authority, trimmed};
use crate::request_error::RequestError;

/// The scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`: without TLS, with prior knowledge.
    Http,
    /// `https`.
    Https,
}

/// A request that can be sent on any number of streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    pub(crate) block: EncodedBlock,
    body: Vec<u8>,
    kind: RequestKind,
}

impl EncodedRequest {
    /// Checks `request` and encodes it, once for a whole run.
    ///
    /// Its version and keep-alive have no meaning here. With [`Request::verbatim`], what HTTP/2 needs is still added.
    pub fn new(request: &Request, scheme: Scheme) -> Result<Self, RequestError> {
        request.check()?;
        if !request.target.starts_with('/') && request.target != "*" {
            return Err(RequestError::TargetForm { target: request.target.clone() });
        }
        let authority = request.header("host").unwrap_or(&request.authority);
        check_authority(authority)?;
        let scheme = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut field = |name: &str, value: &str| fields.push((name.to_ascii_lowercase(), value.to_owned()));
        field(":method", &request.method);
        field(":scheme", scheme);
        field(":authority", authority);
        field(":path", &request.target);
        if !request.verbatim {
            for (name, value) in [("user-agent", USER_AGENT), ("accept", "*/*")] {
                if request.header(name).is_none() {
                    field(name, value);
                }
            }
        }
        for (name, value) in &request.headers {
            check_name(name, trimmed(value))?;
            if !name.eq_ignore_ascii_case("host") {
                field(name, trimmed(value));
            }
        }
        if let Some(length) = request.missing_content_length() {
            field("content-length", &length);
        }
        let kind = if request.method == "HEAD" { RequestKind::Head } else { RequestKind::Normal };
        Ok(Self { block: EncodedBlock::new(&fields), body: request.body.clone(), kind })
    }

    /// Its fields as they may be sent on any stream of any connection: without the table of fields.
    pub fn plain_block(&self) -> &[u8] {
        &self.block.plain
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// What the framing of the response depends on.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Bytes of the first request on a connection and of each that follows it, with the heads of frames, where the server
    /// keeps a table of fields and the body fits into one frame.
    pub fn frame_bytes(&self) -> (usize, usize) {
        let body = if self.body.is_empty() { 0 } else { super::frame::HEAD_BYTES + self.body.len() };
        let frame = |block: &[u8]| super::frame::HEAD_BYTES + block.len() + body;
        (frame(&self.block.first), frame(&self.block.again))
    }
}

/// Section 8.2.2: fields of HTTP/1.1's connections. Others that are refused are so in HTTP/1.1, too.
fn check_name(name: &str, value: &str) -> Result<(), RequestError> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let is_other_te = is("te") && !value.eq_ignore_ascii_case("trailers");
    if is("connection") || is("keep-alive") || is("proxy-connection") || is_other_te {
        return Err(RequestError::NotInHttp2 { name: name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::for_tests::BlockDecoder;

    fn decoded(decoder: &mut BlockDecoder, block: &[u8]) -> Vec<String> {
        let fields = decoder.decode(block).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        fields.into_iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    /// A change to a plain GET request and the fields that come of it, in each way of sending them, or the error.
    fn check(change: impl FnOnce(&mut Request), expected: Result<&[&str], RequestError>) {
        let mut request = Request::get("example.org", "/status");
        change(&mut request);
        let found = EncodedRequest::new(&request, Scheme::Https).map(|encoded| {
            let mut decoder = BlockDecoder::new(1 << 20, 1000);
            let fields = decoded(&mut decoder, &encoded.block.first);
            for _ in 0..2 {
                assert_eq!(decoded(&mut decoder, &encoded.block.again), fields);
            }
            let mut decoder = BlockDecoder::new(1 << 20, 1000);
            assert_eq!(decoded(&mut decoder, &encoded.block.plain), fields);
            assert!(decoder.decode(&[0xbe]).is_err(), "the table must be as it was");
            fields
        });
        let expected = expected.map(|fields| {
            fields.iter().map(|field| field.replace("USER_AGENT", USER_AGENT)).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{request:?}");
    }

    fn with_headers(headers: &[(&str, &str)]) -> impl FnOnce(&mut Request) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        |request| request.headers = headers
    }

    const LINE: [&str; 4] = [":method: GET", ":scheme: https", ":authority: example.org", ":path: /status"];
    const OURS: [&str; 2] = ["user-agent: USER_AGENT", "accept: */*"];

    #[test]
    fn fields() {
        check(|_| {}, Ok(&[&LINE[..], &OURS[..]].concat()));
        let given = with_headers(&[("X-A", " 1\t"), ("HOST", "other:1"), ("User-Agent", "ab"), ("x-a", "1")]);
        let line = [":method: GET", ":scheme: https", ":authority: other:1", ":path: /status"];
        check(given, Ok(&[&line[..], &["accept: */*", "x-a: 1", "user-agent: ab", "x-a: 1"]].concat()));
        check(
            |request| {
                request.verbatim = true;
                request.headers = vec![("TE".to_owned(), "trailers".to_owned())];
            },
            Ok(&[&LINE[..], &["te: trailers"]].concat()),
        );
        check(
            |request| {
                request.method = "POST".to_owned();
                request.body = b"hello".to_vec();
            },
            Ok(&[&[":method: POST"], &LINE[1..], &OURS[..], &["content-length: 5"]].concat()),
        );
        check(
            |request| {
                request.method = "OPTIONS".to_owned();
                request.target = "*".to_owned();
            },
            Ok(&[&[":method: OPTIONS"], &LINE[1..3], &[":path: *"], &OURS[..]].concat()),
        );
    }

    #[test]
    fn fields_that_no_table_has_room_for_are_sent_each_time() {
        let long = "v".repeat(3000);
        let (first, second) = (format!("a: {long}"), format!("b: {long}"));
        let headers = [("a", long.as_str()), ("b", &long), ("c", "d")];
        check(with_headers(&headers), Ok(&[&LINE[..], &OURS[..], &[&first, &second, "c: d"]].concat()));
    }

    #[test]
    fn a_request_that_repeats_costs_a_handful_of_bytes() {
        let request = Request::get("127.0.0.1:8080", "/status?with=a&few=words");
        let encoded = EncodedRequest::new(&request, Scheme::Http).unwrap();
        let (first, again) = encoded.frame_bytes();
        assert!(first < 70, "{first}");
        assert_eq!(again, 9 + 6, "a byte for each field");
    }

    #[test]
    fn refusals() {
        for (name, value) in
            [("Connection", "close"), ("keep-alive", "5"), ("Proxy-Connection", "x"), ("te", "gzip")]
        {
            let error = RequestError::NotInHttp2 { name: name.to_owned() };
            check(with_headers(&[(name, value)]), Err(error));
        }
        check(
            with_headers(&[("Upgrade", "h2c")]),
            Err(RequestError::HeaderRefused { name: "Upgrade".to_owned() }),
        );
        check(
            |request| request.target = "http://example.org/".to_owned(),
            Err(RequestError::TargetForm { target: "http://example.org/".to_owned() }),
        );
        check(
            |request| request.authority = String::new(),
            Err(RequestError::Authority { authority: String::new() }),
        );
    }
}
