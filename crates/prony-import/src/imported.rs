//! What comes out: one request, and what of the original is not in it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The version of HTTP that a request is sent by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1, also where the source names none.
    #[default]
    Http11,
    /// HTTP/2 that the server chooses in the TLS handshake; the URL is `https://`.
    Http2,
    /// HTTP/2 without TLS; the URL is not `https://`.
    Http2PriorKnowledge,
}

/// A request in the words of another tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The URL as it was written, with a query that options added.
    pub url: String,
    /// The method; `None` for the one that follows from the body.
    pub method: Option<String>,
    /// Name and value, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// How long a response may take.
    pub timeout: Option<Duration>,
    /// How long a connection may take.
    pub connect_timeout: Option<Duration>,
    /// What it is sent by.
    pub version: HttpVersion,
    /// A Unix socket to connect to.
    pub unix: Option<PathBuf>,
    /// Addresses to connect to.
    pub connect_to: Vec<SocketAddr>,
    /// What is not in it, in the order of the text.
    pub left_out: Vec<LeftOut>,
}

impl Imported {
    /// Whether a header of this name, in any case, is there.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    /// Adds a header where there is none of this name.
    pub(crate) fn default_header(&mut self, name: &str, value: &str) {
        if !self.has_header(name) {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// A part of the original that the load does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The line of the original, from 1.
    pub line: usize,
    /// The part, as it was written.
    pub what: String,
    /// What happens instead.
    pub instead: &'static str,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {} left out: {}", self.line, self.what, self.instead)
    }
}
