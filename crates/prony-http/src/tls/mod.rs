//! TLS between the socket and HTTP, sans I/O: ciphertext in, plain bytes out, and the reverse.
//!
//! The only owner of rustls. Like the rest of this crate it opens no socket. It reads files once, when a
//! [`TlsClient`] is made, and the wall clock when a certificate is verified, which rustls does by itself. Its
//! interface is shaped like the one that rustls is moving to (the caller owns all buffers), so that a later rustls
//! changes `session.rs` alone.
//!
//! Reading order: [`settings`] (what is asked for), [`client`] (what all connections share), [`session`] (one
//! connection), [`error`]; then `sessions` (what may be resumed), `verifier`, and [`certificate`] (what a
//! certificate says of itself).
//!
//! # What differs from a browser
//!
//! - Early data (0-RTT) is never sent: a server may see it twice.
//! - A ticket is used once (RFC 8446 appendix C.4).
//! - No close_notify is sent when a connection is given up: nothing follows it, and a close by the client must
//!   cost what it costs over plain TCP.

pub mod certificate;
pub mod client;
pub mod error;
pub mod session;
mod sessions;
pub mod settings;
mod verifier;

pub use certificate::Certificate;
pub use client::TlsClient;
pub use error::{CertificateFault, SetupError, TlsError};
pub use session::{Negotiated, Progress, TlsBuffers, TlsSession};
pub use settings::{TlsSettings, Versions};
