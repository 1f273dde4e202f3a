//! The study of a build: run as a process of its own, and taken in when it is over.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use prony_model::{ComparisonResult, StudyResult, ThresholdOutcome, Verdict, study_from_json};

use super::build::{Done, Job};
use super::process::{Bounds, RARE_LOOK};
use super::task::{self, Log};
use super::verdict;
use crate::model::{BuildId, BuildVerdict, TaskState};
use crate::store::files;
use crate::store::results::{self, Demanded, Measured, Results};

/// The folder of a build's study in its room.
const STUDY: &str = "study";
/// Files that are taken in: those of a study of a thousand runs.
const MOST_FILES: usize = 4_000;
/// The longest of them: a study of ten thousand cells has a report of some tens of MiB.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// All of them together.
const MOST_BYTES: u64 = 256 << 20;
/// Folders of a study whose files are of use later.
const FOLDERS: [&str; 4] = ["", "runs", "failed", "logs"];

/// What a study has left, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Study {
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) results: Option<Results>,
    pub(super) verdict: Option<BuildVerdict>,
    pub(super) baseline: Option<BuildId>,
    /// Whether something is missing or can't be defended.
    pub(super) is_doubtful: bool,
    /// What is to be said of it.
    pub(super) words: Option<String>,
}

/// Runs the study of the project, and takes in what it says.
pub(super) fn run(job: &mut Job<'_>, log: &mut Log<'_>) -> Done {
    let Some(file) = job.definition.and_then(|definition| definition.study.clone()) else {
        return Done::failed("the project has no study any more: name one in its definition");
    };
    let Some(source) = job.sources.last().cloned() else { return Done::failed("nothing was checked out") };
    let (done, study) = conduct(job, &source, &file, log);
    let Some((mut study, result)) = study else { return done };
    if let Err(error) = against_baseline(job, &result, &mut study, log) {
        return Done::failed(error);
    }
    job.study = Some(study);
    done
}

/// Runs the study file `file` of `source`, and takes in what it left; nothing where it left no report.
pub(super) fn conduct(
    job: &Job<'_>,
    source: &super::build::Source,
    file: &Path,
    log: &mut Log<'_>,
) -> (Done, Option<(Study, StudyResult)>) {
    let folder = job.room.path().join(STUDY);
    let words = vec![
        job.tools.starter.program.clone().into_os_string(),
        "study".into(),
        file.into(),
        "--output".into(),
        folder.clone().into_os_string(),
    ];
    let bounds = Bounds { look: RARE_LOOK, ..job.bounds(std::time::Duration::MAX) };
    let mut done = task::run(job, words, source, bounds, false, log);
    // The public table of exit codes: a missed threshold and doubtful numbers are results, too.
    done = match done.exit_code {
        Some(1) => {
            Done { state: TaskState::Success, reason: Some("a threshold is missed".to_owned()), ..done }
        }
        Some(3) => {
            let reason = Some("the numbers can't be defended: its report says why".to_owned());
            Done { state: TaskState::Success, reason, ..done }
        }
        Some(2) => Done { reason: Some("the study file can't be used".to_owned()), ..done },
        Some(4) => Done { reason: Some("a run could not be made".to_owned()), ..done },
        _ => done,
    };
    let files = match take_in(&folder) {
        Ok(files) => files,
        Err(error) => return (Done::failed(format!("failed to read what the study left ({error})")), None),
    };
    let report = files.iter().find(|(name, _)| name == "report.json");
    let result = report.and_then(|(_, bytes)| study_from_json(&String::from_utf8_lossy(bytes)).ok());
    let Some(result) = result else {
        let is_good = done.state == TaskState::Success;
        let why = if is_good { Done::failed("the study left no report that can be read") } else { done };
        return (why, None);
    };
    let is_doubtful = result.verdict == Verdict::Invalid || !result.complete;
    let words = is_doubtful.then(|| "not all of its numbers can be defended: the report says why".to_owned());
    let study = Study { files, results: of(&result), is_doubtful, words, ..Study::default() };
    (done, Some((study, result)))
}

/// Sets `result` against the last good build of the project's branch, and says what follows from all of it.
fn against_baseline(
    job: &Job<'_>,
    result: &StudyResult,
    study: &mut Study,
    log: &mut Log<'_>,
) -> Result<(), String> {
    let build = &job.detail.build;
    let store = &job.tools.lab.store;
    let mut compared = Vec::new();
    if let (Some(definition), Some(project), Some(of)) = (job.definition, build.project, &study.results) {
        let variant = build.variant.clone().unwrap_or_default();
        let (id, branch, fingerprint) = (build.id, definition.branch.clone(), of.fingerprint.clone());
        let found =
            store.read_blocking(|tx| results::baseline(tx, id, project, &variant, &branch, &fingerprint));
        if let Some(baseline) = found.map_err(|error| format!("failed to {error}"))? {
            log.line(&format!("\ncompared with build {baseline}:"));
            compared = compare(job, baseline, log)?;
            study.baseline = Some(baseline);
            let json = serde_json::to_vec(&compared).expect("invariant: results can be written as JSON");
            study.files.push(("comparison.json".to_owned(), json));
        }
    }
    let primary = |one: &ComparisonResult| Some((one.b.name.clone(), one.metrics.first()?.clone()));
    let primaries: Vec<_> = compared.iter().filter_map(primary).collect();
    let (verdict, words) = verdict::of(result, study.baseline, &primaries);
    study.verdict = Some(verdict);
    study.words = words.or(study.words.take());
    Ok(())
}

/// What `prony compare` says of the study beside that of the build `baseline`.
fn compare(job: &Job<'_>, baseline: BuildId, log: &mut Log<'_>) -> Result<Vec<ComparisonResult>, String> {
    // `prony compare` calls the two sides by these names.
    let name = format!("build-{baseline}");
    lay_out(job, baseline, &job.room.path().join(&name))?;
    let said = job.room.path().join("comparison.jsons");
    let script = "\"$0\" compare \"$1\" \"$2\" --quiet --output json >\"$3\" 2>&1; exec \"$0\" compare \"$1\" \"$2\" --quiet";
    let words = vec![
        "/bin/sh".into(),
        "-c".into(),
        script.into(),
        job.tools.starter.program.clone().into_os_string(),
        name.into(),
        STUDY.into(),
        said.clone().into_os_string(),
    ];
    let source = super::build::Source { folder: job.room.path().to_owned(), commit: String::new() };
    let bounds = job.bounds(std::time::Duration::from_mins(10));
    // Its exit code says what the numbers say, or that they can't be compared: both are read below.
    task::run(job, words, &source, bounds, true, log);
    let text =
        read(&said).map_err(|error| format!("failed to compare it with build {baseline} ({error})"))?;
    let comparisons = serde_json::Deserializer::from_slice(&text).into_iter::<ComparisonResult>();
    // Where there is nothing to compare, `prony compare` says so in words, which the log has.
    Ok(comparisons.map_while(Result::ok).collect())
}

/// Puts what build `from` left into the new folder `folder`, as a study leaves it.
fn lay_out(job: &Job<'_>, from: BuildId, folder: &Path) -> Result<(), String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("failed to fetch the files of build {from} ({error})");
    let store = &job.tools.lab.store;
    let all = store.read_blocking(|tx| files::of_build(tx, from)).map_err(|error| failed(&error))?;
    for info in all.iter().filter(|info| is_of_study(&info.name)) {
        // Names are those that `take_in` gave: one folder at most, and nothing that leads out.
        let path = folder.join(&info.name);
        let found =
            store.read_blocking(|tx| files::one(tx, from, &info.name)).map_err(|error| failed(&error))?;
        let Some((_, bytes)) = found else { continue };
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes)).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Whether it is a file by which a folder is known as that of a study, or a result.
fn is_of_study(name: &str) -> bool {
    ["study.toml", "schedule.json", "report.json"].contains(&name) || name.starts_with("runs/")
}

/// The files that a study left in `folder`. What runs there was a build's: no link is followed, and nothing is read that
/// is no plain file.
fn take_in(folder: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut bytes_in_all) = (Vec::new(), 0_u64);
    for inner in FOLDERS {
        let inside = if inner.is_empty() { folder.to_owned() } else { folder.join(inner) };
        let is_folder = fs::symlink_metadata(&inside).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder {
            continue;
        }
        let mut names: Vec<_> = fs::read_dir(&inside)?.flatten().map(|entry| entry.file_name()).collect();
        names.sort_unstable();
        for name in names {
            let Some(name) = name.to_str().filter(|name| is_plain(name)) else { continue };
            let path = inside.join(name);
            let metadata = fs::symlink_metadata(&path)?;
            // Most logs of servers are empty.
            if !metadata.is_file() || metadata.len() == 0 || metadata.len() > MOST_FILE_BYTES {
                continue;
            }
            bytes_in_all += metadata.len();
            if found.len() >= MOST_FILES || bytes_in_all > MOST_BYTES {
                let words =
                    format!("it left more than {MOST_FILES} files, or more than {} MiB", MOST_BYTES >> 20);
                return Err(std::io::Error::other(words));
            }
            let name = if inner.is_empty() { name.to_owned() } else { format!("{inner}/{name}") };
            found.push((name, read(&path)?));
        }
    }
    Ok(found)
}

/// A plain file, as it is: nothing runs any more that could change it meanwhile.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The numbers of a study as rows; none where nothing was run, and so no machine is known.
fn of(result: &StudyResult) -> Option<Results> {
    let environment = result.environment.as_ref()?;
    let measured = result.cells.iter().flat_map(|cell| {
        cell.figures.iter().map(|figure| Measured {
            cell: cell.name.clone(),
            metric: figure.metric.name().to_owned(),
            unit: figure.metric.unit().to_owned(),
            is_better_high: figure.metric.is_better_high(),
            value: figure.value,
            interval: figure.interval.as_ref().map(|interval| (interval.low, interval.high)),
            runs: figure.runs,
            samples: figure.samples,
            is_valid: figure.value.is_some(),
            note: figure.note.clone(),
        })
    });
    let demanded = result.thresholds.iter().map(|threshold| Demanded {
        words: threshold.text.clone(),
        cell: cell_name(result, threshold.cell),
        metric: threshold.metric.name().to_owned(),
        value: threshold.measured,
        is_met: match threshold.outcome {
            ThresholdOutcome::Met => Some(true),
            ThresholdOutcome::Missed => Some(false),
            ThresholdOutcome::Unknown => None,
        },
    });
    Some(Results {
        fingerprint: environment.fingerprint(),
        measured: measured.collect(),
        demanded: demanded.collect(),
    })
}

pub(super) fn cell_name(result: &StudyResult, cell: u32) -> String {
    result.cells.get(cell as usize).map(|cell| cell.name.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_a_study_are_taken_in() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path();
        fs::create_dir_all(path.join("runs")).expect("room");
        for (name, text) in [("report.json", "{}"), ("runs/1.json", "1"), (".hidden", "x"), ("odd name", "x")]
        {
            fs::write(path.join(name), text).expect("room");
        }
        std::os::unix::fs::symlink("/etc/passwd", path.join("report.html")).expect("room");
        std::os::unix::fs::symlink("/etc", path.join("logs")).expect("room");
        let taken = take_in(path).expect("it can be read");
        let names: Vec<_> = taken.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["report.json", "runs/1.json"]);
        assert!(read(&path.join("report.html")).is_err());
        assert!(take_in(&path.join("nothing")).expect("it is empty").is_empty());
        let large = fs::File::create(path.join("large.log")).expect("room");
        large.set_len(MOST_FILE_BYTES + 1).expect("a hole");
        assert_eq!(take_in(path).expect("it can be read").len(), 2);
    }
}
