//! What goes wrong over TLS, by kind.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

/// Why a connection has no TLS, or none any more. It holds no memory of its own: workers keep examples without
/// allocating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The first byte is not one of a TLS record (RFC 8446 section 5.1).
    #[error("the server doesn't speak TLS on this port: try an http URL")]
    NotTls,
    /// The server's certificate was refused.
    #[error("the server's certificate {0}")]
    Certificate(CertificateFault),
    /// The server ended it with an alert (RFC 8446 section 6).
    #[error("the server refused with the alert {}{}", alert_name(*.0), alert_hint(*.0))]
    Alert(u8),
    /// No version, cipher suite or the like that both sides have.
    #[error("client and server have nothing in common: {0}")]
    Incompatible(Words),
    /// Bytes that don't follow the protocol.
    #[error("the server broke the rules of TLS: {0}")]
    Broken(Words),
    /// A record that its key does not open.
    #[error("a record can't be decrypted")]
    Undecryptable,
    /// The connection was closed before the handshake was complete.
    #[error("the server closed the connection in the middle of the handshake")]
    ClosedInHandshake,
    /// The connection was closed without close_notify where only that ends a body (RFC 8446 section 6.1).
    #[error("the connection was closed without close_notify, so the body may be cut short")]
    Truncated,
    /// Anything else.
    #[error("{0}")]
    Other(Words),
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateFault {
    /// Past its end.
    #[error("has expired")]
    Expired,
    /// Before its beginning.
    #[error("is not valid yet")]
    NotYetValid,
    /// Signed by nobody that is trusted.
    #[error("is signed by an unknown authority")]
    UnknownIssuer,
    /// Signed by itself.
    #[error("is self-signed")]
    SelfSigned,
    /// For another host.
    #[error("is for another host name")]
    WrongName,
    /// Not for a server: a CA's own, or for clients only.
    #[error("is not one of a server")]
    WrongPurpose,
    /// Taken back.
    #[error("was revoked")]
    Revoked,
    /// Its signature does not match, or its algorithm is unknown.
    #[error("has a signature that can't be verified")]
    BadSignature,
    /// Anything else.
    #[error("can't be used")]
    Other,
}

impl TlsError {
    /// Whether the certificate is the reason.
    pub fn is_certificate(&self) -> bool {
        matches!(self, Self::Certificate(_))
    }

    /// Whether the server demands a client certificate (RFC 8446 section 6.2), or does not like the one it got.
    pub fn wants_client_certificate(&self) -> bool {
        matches!(self, Self::Alert(42 | 43 | 44 | 45 | 46 | 48 | 116))
    }

    /// What `error` of rustls is.
    pub(super) fn of(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(error) => Self::Certificate(CertificateFault::of(error)),
            rustls::Error::NoCertificatesPresented => Self::Certificate(CertificateFault::Other),
            rustls::Error::AlertReceived(alert) => Self::Alert(u8::from(*alert)),
            rustls::Error::PeerIncompatible(why) => Self::Incompatible(incompatible(why)),
            rustls::Error::NoApplicationProtocol => {
                Self::Alert(u8::from(AlertDescription::NoApplicationProtocol))
            }
            rustls::Error::DecryptError => Self::Undecryptable,
            rustls::Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => Self::Broken(Words::of(&"these are no TLS records")),
            rustls::Error::InvalidMessage(why) => Self::Broken(Words::debug(why)),
            rustls::Error::PeerMisbehaved(why) => Self::Broken(Words::debug(why)),
            other @ (rustls::Error::InappropriateMessage { .. }
            | rustls::Error::InappropriateHandshakeMessage { .. }
            | rustls::Error::PeerSentOversizedRecord) => Self::Broken(Words::of(other)),
            other => Self::Other(Words::of(other)),
        }
    }
}

fn incompatible(why: &PeerIncompatible) -> Words {
    match why {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            Words::of(&"the server has none of the TLS versions that are offered")
        }
        other => Words::debug(other),
    }
}

impl CertificateFault {
    fn of(error: &CertificateError) -> Self {
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::WrongName
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Self::WrongPurpose
            }
            CertificateError::Revoked => Self::Revoked,
            CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => Self::BadSignature,
            CertificateError::Other(other) if other.to_string() == super::verifier::SELF_SIGNED => {
                Self::SelfSigned
            }
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                Self::WrongPurpose
            }
            _ => Self::Other,
        }
    }
}

/// The name of an alert as RFC 8446 section 6 has it.
fn alert_name(code: u8) -> Words {
    let name = match code {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return Words::of(&code),
    };
    Words::of(&name)
}

/// What an alert means for the user who sends the load.
fn alert_hint(code: u8) -> &'static str {
    match code {
        40 | 71 => ": it may want a client certificate, or have no cipher suite in common",
        42..=46 | 48 => ": it doesn't accept the client's certificate",
        70 => ": it has none of the TLS versions that are offered",
        112 => ": it has no certificate for this name",
        116 => ": it demands a client certificate",
        120 => ": it speaks none of the protocols that were offered (ALPN)",
        _ => "",
    }
}

/// A few words, cut at `WORDS_MAX` bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Words {
    bytes: [u8; WORDS_MAX],
    length: u8,
}

/// Bytes of [`Words`].
const WORDS_MAX: usize = 80;

impl Words {
    fn of(text: &dyn fmt::Display) -> Self {
        let mut words = Self { bytes: [0; WORDS_MAX], length: 0 };
        // Full is not a failure.
        let _cut = write!(words, "{text}");
        words
    }

    fn debug(value: &dyn fmt::Debug) -> Self {
        Self::of(&format_args!("{value:?}"))
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars().filter(|letter| !letter.is_control()) {
            let start = usize::from(self.length);
            let end = start + letter.len_utf8();
            if end > WORDS_MAX {
                return Err(fmt::Error);
            }
            letter.encode_utf8(&mut self.bytes[start..end]);
            self.length = u8::try_from(end).expect("invariant: WORDS_MAX fits");
        }
        Ok(())
    }
}

impl fmt::Display for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), formatter)
    }
}

/// Why no connection can be made at all: a file or a name of the user's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A name that no certificate can be for.
    #[error("`{0}` is not a host name that TLS can ask for")]
    ServerName(String),
    /// A file with certificates to trust can't be read, or holds none.
    #[error("no certificates to trust in {}: {why}", path.display())]
    CaFile {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The system has no certificates to trust.
    #[error("the system has no certificates to trust ({0})")]
    NoSystemRoots(String),
    /// The client's certificate can't be read.
    #[error("no client certificate in {}: {why}", path.display())]
    ClientCertificate {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Its key can't be read, or is of another certificate.
    #[error("no usable key in {}: {why}", path.display())]
    ClientKey {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Anything else that rustls refuses.
    #[error("TLS can't be set up: {0}")]
    Config(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_as_text() {
        let check = |error: rustls::Error, expected: &str| {
            assert_eq!(TlsError::of(&error).to_string(), expected, "{error:?}");
        };
        check(
            rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
            "the server refused with the alert handshake_failure: it may want a client certificate, or have no \
             cipher suite in common",
        );
        check(
            rustls::Error::AlertReceived(AlertDescription::Unknown(200)),
            "the server refused with the alert 200",
        );
        check(rustls::Error::DecryptError, "a record can't be decrypted");
        check(CertificateError::Expired.into(), "the server's certificate has expired");
        check(
            CertificateError::UnknownIssuer.into(),
            "the server's certificate is signed by an unknown authority",
        );
    }

    #[test]
    fn words_are_cut_and_hold_no_control_characters() {
        let long = "ä".repeat(200);
        assert_eq!(Words::of(&long).text(), "ä".repeat(WORDS_MAX / 2));
        assert_eq!(Words::of(&"a\u{1b}[2J\r\nb").text(), "a[2Jb");
    }
}
