//! A lab that runs: what answers, and what goes on beside that.

use std::net::SocketAddr;

use prony_lab_core::admin::LocalSocket;
use prony_lab_core::fleet::{Fleet, FleetError, FleetOptions, FleetThreads};
use prony_lab_core::lab::Lab;
use prony_lab_core::lab_error::LabError;
use prony_lab_model::log::{LogEntry, LogLevel};

use crate::background_tasks::{self, BackgroundTasks};

/// A lab that answers.
pub struct Serving {
    web: prony_lab_web::Serving,
    background: BackgroundTasks,
    local: Option<LocalSocket>,
}

impl Serving {
    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.web.addresses()
    }

    /// Ends it: what is accepted stays accepted.
    pub fn stop(self) {
        self.web.close();
        drop(self.local);
        drop(self.background);
        self.web.stop();
    }
}

/// Leads agents from now on, until what is returned is dropped. To be called before builds are run.
pub fn lead_agents(lab: &Lab, options: FleetOptions) -> Result<FleetThreads, FleetError> {
    let (fleet, threads) = Fleet::start(&lab.store, options)?;
    // A lab leads agents by one key.
    let _ = lab.fleet.set(fleet);
    Ok(threads)
}

/// Listens and answers from now on.
pub fn serve(lab: &Lab) -> Result<Serving, LabError> {
    let web = prony_lab_web::serve(lab)?;
    let background = background_tasks::start(lab)?;
    // A folder on another machine may hold no socket; the lab does without.
    let local = LocalSocket::start(lab)
        .inspect_err(|error| {
            let message = format!(
                "there is no {}/admin.sock ({error}): `prony lab user`, `token`, `policy` and `secret` don't reach this \
                 lab while it runs",
                lab.options.data.display()
            );
            lab.log().add(LogEntry::new(LogLevel::Warning, "lab.no-socket", message));
        })
        .ok();
    Ok(Serving { web, background, local })
}
