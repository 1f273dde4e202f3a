//! The worker of a lab: takes one build after the other from the queue and sees it through.
//!
//! One build at a time: so there is one measurement at a time on this machine, and on every target of its projects.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use prony_supervisor::{Cancel, Cgroups, Starter};

use super::build;
use super::cache;
use super::checkout::Fetcher;
use super::commits;
use super::inspect::Inspector;
use super::sandbox::Sandbox;
use super::triggers;
use super::workspace;
use prony_lab_core::health::Health;
use prony_lab_core::lab::Lab;
use prony_lab_core::lab_error::LabError;
use prony_lab_model::clock;
use prony_lab_model::{BuildId, BuildState};
use prony_lab_store::background::Background;
use prony_lab_store::{Store, StoreError, Tx, builds, database_addresses, disk, queue};

/// How soon a new build is seen, and one that is cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often to check for builds that have waited too long: they count their time in hours.
const EXPIRY: Duration = Duration::from_secs(1);
/// How soon the space of caches that were cleared is free again.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);
/// After an error of the store: time for a database to come back.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// What folders and the trial of a sandbox take at most.
const ROOM_BYTES_MIN: u64 = 1 << 20;
/// What must be written is tried for so long; after that the build is left to the next start of the lab.
const PERSISTENCE: Duration = Duration::from_mins(2);

/// What the worker needs to know of its user beside the lab's options. Nothing here reads the environment.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Home of the lab's user, whose keys git uses, and whose secrets builds don't see.
    pub home: Option<PathBuf>,
    /// Where the calibrations of this machine are (`XDG_STATE_HOME`).
    pub state: Option<PathBuf>,
}

/// What the worker works with.
pub(super) struct Tools {
    pub(super) lab: Lab,
    pub(super) starter: Starter,
    pub(super) sandbox: Sandbox,
    pub(super) fetcher: Fetcher,
    /// Where workspaces are made.
    pub(super) workspaces: PathBuf,
    /// Where caches of projects are kept.
    pub(super) caches: PathBuf,
    pub(super) state: Option<PathBuf>,
    /// Addresses that no build gets to.
    pub(super) closed: Vec<IpAddr>,
}

/// A worker at work. Dropped, it stops: what runs is ended, and its build fails.
pub struct Worker {
    shared: Arc<Shared>,
    health: Arc<Health>,
    sandbox: Sandbox,
    threads: Vec<JoinHandle<()>>,
    _triggers: Background,
}

#[derive(Default)]
struct Shared {
    is_stopping: AtomicBool,
    /// Ends what is done between two builds.
    stop: Cancel,
    /// What is being worked on.
    now: Mutex<Option<(BuildId, Cancel)>>,
}

impl Worker {
    /// Sees to what an earlier lab left behind, and works from now on. [`StoreError::Full`] where the disk has no room
    /// for that: later it may have.
    pub fn start(lab: &Lab, surroundings: &Surroundings) -> Result<Self, LabError> {
        // Without room the trial of the sandbox would fail, and builds would run without one where that is allowed.
        if disk::space(&lab.options.data).is_some_and(|space| space.free_bytes < ROOM_BYTES_MIN) {
            return Err(StoreError::Full.into());
        }
        lab.store.write_blocking(|tx| queue::recover(tx, clock::wall()))?;
        let folder = |path: &PathBuf| {
            let path = path.clone();
            move |source| LabError::Folder { path, source }
        };
        let data = std::path::absolute(&lab.options.data).map_err(folder(&lab.options.data))?;
        let workspaces = data.join("work");
        // What an earlier lab was doing is over.
        workspace::remove(&workspaces)
            .and_then(|()| std::fs::create_dir_all(&workspaces))
            .map_err(folder(&workspaces))?;
        let caches = data.join("caches");
        std::fs::create_dir_all(&caches).map_err(folder(&caches))?;
        // In a sandbox the name of "the program that runs now" means another.
        let program = std::fs::canonicalize(&lab.options.program).map_err(folder(&lab.options.program))?;
        let search_path = lab.options.search_path.clone();
        let mode = lab.options.sandbox;
        let state = surroundings.state.as_deref();
        let sandbox = Sandbox::detect(mode, &search_path, &data, &program, state);
        if let Some(refusal) = sandbox.refusal(mode, false) {
            return Err(LabError::Sandbox(refusal));
        }
        let cgroups = Cgroups::detect();
        // A second worker on the same lab would report the same.
        let _ = lab.workplace.set(format!("{} {}", sandbox.describe(), describe_limits(&cgroups)));
        let starter = Starter { program, cgroups: Arc::new(cgroups) };
        let fetcher = Fetcher {
            starter: starter.clone(),
            mirrors: data.join("mirrors"),
            search_path,
            home: surroundings.home.clone(),
        };
        let triggers = triggers::start(lab, fetcher.clone()).map_err(LabError::Threads)?;
        let _ = lab.inspector.set(Box::new(Inspector::new(fetcher.clone(), workspaces.join("inspect"))));
        let tools = Tools {
            lab: lab.clone(),
            fetcher,
            starter,
            sandbox: sandbox.clone(),
            workspaces,
            caches,
            state: surroundings.state.clone(),
            closed: database_addresses(&lab.options.store),
        };
        let shared = Arc::new(Shared::default());
        let health = Arc::clone(&lab.health);
        let mut worker =
            Self { shared: Arc::clone(&shared), health, sandbox, threads: Vec::new(), _triggers: triggers };
        let clerk = (Arc::clone(&shared), lab.store.clone());
        worker.spawn("lab-clerk", move || watch(&clerk.0, &clerk.1))?;
        worker.spawn("lab-worker", move || work(&shared, &tools))?;
        Ok(worker)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), LabError> {
        let end = EndReport { shared: Arc::clone(&self.shared), health: Arc::clone(&self.health) };
        let run = move || {
            let _end = end;
            run();
        };
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(LabError::Threads)?;
        self.threads.push(thread);
        Ok(())
    }

    /// How builds run here, for people: in which sandbox, or why in none.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Ends it: what runs is stopped, and its build fails.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.stop.cancel();
        if let Some((_, cancel)) = &*self.shared.now() {
            cancel.cancel();
        }
        for thread in self.threads.drain(..) {
            // It panics only by a fault of ours, which was reported on stderr.
            let _ = thread.join();
        }
    }
}

/// Reports the end of a thread that should go on as long as the lab does: it has panicked.
struct EndReport {
    shared: Arc<Shared>,
    health: Arc<Health>,
}

impl Drop for EndReport {
    fn drop(&mut self) {
        if !self.shared.is_stopping() {
            self.health.worker_ended();
        }
    }
}

impl Shared {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    fn now(&self) -> std::sync::MutexGuard<'_, Option<(BuildId, Cancel)>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who keeps the limits of builds, for people.
fn describe_limits(cgroups: &Cgroups) -> String {
    match cgroups.missing() {
        None => "The kernel keeps their limits of memory and processes (cgroup v2).".to_owned(),
        Some(reason) => {
            format!("The lab looks four times a second whether they keep their limits, as {reason}.")
        }
    }
}

/// Takes builds until the lab ends.
fn work(shared: &Shared, tools: &Tools) {
    let store = &tools.lab.store;
    let mut next_sweep = clock::steady();
    while !shared.is_stopping() {
        // An error is the store's; the list still waits then.
        let _ = commits::list_wanted(tools, &shared.stop);
        if clock::steady() >= next_sweep {
            cache::sweep(tools);
            next_sweep = clock::steady() + SWEEP_INTERVAL;
        }
        match next(store) {
            Ok(Some(id)) => {
                let cancel = Cancel::default();
                *shared.now() = Some((id, cancel.clone()));
                // A stop may have been requested in between.
                if shared.is_stopping() {
                    cancel.cancel();
                }
                build::run_build(tools, id, &cancel, &|| shared.is_stopping());
                *shared.now() = None;
            }
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(_) => std::thread::sleep(AFTER_ERROR),
        }
    }
}

/// The next build, given away.
fn next(store: &Store) -> Result<Option<BuildId>, StoreError> {
    // Reading is cheap: the store is written only where there is something to take.
    if !store.read_blocking(queue::has_work)? {
        return Ok(None);
    }
    store.write_blocking(|tx| queue::take(tx, clock::wall()))
}

/// Ends what waits too long, and takes cancellations of what runs, until the lab ends.
fn watch(shared: &Shared, store: &Store) {
    let (mut seen, mut next_expiry) = (0, clock::steady());
    while !shared.is_stopping() {
        let version = store.version();
        let now = shared.now().clone();
        if let Some((id, cancel)) = now.filter(|_| version != seen)
            && store.read_blocking(|tx| builds::state(tx, id)) == Ok(BuildState::Cancelling)
        {
            cancel.cancel();
        }
        seen = version;
        if clock::steady() >= next_expiry {
            next_expiry = clock::steady() + EXPIRY;
            if store.read_blocking(|tx| queue::has_late(tx, clock::wall())) == Ok(true) {
                // An error is the store's; it is tried again.
                let _ = store.write_blocking(|tx| queue::expire(tx, clock::wall()));
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Writes what must not be lost: tries again while the store can't.
pub(super) fn persist<T: Send + 'static>(
    store: &Store,
    work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Clone + Send + 'static,
) -> Result<T, StoreError> {
    let until = clock::steady() + PERSISTENCE;
    loop {
        let written = store.write_blocking(work.clone());
        let passes =
            matches!(written, Err(StoreError::Unavailable(_) | StoreError::Locked | StoreError::Full));
        if !passes || clock::steady() >= until {
            return written;
        }
        std::thread::sleep(AFTER_ERROR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_core::health::HealthLimits;

    #[test]
    fn a_worker_that_panics_is_reported_and_one_that_is_stopped_is_not() {
        let ended = |is_stopping: bool| {
            let health = Arc::new(Health::new(HealthLimits { disk_bytes: 0, has_worker: true }));
            let shared = Arc::new(Shared::default());
            shared.is_stopping.store(is_stopping, Ordering::Release);
            let report = EndReport { shared, health: Arc::clone(&health) };
            let thread = std::thread::spawn(move || {
                let _report = report;
                assert!(is_stopping, "a panic that this test wants");
            });
            assert_eq!(thread.join().is_ok(), is_stopping);
            health.has_worker_ended()
        };
        assert_eq!((ended(false), ended(true)), (true, false));
    }
}
