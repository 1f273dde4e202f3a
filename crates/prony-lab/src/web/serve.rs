//! Connections: from listening to the end of the lab.

use std::net::SocketAddr;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::routes;
use crate::background::Background;
use crate::duties;
use crate::lab::{Lab, LabError};

/// A lab that answers.
pub struct Serving {
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    runtime: tokio::runtime::Runtime,
    duties: Vec<Background>,
}

impl Serving {
    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Ends it: what is accepted stays accepted.
    pub fn stop(self) {
        self.stop.send_replace(true);
        drop(self.duties);
        self.runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    }
}

/// Listens and answers from now on.
pub fn serve(lab: &Lab) -> Result<Serving, LabError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("lab-web")
        .build()
        .map_err(LabError::Threads)?;
    let (stop, stopped) = watch::channel(false);
    let router = routes::router(lab.clone());
    let mut addresses = Vec::new();
    for &address in &lab.options.listen {
        let failed = |source| LabError::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        addresses.push(listener.local_addr().map_err(failed)?);
        runtime.spawn(accept(listener, router.clone(), stopped.clone()));
    }
    let duties = duties::start(lab)?;
    Ok(Serving { addresses, stop, runtime, duties })
}

async fn accept(listener: TcpListener, router: axum::Router, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|&stop| stop) => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            // What a client breaks off is its own affair.
            let _ = connection.await;
        });
    }
}
