//! A request, checked once and encoded once: a run sends the same bytes again and again.
//!
//! Header fields given by the user stand instead of ours, compared without regard to case:
//!
//! - `Host`, `User-Agent` and `Accept` are replaced. `Host` is always sent first, also in HTTP/1.0.
//! - `Content-Length` may be given if it is right; a wrong one would shift the whole connection.
//! - With [`Request::verbatim`], none of ours is sent at all, and those given keep their places.
//! - `Connection` is sent as given, and [`EncodedRequest::keep_alive`] follows it.
//! - `Expect`, `Transfer-Encoding`, `Upgrade` and the method CONNECT are refused: the engine sends the body at
//!   once and with a length, and speaks nothing but HTTP on its connections.

use crate::request_error::RequestError;
use crate::syntax::{is_token, list};

/// What is sent as `User-Agent` unless the user says otherwise.
pub const USER_AGENT: &str = concat!("prony/", env!("CARGO_PKG_VERSION"));

/// The version of HTTP in the request line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0: the connection closes unless keep-alive is asked for.
    Http10,
    /// HTTP/1.1: the connection stays open unless close is asked for.
    Http11,
}

/// What the framing of a response depends on besides its head (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Any method but HEAD.
    Normal,
    /// HEAD: the response has no body, whatever its length says.
    Head,
}

/// A request as the user means it. [`encode`](Self::encode) checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, a token. Methods are case-sensitive (RFC 9110 section 9.1).
    pub method: String,
    /// The target in origin form, percent-encoded: `/path?query`; in absolute form, `http://…`, for a proxy; or
    /// `*` for OPTIONS.
    pub target: String,
    /// The value of `Host`: `name`, `name:port` or `[address]:port`.
    pub authority: String,
    /// The version in the request line.
    pub version: Version,
    /// Whether the connection is to be used again. A `Connection` field in `headers` overrides it.
    pub keep_alive: bool,
    /// Further header fields, name and value, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// Whether `headers` are all fields there are: none of ours is added but the length that a body needs.
    pub verbatim: bool,
    /// The body, sent with a content-length.
    pub body: Vec<u8>,
}

/// The bytes of a request, ready to be sent any number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    bytes: Vec<u8>,
    head_bytes: usize,
    kind: RequestKind,
    keep_alive: bool,
}

impl EncodedRequest {
    /// The bytes to send, head and body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The part of [`bytes`](Self::bytes) up to and including the blank line.
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.head_bytes]
    }

    /// What the framing of the response depends on.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Whether the request lets the connection stay open. The response has its say, too.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }
}

impl Request {
    /// GET over HTTP/1.1 with keep-alive, without further fields or a body.
    pub fn get(authority: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method: "GET".to_owned(),
            target: target.into(),
            authority: authority.into(),
            version: Version::Http11,
            keep_alive: true,
            headers: Vec::new(),
            verbatim: false,
            body: Vec::new(),
        }
    }

    /// Checks the request and writes it as bytes, once for a whole run.
    pub fn encode(&self) -> Result<EncodedRequest, RequestError> {
        self.check()?;
        let host = self.header("host").unwrap_or(&self.authority);
        check_authority(host)?;

        let version = match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        };
        let mut head = format!("{} {} {version}\r\n", self.method, self.target);
        let mut field = |name: &str, value: &str| {
            head.extend([name, ": ", value, "\r\n"]);
        };
        if !self.verbatim {
            field("Host", host);
            for (name, value) in [("User-Agent", USER_AGENT), ("Accept", "*/*")] {
                if self.header(name).is_none() {
                    field(name, value);
                }
            }
        }
        for (name, value) in &self.headers {
            if self.verbatim || !name.eq_ignore_ascii_case("host") {
                field(name, trimmed(value));
            }
        }
        if let Some(length) = self.missing_content_length() {
            field("Content-Length", &length);
        }
        match (self.header("connection"), self.version) {
            _ if self.verbatim => {}
            (None, Version::Http10) if self.keep_alive => field("Connection", "keep-alive"),
            (None, Version::Http11) if !self.keep_alive => field("Connection", "close"),
            _ => {}
        }
        head.push_str("\r\n");

        let kind = if self.method == "HEAD" { RequestKind::Head } else { RequestKind::Normal };
        let head_bytes = head.len();
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        Ok(EncodedRequest { bytes, head_bytes, kind, keep_alive: self.effective_keep_alive() })
    }

    /// Whether the request may be sent, but for its host.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        self.check_line()?;
        self.check_headers()
    }

    /// The length that has to be sent besides the fields given. RFC 9110 section 8.6: it is due with a body, and for
    /// methods that usually have one.
    pub(crate) fn missing_content_length(&self) -> Option<String> {
        let expects_body = !self.verbatim && matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        let is_due = self.header("content-length").is_none() && (expects_body || !self.body.is_empty());
        is_due.then(|| self.body.len().to_string())
    }

    /// The trimmed value of the first field of that name that the user gave.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(trimmed(value))
    }

    /// RFC 9112 section 9.3, with the `Connection` fields of the user before the wish in `keep_alive`.
    fn effective_keep_alive(&self) -> bool {
        let mut options = self
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
            .flat_map(|(_, value)| list(value.as_bytes()))
            .peekable();
        if options.peek().is_none() {
            // HTTP/1.0 keeps a connection only where it is asked to, and nothing of ours asks.
            return self.keep_alive && !(self.verbatim && self.version == Version::Http10);
        }
        let (mut close, mut keep_alive) = (false, false);
        for option in options {
            close |= option.eq_ignore_ascii_case(b"close");
            keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
        !close && (keep_alive || self.version == Version::Http11)
    }

    /// The request line (RFC 9112 section 3).
    fn check_line(&self) -> Result<(), RequestError> {
        if !is_token(self.method.as_bytes()) {
            return Err(RequestError::Method { method: self.method.clone() });
        }
        if self.method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        let is_asterisk = self.method == "OPTIONS" && self.target == "*";
        let is_absolute = self.target.starts_with("http://");
        if !self.target.starts_with('/') && !is_absolute && !is_asterisk {
            return Err(RequestError::TargetForm { target: self.target.clone() });
        }
        // A fragment is the client's own and never sent (RFC 9110 section 7.1).
        match self.target.bytes().position(|byte| !byte.is_ascii_graphic() || byte == b'#') {
            Some(at) => Err(RequestError::TargetCharacter { target: self.target.clone(), at }),
            None => Ok(()),
        }
    }

    fn check_headers(&self) -> Result<(), RequestError> {
        for (index, (name, value)) in self.headers.iter().enumerate() {
            if !is_token(name.as_bytes()) {
                return Err(RequestError::HeaderName { name: name.clone() });
            }
            if let Some(at) = value.bytes().position(|byte| byte.is_ascii_control() && byte != b'\t') {
                return Err(RequestError::HeaderValue { name: name.clone(), at });
            }
            let is = |other: &str| name.eq_ignore_ascii_case(other);
            let asks_for_upgrade =
                || is("connection") && list(value.as_bytes()).any(|o| o.eq_ignore_ascii_case(b"upgrade"));
            if is("expect") || is("transfer-encoding") || is("upgrade") || asks_for_upgrade() {
                return Err(RequestError::HeaderRefused { name: name.clone() });
            }
            let once = is("host") || is("content-length");
            if once && self.headers[..index].iter().any(|(earlier, _)| is(earlier)) {
                return Err(RequestError::HeaderTwice { name: name.clone() });
            }
            if is("content-length") && trimmed(value) != self.body.len().to_string() {
                return Err(RequestError::ContentLength {
                    given: value.clone(),
                    body_bytes: self.body.len(),
                });
            }
        }
        Ok(())
    }
}

/// RFC 9112 section 3.2: host and port only, so no user information, path or space.
pub(crate) fn check_authority(authority: &str) -> Result<(), RequestError> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"/?#@\\\"<>^`{|}".contains(&byte);
    if authority.is_empty() || !authority.bytes().all(is_allowed) {
        return Err(RequestError::Authority { authority: authority.to_owned() });
    }
    Ok(())
}

/// A field value without the spaces and tabs around it, which are no part of it (RFC 9110 section 5.5).
pub(crate) fn trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::{Request, RequestKind, Version};
    use crate::request_error::RequestError;

    /// A change to the plain GET request, and the head that comes of it or the error.
    fn check(change: impl FnOnce(&mut Request), expected: Result<&str, RequestError>) {
        let mut request = Request::get("example.org:8080", "/status?a=b");
        change(&mut request);
        let found = request.encode().map(|encoded| {
            assert_eq!(encoded.bytes(), [encoded.head(), &request.body].concat());
            String::from_utf8(encoded.head().to_vec()).unwrap()
        });
        let expected = expected.map(|lines| {
            let lines = lines.replace("USER_AGENT", super::USER_AGENT);
            format!("{}\r\n\r\n", lines.replace('\n', "\r\n"))
        });
        assert_eq!(found, expected, "{request:?}");
    }

    fn with_headers(headers: &[(&str, &str)]) -> impl FnOnce(&mut Request) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        |request| request.headers = headers
    }

    const REST: &str = "\nHost: example.org:8080\nUser-Agent: USER_AGENT\nAccept: */*";

    #[test]
    fn connections() {
        let head =
            |version: &str, connection: &str| format!("GET /status?a=b HTTP/{version}{REST}{connection}");
        for (version, number, keep_alive, line) in [
            (Version::Http11, "1.1", true, ""),
            (Version::Http11, "1.1", false, "\nConnection: close"),
            (Version::Http10, "1.0", true, "\nConnection: keep-alive"),
            (Version::Http10, "1.0", false, ""),
        ] {
            let change = |request: &mut Request| {
                request.version = version;
                request.keep_alive = keep_alive;
                assert_eq!(request.encode().unwrap().keep_alive(), keep_alive);
            };
            check(change, Ok(&head(number, line)));
        }
    }

    #[test]
    fn a_connection_header_overrides_the_wish() {
        for (version, value, keep_alive) in [
            (Version::Http11, "close", false),
            (Version::Http11, "Keep-Alive", true),
            (Version::Http11, "TE", true),
            (Version::Http11, "keep-alive, CLOSE", false),
            (Version::Http10, "keep-alive", true),
            (Version::Http10, "TE", false),
        ] {
            let mut request = Request::get("a", "/");
            request.version = version;
            request.keep_alive = !keep_alive;
            request.headers.push(("CONNECTION".to_owned(), value.to_owned()));
            let encoded = request.encode().unwrap();
            assert_eq!(encoded.keep_alive(), keep_alive, "{version:?} {value}");
            let text = String::from_utf8(encoded.bytes().to_vec()).unwrap();
            assert_eq!(text.to_ascii_lowercase().matches("connection:").count(), 1, "{text}");
        }
    }

    #[test]
    fn user_headers_stand_instead_of_ours() {
        check(
            with_headers(&[
                ("X-A", " 1\t"),
                ("host", "other"),
                ("user-agent", "ab"),
                ("ACCEPT", ""),
                ("x-a", "2"),
            ]),
            Ok("GET /status?a=b HTTP/1.1\nHost: other\nX-A: 1\nuser-agent: ab\nACCEPT: \nx-a: 2"),
        );
    }

    #[test]
    fn verbatim_fields_are_all_there_is() {
        let fields = [("Connection", "Keep-Alive"), ("X-A", "1"), ("Host", "other")];
        check(
            |request| {
                with_headers(&fields)(request);
                request.verbatim = true;
            },
            Ok("GET /status?a=b HTTP/1.1\nConnection: Keep-Alive\nX-A: 1\nHost: other"),
        );
        let post = |request: &mut Request| {
            request.method = "POST".to_owned();
            request.verbatim = true;
        };
        check(post, Ok("POST /status?a=b HTTP/1.1"));
        check(
            |request| {
                post(request);
                request.body = b"hello".to_vec();
            },
            Ok("POST /status?a=b HTTP/1.1\nContent-Length: 5"),
        );
    }

    #[test]
    fn verbatim_fields_that_say_nothing_of_the_connection() {
        for (version, keep_alive) in [(Version::Http10, false), (Version::Http11, true)] {
            let request = Request { version, verbatim: true, ..Request::get("a", "/") };
            assert_eq!(request.encode().unwrap().keep_alive(), keep_alive, "{version:?}");
        }
    }

    #[test]
    fn lengths() {
        for method in ["POST", "PUT", "PATCH"] {
            check(
                |request| request.method = method.to_owned(),
                Ok(&format!("{method} /status?a=b HTTP/1.1{REST}\nContent-Length: 0")),
            );
        }
        check(
            |request| request.body = b"hello".to_vec(),
            Ok(&format!("GET /status?a=b HTTP/1.1{REST}\nContent-Length: 5")),
        );
        check(
            |request| {
                request.body = b"hello".to_vec();
                request.headers.push(("content-length".to_owned(), "5".to_owned()));
            },
            Ok(&format!("GET /status?a=b HTTP/1.1{REST}\ncontent-length: 5")),
        );
        check(
            with_headers(&[("Content-Length", "5")]),
            Err(RequestError::ContentLength { given: "5".to_owned(), body_bytes: 0 }),
        );
    }

    #[test]
    fn request_lines() {
        check(|r| r.method = "HEAD".to_owned(), Ok(&format!("HEAD /status?a=b HTTP/1.1{REST}")));
        let options = |r: &mut Request| {
            r.method = "OPTIONS".to_owned();
            r.target = "*".to_owned();
        };
        check(options, Ok(&format!("OPTIONS * HTTP/1.1{REST}")));
        for method in ["", "G T", "GET\r\n", "G\u{c9}T", "GET:"] {
            check(|r| r.method = method.to_owned(), Err(RequestError::Method { method: method.to_owned() }));
        }
        check(|r| r.method = "CONNECT".to_owned(), Err(RequestError::Connect));
        let absolute = |r: &mut Request| r.target = "http://example.org/a".to_owned();
        check(absolute, Ok(&format!("GET http://example.org/a HTTP/1.1{REST}")));
        for target in ["", "status", "ftp://example.org/", "*"] {
            check(
                |r| r.target = target.to_owned(),
                Err(RequestError::TargetForm { target: target.to_owned() }),
            );
        }
        for target in ["/ b", "/\rb", "/\nb", "/\0", "/\u{e9}", "/#top", "/\u{7f}"] {
            let error = RequestError::TargetCharacter { target: target.to_owned(), at: 1 };
            check(|r| r.target = target.to_owned(), Err(error));
        }
    }

    #[test]
    fn hosts() {
        for authority in ["", "a b", "a\r\nX: y", "user@a", "a/b", "\u{e9}"] {
            let error = || Err(RequestError::Authority { authority: authority.to_owned() });
            check(|r| r.authority = authority.to_owned(), error());
            if !authority.contains('\r') {
                check(with_headers(&[("Host", authority)]), error());
            }
        }
        let request = Request::get("[::1]:80", "/");
        assert!(request.encode().unwrap().bytes().starts_with(b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n"));
    }

    #[test]
    fn headers_that_cannot_be_sent() {
        for name in ["", "a b", "a:", "a\r\nb", "\u{e9}"] {
            check(with_headers(&[(name, "x")]), Err(RequestError::HeaderName { name: name.to_owned() }));
        }
        for value in ["a\r\nX: y", "a\nb", "a\0", "a\x1b[0m"] {
            let error = RequestError::HeaderValue { name: "A".to_owned(), at: 1 };
            check(with_headers(&[("A", value)]), Err(error));
        }
        for (name, value) in [
            ("EXPECT", "100-continue"),
            ("Transfer-Encoding", "chunked"),
            ("upgrade", "h2c"),
            ("Connection", "close, Upgrade"),
        ] {
            check(with_headers(&[(name, value)]), Err(RequestError::HeaderRefused { name: name.to_owned() }));
        }
        check(
            with_headers(&[("Host", "a"), ("HOST", "a")]),
            Err(RequestError::HeaderTwice { name: "HOST".to_owned() }),
        );
    }

    #[test]
    fn only_head_is_of_its_kind() {
        for (method, kind) in
            [("HEAD", RequestKind::Head), ("GET", RequestKind::Normal), ("head", RequestKind::Normal)]
        {
            let mut request = Request::get("a", "/");
            request.method = method.to_owned();
            assert_eq!(request.encode().unwrap().kind(), kind, "{method}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let mut request = Request::get("a", "/caf\u{e9}");
        assert_eq!(
            request.encode().unwrap_err().to_string(),
            "use \"/caf\u{e9}\" as a target: percent-encode the character at byte 4"
        );
        request = Request::get("a", "/");
        request.headers.push(("Expect".to_owned(), "100-continue".to_owned()));
        assert_eq!(
            request.encode().unwrap_err().to_string(),
            "send the header Expect: prony sends each body at once, with its length, \
             and never switches protocols; remove it"
        );
    }
}
