//! Caches: folders that are kept between builds of a project.
//!
//! A build of the project's branch gets the kept folder itself: it is moved into its workspace, where the build's limits
//! count what is in it, and moved back once the commands have ended by themselves. Every other build gets a copy, which
//! goes with its workspace. The study sees none of them.
//!
//! Between builds a cache is a folder in that of the lab, under a random name that the store knows. What the store
//! doesn't name is nobody's, and removed: so a cache is emptied by one transaction, whatever happens to the lab or the
//! build meanwhile.

mod size;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use prony_supervisor::{CommandSpec, ConfinedFolder, Ended, StopReason};

use super::build::{Done, Job, Source};
use super::sandbox::{Mount, Network, Scope, Use};
use super::task::Log;
use super::worker::{Tools, persist};
use super::workspace;
use prony_lab_model::auth::Secret;
use prony_lab_model::clock;
use prony_lab_model::{BuildKind, CacheDefinition, CachePlace, ProjectId, TaskState};
use prony_lab_store::caches::{self, Returned};
use prony_lab_store::{StoreError, builds};

/// The folder of the caches in a workspace, out of sight of commands but for those that it lists.
const CACHES: &str = "caches";
/// The mode of a cache itself, whatever a build made of it.
const MODE: u32 = 0o700;

/// The caches that a build has.
#[derive(Debug, Default)]
pub(super) struct Caches {
    held: Vec<Held>,
    /// Whether a command was stopped: what it was writing then may be half there.
    is_torn: bool,
}

/// A cache in the workspace of a build.
#[derive(Debug)]
struct Held {
    definition: CacheDefinition,
    /// Where it is, in the workspace.
    folder: PathBuf,
    /// Where commands find it, in the workspace.
    place: PathBuf,
    /// The files whose commands find it; none where it is in the home, and all do.
    source: Option<PathBuf>,
    /// The name of the folder that was moved here; none of a copy.
    lent: Option<String>,
}

impl Caches {
    /// Notes how a command ended that had them.
    pub(super) fn note(&mut self, done: &Done) {
        self.is_torn |= done.exit_code.is_none();
    }
}

/// Brings the caches of the project into the workspace.
pub(super) fn open(job: &Job<'_>, log: &mut Log<'_>) -> Result<Caches, Done> {
    let mut all = Caches::default();
    let build = &job.detail.build;
    let (Some(definition), Some(project)) = (job.definition, build.project) else { return Ok(all) };
    if definition.caches.is_empty() {
        return Ok(all);
    }
    let failed =
        |error: &dyn std::fmt::Display| Done::failed(format!("failed to prepare its caches ({error})"));
    let id = build.id;
    let branch = job.tools.lab.store.read_blocking(|tx| builds::branch(tx, id));
    let branch = branch.map_err(|error| failed(&error))?;
    let is_writer = build.kind == BuildKind::Project && branch.as_ref() == Some(&definition.branch);
    let files = job.workspace.open().map_err(|error| failed(&error))?;
    for cache in &definition.caches {
        for (scope, source) in scopes(job, cache) {
            let folder = Path::new(CACHES).join(&scope).join(cache.name.as_str());
            let (CachePlace::Home(path) | CachePlace::Source(path)) = &cache.place;
            let mut held =
                Held { definition: cache.clone(), folder, place: scope.join(path), source, lent: None };
            files.make_folders(Path::new(CACHES).join(&scope)).map_err(|error| failed(&error))?;
            if is_writer {
                held.lent = Some(lend(job, project, &held).map_err(|error| failed(&error))?);
            } else if let Some(kept) = kept(job, project, cache).map_err(|error| failed(&error))? {
                copy(job, &files, &kept, &held, log)?;
            }
            files.make_folders(&held.folder).map_err(|error| failed(&error))?;
            if !job.tools.sandbox.is_there() {
                link(job, &files, &held).map_err(|error| misplaced(&held, &error))?;
            }
            all.held.push(held);
        }
    }
    Ok(all)
}

/// The folders of the workspace below which a cache is found, each with the files that it is for.
fn scopes(job: &Job<'_>, cache: &CacheDefinition) -> Vec<(PathBuf, Option<PathBuf>)> {
    let name = |path: &Path| PathBuf::from(path.file_name().unwrap_or_default());
    match &cache.place {
        CachePlace::Home(_) => vec![(name(&job.workspace.home()), None)],
        // Of two commits each has its own: what one leaves there is not the other's.
        CachePlace::Source(_) => {
            let folders = job.source_folders().into_iter();
            folders.map(|folder| (name(&folder), Some(folder))).collect()
        }
    }
}

/// Moves a kept cache into the workspace, if there is one, and returns its name.
fn lend(job: &Job<'_>, project: ProjectId, held: &Held) -> Result<String, StoreError> {
    let (id, name, fresh) = (job.detail.build.id, held.definition.name.to_string(), new_name());
    let lent =
        persist(&job.tools.lab.store, move |tx| caches::lend(tx, project, &name, id, &fresh, clock::wall()))?;
    let kept = job.tools.caches.join(&lent);
    if is_usable(job.tools, &kept) {
        // One that can't be moved starts over.
        let _ = fs::rename(&kept, job.workspace.path().join(&held.folder));
    }
    Ok(lent)
}

/// The folder of a kept cache, if it holds something.
fn kept(job: &Job<'_>, project: ProjectId, cache: &CacheDefinition) -> Result<Option<PathBuf>, StoreError> {
    let found = job.tools.lab.store.read_blocking(|tx| caches::folder(tx, project, cache.name.as_str()))?;
    Ok(found.map(|name| job.tools.caches.join(name)).filter(|path| is_usable(job.tools, path)))
}

/// Whether it is a folder of the user that builds run as now: with another sandbox that may be another one.
fn is_usable(tools: &Tools, path: &Path) -> bool {
    let user = tools.sandbox.user().unwrap_or_else(|| rustix::process::geteuid().as_raw());
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user)
}

/// Copies a kept cache into the workspace, with the rights and limits of the build: what is in it is not to be trusted.
fn copy(
    job: &Job<'_>,
    files: &ConfinedFolder,
    kept: &Path,
    held: &Held,
    log: &mut Log<'_>,
) -> Result<(), Done> {
    let name = &held.definition.name;
    let failed =
        |error: &dyn std::fmt::Display| Done::failed(format!("failed to copy the cache `{name}` ({error})"));
    files.make_folder(&held.folder).map_err(|error| failed(&error))?;
    let copy = job.workspace.path().join(&held.folder);
    let words =
        ["cp", "-R", "-P", "--preserve=mode,timestamps,links", "--reflink=auto", "--"].map(OsString::from);
    let paths = [kept.join("."), copy.clone()].map(PathBuf::into_os_string);
    let words = words.into_iter().chain(paths).collect();
    let (sources, expose) = ([copy.clone()], [kept.to_owned()]);
    let used = Use {
        scope: Scope::Task,
        network: Network::Own,
        sources: &sources,
        expose: &expose,
        egress: None,
        caches: &[],
    };
    let spec = CommandSpec {
        words: job.tools.sandbox.wrapped(&job.workspace, &copy, used, words),
        folder: job.workspace.path().to_owned(),
        environment: job.workspace.environment(&job.tools.lab.options.search_path, &[]),
        disk: job.workspace.path().to_owned(),
        tree: true,
        limits: job.limits(std::time::Duration::MAX),
    };
    let outcome = job.tools.starter.run(&spec, job.cancel, &mut |piece| log.write(piece));
    match outcome.map_err(|error| failed(&error))?.ended {
        ended if ended.is_good() => Ok(()),
        Ended::Stopped(StopReason::Cancelled) => {
            Err(Done { state: TaskState::Cancelled, exit_code: None, reason: None })
        }
        _ => {
            log.line(&format!("cache {name}: it could not be copied, and is empty in this build"));
            workspace::remove(&copy).map_err(|error| failed(&error))
        }
    }
}

/// Without a sandbox nothing can be mounted: a link stands in the place of the cache.
fn link(job: &Job<'_>, files: &ConfinedFolder, held: &Held) -> io::Result<()> {
    let target = job.workspace.path().join(&held.folder);
    let (above, name) = held.place.parent().zip(held.place.file_name()).expect("invariant: below a scope");
    files.make_folders(above)?.make_link(name, &target)
}

/// What is mounted for commands in the files of `source`. A build may have put links in the places of its caches, to
/// which a mount would be led: these are refused. Nothing of a build runs now that could do so afterwards.
pub(super) fn mounts(job: &Job<'_>, source: &Source) -> Result<Vec<Mount>, Done> {
    let held = job.caches.iter().flat_map(|caches| &caches.held);
    let held: Vec<_> =
        held.filter(|held| held.source.as_ref().is_none_or(|folder| *folder == source.folder)).collect();
    if held.is_empty() || !job.tools.sandbox.is_there() {
        return Ok(Vec::new());
    }
    let files = job.workspace.open();
    let files =
        files.map_err(|error| Done::failed(format!("failed to open the files of the build ({error})")))?;
    let mounted = |held: &Held| -> Result<Mount, Done> {
        files.make_folders(&held.place).map_err(|error| misplaced(held, &error))?;
        let [from, to] = [&held.folder, &held.place].map(|path| job.workspace.path().join(path));
        Ok(Mount { from, to })
    };
    held.into_iter().map(mounted).collect()
}

fn misplaced(held: &Held, error: &io::Error) -> Done {
    let CacheDefinition { name, place, .. } = &held.definition;
    Done::failed(format!(
        "the cache `{name}` can't be at {place} ({error}): nothing but a folder may be there"
    ))
}

/// Moves back what was lent, and removes copies. No command runs any more.
pub(super) fn close(job: &mut Job<'_>, log: &mut Log<'_>) {
    let Some(Caches { held, is_torn }) = job.caches.take() else { return };
    let Some(project) = job.detail.build.project else { return };
    let id = job.detail.build.id;
    for held in held {
        let Some(lent) = held.lent.clone() else {
            // What can't be removed now goes with the workspace.
            let _ = workspace::remove(&job.workspace.path().join(&held.folder));
            continue;
        };
        let returned = if is_torn {
            Returned::Emptied(format!("build {id} was stopped while it had it"))
        } else {
            keep(job, &held)
        };
        let name = held.definition.name.to_string();
        log.line(&match &returned {
            Returned::Kept { size_bytes, .. } => format!("cache {name}: kept, {}", mebibytes(*size_bytes)),
            Returned::Emptied(why) => format!("cache {name}: emptied, as {why}"),
        });
        let noted = persist(&job.tools.lab.store, move |tx| {
            caches::take_back(tx, project, &name, &lent, &returned, clock::wall())
        });
        match noted {
            Ok(true) => {}
            Ok(false) => log.line("it was cleared meanwhile"),
            Err(error) => log.line(&format!("failed to {error}: it starts over")),
        }
    }
}

fn keep(job: &Job<'_>, held: &Held) -> Returned {
    let (id, limit) = (job.detail.build.id, held.definition.limit_bytes);
    let path = job.workspace.path().join(&held.folder);
    match made_measurable(&path).and_then(|()| size::size_bytes(&path)) {
        Ok(size_bytes) if size_bytes <= limit => {
            let folder = new_name();
            match fs::rename(&path, job.tools.caches.join(&folder)) {
                Ok(()) => Returned::Kept { folder, size_bytes },
                Err(error) => Returned::Emptied(format!("it could not be moved after build {id} ({error})")),
            }
        }
        Ok(size_bytes) => Returned::Emptied(format!(
            "after build {id} it had {}, more than its limit of {}",
            mebibytes(size_bytes),
            mebibytes(limit)
        )),
        Err(error) => Returned::Emptied(format!("after build {id} it could not be measured ({error})")),
    }
}

/// A folder that can't be read can't be moved either.
fn made_measurable(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))
}

/// Removes what the store doesn't name. Only where no build runs: what one has is somewhere else.
pub(super) fn sweep(tools: &Tools) {
    let Ok(entries) = fs::read_dir(&tools.caches) else { return };
    let mut entries = entries.flatten().peekable();
    if entries.peek().is_none() {
        return;
    }
    let Ok(known) = tools.lab.store.read_blocking(caches::folders) else { return };
    for entry in entries {
        if known.iter().all(|name| entry.file_name() != name.as_str()) {
            // What can't be removed now is the next time.
            let _ = workspace::remove(&entry.path());
        }
    }
}

fn new_name() -> String {
    Secret::new().text()
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
