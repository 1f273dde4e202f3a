//! What the server uses while it is measured, where it runs on this machine: found from its listening socket, read
//! from /proc on the collector's thread, never on a worker's.
//!
//! Reading order: `found.rs` and `locate.rs` (from an address to processes), `monitor.rs` (when what is read),
//! `group.rs` (processes that belong together) and `process.rs` (one of them), `dependants.rs`, `queue.rs`, and
//! `figures.rs` (what the samples come to). `observe.rs` does all that on the server's own host. Files and messages of the kernel are parsed by functions of
//! their texts: `proc_files.rs`, `socket_table.rs`, `sock_diag.rs`, `cgroup.rs`.

mod answers;
mod cgroup;
mod counters;
mod dependants;
mod figures;
mod found;
mod group;
mod holders;
mod locate;
mod monitor;
mod observe;
mod proc_files;
mod process;
mod queue;
mod sock_diag;
mod socket_table;

use std::net::SocketAddr;

use prony_model::{RunPlan, ServerHint, ServerUse};

use crate::RunError;
use crate::clock::Nanos;
use crate::record::collect::Window;
use crate::resolve::Peers;
use answers::Answers;
use found::Found;
use group::parents;
use monitor::Monitor;
pub use observe::{find_server, observe_server};
use sock_diag::SockDiag;

/// A run that is planned for fewer requests uses too little CPU time to measure: finding the server would take longer
/// than the run.
const REQUESTS_MIN: u64 = 100;

/// A server that is watched, or why none is.
pub(crate) struct ServerWatch {
    monitor: Result<Box<Monitor>, String>,
}

impl ServerWatch {
    /// Finds the server of `plan` before the load.
    ///
    /// # Errors
    /// Processes that were named and aren't there.
    pub(crate) fn new(plan: &RunPlan, peers: &Peers, hint: &ServerHint) -> Result<Self, RunError> {
        let named = !hint.pids.is_empty() || hint.cgroup.is_some();
        let requests = plan.end.requests().map(|all| plan.own_part(all));
        if let Some(requests) = requests.filter(|requests| *requests < REQUESTS_MIN && !named) {
            let why = format!("{requests} requests are too few to measure it: {REQUESTS_MIN} are needed");
            return Ok(Self { monitor: Err(why) });
        }
        let parents = parents();
        let targets = peers.here.then(|| peers.names.iter().filter_map(|name| name.parse().ok()).collect());
        match Found::new(plan, targets, hint, &parents) {
            Err(problem) if named => Err(RunError::Server(Box::new(problem))),
            Err(problem) => Ok(Self { monitor: Err(problem.to_string()) }),
            Ok(found) => {
                let mut monitor = Box::new(Monitor::new(found));
                // Without a warm-up, all that precedes the first sample must be done before the load.
                if plan.warmup.is_zero() {
                    monitor.refresh(&parents);
                    monitor.begin();
                }
                Ok(Self { monitor: Ok(monitor) })
            }
        }
    }

    /// The load will have this window.
    pub(crate) fn start(&mut self, window: Window) {
        if let Ok(monitor) = &mut self.monitor {
            monitor.start(window, Some(Answers::new(window.measure_from)));
        }
    }

    /// Reads what is due at `now`; cheap when nothing is.
    pub(crate) fn poll(&mut self, now: Nanos) {
        if let Ok(monitor) = &mut self.monitor {
            monitor.poll(now);
        }
    }

    /// What the server used, or why that is not known.
    pub(crate) fn finish(self) -> Result<ServerUse, String> {
        self.monitor?.finish()
    }

    /// What the server has used up to the last sample, or why that is not known.
    pub(crate) fn so_far(&self) -> Result<ServerUse, String> {
        self.monitor.as_ref().map_err(String::clone)?.so_far()
    }

    /// So many answers came between two moments of the measured part.
    pub(crate) fn count(&mut self, start: Nanos, end: Nanos, answers: u64) {
        if let Ok(monitor) = &mut self.monitor {
            monitor.count(start, end, answers);
        }
    }
}

/// Connections to `addresses` in TIME_WAIT on the client's side, each of which keeps a local port. `None` where the
/// kernel doesn't say.
pub(crate) fn time_wait_towards(addresses: &[SocketAddr]) -> Option<u64> {
    let is_one = |remote: SocketAddr| {
        addresses.iter().any(|one| (one.ip().to_canonical(), one.port()) == (remote.ip(), remote.port()))
    };
    let sockets = SockDiag::open()?.time_wait_sockets()?;
    Some(sockets.iter().filter(|socket| is_one(socket.remote)).count() as u64)
}
