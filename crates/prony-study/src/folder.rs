//! The folder of a study: its only state. Everything in it is written whole or not at all, so that whatever moment it
//! is left at, it can be gone on from.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use prony_model::{Problem, Spelling, StudyFailure, plain_spelling};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::file::RETRIES_MAX;
use crate::schedule::{Schedule, Step};
use crate::study::Study;

/// The study file, as it was read.
const STUDY: &str = "study.toml";
/// The order of the runs. A folder that has it is a study's.
const SCHEDULE: &str = "schedule.json";
/// Results of runs.
const RUNS: &str = "runs";
/// Runs that could not be made: a file for each, of the name that its result would have had.
const FAILED: &str = "failed";
/// Results of invalid runs that were made again: `retried/0007-r2-kv.1.json` is of the first attempt.
const RETRIED: &str = "retried";
/// Searches for a capacity that were stopped, or whose target died: `partial/0007-r2-kv.1.json` is the first attempt.
const PARTIAL: &str = "partial";
/// Files of one run there: a later one takes the place of the last.
const PARTIAL_MAX: usize = 20;
/// What targets wrote.
const LOGS: &str = "logs";
/// What marks a file that is not whole yet.
const TEMPORARY: &str = ".tmp";
/// 100,000 runs, the most that a study may have, take 20 MiB.
const SCHEDULE_BYTES_MAX: u64 = 64 << 20;

/// What is done with a folder that has runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Begin {
    /// Nothing: that is an error.
    #[default]
    New,
    /// The runs that are missing are made.
    Resume,
    /// Its runs are removed.
    Over,
}

/// Why a folder can't be used.
#[derive(Debug)]
pub enum FolderError {
    /// Something else is there.
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// Its runs would be lost.
    HasRuns {
        /// The folder.
        path: PathBuf,
        /// Runs that are there.
        done: usize,
        /// Runs that were planned.
        of: usize,
    },
    /// It is of another plan.
    OtherPlan {
        /// The folder.
        path: PathBuf,
    },
    /// Another prony works in it.
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// There is no study in it.
    NoStudy {
        /// The folder.
        path: PathBuf,
    },
    /// A file of ours that is not as it was written.
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The operating system failed.
    System {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl FolderError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        let [resume, force, output] = ["resume", "force", "output"].map(spelled);
        let elsewhere = format!("name another folder with {output}");
        match self {
            Self::Foreign { path } => {
                let what = format!("{} is not the folder of a study, and not empty", path.display());
                Problem::new(what, format!("name another with {output}"))
            }
            Self::HasRuns { path, done, of } => Problem::new(
                format!("{} has {done} of {of} runs already", path.display()),
                format!("go on with {resume}, start over with {force}, or {elsewhere}"),
            ),
            Self::OtherPlan { path } => {
                let path = path.display();
                let what = format!("{path} was begun with another plan, so its runs can't be gone on with");
                let undo = "undo the change of the study file";
                Problem::new(what, format!("{undo}, start over with {force}, or {elsewhere}"))
            }
            Self::Locked { path } => Problem::new(
                format!("another prony works in {}", path.display()),
                format!("wait for it to end, or {elsewhere}"),
            ),
            Self::NoStudy { path } => Problem::new(
                format!("{} is not the folder of a study", path.display()),
                format!("it has no {SCHEDULE}"),
            ),
            Self::Broken { path, why } => Problem::new(
                format!("{} can't be understood ({why})", path.display()),
                format!("start over with {force}, or {elsewhere}"),
            ),
            Self::System { what, path, source } => Problem::new(
                format!("can't {what} {} ({source})", path.display()),
                "check that the folder may be written and has room",
            ),
        }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem(plain_spelling).fmt(formatter)
    }
}

impl std::error::Error for FolderError {}

/// A folder that no other prony can use meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    schedule: Schedule,
    /// Whose lock ends with it, also when Prony is killed.
    _lock: File,
    /// Runs that were there and are no more.
    removed: usize,
}

impl Folder {
    /// Opens `path`, or makes it, for the runs of `schedule`.
    pub fn open(path: &Path, study: &Study, schedule: &Schedule, begin: Begin) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(failed("make the folder", path))?;
        let lock = lock(path)?;
        let path = path.to_owned();
        let mut folder = Self { path, schedule: schedule.clone(), _lock: lock, removed: 0 };
        if folder.path.join(SCHEDULE).exists() {
            folder.take_over(begin)?;
        } else {
            folder.refuse_foreign()?;
        }
        for name in [RUNS, RETRIED, FAILED, PARTIAL, LOGS] {
            let part = folder.path.join(name);
            fs::create_dir_all(&part).map_err(failed("make the folder", &part))?;
        }
        folder.clear_temporary();
        folder.write(STUDY, &study.text)?;
        folder.write(SCHEDULE, &json(&folder.schedule))?;
        Ok(folder)
    }

    /// The schedule of the study in the folder `path`; `None` if there is none.
    pub fn schedule_of(path: &Path) -> Result<Option<Schedule>, FolderError> {
        let file = path.join(SCHEDULE);
        match fs::metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &file)(error)),
            Ok(metadata) if metadata.len() > SCHEDULE_BYTES_MAX => {
                return Err(FolderError::Broken { path: file, why: "it is too large".to_owned() });
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&file).map_err(failed("read", &file))?;
        match serde_json::from_str(&text) {
            Ok(schedule) => Ok(Some(schedule)),
            Err(error) => Err(FolderError::Broken { path: file, why: error.to_string() }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The order of its runs.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Runs that were there when it was opened, and were removed to start over.
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// The folder for what targets write.
    pub fn logs(&self) -> PathBuf {
        self.path.join(LOGS)
    }

    /// Whether the result of `step` is there.
    pub fn is_done(&self, step: &Step) -> bool {
        self.path.join(&step.file).exists()
    }

    /// Keeps the result of `step`; from now on it is done.
    pub fn store(&self, step: &Step, text: &str) -> Result<(), FolderError> {
        self.write(&step.file, text)?;
        let failure = self.failure_file(step);
        match fs::remove_file(&failure) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &failure)(error)),
            _ => Ok(()),
        }
    }

    /// Keeps the result of an attempt at `step`, which stays to be made.
    pub fn store_retried(&self, step: &Step, text: &str) -> Result<(), FolderError> {
        let attempt = retried_files(&self.path, step).len() + 1;
        self.write(&attempt_file(RETRIED, step, attempt), text)
    }

    /// Keeps what an attempt at `step` found before it was stopped.
    pub fn store_partial(&self, step: &Step, text: &str) -> Result<(), FolderError> {
        let attempt = (partial_files(&self.path, step).len() + 1).min(PARTIAL_MAX);
        self.write(&attempt_file(PARTIAL, step, attempt), text)
    }

    /// Attempts at runs of the cell `cell` that were, or are to be, made again.
    pub fn retried(&self, cell: usize) -> usize {
        let steps = self.schedule.steps.iter().filter(|step| step.cell == cell);
        steps.map(|step| retried_files(&self.path, step).len()).sum()
    }

    /// Keeps why `step` has no result. It is tried again when the study is resumed.
    pub fn store_failure(&self, step: &Step, failure: &StudyFailure) -> Result<(), FolderError> {
        let name = Path::new(FAILED).join(Path::new(&step.file).file_name().unwrap_or_default());
        self.write(&name.to_string_lossy(), &json(failure))
    }

    /// Every failure that no result followed, in the order of the schedule.
    pub fn failures(&self) -> Vec<StudyFailure> {
        failures(&self.path, &self.schedule)
    }

    /// Keeps the text of `name`, a file of the folder, whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let file = self.path.join(name);
        let temporary = temporary(&file);
        let written = File::create(&temporary).and_then(|mut growing| {
            growing.write_all(text.as_bytes())?;
            growing.sync_all()?;
            fs::rename(&temporary, &file)?;
            // The name, too, must survive a loss of power.
            File::open(file.parent().unwrap_or(&self.path))?.sync_all()
        });
        written.map_err(failed("write", &file))
    }

    /// Goes on with what is there, or removes it.
    fn take_over(&mut self, begin: Begin) -> Result<(), FolderError> {
        let known = match (Self::schedule_of(&self.path), begin) {
            (Ok(Some(known)), _) => known,
            // What can't be read doesn't say what is ours to remove.
            (Ok(None), _) => return Ok(()),
            (Err(error), _) => return Err(error),
        };
        let done = known.steps.iter().filter(|step| self.is_done(step)).count();
        match begin {
            Begin::New if done > 0 => {
                Err(FolderError::HasRuns { path: self.path.clone(), done, of: known.steps.len() })
            }
            Begin::Resume if known != self.schedule => {
                Err(FolderError::OtherPlan { path: self.path.clone() })
            }
            Begin::Resume => Ok(()),
            Begin::New | Begin::Over => {
                self.removed = done;
                self.remove(&known)
            }
        }
    }

    /// Removes every result of `known`, and nothing else.
    fn remove(&self, known: &Schedule) -> Result<(), FolderError> {
        for step in &known.steps {
            let attempts = retried_files(&self.path, step).into_iter().chain(partial_files(&self.path, step));
            let attempts = attempts.map(|file| self.path.join(file));
            for file in [self.path.join(&step.file), self.failure_file(step)].into_iter().chain(attempts) {
                match fs::remove_file(&file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed("remove", &file)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn refuse_foreign(&self) -> Result<(), FolderError> {
        let entries = fs::read_dir(&self.path).map_err(failed("read", &self.path))?;
        let is_ours = |entry: fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_empty = || fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none());
            // What an earlier prony may have left that was killed before it wrote the schedule.
            name == STUDY
                || name.ends_with(TEMPORARY)
                || ([RUNS, RETRIED, FAILED, PARTIAL, LOGS].contains(&&*name) && is_empty())
        };
        if entries.flatten().all(is_ours) {
            Ok(())
        } else {
            Err(FolderError::Foreign { path: self.path.clone() })
        }
    }

    /// Removes what was not whole when a prony was killed. Only its own names look so.
    fn clear_temporary(&self) {
        for part in ["", RUNS, RETRIED, FAILED, PARTIAL] {
            for entry in fs::read_dir(self.path.join(part)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with('.') && name.ends_with(TEMPORARY) {
                    // It would be written over in any case.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    fn failure_file(&self, step: &Step) -> PathBuf {
        failure_file(&self.path, step)
    }
}

/// Every failure in the folder `path` that no result followed, in the order of `schedule`.
pub fn failures(path: &Path, schedule: &Schedule) -> Vec<StudyFailure> {
    let of_step = |step: &Step| {
        let text = fs::read_to_string(failure_file(path, step)).ok()?;
        if path.join(&step.file).exists() { None } else { serde_json::from_str(&text).ok() }
    };
    schedule.steps.iter().filter_map(of_step).collect()
}

/// The attempts at `step` in the folder `path` that were made again, in the order of time.
pub(crate) fn retried_files(path: &Path, step: &Step) -> Vec<String> {
    let files = (1..=RETRIES_MAX as usize).map(|attempt| attempt_file(RETRIED, step, attempt));
    files.take_while(|file| path.join(file).exists()).collect()
}

/// What searches of `step` in the folder `path` found before they were stopped, in the order of time.
pub(crate) fn partial_files(path: &Path, step: &Step) -> Vec<String> {
    let files = (1..=PARTIAL_MAX).map(|attempt| attempt_file(PARTIAL, step, attempt));
    files.take_while(|file| path.join(file).exists()).collect()
}

fn attempt_file(folder: &str, step: &Step, attempt: usize) -> String {
    let name = Path::new(&step.file).file_stem().unwrap_or_default().to_string_lossy();
    format!("{folder}/{name}.{attempt}.json")
}

fn failure_file(folder: &Path, step: &Step) -> PathBuf {
    folder.join(FAILED).join(Path::new(&step.file).file_name().unwrap_or_default())
}

/// A lock on the folder itself: it leaves no file behind, and ends with the process.
fn lock(path: &Path) -> Result<File, FolderError> {
    let folder = File::open(path).map_err(failed("open", path))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(Errno::WOULDBLOCK) => Err(FolderError::Locked { path: path.to_owned() }),
        Err(error) => Err(failed("lock", path)(error.into())),
    }
}

fn temporary(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}{TEMPORARY}"))
}

fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("invariant: string keys only");
    text.push('\n');
    text
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::System { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Place, study};

    fn refused(place: &Place, begin: Begin, expected: fn(&FolderError) -> bool) {
        let (study, schedule) = study();
        let error = Folder::open(&place.0, &study, &schedule, begin).expect_err("it is refused");
        assert!(expected(&error), "{error}");
    }

    #[test]
    fn a_folder_with_runs_is_not_begun_again_by_mistake() {
        let place = Place::new("begin");
        let (study, schedule) = study();
        let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
        refused(&place, Begin::Resume, |error| matches!(error, FolderError::Locked { .. }));
        folder.store(&schedule.steps[1], "{}").expect("room");
        drop(folder);
        refused(&place, Begin::New, |error| matches!(error, FolderError::HasRuns { done: 1, of: 4, .. }));
        let resumed = Folder::open(&place.0, &study, &schedule, Begin::Resume).expect("the same plan");
        let done: Vec<bool> = schedule.steps.iter().map(|step| resumed.is_done(step)).collect();
        assert_eq!((done, resumed.removed()), (vec![false, true, false, false], 0));
        drop(resumed);
        let other = Schedule { fingerprint: "f2".to_owned(), ..schedule };
        let error = Folder::open(&place.0, &study, &other, Begin::Resume).expect_err("another plan");
        assert!(matches!(error, FolderError::OtherPlan { .. }), "{error}");
    }

    #[test]
    fn starting_over_removes_runs_and_nothing_else() {
        let place = Place::new("over");
        let (study, schedule) = study();
        let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
        folder.store(&schedule.steps[0], "{}").expect("room");
        let failure = StudyFailure { cell: 1, repeat: 1, why: "x".to_owned(), log_tail: String::new() };
        folder.store_failure(&schedule.steps[1], &failure).expect("room");
        assert_eq!(folder.failures(), [failure]);
        drop(folder);
        fs::write(place.0.join("runs/notes.txt"), "mine").expect("room");
        fs::write(place.0.join("runs/.0003.json.tmp"), "half").expect("room");
        let folder = Folder::open(&place.0, &study, &schedule, Begin::Over).expect("over");
        assert_eq!((folder.removed(), folder.failures()), (1, vec![]));
        assert_eq!(place.files("runs").into_keys().collect::<Vec<_>>(), ["notes.txt"]);
        assert_eq!(place.files("").into_keys().collect::<Vec<_>>(), ["schedule.json", "study.toml"]);
        assert_eq!(Folder::schedule_of(&place.0).expect("it can be read"), Some(schedule));
    }

    #[test]
    fn foreign_folders_are_left_alone() {
        let place = Place::new("foreign");
        fs::create_dir_all(place.0.join("runs")).expect("room");
        fs::write(place.0.join("study.toml"), "").expect("room");
        let (study, schedule) = study();
        // What is left of a prony that was killed at once.
        drop(Folder::open(&place.0, &study, &schedule, Begin::New).expect("nothing foreign is there"));
        fs::remove_file(place.0.join("schedule.json")).expect("it is there");
        fs::write(place.0.join("thesis.tex"), "").expect("room");
        for begin in [Begin::New, Begin::Resume, Begin::Over] {
            refused(&place, begin, |error| matches!(error, FolderError::Foreign { .. }));
        }
        assert_eq!(Folder::schedule_of(&place.0).expect("there is none"), None);
        fs::write(place.0.join("schedule.json"), "{").expect("room");
        refused(&place, Begin::Over, |error| matches!(error, FolderError::Broken { .. }));
    }
}
