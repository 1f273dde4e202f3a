//! One connection over TLS: ciphertext in, plain bytes out, and the reverse.

use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{CertificateError, HandshakeKind, ProtocolVersion};

use super::certificate::{Certificate, rfc3339};
use super::client::TlsClient;
use super::error::TlsError;

/// What a record adds to its content at most, in TLS 1.2 and 1.3 (RFC 5246 section 6.2.3, RFC 8446 section 5.2): the
/// encrypted length may be 2^14 + 2048 at most, and every suite of rustls needs less than this.
const RECORD_OVERHEAD: usize = 64;
/// The content of a record at most.
const RECORD_CONTENT_MAX: usize = 16 * 1024;
/// Records that go over a connection of TLS 1.2 before it is replaced.
const RECORDS_MAX: u64 = 1 << 23;
/// What is tried first for a message of the handshake.
const MESSAGE_GUESS: usize = 1024;

/// Memory for one call, which all sessions of a thread share.
#[derive(Debug, Default)]
pub struct TlsBuffers {
    /// What the peer sent, decrypted where it lies.
    work: Vec<u8>,
    /// What was read: the content of all whole records.
    pub plain: Vec<u8>,
    /// What is to be sent to the peer, which the caller does, and empties it.
    pub out: Vec<u8>,
}

/// What reading did, beyond its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The handshake is complete, with this read.
    pub secured: bool,
    /// The peer has ended its side as it should (close_notify): no byte follows.
    pub ended: bool,
}

/// What both sides agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// `TLS 1.2` or `TLS 1.3`.
    pub version: String,
    /// IANA's name.
    pub cipher_suite: String,
    /// Key exchange group.
    pub key_exchange: Option<String>,
    /// The protocol that the server chose (ALPN).
    pub protocol: Option<String>,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// What the server showed.
    pub certificate: Option<Certificate>,
}

/// The client's side of one connection.
pub struct TlsSession {
    connection: UnbufferedClientConnection,
    /// A record, or a message of the handshake, that has come in part.
    pending: Vec<u8>,
    /// Whether any byte has come.
    begun: bool,
    secured: bool,
    /// Records that were encrypted.
    records: u64,
    failure: Option<rustls::Error>,
}

impl TlsSession {
    /// Begins a handshake; its first message goes to `buffers.out`.
    pub fn new(client: &TlsClient, buffers: &mut TlsBuffers) -> Result<Self, TlsError> {
        let connection = UnbufferedClientConnection::new(Arc::clone(&client.config), client.name.clone())
            .map_err(|error| TlsError::of(&error))?;
        let mut session =
            Self { connection, pending: Vec::new(), begun: false, secured: false, records: 0, failure: None };
        buffers.work.clear();
        session.advance(buffers)?;
        Ok(session)
    }

    /// Takes in what the peer sent: the content of all whole records goes to `buffers.plain`, which is emptied before;
    /// what is to be sent goes behind what is in `buffers.out`, also after an error.
    pub fn read(&mut self, bytes: &[u8], buffers: &mut TlsBuffers) -> Result<Progress, TlsError> {
        buffers.plain.clear();
        if let Some(first) = bytes.first()
            && !std::mem::replace(&mut self.begun, true)
            && !is_content_type(*first)
        {
            return Err(TlsError::NotTls);
        }
        // Decryption is in place, and a record may have begun in an earlier read.
        buffers.work.clear();
        buffers.work.extend_from_slice(&self.pending);
        buffers.work.extend_from_slice(bytes);
        self.advance(buffers)
    }

    /// Encrypts `plain` behind what is in `out`; the handshake must be complete.
    pub fn write(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        loop {
            let UnbufferedStatus { discard, state } = self.connection.process_tls_records(&mut self.pending);
            match state {
                Ok(ConnectionState::EncodeTlsData(mut message)) => append(out, MESSAGE_GUESS, |room| {
                    message.encode(room).map_err(|error| match error {
                        EncodeError::InsufficientSize(error) => Some(error.required_size),
                        EncodeError::AlreadyEncoded => None,
                    })
                }),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let records = plain.len() / RECORD_CONTENT_MAX + 1;
                    self.records += records as u64;
                    append(out, plain.len() + records * RECORD_OVERHEAD, |room| {
                        traffic.encrypt(plain, room).map_err(|error| match error {
                            EncryptError::InsufficientSize(error) => Some(error.required_size),
                            EncryptError::EncryptExhausted => None,
                        })
                    });
                    self.forget(discard);
                    return Ok(());
                }
                Ok(_) => return Err(TlsError::ClosedInHandshake),
                Err(error) => return Err(TlsError::of(&error)),
            }
            self.forget(discard);
        }
    }

    fn forget(&mut self, discard: usize) {
        if discard > 0 {
            self.pending.drain(..discard);
        }
    }

    /// Whether the handshake is complete.
    pub fn is_secured(&self) -> bool {
        self.secured
    }

    /// Whether a session was resumed; the handshake is complete.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the keys should not be used for much longer: those of TLS 1.2 can't be renewed, and rustls stops at 2^24
    /// records. In TLS 1.3 it renews them by itself.
    pub fn is_worn(&self) -> bool {
        self.records > RECORDS_MAX && self.connection.protocol_version() == Some(ProtocolVersion::TLSv1_2)
    }

    /// The protocol that the server chose (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// What was agreed on, for people.
    pub fn negotiated(&self) -> Negotiated {
        let connection = &self.connection;
        Negotiated {
            version: match connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "TLS 1.2".to_owned(),
                Some(ProtocolVersion::TLSv1_3) => "TLS 1.3".to_owned(),
                other => format!("{other:?}"),
            },
            cipher_suite: connection
                .negotiated_cipher_suite()
                .map(|suite| format!("{:?}", suite.suite()))
                .unwrap_or_default(),
            key_exchange: connection
                .negotiated_key_exchange_group()
                .map(|group| format!("{:?}", group.name())),
            protocol: connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
            resumed: self.is_resumed(),
            certificate: connection.peer_certificates().and_then(|chain| Certificate::read(chain.first()?)),
        }
    }

    /// The last error in more words than it has itself: which names, since when.
    pub fn details(&self) -> Option<String> {
        let rustls::Error::InvalidCertificate(error) = self.failure.as_ref()? else { return None };
        match error {
            CertificateError::ExpiredContext { not_after, .. } => {
                Some(format!("the server's certificate has expired, on {}", rfc3339(not_after.as_secs())))
            }
            CertificateError::NotValidYetContext { not_before, .. } => Some(format!(
                "the server's certificate is not valid before {}",
                rfc3339(not_before.as_secs())
            )),
            CertificateError::NotValidForNameContext { expected, presented } => {
                const SHOWN_MAX: usize = 5;
                let names: Vec<String> = presented.iter().take(SHOWN_MAX).map(|name| bare(name)).collect();
                let more = if presented.len() > SHOWN_MAX { ", …" } else { "" };
                Some(match names.as_slice() {
                    [] => format!("the server's certificate names no host, so not {}", expected.to_str()),
                    names => format!(
                        "the server's certificate is for {}{more}, not for {}",
                        names.join(", "),
                        expected.to_str()
                    ),
                })
            }
            _ => None,
        }
    }

    /// Goes on as far as `buffers.work` allows.
    fn advance(&mut self, buffers: &mut TlsBuffers) -> Result<Progress, TlsError> {
        let result = self.drain_messages(buffers);
        result.map_err(|error| {
            let found = TlsError::of(&error);
            self.failure = Some(error);
            found
        })
    }

    fn drain_messages(&mut self, buffers: &mut TlsBuffers) -> Result<Progress, rustls::Error> {
        let TlsBuffers { work, plain, out } = buffers;
        let mut start = 0;
        let mut ended = false;
        let mut failure = None;
        loop {
            let UnbufferedStatus { discard, state } = self.connection.process_tls_records(&mut work[start..]);
            start += discard;
            let state = match state {
                Ok(state) => state,
                Err(error) => {
                    failure.get_or_insert(error);
                    // What is left to write is the alert that tells the server why. Beyond that rustls must not read the
                    // same bytes again.
                    if self.connection.wants_write() {
                        continue;
                    }
                    break;
                }
            };
            match state {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        plain.extend_from_slice(record?.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut message) => append(out, MESSAGE_GUESS, |room| {
                    message.encode(room).map_err(|error| match error {
                        EncodeError::InsufficientSize(error) => Some(error.required_size),
                        EncodeError::AlreadyEncoded => None,
                    })
                }),
                ConnectionState::TransmitTlsData(sent) => sent.done(),
                ConnectionState::PeerClosed => ended = true,
                _ => break,
            }
            if failure.is_some() && !self.connection.wants_write() {
                break;
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        self.keep(&work[start..]);
        let secured = !self.secured && !self.connection.is_handshaking();
        self.secured |= secured;
        Ok(Progress { secured, ended })
    }

    /// Keeps what is not whole yet.
    fn keep(&mut self, rest: &[u8]) {
        self.pending.clear();
        self.pending.reserve_exact(rest.len());
        self.pending.extend_from_slice(rest);
    }
}

/// The name in rustls's way of writing one that a certificate is for: `DnsName("a")`, `IpAddress(…)`.
fn bare(name: &str) -> String {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"').to_owned()
}

/// Whether a record can begin with `byte` (RFC 8446 section 5.1).
fn is_content_type(byte: u8) -> bool {
    (20..=24).contains(&byte)
}

/// Appends to `out` what `write` writes into as much room as `guess`, or as it then asks for.
fn append(out: &mut Vec<u8>, guess: usize, mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>) {
    let start = out.len();
    let mut room = guess;
    for _ in 0..2 {
        out.resize(start + room, 0);
        match write(&mut out[start..]) {
            Ok(written) => return out.truncate(start + written),
            Err(Some(needed)) => room = needed,
            Err(None) => break,
        }
    }
    out.truncate(start);
}

/// Sessions go from thread to thread with their workers.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<TlsSession>();
};
