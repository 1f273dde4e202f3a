//! The HTTP/2 client core (RFC 9113): bytes in, bytes and events out, as the core for HTTP/1.1 beside it.
//!
//! A [`Connection`] turns what a server sends into [`Event`]s, each with the stream that it belongs to, and appends
//! what has to be answered (acknowledgements, windows, resets) to a buffer of the caller's. It must never open a
//! socket, read a clock, keep a body, or allocate for each request once it has warmed up.
//!
//! Reading order: [`request`] (encoded once for a run), [`plain_fields`] (for requests that differ), [`limits`], [`event`], [`connection`] and what it is made of:
//! `frame_reader` (frames out of bytes), `frames` (what each frame changes), `send` (requests and bodies), then
//! `streams`, `windows`, `settings`, `message` (what a list of fields means), `block_cache` (field blocks that
//! repeat), `hpack`, `frame` and [`error`].
//!
//! # What is accepted
//!
//! Each rule that RFC 9113 calls a connection error ends the connection with a typed [`Http2Error`] and a GOAWAY.
//! Responses that are malformed (section 8.1.1) fail alone: the stream is reset and the others go on. Other stream
//! errors are treated as connection errors, which section 5.4.1 permits, but for windows of streams. What no rule
//! forbids but nobody needs, such as ten thousand PING frames, has a bound in [`Limits`].

mod block_cache;
pub mod connection;
pub mod error;
pub mod event;
mod frame;
mod frame_reader;
mod frames;
mod hpack;
pub mod limits;
mod message;
pub mod plain_fields;
pub mod request;
mod send;
mod settings;
mod streams;
mod windows;

pub use connection::{Connection, Shared};
pub use error::{ErrorCode, HpackError, Http2Error};
pub use event::{End, Event, Head, Step, Stream};
pub use frame::FrameKind;
pub use hpack::fields::Fields;
pub use limits::Limits;
pub use request::{EncodedRequest, Scheme};
pub use send::{Blocked, OneRequest};

/// What the fuzzers of `fuzz/` reach into: the decoder of field blocks alone.
#[doc(hidden)]
pub mod for_tests {
    pub use super::hpack::for_tests::{BlockDecoder, Field, huffman_decoded, huffman_encoded};
}
