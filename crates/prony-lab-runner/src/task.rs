//! A task of a build while it runs: what it writes is in the store as it comes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use prony_supervisor::{CommandSpec, Limits};

use super::build::{Done, Job, Source};
use super::mask::{Mask, MaskedStream};
use super::sandbox::{Mount, Network, Scope, Use};
use prony_lab_model::clock;
use prony_lab_model::{BuildId, SecretName, TaskId};
use prony_lab_store::{Store, StoreError, tasks};

/// What a task writes, on its way into the store.
pub(super) struct Log<'a> {
    store: &'a Store,
    build: BuildId,
    task: TaskId,
    /// Why something could not be kept.
    error: Option<StoreError>,
    masked: MaskedStream,
}

impl<'a> Log<'a> {
    /// Of a task whose output shows nothing of what `mask` hides.
    pub(super) fn new(store: &'a Store, build: BuildId, task: TaskId, mask: &Mask) -> Self {
        Self { store, build, task, error: None, masked: MaskedStream::new(mask.clone()) }
    }

    /// Keeps a piece.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let shown = self.masked.push(bytes);
        self.keep(shown);
    }

    /// Keeps what was held back because a secret could have begun there.
    pub(super) fn finish(&mut self) {
        let shown = self.masked.finish();
        self.keep(shown);
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let (build, task) = (self.build, self.task);
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

/// How a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner<'a> {
    pub(super) scope: Scope,
    pub(super) network: Network,
    /// Whether all that it started is asked to stop, not it alone.
    pub(super) tree: bool,
    pub(super) limits: Limits,
    /// What it finds in its environment beside what all do.
    pub(super) secrets: &'a [(SecretName, Vec<u8>)],
    /// The socket of its way out, if it has one.
    pub(super) egress: Option<&'a Path>,
    /// Caches that it finds.
    pub(super) caches: &'a [Mount],
}

/// Runs `words` in the folder of `source`, in the sandbox if there is one.
pub(super) fn run(
    job: &Job<'_>,
    words: Vec<OsString>,
    source: &Source,
    manner: Manner<'_>,
    log: &mut Log<'_>,
) -> Done {
    let Manner { scope, network, tree, limits, secrets, egress, caches } = manner;
    let sandbox = &job.tools.sandbox;
    let sources = job.source_folders();
    let used = Use { scope, network, sources: &sources, expose: job.exposed(), egress, caches };
    // In a sandbox the folder is entered inside: what is there outside may have become a link.
    let folder = if sandbox.is_there() { job.workspace.path() } else { &source.folder };
    let mut environment = job.workspace.environment(&job.tools.lab.options.search_path, &own(job, source));
    let variables = job.environment().iter();
    environment.extend(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let secret = |(name, value): &(SecretName, Vec<u8>)| {
        (OsString::from(name.as_str()), OsString::from_vec(value.clone()))
    };
    environment.extend(secrets.iter().map(secret));
    let spec = CommandSpec {
        words: sandbox.wrapped(&job.workspace, &source.folder, used, words),
        folder: folder.to_owned(),
        environment,
        disk: job.workspace.path().to_owned(),
        tree,
        limits,
    };
    match job.tools.starter.run(&spec, job.cancel, &mut |piece| log.write(piece)) {
        Ok(outcome) => Done::of(outcome.ended, &limits),
        Err(error) => Done::failed(error.to_string()),
    }
}

/// The environment variables that describe the build.
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
