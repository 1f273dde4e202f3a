//! What an agent has answered, on disk before it acts: after a crash, a command that arrives again gets the same answer
//! and has no second effect. Nothing in it is secret.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::protocol::{Answer, RunName};

/// Bytes of a journal that is read at start; it is rewritten shorter then.
const BYTES_MAX: u64 = 16 << 20;
/// Lines after which it is rewritten shorter.
const LINES_MAX: usize = 16 * super::ANSWERS_MAX;

/// One answered command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The command's id.
    pub command: String,
    /// Its run.
    pub run: RunName,
    /// Its epoch,
    pub epoch: u64,
    /// and its counter: whatever is not above both was seen.
    pub counter: u64,
    /// The answer.
    pub answer: Answer,
}

/// The file, one entry of JSON a line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl Journal {
    /// Opens the journal in `folder` and returns the newest of its entries, the oldest first. A last line that a crash cut
    /// off was never answered; it is dropped.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<Entry>)> {
        let path = folder.join("journal.jsonl");
        let text = match fs::metadata(&path) {
            Ok(about) if about.len() > BYTES_MAX => {
                return Err(io::Error::other(format!("{} is longer than {BYTES_MAX} bytes", path.display())));
            }
            Ok(_) => fs::read_to_string(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut entries: Vec<Entry> = Vec::new();
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(entry) => entries.push(entry),
                Err(_) if index + 1 == lines.len() => {}
                Err(error) => {
                    let what = format!("{}:{}: {error}", path.display(), index + 1);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        entries.drain(..entries.len().saturating_sub(super::ANSWERS_MAX));
        let file = rewrite(&path, &entries)?;
        Ok((Self { path, file, lines: entries.len() }, entries))
    }

    /// Writes `entry`; when this returns, it is on disk.
    pub fn append(&mut self, entry: &Entry, newest: impl FnOnce() -> Vec<Entry>) -> io::Result<()> {
        self.file.write_all(line(entry).as_bytes())?;
        self.file.sync_data()?;
        self.lines += 1;
        if self.lines > LINES_MAX {
            let entries = newest();
            self.file = rewrite(&self.path, &entries)?;
            self.lines = entries.len();
        }
        Ok(())
    }
}

fn line(entry: &Entry) -> String {
    let mut line = serde_json::to_string(entry).expect("invariant: entries have text keys only");
    line.push('\n');
    line
}

/// Replaces the file by one with `entries`, and returns it open for appending.
fn rewrite(path: &Path, entries: &[Entry]) -> io::Result<File> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(entries.iter().map(line).collect::<String>().as_bytes())?;
    file.sync_data()?;
    fs::rename(&new, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}
