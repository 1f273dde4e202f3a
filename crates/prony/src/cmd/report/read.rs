//! Stored results, read. Every file is somebody's: each refusal names the file and says what it is instead.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use prony_model::{FORMAT, FormatError, RunResult, from_json, stored_format};
use prony_report::check_distributions;

use crate::complaint::Complaint;

/// More than any result has: a day in seconds takes 20 MB, the largest body 90 MB.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Results of other commands than `prony run`: the value of `format`, and the command.
const OTHERS: [(&str, &str); 2] = [("prony.exec", "prony exec"), ("prony.probe", "prony probe")];

/// A result, and what its file is called.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) result: RunResult,
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The result in the file `path`, or on stdin for `-`.
pub(super) fn read(path: &Path) -> Result<Stored, Complaint> {
    let name = if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() };
    let text = text(path, &name)?;
    let result = result(&name, &text)?;
    Ok(Stored { name, result })
}

fn text(path: &Path, name: &str) -> Result<String, Complaint> {
    let unreadable = |error: &std::io::Error| {
        Complaint::usage(format!("can't read {name} ({error})"))
            .hint("name a file that `prony URL --json FILE` wrote, or - for stdin")
    };
    let mut bytes = Vec::new();
    let mut take = |source: &mut dyn std::io::Read| source.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    let taken = if is_stdin(path) {
        take(&mut std::io::stdin().lock())
    } else if path.is_dir() {
        return Err(Complaint::usage(format!("{name} is a directory"))
            .hint(format!("name the files in it: prony report {}", path.join("*.json").display())));
    } else {
        File::open(path).and_then(|mut file| take(&mut file))
    };
    taken.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Complaint::usage(format!("{name} is larger than 256 MiB, which no result is"))
            .hint("name a file that `prony URL --json FILE` wrote"));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(Complaint::usage(format!("{name} is empty"))
            .hint("for example: prony http://127.0.0.1:3000/ --json - | prony report -"));
    }
    String::from_utf8(bytes).map_err(|_| {
        Complaint::usage(format!("{name} is not text")).hint("results of prony are JSON in UTF-8")
    })
}

fn result(name: &str, text: &str) -> Result<RunResult, Complaint> {
    let format = stored_format(text).map_err(|error| refused(name, &error))?;
    if let Some((_, command)) = OTHERS.iter().find(|(other, _)| *other == format) {
        return Err(Complaint::usage(format!("{name} is a result of `{command}`, not of a run"))
            .hint(format!("`prony report` prints runs; `{command}` prints its own results")));
    }
    debug_assert!(!OTHERS.iter().any(|(other, _)| *other == FORMAT), "runs are read here");
    let result = from_json(text).map_err(|error| refused(name, &error))?;
    check_distributions(&result).map_err(|error| {
        Complaint::usage(format!("{name}: {error}")).hint("was the file edited, or cut short?")
    })?;
    Ok(result)
}

fn refused(name: &str, error: &FormatError) -> Complaint {
    let complaint = Complaint::usage(format!("{name} can't be used: {error}"));
    match error {
        FormatError::Json { .. } => complaint.hint("was the run that wrote it still going?"),
        FormatError::Foreign => complaint.hint("name a file that `prony URL --json FILE` wrote"),
        FormatError::Version { .. } | FormatError::Schema(_) => complaint,
    }
}
