//! A session against rustls's server in memory: whatever way the bytes are cut, the same comes out.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use prony_http::tls::{Progress, TlsBuffers, TlsClient, TlsError, TlsSession, TlsSettings, Versions};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../prony-engine/tests/certificates", name].iter().collect()
}

fn client(versions: Versions) -> TlsClient {
    let settings = TlsSettings {
        server_name: "localhost".to_owned(),
        ca_files: vec![file("ca.pem")],
        versions,
        resumption: true,
        protocols: vec![b"http/1.1"],
        ..TlsSettings::default()
    };
    TlsClient::new(&settings).expect("files that are there")
}

fn server() -> Arc<ServerConfig> {
    let path = file("server.pem");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that there are")
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&path).expect("a certificate")],
            PrivateKeyDer::from_pem_file(&path).expect("a key"),
        );
    Arc::new(config.expect("a key of the certificate"))
}

/// Both ends of a connection; what the server sends comes in pieces of `piece` bytes.
struct Pair {
    session: TlsSession,
    buffers: TlsBuffers,
    server: ServerConnection,
    piece: usize,
    plain: Vec<u8>,
    progress: Progress,
}

impl Pair {
    fn new(client: &TlsClient, config: &Arc<ServerConfig>, piece: usize) -> Self {
        let mut buffers = TlsBuffers::default();
        let session = TlsSession::new(client, &mut buffers).expect("a session");
        let server = ServerConnection::new(Arc::clone(config)).expect("a session");
        Self { session, buffers, server, piece, plain: Vec::new(), progress: Progress::default() }
    }

    /// Everything goes to where it belongs, until nothing is under way.
    fn exchange(&mut self) -> Result<(), TlsError> {
        loop {
            let out = std::mem::take(&mut self.buffers.out);
            let mut rest = out.as_slice();
            while !rest.is_empty() {
                self.server.read_tls(&mut rest).expect("memory can be read");
                self.server.process_new_packets().expect("the client follows the rules");
            }
            let mut sent = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut sent).expect("memory can be written");
            }
            if sent.is_empty() {
                return Ok(());
            }
            for piece in sent.chunks(self.piece) {
                let progress = self.session.read(piece, &mut self.buffers)?;
                self.plain.extend_from_slice(&self.buffers.plain);
                self.progress.secured |= progress.secured;
                self.progress.ended |= progress.ended;
            }
        }
    }

    fn handshake(&mut self) {
        self.exchange().expect("both follow the rules");
        assert!(self.progress.secured && self.session.is_secured());
    }

    /// The server says `bytes`.
    fn say(&mut self, bytes: &[u8]) {
        self.server.set_buffer_limit(None);
        self.server.writer().write_all(bytes).expect("without a limit");
    }

    /// What the server has heard.
    fn heard(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        let _no_more = self.server.reader().read_to_end(&mut heard);
        heard
    }
}

const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

#[test]
fn records_cut_anywhere_are_the_same() {
    let body: Vec<u8> = (0..40_000_u32).flat_map(u32::to_le_bytes).collect();
    let config = server();
    for versions in VERSIONS {
        let client = client(versions);
        for piece in [1, 2, 3, 5, 7, 64, 1000, 16_384, 16_406, 1_000_000] {
            let mut pair = Pair::new(&client, &config, piece);
            pair.handshake();
            pair.session.write(b"request", &mut pair.buffers.out).expect("secured");
            pair.exchange().expect("both follow the rules");
            assert_eq!(pair.heard(), b"request");
            pair.say(&body);
            pair.exchange().expect("both follow the rules");
            assert!(pair.plain == body, "{versions:?}, pieces of {piece}: {} bytes", pair.plain.len());
            assert!(!pair.progress.ended);
            pair.server.send_close_notify();
            pair.exchange().expect("both follow the rules");
            assert!(pair.progress.ended);
        }
    }
}

#[test]
fn requests_of_any_length_arrive() {
    let config = server();
    for versions in VERSIONS {
        let mut pair = Pair::new(&client(versions), &config, 1_000_000);
        pair.handshake();
        for length in [1, 16_383, 16_384, 16_385, 32_768, 100_000] {
            let request = vec![b'x'; length];
            pair.session.write(&request, &mut pair.buffers.out).expect("secured");
            let overhead = pair.buffers.out.len() - length;
            assert!(overhead <= (length / 16_384 + 1) * 64, "{overhead} bytes for {length}");
            pair.server.set_buffer_limit(None);
            let mut heard = Vec::new();
            let out = std::mem::take(&mut pair.buffers.out);
            let mut rest = out.as_slice();
            while !rest.is_empty() {
                pair.server.read_tls(&mut rest).expect("memory can be read");
                pair.server.process_new_packets().expect("the client follows the rules");
                heard.extend(pair.heard());
            }
            assert_eq!(heard.len(), length);
        }
    }
}

#[test]
fn sessions_are_resumed() {
    let config = server();
    for versions in VERSIONS {
        let client = client(versions);
        let mut kinds = Vec::new();
        for _ in 0..4 {
            let mut pair = Pair::new(&client, &config, 1_000_000);
            pair.handshake();
            kinds.push(pair.session.is_resumed());
        }
        assert_eq!(kinds, [false, true, true, true], "{versions:?}");
        // Threads resume their own sessions only.
        let mut pair = Pair::new(&client.for_thread(), &config, 1_000_000);
        pair.handshake();
        assert!(!pair.session.is_resumed());
    }
}

#[test]
fn keys_change_on_both_sides() {
    let config = server();
    let mut pair = Pair::new(&client(Versions::Tls13), &config, 3);
    pair.handshake();
    for round in 0..20_u8 {
        pair.server.refresh_traffic_keys().expect("TLS 1.3");
        pair.say(&[round; 100]);
        pair.exchange().expect("both follow the rules");
        pair.session.write(&[round; 50], &mut pair.buffers.out).expect("secured");
        pair.exchange().expect("both follow the rules");
        assert_eq!(pair.heard(), [round; 50]);
    }
    assert_eq!(pair.plain.len(), 2000);
}

#[test]
fn any_bytes_end_in_an_error_or_are_waited_for() {
    let client = client(Versions::Any);
    let check = |bytes: &[u8], expected: Option<TlsError>| {
        let mut buffers = TlsBuffers::default();
        let mut session = TlsSession::new(&client, &mut buffers).expect("a session");
        assert_eq!(session.read(bytes, &mut buffers).err(), expected, "{bytes:?}");
        assert!(!session.is_secured() && buffers.plain.is_empty());
    };
    check(b"", None);
    check(b"\x16", None);
    check(b"\x16\x03\x03\x40", None);
    check(b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(TlsError::NotTls));
    check(b"\0", Some(TlsError::NotTls));
    check(b"\x15\x03\x01\x00\x02\x02\x46", Some(TlsError::Alert(70)));
}

#[test]
fn a_changed_byte_is_noticed() {
    let config = server();
    for versions in VERSIONS {
        let client = client(versions);
        let mut pair = Pair::new(&client, &config, 1_000_000);
        pair.handshake();
        pair.say(b"hello");
        let mut sent = Vec::new();
        pair.server.write_tls(&mut sent).expect("memory can be written");
        let last = sent.len() - 1;
        sent[last] ^= 1;
        let result = pair.session.read(&sent, &mut pair.buffers);
        assert_eq!(result, Err(TlsError::Undecryptable));
        assert!(pair.buffers.plain.is_empty());
        assert!(!pair.buffers.out.is_empty(), "an alert says why");
    }
}

#[test]
fn what_was_negotiated() {
    let mut pair = Pair::new(&client(Versions::Any), &server(), 1_000_000);
    pair.handshake();
    let negotiated = pair.session.negotiated();
    assert_eq!(negotiated.version, "TLS 1.3");
    assert!(negotiated.cipher_suite.starts_with("TLS13_AES_"), "{negotiated:?}");
    assert_eq!(negotiated.key_exchange.as_deref(), Some("X25519"));
    assert_eq!(negotiated.protocol, None, "the server knows none");
    let certificate = negotiated.certificate.expect("a certificate");
    assert_eq!((certificate.key, certificate.key_bits), ("ECDSA", Some(256)));
}
