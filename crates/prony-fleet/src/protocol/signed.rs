//! Signed commands. On the wire: the signature in base64, a line feed, the envelope as JSON. What is signed is the
//! subject, too, so that a command for one agent is none for another; the exact bytes are signed, so that nobody has to
//! agree on how JSON is written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::keys::SIGNATURE_BYTES;
use super::{Command, ControllerKey, Envelope, PAYLOAD_MAX, ProtocolError, PublicKey, Subject};

/// Keeps these signatures apart from any other use of the key.
const CONTEXT: &str = "prony fleet command v1";

fn signed_bytes(subject: &Subject, envelope: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{CONTEXT}\n{subject}\n").into_bytes();
    bytes.extend_from_slice(envelope);
    bytes
}

/// The bytes of a command for `subject`.
pub fn seal(key: &ControllerKey, subject: &Subject, envelope: &Envelope<Command>) -> Vec<u8> {
    let json = envelope.encode();
    let mut sealed = STANDARD.encode(key.sign(&signed_bytes(subject, &json))).into_bytes();
    sealed.push(b'\n');
    sealed.extend_from_slice(&json);
    sealed
}

/// Reads a command that arrived on `subject`; nothing of it is decoded before its signature is verified.
pub fn open(key: &PublicKey, subject: &Subject, bytes: &[u8]) -> Result<Envelope<Command>, ProtocolError> {
    if bytes.len() > PAYLOAD_MAX {
        return Err(ProtocolError::TooLong { bytes: bytes.len(), max: PAYLOAD_MAX });
    }
    let end = bytes
        .iter()
        .take(2 * SIGNATURE_BYTES)
        .position(|byte| *byte == b'\n')
        .ok_or(ProtocolError::Forged)?;
    let signature = STANDARD.decode(&bytes[..end]).map_err(|_| ProtocolError::Forged)?;
    let json = &bytes[end + 1..];
    if !key.verify(&signed_bytes(subject, json), &signature) {
        return Err(ProtocolError::Forged);
    }
    Envelope::decode(json)
}
