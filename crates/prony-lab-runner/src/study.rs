//! The study of a build: run as a process of its own, and taken in when it is over.

use std::path::Path;

use prony_model::{
    ComparisonResult, MetricComparison, StudyResult, ThresholdOutcome, Verdict, study_from_json,
};
use prony_supervisor::{ConfinedFolder, FileType, Limits, QUIET_POLL_INTERVAL};

use super::baseline::{CANDIDATES_MAX, Comparisons};
use super::build::{Done, Job};
use super::sandbox::{Network, Scope};
use super::task::{self, Log, Manner};
use super::verdict::{self, Primary};
use super::workspace::LAB;
use prony_lab_model::{BuildId, BuildVerdict, TaskState};
use prony_lab_store::results::{self, Measured, NewThreshold, Results};
use prony_lab_store::{Store, files};

/// The folder of a build's study in its room.
const STUDY: &str = "study";
/// Files that are taken in: those of a study of a thousand runs.
const FILES_MAX: usize = 4_000;
/// The longest of them: a study of ten thousand cells has a report of some tens of MiB.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// All of them together.
const BYTES_MAX: u64 = 256 << 20;
/// Folders of a study whose files are of use later.
const FOLDERS: [&str; 5] = ["", RUNS, "failed", "partial", "logs"];
/// Where stored runs are.
const RUNS: &str = "runs";

/// What a study has left, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Study {
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) results: Option<Results>,
    pub(super) verdict: Option<BuildVerdict>,
    pub(super) baseline: Option<BuildId>,
    /// Whether something is missing or can't be defended.
    pub(super) is_doubtful: bool,
    /// A summary for people.
    pub(super) words: Option<String>,
    /// The run of agents that the files have, and how many of its results.
    pub(super) agent_run: Option<(String, u32)>,
}

/// Runs the study of the project, and reads its result.
pub(super) fn run(job: &mut Job<'_>, log: &mut Log<'_>) -> Done {
    let Some(file) = job.definition.and_then(|definition| definition.study.clone()) else {
        return Done::failed("the project has no study any more: name one in its definition");
    };
    let Some(source) = job.sources.last().cloned() else { return Done::failed("nothing was checked out") };
    let (done, study) = measure(job, &source, &file, log);
    let Some((mut study, result)) = study else { return done };
    if let Err(error) = against_baseline(job, &result, &mut study, log) {
        return Done::failed(error);
    }
    job.study = Some(study);
    done
}

/// Runs the study file `file` of `source`, and takes in what it left; nothing where it left no report.
pub(super) fn measure(
    job: &Job<'_>,
    source: &super::build::Source,
    file: &Path,
    log: &mut Log<'_>,
) -> (Done, Option<(Study, StudyResult)>) {
    let mut words = vec![
        job.tools.starter.program.clone().into_os_string(),
        "study".into(),
        file.into(),
        "--output".into(),
        job.workspace.path().join(STUDY).into_os_string(),
    ];
    match confine(job) {
        Ok(Some(path)) => words.extend(["--confinement".into(), path.into_os_string()]),
        Ok(None) => {}
        Err(error) => return (Done::failed(format!("failed to write its sandbox down ({error})")), None),
    }
    let limits = Limits { poll_interval: QUIET_POLL_INTERVAL, ..job.limits(std::time::Duration::MAX) };
    let manner = Manner {
        scope: Scope::Measure,
        network: Network::Own,
        tree: false,
        limits,
        secrets: &[],
        egress: None,
        caches: &[],
    };
    let mut done = task::run(job, words, source, manner, log);
    // The public table of exit codes: a missed threshold and doubtful numbers are results, too.
    done = match done.exit_code {
        Some(1) => {
            Done { state: TaskState::Success, reason: Some("a threshold is missed".to_owned()), ..done }
        }
        Some(3) => {
            let reason = Some("some or all numbers are unusable: see the report".to_owned());
            Done { state: TaskState::Success, reason, ..done }
        }
        Some(2) => Done { reason: Some("the study file can't be used".to_owned()), ..done },
        _ => done,
    };
    let files = match job.workspace.open().and_then(|workspace| collect(&workspace)) {
        Ok(files) => files,
        Err(error) => return (Done::failed(format!("failed to read what the study left ({error})")), None),
    };
    let report = files.iter().find(|(name, _)| name == "report.json");
    let result = report.and_then(|(_, bytes)| study_from_json(&String::from_utf8_lossy(bytes)).ok());
    if done.exit_code == Some(4) {
        let why =
            result.as_ref().and_then(|result| result.failures.first()).map(|failure| failure.why.clone());
        done.reason = Some(why.unwrap_or_else(|| "a run failed: see the output".to_owned()));
    }
    let Some(result) = result else {
        let is_good = done.state == TaskState::Success;
        let why = if is_good { Done::failed("the study left no report that can be read") } else { done };
        return (why, None);
    };
    let is_doubtful = result.verdict == Verdict::Invalid || !result.complete;
    let words = is_doubtful.then(|| "some or all numbers are unusable: see the report".to_owned());
    let study = Study { files, results: of(&result), is_doubtful, words, ..Study::default() };
    (done, Some((study, result)))
}

/// Sets `result` against the last good builds of the project's branch, and notes what follows from all of it.
fn against_baseline(
    job: &Job<'_>,
    result: &StudyResult,
    study: &mut Study,
    log: &mut Log<'_>,
) -> Result<(), String> {
    let build = &job.detail.build;
    let store = &job.tools.lab.store;
    let mut compared = Vec::new();
    let mut first = None;
    if let (Some(definition), Some(project), Some(of)) = (job.definition, build.project, &study.results) {
        let variant = build.variant.clone().unwrap_or_default();
        let (id, branch, fingerprint) = (build.id, definition.branch.clone(), of.fingerprint.clone());
        let candidates = store.read_blocking(|tx| {
            results::candidates(tx, id, project, &variant, &branch, &fingerprint, CANDIDATES_MAX)
        });
        let candidates = candidates.map_err(|error| format!("failed to {error}"))?;
        let mut comparisons = Comparisons::of(of);
        while let Some(baseline) = comparisons.next(&candidates) {
            log.line(&format!("\ncompared with build {baseline}:"));
            comparisons.add(baseline, compare(job, baseline, log)?);
        }
        first = comparisons.first();
        compared = comparisons.cells;
        if first.is_some() {
            let all: Vec<&ComparisonResult> = compared.iter().map(|cell| &cell.result).collect();
            let json = serde_json::to_vec(&all).expect("invariant: results can be written as JSON");
            study.files.push(("comparison.json".to_owned(), json));
        }
    }
    let primaries: Vec<_> = compared
        .into_iter()
        .filter_map(|cell| Some(Primary { cell: cell.cell, baseline: cell.baseline, metric: cell.primary? }))
        .collect();
    let verdict = verdict::of(result, first, &primaries);
    study.verdict = Some(verdict.verdict);
    study.baseline = verdict.baseline;
    study.words = verdict.words.or(study.words.take());
    Ok(())
}

/// A cell, its primary metric, and all of its comparison.
type FoundCell = (String, Option<MetricComparison>, ComparisonResult);

/// The result of `prony compare` for the study and that of the build `baseline`.
fn compare(job: &Job<'_>, baseline: BuildId, log: &mut Log<'_>) -> Result<Vec<FoundCell>, String> {
    // `prony compare` calls the two sides by these names.
    let name = format!("build-{baseline}");
    let workspace = job.workspace.open().map_err(|error| format!("failed to open its files ({error})"))?;
    restore(&job.tools.lab.store, baseline, &workspace, &name)?;
    let output = Path::new(LAB).join("comparison.jsons");
    let script = "\"$0\" compare \"$1\" \"$2\" --quiet --output json >\"$3\" 2>&1; exec \"$0\" compare \"$1\" \"$2\" --quiet";
    let words = vec![
        "/bin/sh".into(),
        "-c".into(),
        script.into(),
        job.tools.starter.program.clone().into_os_string(),
        name.into(),
        STUDY.into(),
        job.workspace.path().join(&output).into_os_string(),
    ];
    let source = super::build::Source { folder: job.workspace.path().to_owned(), commit: String::new() };
    let limits = job.limits(std::time::Duration::from_mins(10));
    let manner = Manner {
        scope: Scope::Measure,
        network: Network::Own,
        tree: true,
        limits,
        secrets: &[],
        egress: None,
        caches: &[],
    };
    // Its exit code is the verdict, or that they can't be compared: both are read below.
    task::run(job, words, &source, manner, log);
    let text = workspace
        .read(&output, FILE_BYTES_MAX)
        .map_err(|error| format!("failed to compare it with build {baseline} ({error})"))?;
    let comparisons = serde_json::Deserializer::from_slice(&text).into_iter::<ComparisonResult>();
    // Where there is nothing to compare, `prony compare` prints a message, which the log has.
    let found = comparisons.map_while(Result::ok).map(|one| {
        // It puts the folder before the name of a cell.
        let cell = one.b.name.strip_prefix(STUDY).and_then(|rest| rest.strip_prefix(": "));
        (cell.unwrap_or(&one.b.name).to_owned(), one.metrics.first().cloned(), one)
    });
    Ok(found.collect())
}

/// Puts what build `from` left into the folder `name` of `workspace`, which must be new, as a study leaves it.
fn restore(store: &Store, from: BuildId, workspace: &ConfinedFolder, name: &str) -> Result<(), String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("failed to fetch the files of build {from} ({error})");
    let all = store.read_blocking(|tx| files::of_build(tx, from)).map_err(|error| failed(&error))?;
    let folder = workspace.make_folder(name).map_err(|error| failed(&error))?;
    folder.make_folder(RUNS).map_err(|error| failed(&error))?;
    for info in all.iter().filter(|info| is_of_study(&info.name)) {
        let found =
            store.read_blocking(|tx| files::one(tx, from, &info.name)).map_err(|error| failed(&error))?;
        let Some((_, bytes)) = found else { continue };
        folder.write_new(&info.name, &bytes).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Writes down the sandbox of what is measured, if there is one, and returns where.
fn confine(job: &Job<'_>) -> std::io::Result<Option<std::path::PathBuf>> {
    let sandbox = &job.tools.sandbox;
    if !sandbox.is_there() {
        return Ok(None);
    }
    let confinement = sandbox.confinement(&job.workspace, &job.source_folders(), job.exposed());
    let path = Path::new(LAB).join("confinement.json");
    job.workspace.open()?.write_new(&path, confinement.to_json().as_bytes())?;
    Ok(Some(job.workspace.path().join(path)))
}

/// Whether it is a file by which a folder is known as that of a study, or a result.
fn is_of_study(name: &str) -> bool {
    ["study.toml", "schedule.json", "report.json"].contains(&name) || name.starts_with("runs/")
}

/// The files that a study left in `workspace`. Nothing is read that is no plain file, nor through a link.
fn collect(workspace: &ConfinedFolder) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut bytes_in_all) = (Vec::new(), 0_u64);
    for inner in FOLDERS {
        let Ok(folder) = workspace.folder(Path::new(STUDY).join(inner)) else { continue };
        for entry in folder.entries()? {
            // Most logs of servers are empty.
            let is_wanted =
                entry.kind == FileType::RegularFile && (1..=FILE_BYTES_MAX).contains(&entry.size_bytes);
            if !is_wanted || !is_plain(&entry.name) {
                continue;
            }
            bytes_in_all += entry.size_bytes;
            if found.len() >= FILES_MAX || bytes_in_all > BYTES_MAX {
                let words =
                    format!("it left more than {FILES_MAX} files, or more than {} MiB", BYTES_MAX >> 20);
                return Err(std::io::Error::other(words));
            }
            let name = if inner.is_empty() { entry.name.clone() } else { format!("{inner}/{}", entry.name) };
            found.push((name, folder.read(&entry.name, FILE_BYTES_MAX)?));
        }
    }
    Ok(found)
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
    let thresholds = result.thresholds.iter().map(|threshold| NewThreshold {
        words: threshold.evaluated.text.clone(),
        cell: cell_name(result, threshold.cell),
        metric: threshold.evaluated.figure.to_string(),
        value: threshold.evaluated.measured,
        is_met: match threshold.evaluated.outcome {
            ThresholdOutcome::Met => Some(true),
            ThresholdOutcome::Missed => Some(false),
            ThresholdOutcome::Undecided => None,
        },
    });
    Some(Results {
        fingerprint: environment.fingerprint(),
        measured: measured.collect(),
        thresholds: thresholds.collect(),
    })
}

pub(super) fn cell_name(result: &StudyResult, cell: u32) -> String {
    result.cells.get(cell as usize).map(|cell| cell.name.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildRequest, Definition};
    use prony_lab_store::{builds, projects};

    #[test]
    fn files_of_an_old_build_are_written_through_no_link() {
        let room = tempfile::tempdir().expect("room");
        let store =
            Store::open(&prony_lab_model::options::StoreAddress::Sqlite(room.path().join("lab.sqlite")))
                .expect("a store");
        let build = store.write_blocking(|tx| {
            let text = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";
            let definition = Definition::read(text).expect("a definition");
            let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
            let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
            let build = builds::accept(tx, &new.expect("a request"))?;
            files::put(tx, build, "report.json", b"{}")?;
            files::put(tx, build, "runs/1.json", b"code")?;
            Ok(build)
        });
        let build = build.expect("written");
        let (inside, outside) = (room.path().join("room"), room.path().join("outside"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).expect("room");
        }
        let workspace = ConfinedFolder::open(&inside).expect("a folder");
        restore(&store, build, &workspace, "good").expect("nothing is in the way");
        assert_eq!(fs::read(inside.join("good/runs/1.json")).expect("there"), b"code");
        std::os::unix::fs::symlink(&outside, inside.join("whole")).expect("room");
        fs::create_dir(inside.join("part")).expect("room");
        std::os::unix::fs::symlink(&outside, inside.join("part/runs")).expect("room");
        for name in ["whole", "part"] {
            assert!(restore(&store, build, &workspace, name).is_err(), "{name}");
        }
        assert!(fs::read_dir(&outside).expect("there").next().is_none());
    }

    #[test]
    fn only_plain_files_of_a_study_are_collected() {
        let room = tempfile::tempdir().expect("room");
        let path = room.path().join(STUDY);
        let collected = || collect(&ConfinedFolder::open(room.path()).expect("a folder"));
        assert!(collected().expect("it is empty").is_empty());
        fs::create_dir_all(path.join("runs")).expect("room");
        for (name, text) in [("report.json", "{}"), ("runs/1.json", "1"), (".hidden", "x"), ("odd name", "x")]
        {
            fs::write(path.join(name), text).expect("room");
        }
        std::os::unix::fs::symlink("/etc/passwd", path.join("report.html")).expect("room");
        std::os::unix::fs::symlink("/etc", path.join("logs")).expect("room");
        let taken = collected().expect("it can be read");
        let names: Vec<_> = taken.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["report.json", "runs/1.json"]);
        let large = fs::File::create(path.join("large.log")).expect("room");
        large.set_len(FILE_BYTES_MAX + 1).expect("a hole");
        assert_eq!(collected().expect("it can be read").len(), 2);
        fs::rename(&path, room.path().join("moved")).expect("ours");
        std::os::unix::fs::symlink("moved", &path).expect("room");
        assert!(collected().expect("it is passed over").is_empty());
    }
}
