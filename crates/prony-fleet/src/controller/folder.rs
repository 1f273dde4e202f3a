//! The folder of a run: every result that was committed is in it until the report of all is written. After a crash of the
//! controller, what agents had deleted is here, and what they hold is added (`collection.rs`).
//!
//! `run.json` is written before the load begins; `results/AGENT.json` or `.txt` before an agent hears that its result is
//! committed; `lock` is held by the process that uses the folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use prony_model::{ClockOffset, RunPlan};
use serde::{Deserialize, Serialize};

use super::Arrived;
use crate::protocol::{AgentName, RESULT_BYTES_MAX, ResultKind, RunName};

/// Bytes of `run.json` at most: a plan is sent in one message, and a line for each agent is short.
const ABOUT_BYTES_MAX: u64 = 4 << 20;

/// Runs of which it is remembered whose results were reported: an agent holds those of 64.
const REPORTED_MAX: usize = 200;
/// Bytes of that: a thousand names of 64 letters in each line.
const REPORTED_BYTES_MAX: u64 = 16 << 20;

/// What a merge needs beside the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AboutRun {
    /// Prony's version and commit.
    pub prony: String,
    /// The plan of the whole load; headers that may be secret are replaced.
    pub plan: RunPlan,
    /// The planned start on the controller's monotonic clock, nanoseconds.
    pub start_ns: u64,
    /// In the order of their shares.
    pub agents: Vec<AboutAgent>,
    /// The agent that measures the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<AboutAgent>,
}

/// An agent of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AboutAgent {
    /// Its name.
    pub name: AgentName,
    /// How its clock stands to that of the controller.
    pub clock: Option<ClockOffset>,
}

/// The folder, locked.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: File,
}

impl RunFolder {
    /// That of `run` among the folders in `runs`, made if it is missing; `None` where another process uses it.
    pub fn open(runs: &Path, run: &RunName) -> io::Result<Option<Self>> {
        let path = runs.join(run.as_str());
        fs::create_dir_all(path.join("results"))?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path, lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The runs that have a folder in `runs`, the oldest first.
    pub fn all(runs: &Path) -> io::Result<Vec<RunName>> {
        let entries = match fs::read_dir(runs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                found.extend(entry.file_name().to_str().and_then(RunName::new));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes what a merge needs; when this returns, it is on disk.
    pub fn begin(&self, about: &AboutRun) -> io::Result<()> {
        let json = serde_json::to_vec(about).map_err(io::Error::other)?;
        write(&self.path, "run.json", &json)
    }

    /// What [`Self::begin`] noted; `None` where the load never began, or was led from elsewhere.
    pub fn about(&self) -> io::Result<Option<AboutRun>> {
        match read(&self.path.join("run.json"), ABOUT_BYTES_MAX)? {
            Some(json) => serde_json::from_slice(&json).map(Some).map_err(io::Error::other),
            None => Ok(None),
        }
    }

    /// Keeps a result; when this returns, it is on disk. The same one again is no second one.
    pub fn store(&self, arrived: &Arrived) -> io::Result<()> {
        let folder = self.path.join("results");
        let name = match self.result(&arrived.agent)? {
            Some(there) if there == (arrived.is, arrived.bytes.clone()) => return Ok(()),
            // It is no result of the same load: a merge takes the first, people may look at both.
            Some(_) => file_name(&format!("{}.{}", arrived.agent, arrived.id), arrived.is),
            None => file_name(arrived.agent.as_str(), arrived.is),
        };
        if !arrived.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the id of the result is no name"));
        }
        write(&folder, &name, &arrived.bytes)
    }

    /// The result of `agent`.
    pub fn result(&self, agent: &AgentName) -> io::Result<Option<(ResultKind, Vec<u8>)>> {
        for is in [ResultKind::Finished, ResultKind::Failed] {
            let path = self.path.join("results").join(file_name(agent.as_str(), is));
            if let Some(bytes) = read(&path, RESULT_BYTES_MAX)? {
                return Ok(Some((is, bytes)));
            }
        }
        Ok(None)
    }

    /// Keeps the report of all as `fleet.json`, and where `is_all`, drops what it was made of. Returns where it is.
    pub fn finish(&self, fleet: &[u8], is_all: bool) -> io::Result<PathBuf> {
        write(&self.path, "fleet.json", fleet)?;
        if is_all {
            fs::remove_dir_all(self.path.join("results"))?;
            fs::remove_file(self.path.join("run.json"))?;
        }
        Ok(self.path.join("fleet.json"))
    }

    /// Deletes it: the report of all is elsewhere, with the results of `agents`. An agent that was not reached any more still
    /// has its copy, and it must not count twice: see [`Reported`].
    pub fn remove(self, agents: &[AgentName]) -> io::Result<()> {
        let (Some(runs), Some(run)) =
            (self.path.parent(), self.path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(io::Error::other("a run's folder is in one of runs"));
        };
        Reported::add(runs, run, agents)?;
        fs::remove_dir_all(&self.path)?;
        drop(self.lock);
        Ok(())
    }
}

/// Which results are part of a report that was written: those of the last `REPORTED_MAX` runs.
#[derive(Debug, Default)]
pub struct Reported(Vec<String>);

impl Reported {
    /// Reads what was noted in the folder of runs.
    pub fn read(runs: &Path) -> io::Result<Self> {
        let text = read(&runs.join("reported"), REPORTED_BYTES_MAX)?.unwrap_or_default();
        Ok(Self(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()))
    }

    /// Whether the result of `agent` of `run` is in a report.
    pub fn has(&self, run: &RunName, agent: &AgentName) -> bool {
        let line = |line: &&String| line.split(' ').next() == Some(run.as_str());
        self.0.iter().rev().find(line).is_some_and(|line| line.split(' ').any(|name| name == agent.as_str()))
    }

    fn add(runs: &Path, run: &str, agents: &[AgentName]) -> io::Result<()> {
        if agents.is_empty() {
            return Ok(());
        }
        let mut lines = Self::read(runs)?.0;
        let names: Vec<&str> = agents.iter().map(AgentName::as_str).collect();
        lines.push(format!("{run} {}", names.join(" ")));
        lines.drain(..lines.len().saturating_sub(REPORTED_MAX));
        write(runs, "reported", (lines.join("\n") + "\n").as_bytes())
    }
}

fn file_name(name: &str, is: ResultKind) -> String {
    match is {
        ResultKind::Finished => format!("{name}.json"),
        ResultKind::Failed => format!("{name}.txt"),
    }
}

/// Writes a file that is whole or not there, also after a crash.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = folder.join(format!("{name}.new"));
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, folder.join(name))?;
    File::open(folder)?.sync_all()
}

fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(about) if about.len() > bytes_max => {
            Err(io::Error::other(format!("{} is longer than {bytes_max} bytes", path.display())))
        }
        Ok(_) => fs::read(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
