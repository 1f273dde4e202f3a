//! A task of a build while it runs: what it writes is in the store as it comes.

use std::ffi::OsString;

use super::build::{Done, Job, Source};
use super::process::{Bounds, Order};
use crate::clock;
use crate::model::{BuildId, TaskId};
use crate::store::{Store, StoreError, tasks};

/// What a task writes, on its way into the store.
pub(super) struct Log<'a> {
    store: &'a Store,
    build: BuildId,
    task: TaskId,
    /// Why something could not be kept.
    error: Option<StoreError>,
}

impl<'a> Log<'a> {
    pub(super) fn new(store: &'a Store, build: BuildId, task: TaskId) -> Self {
        Self { store, build, task, error: None }
    }

    /// Keeps a piece.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let (build, task, bytes) = (self.build, self.task, bytes.to_vec());
        let written =
            self.store.write_blocking(move |tx| tasks::write(tx, build, task, &bytes, clock::wall()));
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    /// Keeps a line of the lab's own.
    pub(super) fn line(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes());
    }

    /// The first error, if there was one: a task whose output is lost has failed.
    pub(super) fn error(&self) -> Option<&StoreError> {
        self.error.as_ref()
    }
}

/// Runs `words` in the folder of `source`, in the sandbox if there is one.
pub(super) fn run(
    job: &Job<'_>,
    words: Vec<OsString>,
    source: &Source,
    bounds: Bounds,
    is_asked_whole: bool,
    log: &mut Log<'_>,
) -> Done {
    let order = Order {
        words: job.tools.sandbox.wrapped(&job.room, &source.folder, words),
        folder: source.folder.clone(),
        environment: job.room.environment(&job.tools.lab.options.search_path, &own(job, source)),
        room: job.room.path().to_owned(),
        is_asked_whole,
        bounds,
    };
    match job.tools.starter.run(&order, job.cancel, &mut |piece| log.write(piece)) {
        Ok(ran) => Done::of(ran.ended, &bounds),
        Err(error) => Done::failed(error.to_string()),
    }
}

/// What builds are told in their environment.
fn own(job: &Job<'_>, source: &Source) -> Vec<(&'static str, String)> {
    let build = &job.detail.build;
    let mut own = vec![
        ("PRONY_BUILD", build.id.to_string()),
        ("PRONY_COMMIT", source.commit.clone()),
        ("PRONY_REFERENCE", build.reference.clone()),
    ];
    own.extend(build.project_name.iter().map(|name| ("PRONY_PROJECT", name.clone())));
    own.extend(build.variant.iter().map(|variant| ("PRONY_VARIANT", variant.clone())));
    // Where `prony study` finds what is known of this machine.
    let state = job.tools.state.as_ref().and_then(|state| state.to_str());
    own.extend(state.map(|state| ("XDG_STATE_HOME", state.to_owned())));
    own
}
