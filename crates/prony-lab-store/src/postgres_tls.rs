//! TLS for connections to PostgreSQL: rustls, as for the lab's own pages.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use prony_model::Problem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DEFAULT_VERSIONS, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::StoreError;

/// Where systems keep the certificates of the authorities that they trust: Debian and others, Fedora and others, Alpine.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Makes the TLS of connections.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

/// The TLS of one connection.
pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// A connection.
pub(super) struct Encrypted<S>(TlsStream<S>);

impl Tls {
    /// Takes any certificate: nobody on the way can listen, unless they answer in the server's place.
    pub(super) fn unverified() -> Result<Self, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(DEFAULT_VERSIONS)
            .map_err(|error| StoreError::Fault(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// Takes certificates for the server's name from an authority in the file `roots`, or one that the system trusts.
    pub(super) fn verified(roots: Option<&Path>) -> Result<Self, StoreError> {
        let roots = match roots {
            Some(path) => read(path)?,
            None => system_roots()?,
        };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(DEFAULT_VERSIONS)
            .map_err(|error| StoreError::Fault(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// The authorities in the file `path`, in PEM.
fn read(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |why: String| {
        let path = path.display();
        StoreError::Address(Problem::new(
            format!("its authorities can't be read from {path} ({why})"),
            "sslrootcert should name a file with certificates in PEM",
        ))
    };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(error.to_string()))?;
    roots.add_parsable_certificates(found);
    if roots.is_empty() { Err(failed("it holds no certificate".to_owned())) } else { Ok(roots) }
}

fn system_roots() -> Result<RootCertStore, StoreError> {
    let found = SYSTEM_ROOTS.iter().map(Path::new).find(|path| path.exists()).ok_or_else(|| {
        StoreError::Address(Problem::new(
            "this system has no list of authorities to verify it with",
            "name a file: sslrootcert=FILE, or install ca-certificates",
        ))
    })?;
    read(found)
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        let name = ServerName::try_from(host)?.to_owned();
        Ok(Handshake { config: Arc::clone(&self.0), name })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connector = TlsConnector::from(self.config);
        Box::pin(async move { connector.connect(self.name, stream).await.map(Encrypted) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> postgres::tls::TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}

/// Checks that a server has the key of its certificate, and nothing else of it.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use prony_targets::postgres::{Options, Postgres};

    use super::super::fixture::postgres_options;
    use super::super::{Store, StoreError};
    use prony_lab_model::options::StoreAddress;

    /// A certificate for localhost with its key, in `folder`, made by openssl(1).
    fn certificate(folder: &std::path::Path, name: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        let settings = folder.join("openssl.cnf");
        let text = "[req]\ndistinguished_name = name\nx509_extensions = server\nprompt = no\n[name]\nCN = localhost\n\
                    [server]\nbasicConstraints = CA:FALSE\nsubjectAltName = DNS:localhost\n";
        std::fs::write(&settings, text).expect("room");
        let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
        let mut openssl = Command::new("openssl");
        openssl.args(words.split(' ')).arg("-config").arg(&settings);
        let made = openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output().expect("openssl");
        assert!(made.status.success(), "{made:?}");
        (certificate, key)
    }

    /// A port that nobody had a moment ago.
    fn free_port() -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    }

    #[test]
    fn a_server_is_verified_by_its_authority_and_its_name() {
        let port = free_port();
        let postgres = Postgres::start(&Options { port: Some(port), ..postgres_options() });
        let postgres = postgres.expect("PostgreSQL; ./test installs it");
        let address = |host: &str, more: &str| {
            StoreAddress::Postgres(format!("postgres://guest@{host}:{port}/guest?{more}"))
        };
        let folder = tempfile::tempdir().expect("a folder");
        let (good, key) = certificate(folder.path(), "good");
        let (other, _) = certificate(folder.path(), "other");
        let refused =
            |host: &str, more: &str| Store::open(&address(host, more)).err().expect("refused").to_string();
        let full = format!("sslmode=verify-full&sslrootcert={}", good.display());
        // It speaks no TLS yet.
        let plain = refused("localhost", "sslmode=require");
        assert!(plain.contains("does not support TLS"), "{plain}");
        Store::open(&address("localhost", "sslmode=disable")).expect("in the clear, by name");

        // The server reads the files as its own user.
        let data = postgres.socket_folder().join("data");
        for (from, to) in [(&good, "server.crt"), (&key, "server.key")] {
            let to = data.join(to);
            std::fs::copy(from, &to).expect("copied");
            let owner = std::os::unix::fs::MetadataExt::uid(&data.metadata().expect("there"));
            std::os::unix::fs::chown(&to, Some(owner), None).expect("ours");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&to, mode).expect("ours");
        }
        let socket =
            format!("host={} port={port} user=prony dbname=postgres", postgres.socket_folder().display());
        let connect = || postgres::Client::connect(&socket, postgres::NoTls).expect("PostgreSQL");
        connect().simple_query("ALTER SYSTEM SET ssl = on").expect("set");
        connect().simple_query("SELECT pg_reload_conf()").expect("reloaded");
        // The server reloads by itself; a connection that begins after that has the new setting.
        while connect().query_one("SHOW ssl", &[]).expect("a setting").get::<_, &str>(0) != "on" {
            std::thread::yield_now();
        }

        let tls = "SELECT COUNT(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
        let encrypted = |more: &str| {
            let store = Store::open(&address("localhost", more)).expect("a store");
            store.read_blocking(|tx| tx.number(tls, &[])).expect("read")
        };
        assert_eq!((encrypted("sslmode=require"), encrypted(&full), encrypted("sslmode=disable")), (1, 1, 0));
        let unknown = refused("localhost", &format!("sslmode=verify-full&sslrootcert={}", other.display()));
        assert!(unknown.contains("certificate"), "{unknown}");
        let renamed = refused("127.0.0.1", &full);
        assert!(renamed.contains("certificate") && renamed.contains("name"), "{renamed}");
        let missing = Store::open(&address("localhost", "sslmode=verify-full&sslrootcert=/nonexistent"));
        assert!(matches!(missing, Err(StoreError::Address(_))));
    }
}
