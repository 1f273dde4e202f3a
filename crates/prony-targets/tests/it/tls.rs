//! All servers over TLS, as a client of rustls sees them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prony_targets::tls::Tls;
use prony_targets::{Running, StartError, bottleneck, dashboard, kv, null, rudy, truth};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A client that trusts this authority.
fn client(authority_pem: &str, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

fn connect(address: SocketAddr, config: &Arc<ClientConfig>, name: &'static str) -> Stream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    // A test that would hang fails instead; no test waits for this.
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let name = ServerName::try_from(name).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), socket)
}

/// A reply with its body by Content-Length: the status line and the body's length.
fn reply(stream: &mut Stream) -> (String, usize) {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length: usize = length.expect("a length").parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head.lines().next().unwrap().to_owned(), length)
}

/// Every server, by its name.
fn all(tls: &Tls) -> Vec<(&'static str, Running)> {
    let tls = || Some(tls.clone());
    let rudy = |model| {
        let delay = Duration::from_millis(1);
        rudy::start(rudy::Config { model, delay, keep_alive: true, tls: tls(), ..rudy::Config::default() })
            .unwrap()
    };
    let pool = |when_full| rudy::Model::Pool { workers: 2, when_full };
    vec![
        ("null", null::start(null::Config { tls: tls(), ..null::Config::default() }).unwrap()),
        ("rudy sequential", rudy(rudy::Model::Sequential)),
        ("rudy thread", rudy(rudy::Model::Thread)),
        ("rudy pool", rudy(pool(rudy::WhenFull::Hold))),
        ("rudy refusing pool", rudy(pool(rudy::WhenFull::Refuse))),
        ("rudy async", rudy(rudy::Model::Async)),
        ("bottleneck", bottleneck::start(bottleneck::Config { tls: tls(), ..Default::default() }).unwrap()),
        ("dashboard", dashboard::start(dashboard::Config { tls: tls(), ..Default::default() }).unwrap()),
        ("kv", kv::start(kv::Config { tls: tls(), ..kv::Config::default() }).unwrap()),
        ("truth", truth::start(truth::Config { tls: tls(), ..truth::Config::default() }).unwrap()),
    ]
}

#[test]
fn every_server_speaks_both_versions_and_resumes() {
    for (version, name) in [(&rustls::version::TLS12, "localhost"), (&rustls::version::TLS13, "127.0.0.1")] {
        let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
        for (server_name, server) in all(&made.tls) {
            let before = made.tls.handshakes();
            let config = client(&made.authority_pem, &[version]);
            for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
                let mut stream = connect(server.local_addr(), &config, name);
                for _ in 0..3 {
                    stream.write_all(GET).unwrap();
                    let (status, _) = reply(&mut stream);
                    assert!(status.starts_with("HTTP/1.1 "), "{server_name}: {status}");
                }
                assert_eq!(stream.conn.handshake_kind(), Some(kind), "{server_name} {version:?}");
                assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]), "{server_name}");
            }
            let report = server.stop();
            let after = made.tls.handshakes();
            let counted = (after.full - before.full, after.resumed - before.resumed, after.failed);
            assert_eq!(counted, (1, 1, 0), "{server_name}");
            assert_eq!((report.counts.connections, report.counts.requests), (2, 6), "{server_name}");
        }
    }
}

#[test]
fn a_connection_that_closes_behind_its_answer_says_so() {
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let config = client(&made.authority_pem, &[&rustls::version::TLS13]);
    for (name, server) in all(&made.tls) {
        let mut stream = connect(server.local_addr(), &config, "localhost");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut all = Vec::new();
        // Without the alert this would be an error: the answer could have been cut.
        stream.read_to_end(&mut all).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(all.starts_with(b"HTTP/1.1 "), "{name}");
    }
}

/// A body far beyond all buffers, taken only when the server has nothing left to do but wait.
#[test]
fn a_client_that_reads_late_gets_every_byte() {
    const BODY_BYTES: usize = 16 * 1024 * 1024;
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let tls = Some(made.tls.clone());
    let config = null::Config { body_bytes: BODY_BYTES, tls, ..null::Config::default() };
    let server = null::start(config).unwrap();
    let config = client(&made.authority_pem, &[&rustls::version::TLS13]);
    let mut stream = connect(server.local_addr(), &config, "localhost");
    // Pipelined: the second waits behind the first, which is blocked.
    stream.write_all(GET).unwrap();
    stream.write_all(GET).unwrap();
    for _ in 0..2 {
        assert_eq!(reply(&mut stream), ("HTTP/1.1 200 OK".to_owned(), BODY_BYTES));
    }
}

/// Bytes in pieces of any size, some of them one at a time, and many requests in one record.
#[test]
fn records_may_be_cut_anywhere() {
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let config = client(&made.authority_pem, &[&rustls::version::TLS13]);
    for (name, server) in all(&made.tls) {
        let mut stream = connect(server.local_addr(), &config, "localhost");
        stream.write_all(GET).unwrap();
        reply(&mut stream);
        stream.conn.writer().write_all(&GET.repeat(50)).unwrap();
        let mut wire = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut wire).unwrap();
        }
        let (singly, rest) = wire.split_at(40);
        for byte in singly {
            stream.sock.write_all(&[*byte]).unwrap();
        }
        stream.sock.write_all(rest).unwrap();
        for _ in 0..50 {
            assert!(reply(&mut stream).0.starts_with("HTTP/1.1 "), "{name}");
        }
    }
}

#[test]
fn a_busy_pool_refuses_over_tls_too() {
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let model = rudy::Model::Pool { workers: 1, when_full: rudy::WhenFull::Refuse };
    let delay = Duration::from_hours(1);
    let config = rudy::Config { model, delay, tls: Some(made.tls.clone()), ..rudy::Config::default() };
    let server = rudy::start(config).unwrap();
    let config = client(&made.authority_pem, &[&rustls::version::TLS13]);
    let mut first = connect(server.local_addr(), &config, "localhost");
    first.write_all(GET).unwrap();
    super::client::wait_until_asked(&server);
    let mut second = connect(server.local_addr(), &config, "localhost");
    second.write_all(GET).unwrap();
    assert!(reply(&mut second).0.starts_with("HTTP/1.1 503 "));
    assert_eq!(server.stop_within(Duration::ZERO).counts.refused, 1);
}

#[test]
fn plain_http_gets_an_alert_and_nonsense_harms_nobody() {
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    for (name, server) in all(&made.tls) {
        for bytes in [GET, b"\x16\x03\x01\x00\x05hello", b"\x16\x03", b"\0", b""] {
            let mut socket = TcpStream::connect(server.local_addr()).unwrap();
            socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
            socket.write_all(bytes).unwrap();
            socket.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            let read = socket.read_to_end(&mut answer);
            assert!(read.is_ok() || read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
            if bytes == GET {
                // An alert, fatal (RFC 8446 section 6): what shows a client that this is TLS.
                assert!(answer.starts_with(&[0x15, 3]), "{name}: {answer:?}");
            }
        }
        let config = client(&made.authority_pem, &[&rustls::version::TLS13]);
        let mut stream = connect(server.local_addr(), &config, "localhost");
        stream.write_all(GET).unwrap();
        reply(&mut stream);
    }
    let handshakes = made.tls.handshakes();
    // A connection on which nothing was sent is no failed handshake.
    assert_eq!((handshakes.full, handshakes.failed), (10, 40));
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_counted_as_failed() {
    let made = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let other = Tls::self_signed(Ipv4Addr::LOCALHOST.into()).unwrap();
    let tls = Some(made.tls.clone());
    let server = null::start(null::Config { tls, ..null::Config::default() }).unwrap();
    let config = client(&other.authority_pem, &[&rustls::version::TLS13]);
    let mut stream = connect(server.local_addr(), &config, "localhost");
    let refused = stream.write_all(GET).and_then(|()| stream.read_exact(&mut [0]));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("invalid peer certificate"), "{error}");
    drop(stream);
    drop(server);
    assert_eq!(made.tls.handshakes().failed, 1);
}

/// Reads files of these contents.
fn from_texts(folder: &Path, certificate: &str, key: &str) -> Result<Tls, StartError> {
    let (certificate_file, key_file) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&certificate_file, certificate).unwrap();
    std::fs::write(&key_file, key).unwrap();
    Tls::from_files(&certificate_file, &key_file)
}

#[test]
fn files_that_can_not_be_used_are_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    assert!(from_texts(folder.path(), &certificate, &key).is_ok());
    let other = KeyPair::generate_for(&PKCS_ED25519).unwrap().serialize_pem();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let damaged = certificate.replace("-----END CERTIFICATE-----", "");
    let no_der = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    let long = "x".repeat(1024 * 1024 + 1);
    for (certificate, key, file, reason) in [
        ("", key.as_str(), "cert.pem", "it holds no certificate"),
        ("garbage\0\u{fffd}", &key, "cert.pem", "it holds no certificate"),
        (&damaged, &key, "cert.pem", "it is damaged"),
        (no_der, &key, "cert.pem", "can't be read"),
        (&long, &key, "cert.pem", "longer than 1 MiB"),
        (&certificate, "", "key.pem", "it holds no private key"),
        (&certificate, &certificate, "key.pem", "it holds no private key"),
        (&certificate, &encrypted, "key.pem", "it is encrypted"),
        (&certificate, &other, "key.pem", "it belongs to another certificate"),
    ] {
        let error = from_texts(folder.path(), certificate, key).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(reason), "{reason}: {error}");
    }
    let error = Tls::from_files(&folder.path().join("none"), &folder.path().join("key.pem")).unwrap_err();
    assert!(error.to_string().starts_with("read "), "{error}");
}
