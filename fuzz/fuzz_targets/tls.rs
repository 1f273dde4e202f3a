//! Feeds any bytes in any pieces to a TLS client: it must never panic, never take them for a complete handshake, and
//! hand out no content. The same bytes are read as a certificate, of which only words are made.
//!
//! The first byte of an input is the length of the pieces; the rest is what the server says.
#![no_main]

use std::cell::OnceCell;

use libfuzzer_sys::fuzz_target;
use prony_http::tls::{Certificate, TlsBuffers, TlsClient, TlsSession, TlsSettings};

thread_local! {
    static CLIENT: OnceCell<TlsClient> = const { OnceCell::new() };
}

/// A client that verifies nothing, so that nothing ends a handshake early.
fn client() -> TlsClient {
    let settings =
        TlsSettings { server_name: "localhost".to_owned(), insecure: true, ..TlsSettings::default() };
    TlsClient::new(&settings).expect("it needs no file")
}

fuzz_target!(|input: &[u8]| {
    let [piece, bytes @ ..] = input else { return };
    let mut buffers = TlsBuffers::default();
    let client = CLIENT.with(|cell| cell.get_or_init(client).clone());
    let mut session = TlsSession::new(&client, &mut buffers).expect("a session");
    for piece in bytes.chunks(usize::from(*piece).max(1)) {
        if session.read(piece, &mut buffers).is_err() {
            let _more_words = session.details();
            break;
        }
        assert!(!session.is_secured() && buffers.plain.is_empty());
    }
    if let Some(certificate) = Certificate::read(bytes) {
        let words = [certificate.subject, certificate.issuer, certificate.not_after];
        assert!(words.iter().flatten().all(|text| !text.chars().any(char::is_control)));
    }
});
