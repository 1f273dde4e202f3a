//! TLS before the load: what a plan asks for, and one handshake with each address, so that a certificate that is refused
//! ends a run before it begins.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use prony_http::tls::{Negotiated, TlsBuffers, TlsClient, TlsError, TlsSession, TlsSettings, Versions};
use prony_model::{ServerCertificate, Target, TlsUse, TlsVersions, Version};

use crate::RunError;
use crate::clock::{self, Nanos, span};

/// Bytes that are read at once.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// How long a server that demands a client certificate which is not there has to say so: in TLS 1.3 the client's part of
/// the handshake is over before the server has seen that.
const REFUSAL_WAIT: Duration = Duration::from_secs(1);

/// Reads what TLS with `target` needs; `None` for an `http://` URL.
pub(crate) fn client(target: &Target, version: Version) -> Result<Option<TlsClient>, RunError> {
    let Some(options) = &target.tls else { return Ok(None) };
    let settings = TlsSettings {
        server_name: options.server_name.clone().unwrap_or_else(|| target.host.clone()),
        insecure: options.insecure,
        ca_files: options.ca_files.clone(),
        client_certificate: options
            .client_certificate
            .as_ref()
            .map(|files| (files.chain.clone(), files.key.clone())),
        versions: match options.versions {
            TlsVersions::Any => Versions::Any,
            TlsVersions::Tls12 => Versions::Tls12,
            TlsVersions::Tls13 => Versions::Tls13,
        },
        resumption: options.resumption,
        protocols: vec![if version == Version::Http2 { b"h2" } else { b"http/1.1" }],
    };
    TlsClient::new(&settings).map(Some).map_err(RunError::TlsSetup)
}

/// What of a handshake is part of a result.
pub(crate) fn used(negotiated: &Negotiated, target: &Target) -> TlsUse {
    TlsUse {
        version: negotiated.version.clone(),
        cipher_suite: negotiated.cipher_suite.clone(),
        key_exchange: negotiated.key_exchange.clone(),
        alpn: negotiated.protocol.clone(),
        verified: target.tls.as_ref().is_some_and(|options| !options.insecure),
        certificate: negotiated.certificate.as_ref().map(|certificate| ServerCertificate {
            key: certificate.key.to_owned(),
            key_bits: certificate.key_bits,
            subject: certificate.subject.clone(),
            issuer: certificate.issuer.clone(),
            not_after: certificate.not_after.clone(),
        }),
        ..TlsUse::default()
    }
}

/// A blocking socket with a limit on how long a read waits.
pub(crate) trait Waiting: Read + Write {
    /// Sets the limit.
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()>;
}

impl Waiting for std::net::TcpStream {
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

impl Waiting for std::os::unix::net::UnixStream {
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

/// A handshake over `stream`, within `limit`. `address` is for the error.
pub(crate) fn greet(
    stream: &mut impl Waiting,
    client: &TlsClient,
    address: &str,
    limit: Duration,
) -> Result<Negotiated, RunError> {
    let deadline = clock::now().saturating_add(span(limit));
    let mut buffers = TlsBuffers::default();
    let refused = |error: TlsError, details: Option<String>| RunError::Tls {
        address: address.to_owned(),
        why: details.unwrap_or_else(|| error.to_string()),
        error: Box::new(error),
    };
    let mut session = TlsSession::new(client, &mut buffers).map_err(|error| refused(error, None))?;
    let mut input = vec![0; READ_BYTES];
    while !session.is_secured() {
        let count = exchange(stream, &mut buffers.out, &mut input, deadline)
            .map_err(|error| failed(address, &error))?
            .ok_or_else(|| refused(TlsError::ClosedInHandshake, None))?;
        let read = session.read(&input[..count], &mut buffers);
        if let Err(error) = read {
            // The server is to know why.
            let _gone = stream.write_all(&buffers.out);
            return Err(refused(error, session.details()));
        }
    }
    stream.write_all(&buffers.out).map_err(|error| failed(address, &error))?;
    buffers.out.clear();
    if client.lacks_certificate() {
        let deadline = deadline.min(clock::now() + span(REFUSAL_WAIT));
        while let Ok(Some(count)) = exchange(stream, &mut buffers.out, &mut input, deadline) {
            session.read(&input[..count], &mut buffers).map_err(|error| refused(error, session.details()))?;
        }
    }
    Ok(session.negotiated())
}

/// Writes `out`, which is empty then, and reads once: how many bytes, or `None` at the end.
pub(crate) fn exchange(
    stream: &mut impl Waiting,
    out: &mut Vec<u8>,
    input: &mut [u8],
    deadline: Nanos,
) -> std::io::Result<Option<usize>> {
    stream.write_all(out)?;
    out.clear();
    let left = Duration::from_nanos(deadline.saturating_sub(clock::now()));
    stream.wait_at_most(left.max(Duration::from_millis(1)))?;
    loop {
        match stream.read(input) {
            Ok(0) => return Ok(None),
            Ok(count) => return Ok(Some(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn failed(address: &str, error: &std::io::Error) -> RunError {
    let why = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "no TLS handshake in time".to_owned(),
        _ => format!("{} in the TLS handshake", crate::resolve::plain(error)),
    };
    RunError::NothingAnswers { address: address.to_owned(), why }
}
