//! The study itself: runs what is missing, and writes the reports of all of it.

use std::path::{Path, PathBuf};

use prony_model::StudyResult;
use prony_report::study as draw;
use prony_study::{
    Begin, Confinement, Executed, Folder, FolderError, Schedule, Study, aggregate_folder, execute,
};

use super::live::LiveStudy;
use super::plan;
use super::progress::StudyLine;
use super::runner::Host;
use crate::args::{LeadArgs, StudyFormat};
use crate::cli_error::{CliError, flag};
use crate::exit::Exit;
use crate::fleet::Leader;
use crate::render::render_study;
use crate::{output, terminal};

/// What is to be done with a study.
pub(super) struct StudyRequest<'a> {
    pub(super) study: &'a Study,
    pub(super) schedule: &'a Schedule,
    /// Where everything is kept.
    pub(super) folder: &'a Path,
    pub(super) begin: Begin,
    /// Where targets run.
    pub(super) confinement: &'a Confinement,
    /// For stdout.
    pub(super) format: StudyFormat,
    /// Whether a threshold that is neither met nor missed is no failure.
    pub(super) allow_undecided: bool,
    pub(super) quiet: bool,
    /// Whether more than a line is shown while it is on.
    pub(super) live: bool,
    /// How agents are reached.
    pub(super) lead: &'a LeadArgs,
}

/// The folder of a study, unless one is named.
pub(super) fn default_folder(study: &Study) -> PathBuf {
    PathBuf::from(format!("{}.study", study.name))
}

/// Makes the runs that are missing, and reports on all that are there.
pub(super) fn run(request: &StudyRequest<'_>) -> Result<Exit, CliError> {
    let StudyRequest { study, schedule, begin, format, quiet, .. } = *request;
    let folder = Folder::open(request.folder, study, schedule, begin).map_err(|error| cli_error(&error))?;
    let place = folder.path().display();
    if folder.removed() > 0 {
        output::write_stderr(&format!("starting over: removed {} runs from {place}\n", folder.removed()));
    }
    if !quiet {
        output::write_stderr(&plan::summary(study, schedule));
    }
    let leader = leader(study, request.lead)?;
    let mut runner = Host::new(leader)?;
    runner.find_agents(study)?;
    let control = runner.control();
    let mut shown = LiveStudy::new(StudyLine::new(study, &folder, quiet), study, request.live)?;
    let is_stopped = || control.is_stopped();
    let conducted = execute(study, &folder, request.confinement, &mut runner, &is_stopped, &mut |event| {
        shown.update(&event);
    });
    drop(shown);
    let conducted = conducted.map_err(|error| cli_error(&error))?;
    let result = aggregate_folder(study, schedule, folder.path())
        .map_err(|error| CliError::internal(error.to_string()))?;
    // The report first: should a file fail now, the numbers are at least seen.
    output::print(&render_study(&result, format, &terminal::style()))?;
    write_reports(&folder, &result)?;
    if !quiet {
        output::write_stderr(&left(&conducted, &folder));
    }
    Ok(Exit::of_study(&result, conducted.interrupted, request.allow_undecided))
}

/// Who leads the agents of `study`, if it has any. Flags come before the file.
fn leader(study: &Study, args: &LeadArgs) -> Result<Option<Leader>, CliError> {
    if study.agents().is_empty() {
        return Ok(None);
    }
    let mut args = args.clone();
    args.broker.nats = args.broker.nats.or_else(|| study.nats.clone());
    Leader::connect(&args, "prony study").map(Some)
}

/// Every report, in the folder.
fn write_reports(folder: &Folder, result: &StudyResult) -> Result<(), CliError> {
    let reports = [
        ("report.json", draw::json(result)),
        ("report.md", draw::markdown(result)),
        ("report.html", draw::html(result)),
    ];
    for (name, text) in reports {
        folder.write(name, &text).map_err(|error| cli_error(&error))?;
    }
    Ok(())
}

/// What is kept where, and how to go on.
fn left(conducted: &Executed, folder: &Folder) -> String {
    let place = folder.path().display();
    let missing = folder.schedule().steps.iter().filter(|step| !folder.is_done(step)).count();
    let next = match missing {
        0 => String::new(),
        1 if conducted.interrupted => "; 1 run is missing: go on with --resume".to_owned(),
        1 => "; 1 run is missing: try it again with --resume".to_owned(),
        _ if conducted.interrupted => format!("; {missing} runs are missing: go on with --resume"),
        _ => format!("; {missing} runs are missing: try them again with --resume"),
    };
    format!("kept in {place}{next}\n")
}

/// Why the folder can't be used, for people.
pub(super) fn cli_error(error: &FolderError) -> CliError {
    match error {
        FolderError::System { .. } => CliError::internal(error.to_string()),
        _ => error.problem(flag).into(),
    }
}
