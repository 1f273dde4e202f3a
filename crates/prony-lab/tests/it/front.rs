//! A lab on a free port, and somebody who asks it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use prony_lab::model::Role;
use prony_lab::{Lab, LabOptions, Serving, serve};
use serde_json::Value;

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// A good password.
pub(crate) const PASSWORD: &str = "some good words";

/// A lab that ends with the test.
pub(crate) struct Front {
    pub(crate) lab: Lab,
    pub(crate) address: SocketAddr,
    _serving: Serving,
    pub(crate) folder: tempfile::TempDir,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// The first header of that name, in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The session's cookie that it hands over, as it is sent back.
    pub(crate) fn cookie(&self) -> String {
        self.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned()
    }

    /// What the first form on the page carries.
    pub(crate) fn csrf(&self) -> String {
        let at = self.body.find("name=\"csrf\" value=\"").expect("a form") + "name=\"csrf\" value=\"".len();
        self.body[at..at + 64].to_owned()
    }
}

impl Front {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With other options.
    pub(crate) fn with(change: impl FnOnce(&mut LabOptions)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = options(folder.path());
        change(&mut options);
        let lab = Lab::open(options).expect("a lab");
        let serving = serve(&lab).expect("a lab that answers");
        let address = serving.addresses()[0];
        Self { lab, address, _serving: serving, folder }
    }

    /// Asks, with `Host` as it should be.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let host = self.address.to_string();
        let mut all = vec![("Host", host.as_str())];
        all.extend_from_slice(headers);
        self.ask_as(method, path, &all, body)
    }

    /// Asks with these headers and no others but the body's length.
    pub(crate) fn ask_as(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            write!(text, "{name}: {value}\r\n").expect("it fits");
        }
        if !body.is_empty() {
            write!(text, "Content-Length: {}\r\n", body.len()).expect("it fits");
        }
        text.push_str("\r\n");
        text.push_str(body);
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // A server that refuses a body may answer, and close, before it has read all of it.
        let _ = stream.write_all(text.as_bytes());
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(ended.is_ok() || !answer.is_empty(), "{method} {path}: {ended:?}");
        reply(&answer)
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.ask("GET", path, headers, "")
    }

    /// Sends a form.
    pub(crate) fn form(&self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Reply {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut all = vec![("Content-Type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.ask("POST", path, &all, &body)
    }

    /// Sends JSON with a token.
    pub(crate) fn call(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        self.ask(method, &format!("/api/v1{path}"), &headers, &body)
    }

    /// Follows a link and sets [`PASSWORD`]: the cookie of the session.
    pub(crate) fn follow(&self, path: &str) -> String {
        let reply = self.form(path, &[], &[("password", PASSWORD), ("again", PASSWORD)]);
        assert_eq!(reply.status, 303, "{reply:?}");
        reply.cookie()
    }

    /// Logs in as the first admin: the cookie of the session.
    pub(crate) fn admin(&self) -> String {
        self.follow(&self.lab.first_link().expect("a store").expect("nobody was there"))
    }

    /// The token of the forms of a session.
    pub(crate) fn csrf(&self, cookie: &str) -> String {
        self.get("/add_job", &[("Cookie", cookie)]).csrf()
    }

    /// A token of the admin whose session `cookie` is.
    pub(crate) fn token(&self, cookie: &str, role: Role) -> String {
        let csrf = self.csrf(cookie);
        let body = format!("{{\"name\":\"test\",\"role\":\"{role}\"}}");
        let headers =
            [("Cookie", cookie), ("X-CSRF-Token", csrf.as_str()), ("Content-Type", "application/json")];
        let reply = self.ask("POST", "/api/v1/tokens", &headers, &body);
        reply.json()["token"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
    }
}

/// A lab on loopback with nothing special about it.
pub(crate) fn options(folder: &std::path::Path) -> LabOptions {
    LabOptions { program: "/nonexistent/prony".into(), ..LabOptions::new(folder.to_owned()) }
}

/// Reads an answer that ends with its connection; chunks are put together.
pub(crate) fn reply(bytes: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Reply { status: status.expect("a status"), headers, body }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
