//! The HTTP client cores: bytes in, bytes and events out. HTTP/2 is in [`h2`], HTTP/1.1 and 1.0 are here.
//!
//! It turns a [`Request`] into the bytes to send and the bytes a server answers into [`Event`]s, whatever
//! way the network cut them. It must never open a socket or read a clock. Its parsers never decode or keep a body, or
//! allocate once a connection has warmed up: they run between two clock readings of a load generator.
//!
//! Reading order: [`request`] and [`request_error`], [`limits`], [`event`] and [`response`] (the parser), then
//! what it is made of: `scan` (where a head begins and ends), [`cache`] (heads that repeat), `framing` (what a
//! head says about its body), `chunked`, [`head`] (the header fields for anyone who wants them), [`error`] and
//! [`excerpt`]; and on their own [`server_timing`], for anyone who reads one response rather than many, [`coding`], for anyone who
//! reads a body, and [`tls`], which lies between the socket and all of this.
//!
//! # What is accepted
//!
//! Prony measures servers that people are still writing, so it reads what RFC 9112 lets a recipient read and
//! refuses, with a typed [`ProtocolError`], whatever leaves the length of a body in doubt.
//!
//! - A line of a head or of trailers may end in a bare LF (RFC 9112 section 2.2); the lines of the chunked
//!   framing may not.
//! - No empty line is skipped before a status line: RFC 9112 section 2.2 asks that of servers only, and at a
//!   client it means that the body before it was longer than announced.
//! - Folded header lines (obs-fold, RFC 9112 section 5.2) are refused.
//! - `Transfer-Encoding` together with `Content-Length` is refused, as is `Transfer-Encoding` in an HTTP/1.0
//!   response (RFC 9112 sections 6.1 and 6.3).
//! - 101 is refused: no request of ours asks for an upgrade.

pub mod cache;
mod chunked;
pub mod coding;
pub mod error;
pub mod event;
pub mod events;
pub mod excerpt;
mod framing;
pub mod h2;
pub mod head;
pub mod limits;
pub mod request;
pub mod request_error;
pub mod response;
mod scan;
pub mod server_timing;
mod syntax;
pub mod tls;

pub use cache::HeadCache;
pub use error::{Part, ProtocolError};
pub use event::{End, Event, Finish, Step, Whole};
pub use events::{EventFormat, EventScanner};
pub use excerpt::Excerpt;
pub use head::{Framing, Head, Headers};
pub use limits::Limits;
pub use request::{EncodedRequest, Request, RequestKind, Version};
pub use request_error::RequestError;
pub use response::ResponseParser;
pub use server_timing::{ServerTiming, TimingMetric, TimingProblem, TimingProblemKind};
