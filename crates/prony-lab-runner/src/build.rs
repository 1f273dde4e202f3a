//! One build, from its first task to its last state.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use prony_supervisor::{Cancel, Ended, POLL_INTERVAL, StopReason};

use super::egress::Egress;
use super::ending::reason_of;
use super::git::Credential;
use super::mask::Mask;
use super::sandbox::{Network, Scope};
use super::study::{self, Study};
use super::task::Manner;
use super::worker::{Tools, persist};
use super::workspace::{self, Workspace};
use super::{cache, commits, comparison, load, task};
use prony_lab_core::secrets::{self, SecretError};
use prony_lab_model::clock;
use prony_lab_model::{
    BuildDetail, BuildId, BuildKind, BuildState, BuildVerdict, Commit, Definition, Limits, Role, Task,
    TaskKind, TaskState,
};
use prony_lab_store::{
    self as store, StoreError, agent_runs, builds, files, projects, queue, results, tasks, users,
};

/// What is asked to stop is killed after this long: a server has written its data by then.
const GRACE: Duration = Duration::from_secs(10);
/// A shorter part of a secret is in other texts, too.
const PASSWORD_BYTES_MIN: usize = 6;
/// A load by itself needs little: it builds nothing.
const LOAD_LIMITS: Limits = Limits {
    time: Duration::from_hours(2),
    memory_bytes: 2 << 30,
    disk_bytes: 1 << 30,
    output_bytes: 1 << 20,
    processes: 64,
};

/// A build while it is worked on.
pub(super) struct Job<'a> {
    pub(super) tools: &'a Tools,
    pub(super) detail: &'a BuildDetail,
    /// Of its project; a load by itself has none.
    pub(super) definition: Option<&'a Definition>,
    pub(super) workspace: Workspace,
    pub(super) cancel: &'a Cancel,
    limits: Limits,
    /// When all of its time is over.
    deadline: Duration,
    /// What was checked out; of a comparison first what it is compared with.
    pub(super) sources: Vec<Source>,
    /// What nothing that is kept of the build may show.
    mask: Mask,
    /// The caches of the project, while its commands run.
    pub(super) caches: Option<cache::Caches>,
    /// What the study, or the load, has left.
    pub(super) study: Option<Study>,
}

/// Files that were checked out.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) folder: PathBuf,
    pub(super) commit: String,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) state: TaskState,
    pub(super) exit_code: Option<i32>,
    pub(super) reason: Option<String>,
}

impl Done {
    pub(super) fn good() -> Self {
        Self { state: TaskState::Success, exit_code: None, reason: None }
    }

    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Self { state: TaskState::Failed, exit_code: None, reason: Some(reason.into()) }
    }

    /// Of a command with `limits`.
    pub(super) fn of(ended: Ended, limits: &prony_supervisor::Limits) -> Self {
        let state = match ended {
            Ended::Code(0) => TaskState::Success,
            Ended::Stopped(StopReason::Time) => TaskState::Timeout,
            Ended::Stopped(StopReason::Cancelled) => TaskState::Cancelled,
            _ => TaskState::Failed,
        };
        let exit_code = if let Ended::Code(code) = ended { Some(code) } else { None };
        let reason = reason_of(ended, limits);
        Self { state, exit_code, reason }
    }
}

/// Works on the build `id`, which was given to this worker, until nothing of it is left to do.
pub(super) fn run_build(tools: &Tools, id: BuildId, cancel: &Cancel, is_stopping: &dyn Fn() -> bool) {
    let broken = match run(tools, id, cancel) {
        Ok(()) => return,
        Err(Broken::Moved) if is_stopping() => {
            "the lab was stopped while it ran; request it again".to_owned()
        }
        Err(Broken::Moved) => "somebody else changed it while it ran".to_owned(),
        Err(Broken::Failed(reason)) => reason,
    };
    // What can't be written now is seen to at the next start (`queue::recover`).
    let _ = persist(&tools.lab.store, move |tx| {
        let Some(detail) = builds::one(tx, id)? else { return Ok(()) };
        let (state, now) = (detail.build.state, clock::wall());
        if state.is_final() {
            return Ok(());
        }
        queue::close_tasks(tx, id, TaskState::Cancelled, now)?;
        if state == BuildState::Cancelling {
            // It keeps who cancelled it.
            let reason = detail.build.reason.as_deref();
            return builds::advance(tx, id, state, BuildState::Cancelled, reason, now);
        }
        builds::advance(tx, id, state, BuildState::Failed, Some(&broken), now)
    });
}

/// Why a build did not come to its own end.
enum Broken {
    /// It was cancelled, or the lab ends, or it isn't where it should be.
    Moved,
    Failed(String),
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        match error {
            // Its state was changed: that is what cancelling does.
            StoreError::Conflict(_) => Self::Moved,
            error => Self::Failed(format!("failed to {error}")),
        }
    }
}

fn run(tools: &Tools, id: BuildId, cancel: &Cancel) -> Result<(), Broken> {
    let store = &tools.lab.store;
    let detail = store.read_blocking(|tx| builds::one(tx, id))?;
    let detail = detail.ok_or_else(|| Broken::Failed("it is not in the store any more".to_owned()))?;
    let definition = definition(tools, &detail)?;
    let limits = definition.as_ref().map_or(LOAD_LIMITS, |definition| definition.limits);
    let users = store.read_blocking(users::all)?;
    let has_strangers = tools.lab.options.anonymous >= Some(Role::Runner)
        || users.iter().any(|user| user.role == Role::Runner && user.disabled_at.is_none());
    if let Some(refusal) = tools.sandbox.refusal(tools.lab.options.sandbox, has_strangers) {
        return Err(Broken::Failed(refusal.sentence()));
    }
    let name = format!("{id}-{}", detail.build.attempt);
    let workspace = Workspace::make(&tools.workspaces, &name, tools.sandbox.user())
        .map_err(|error| Broken::Failed(format!("failed to make a folder for it ({error})")))?;
    persist(store, move |tx| {
        builds::advance(tx, id, BuildState::Assigned, BuildState::Running, None, clock::wall())
    })?;
    let mut job = Job {
        tools,
        detail: &detail,
        definition: definition.as_ref(),
        workspace,
        cancel,
        limits,
        deadline: clock::steady() + limits.time,
        sources: Vec::new(),
        mask: mask(tools, definition.as_ref())?,
        caches: None,
        study: None,
    };
    let outcome = job.tasks().and_then(|failed| job.finish(failed));
    // What can't be removed now is at the next start.
    let _ = job.workspace.remove();
    outcome
}

fn definition(tools: &Tools, detail: &BuildDetail) -> Result<Option<Definition>, Broken> {
    let Some(project) = detail.build.project else { return Ok(None) };
    let project = tools.lab.store.read_blocking(|tx| projects::by_id(tx, project))?;
    let project = project.ok_or_else(|| Broken::Failed("its project is gone".to_owned()))?;
    let read = Definition::read(&project.definition);
    read.map(Some)
        .map_err(|error| Broken::Failed(format!("the definition of its project is damaged: {error}")))
}

/// What hides the secrets of the project, those that are stored.
fn mask(tools: &Tools, definition: Option<&Definition>) -> Result<Mask, Broken> {
    let names = definition.map(Definition::secrets).unwrap_or_default();
    let mut found = Vec::new();
    for name in &names {
        match secrets::values(&tools.lab.store, &tools.lab.options.data, std::slice::from_ref(name)) {
            Ok(values) => found.extend(values),
            // The task that names it reports that.
            Err(SecretError::Missing(_)) => {}
            Err(error) => return Err(Broken::Failed(format!("failed to {error}"))),
        }
    }
    Ok(Mask::of(found.iter().flat_map(|(_, value)| masked_parts(value))))
}

/// A secret, and of `user:password` the password, too.
fn masked_parts(value: &[u8]) -> Vec<&[u8]> {
    let password = value.iter().position(|byte| *byte == b':').map(|at| &value[at + 1..]);
    let is_long = |part: &&[u8]| part.len() >= PASSWORD_BYTES_MIN;
    std::iter::once(value).chain(password.filter(is_long)).collect()
}

impl Job<'_> {
    /// Runs the tasks in their order; the one that failed, if one did.
    fn tasks(&mut self) -> Result<Option<String>, Broken> {
        let (store, id) = (&self.tools.lab.store, self.detail.build.id);
        let mut failed: Option<String> = None;
        let last_command = self.detail.tasks.iter().rposition(|task| task.kind == TaskKind::Command);
        for (place, task) in self.detail.tasks.iter().enumerate() {
            let task_id = task.id;
            if self.cancel.is_cancelled() {
                return Err(Broken::Moved);
            }
            if failed.is_some() {
                let skipped = TaskState::Skipped;
                persist(store, move |tx| tasks::end(tx, id, task_id, skipped, None, None, clock::wall()))?;
                continue;
            }
            persist(store, move |tx| tasks::begin(tx, id, task_id, clock::wall()))?;
            let mut log = task::Log::new(store, id, task_id, &self.mask);
            let mut done = self.one(task, &mut log);
            // What is measured finds no cache, and no copy of one.
            if done.state != TaskState::Success || Some(place) == last_command {
                cache::close(self, &mut log);
            }
            log.finish();
            done.reason = done.reason.map(|reason| self.shown(&reason));
            if let Some(error) = log.error() {
                done = Done::failed(format!("failed to {error}"));
            }
            if done.state != TaskState::Success {
                let reason =
                    done.reason.clone().or_else(|| done.exit_code.map(|code| format!("exit code {code}")));
                failed = Some(format!("{}: {}", task.name, reason.unwrap_or_default()));
            }
            persist(store, move |tx| {
                let reason = done.reason.as_deref();
                tasks::end(tx, id, task_id, done.state, done.exit_code, reason, clock::wall())
            })?;
        }
        if self.cancel.is_cancelled() { Err(Broken::Moved) } else { Ok(failed) }
    }

    fn one(&mut self, task: &Task, log: &mut task::Log<'_>) -> Done {
        match (task.kind, self.detail.build.kind) {
            (TaskKind::Checkout, _) => self.check_out(log),
            (TaskKind::Command, _) => self.command(task, log),
            (TaskKind::Study, BuildKind::Comparison) => comparison::run(self, log),
            (TaskKind::Study, _) => study::run(self, log),
            (TaskKind::Load, _) => load::run(self, log),
        }
    }

    fn check_out(&mut self, log: &mut task::Log<'_>) -> Done {
        let Some(definition) = self.definition else { return Done::failed("a load has no files") };
        let build = &self.detail.build;
        let credential = match Credential::of(&self.tools.lab, definition) {
            Ok(credential) => credential,
            Err(error) => return Done::failed(format!("failed to {error}")),
        };
        let references = build.base.iter().map(|base| (base, "base")).chain([(&build.reference, "source")]);
        // A script that asks for the commit that was just pushed means the branch's history, too.
        let (mut branch, mut description) = (None, None);
        for (reference, name) in references {
            let folder = self.workspace.path().join(name);
            let limits = self.limits(definition.limits.time);
            let limits = (self.workspace.path(), limits, self.cancel);
            let fetched = self.tools.fetcher.fetch(
                &definition.origin,
                reference,
                &folder,
                limits,
                credential.as_ref(),
                &mut |line| {
                    log.line(line);
                },
            );
            match fetched {
                Ok(revision) => {
                    branch = revision.newest_of.into_iter().find(|name| *name == definition.branch);
                    description = revision.description;
                    self.sources.push(Source { folder, commit: revision.commit });
                }
                Err(super::CheckoutError::Cancelled) => {
                    return Done { state: TaskState::Cancelled, exit_code: None, reason: None };
                }
                Err(error) => {
                    log.line(&error.to_string());
                    return Done::failed(error.summary());
                }
            }
        }
        if let Err(error) = self.workspace.hand_over() {
            return Done::failed(format!("failed to give the files to the builds' user ({error})"));
        }
        let commits: Vec<String> = self.sources.iter().map(|source| source.commit.clone()).collect();
        if commits.len() == 2 && commits[0] == commits[1] {
            return Done::failed("both are the same commit: there is nothing to compare");
        }
        let kept = self.keep_commits(commits, branch, description);
        kept.map_or_else(|error| Done::failed(format!("failed to {error}")), |()| Done::good())
    }

    /// Notes what was checked out, on which branch, and who made it; of a comparison what lies between the two, too.
    fn keep_commits(
        &self,
        commits: Vec<String>,
        branch: Option<String>,
        description: Option<Commit>,
    ) -> Result<(), StoreError> {
        let (id, project) = (self.detail.build.id, self.detail.build.project);
        let between = match commits.as_slice() {
            [base, commit] => commits::between(self, base, commit),
            _ => None,
        };
        persist(&self.tools.lab.store, move |tx| {
            match commits.as_slice() {
                [base, commit] => queue::set_commits(tx, id, commit, Some(base), None)?,
                [commit] => queue::set_commits(tx, id, commit, None, branch.as_deref())?,
                _ => {}
            }
            if let Some(description) = &description {
                store::commits::describe(tx, id, description)?;
            }
            match (&between, project) {
                (Some(between), Some(project)) => store::commits::keep(tx, project, between),
                _ => Ok(()),
            }
        })
    }

    fn command(&mut self, task: &Task, log: &mut task::Log<'_>) -> Done {
        let defined = self.definition.and_then(|definition| definition.task(&task.name));
        let time = defined.map_or(self.limits.time, |defined| defined.time);
        let names = defined.map_or(&[][..], |defined| &defined.secrets);
        let lab = &self.tools.lab;
        let secrets = match secrets::values(&lab.store, &lab.options.data, names) {
            Ok(secrets) => secrets,
            Err(error) => return Done::failed(format!("failed to {error}")),
        };
        let has_way_out = defined.is_some_and(|defined| defined.has_network) && self.tools.sandbox.is_there();
        let egress = match has_way_out.then(|| self.open_egress()).transpose() {
            Ok(egress) => egress,
            Err(error) => return Done::failed(format!("failed to open a way out ({error})")),
        };
        if self.caches.is_none() {
            self.caches = match cache::open(self, log) {
                Ok(caches) => Some(caches),
                Err(done) => return done,
            };
        }
        let mut done = Done::good();
        for source in self.sources.clone() {
            if self.sources.len() > 1 {
                log.line(&format!("in {}", source.commit));
            }
            let words = ["/bin/sh", "-c", &task.command].map(Into::into).to_vec();
            let words = if egress.is_some() { self.behind_proxy(words) } else { words };
            let mounts = match cache::mounts(self, &source) {
                Ok(mounts) => mounts,
                Err(done) => return done,
            };
            let manner = Manner {
                scope: Scope::Task,
                network: Network::Own,
                tree: true,
                limits: self.limits(time),
                secrets: &secrets,
                egress: egress.as_ref().map(Egress::path),
                caches: &mounts,
            };
            done = task::run(self, words, &source, manner, log);
            if let Some(caches) = &mut self.caches {
                caches.note(&done);
            }
            if done.state != TaskState::Success {
                break;
            }
        }
        done
    }

    /// A way out of the sandbox.
    fn open_egress(&self) -> std::io::Result<Egress> {
        let path = self.workspace.path().join(workspace::LAB).join("egress");
        Egress::start(&path, self.tools.sandbox.user(), self.tools.closed.clone())
    }

    /// `words`, with what brings them to that way out.
    fn behind_proxy(&self, words: Vec<OsString>) -> Vec<OsString> {
        let program = self.tools.starter.program.clone().into_os_string();
        let first = [program, "egress".into(), "--".into()];
        first.into_iter().chain(words).collect()
    }

    /// `text` without secrets.
    fn shown(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask.all(text.as_bytes())).into_owned()
    }

    /// What a command may use that may take `time`, in what is left of that of the build.
    pub(super) fn limits(&self, time: Duration) -> prony_supervisor::Limits {
        let left = self.deadline.saturating_sub(clock::steady());
        prony_supervisor::Limits {
            time: time.min(left),
            grace: GRACE,
            memory_bytes: self.limits.memory_bytes,
            disk_bytes: self.limits.disk_bytes,
            output_bytes: self.limits.output_bytes,
            processes: self.limits.processes,
            poll_interval: POLL_INTERVAL,
        }
    }

    /// Where the files of the build are.
    pub(super) fn source_folders(&self) -> Vec<PathBuf> {
        self.sources.iter().map(|source| source.folder.clone()).collect()
    }

    /// What the project puts into the environment of its commands.
    pub(super) fn environment(&self) -> &[(String, String)] {
        self.definition.map_or(&[], |definition| &definition.environment)
    }

    /// What an administrator shows to the builds of this project.
    pub(super) fn exposed(&self) -> &[PathBuf] {
        self.definition.map_or(&[], |definition| &definition.expose)
    }

    /// Collects what there is, and ends the build: from here on it can't be cancelled.
    fn finish(&mut self, failed: Option<String>) -> Result<(), Broken> {
        let (store, id) = (&self.tools.lab.store, self.detail.build.id);
        persist(store, move |tx| {
            builds::advance(tx, id, BuildState::Running, BuildState::Finalizing, None, clock::wall())
        })?;
        let mut study = self.study.take().unwrap_or_default();
        study.words = study.words.map(|words| self.shown(&words));
        if !self.mask.is_empty() {
            for (_, bytes) in &mut study.files {
                *bytes = self.mask.all(bytes);
            }
        }
        let project = self.detail.build.project;
        let variant = self.detail.build.variant.clone().unwrap_or_default();
        let is_series = self.detail.build.kind == BuildKind::Project;
        let (state, reason) = match failed {
            Some(failed) => (BuildState::Failed, Some(failed)),
            None if study.is_doubtful => (BuildState::Degraded, study.words.clone()),
            None => (BuildState::Completed, study.words.clone()),
        };
        let between = study.baseline.and_then(|baseline| commits::since(self, baseline));
        let study = std::sync::Arc::new(study);
        let kept = {
            let (study, reason) = (std::sync::Arc::clone(&study), reason.clone());
            persist(store, move |tx| {
                for (name, bytes) in &study.files {
                    files::put(tx, id, name, bytes)?;
                }
                if let (Some((run, results)), false) = (&study.agent_run, study.files.is_empty()) {
                    agent_runs::set_merged(tx, run, *results)?;
                }
                if let (Some(results), Some(project), true) = (&study.results, project, is_series) {
                    results::keep(tx, id, project, &variant, results)?;
                }
                if let (Some(between), Some(project)) = (&between, project) {
                    store::commits::keep(tx, project, between)?;
                }
                builds::set_verdict(
                    tx,
                    id,
                    study.verdict.unwrap_or(BuildVerdict::NoBaseline),
                    study.baseline,
                )?;
                // A build that fails may do so from where it is; all of this is one transaction.
                builds::advance(tx, id, BuildState::Finalizing, state, reason.as_deref(), clock::wall())
            })
        };
        kept.map_err(|error| Broken::Failed(format!("failed to keep its results: {error}")))
    }
}
