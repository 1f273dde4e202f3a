//! Connections: from listening to the end of the lab.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use super::connection_limiter::ConnectionLimiter;
use super::guard::Peer;
use super::write_timeout::WriteTimeout;
use super::{routes, tls};
use prony_lab_core::lab::Lab;
use prony_lab_core::lab_error::LabError;

/// How long the head of a request may take to come, and how long a connection may be quiet between two.
const HEADER: Duration = Duration::from_secs(10);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Headers of one request: browsers send about twenty, proxies add some.
const HEADERS_MAX: usize = 64;
/// Bytes of the head of one request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long nothing of a response may be taken.
const STALL: Duration = Duration::from_secs(30);
/// Threads that wait for the store or for names of machines: each keeps memory of its own.
const BLOCKING_MAX: usize = 32;
/// How long to wait where no connection can be accepted.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Connections that are accepted and answered.
pub struct Serving {
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    runtime: tokio::runtime::Runtime,
}

impl Serving {
    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Accepts no more connections.
    pub fn close(&self) {
        self.stop.send_replace(true);
    }

    /// Ends it, once what is being answered has had some seconds.
    pub fn stop(self) {
        self.close();
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }
}

/// Listens and answers from now on.
pub fn serve(lab: &Lab) -> Result<Serving, LabError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("lab-web")
        .max_blocking_threads(BLOCKING_MAX)
        .build()
        .map_err(LabError::Threads)?;
    let (stop, stopped) = watch::channel(false);
    let tls = match &lab.options.tls {
        Some((certificate, key)) => Some(tls::acceptor(certificate, key)?),
        None => None,
    };
    let server = Server { router: routes::router(lab.clone()), limiter: ConnectionLimiter::new(), tls };
    let mut addresses = Vec::new();
    for &address in &lab.options.listen {
        let failed = |source| LabError::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        addresses.push(listener.local_addr().map_err(failed)?);
        runtime.spawn(accept(listener, server.clone(), stopped.clone()));
    }
    Ok(Serving { addresses, stop, runtime })
}

/// What the connections of one listener have in common.
#[derive(Clone)]
struct Server {
    router: axum::Router,
    limiter: ConnectionLimiter,
    tls: Option<TlsAcceptor>,
}

async fn accept(listener: TcpListener, server: Server, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|&stop| stop) => return,
        };
        let Ok((stream, peer)) = accepted else {
            // Without descriptors it fails at once, again and again: the connections that are there come first.
            tokio::time::sleep(AFTER_FAILURE).await;
            continue;
        };
        // A refused client sees only the closed connection: an answer would cost what there is too little of.
        let Some(permit) = server.limiter.enter(peer.ip()) else { continue };
        // Small answers must not wait for more of them; without it they are late, and no worse.
        let _ = stream.set_nodelay(true);
        let server = server.clone();
        tokio::spawn(async move {
            match &server.tls {
                None => talk(stream, peer, server.router).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                        talk(stream, peer, server.router).await;
                    }
                }
            }
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
async fn talk<S>(stream: S, peer: SocketAddr, router: axum::Router)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, STALL)), service);
    // What a client breaks off is its own affair.
    let _ = connection.await;
}
