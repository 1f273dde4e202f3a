//! A started server, and its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};

use crate::StartError;
use crate::counters::{Counters, Counts};
use crate::listen::Listener;
use crate::stop::Stop;

/// How long a stop waits for requests in flight. Longer than any delay a study uses, shorter than a person's
/// patience.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// A server that is listening and accepting. Dropping it stops it as [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {
    local_addr: SocketAddr,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    /// Closed to new connections by the stop itself, where the threads that accept may be busy with a request.
    listener: Option<Arc<Listener>>,
    /// In the order in which they are joined: those that serve before those that write down what they served.
    threads: Vec<JoinHandle<()>>,
}

/// What a server did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// The counters when the last thread had ended; `in_flight` is what was [`abandoned`](Self::abandoned).
    pub counts: Counts,
    /// Requests still unanswered at the limit, which were given up.
    pub abandoned: u64,
}

impl Running {
    pub(crate) fn new(local_addr: SocketAddr, counters: Arc<Counters>, stop: Arc<Stop>) -> Self {
        Self { local_addr, counters, stop, listener: None, threads: Vec::new() }
    }

    /// Leaves it to the stop to refuse new connections.
    pub(crate) fn close_on_stop(&mut self, listener: Arc<Listener>) {
        self.listener = Some(listener);
    }

    /// Starts a thread of this server. When one can't be started, dropping `self` ends the others.
    pub(crate) fn spawn(
        &mut self,
        name: &'static str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), StartError> {
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
            .map_err(|source| StartError::Resource { what: "a thread", source })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where it listens, with the port it was given if 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The counters now. They are read one after another, so they may be a few requests apart.
    pub fn counters(&self) -> Counts {
        self.counters.read()
    }

    /// [`stop_within`](Self::stop_within) [`DRAIN_LIMIT`].
    pub fn stop(self) -> StopReport {
        self.stop_within(DRAIN_LIMIT)
    }

    /// Stops accepting, closes idle connections, lets requests in flight finish for up to `limit`, and waits for
    /// all threads.
    pub fn stop_within(mut self, limit: Duration) -> StopReport {
        self.finish(limit);
        let counts = self.counters.read();
        StopReport { counts, abandoned: counts.in_flight }
    }

    fn finish(&mut self, limit: Duration) {
        self.stop.raise(limit);
        if let Some(listener) = self.listener.take() {
            // On Linux a listening socket that is shut down listens no more.
            let _ = shutdown(&listener, Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.finish(DRAIN_LIMIT);
    }
}
