//! `prony study`: runs a study file, from its plan to its report.

mod execute;
mod live;
mod plan;
mod progress;
mod runner;

use std::io::Read as _;
use std::path::Path;

use prony_study::{Begin, Confinement, Folder, Host, Overrides, Schedule, Study};

use self::execute::{StudyRequest, cli_error, default_folder};
use crate::args::{StudyArgs, StudyFormat, check_serve};
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::resolve::start_ups;
use crate::{detect, mistakes, output, terminal};

/// Runs of a study are seldom shorter than the longest blocks that `prony calibrate` measures.
const RUN_LEAST_S: f64 = 1.0;
/// More than [`Study::read`] takes: a file is not read further than that.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// Runs the study in the file of `args`, or shows its plan.
pub(crate) fn study(args: &StudyArgs) -> Result<Exit, CliError> {
    let text = text(&args.file)?;
    let detect = args.detect.map(|effect| Ok::<_, CliError>((effect, detect::plan(effect, RUN_LEAST_S)?)));
    let detect = detect.transpose()?;
    if let Some((effect, plan)) = &detect {
        output::write_stderr(&format!("{}\n", detect::describe(*effect, plan, "repeats")));
    }
    let mut overrides = Overrides {
        short: args.short,
        seed: args.seed,
        fresh_seed: seed()?,
        repeats: args.repeats.or(detect.map(|(_, plan)| plan.pairs)),
        retries: args.retries.map(|retries| u32::try_from(retries).unwrap_or(u32::MAX)),
        host: Host { start_ups, serve: check_serve },
    };
    let mut study = match Study::read(&args.file, &text, overrides) {
        Ok(study) => study,
        Err(error) => {
            output::write_stderr(&mistakes::drawn(&args.file, &text, &error, &terminal::error_style()));
            return Ok(Exit::Usage);
        }
    };
    let folder = args.output.clone().unwrap_or_else(|| default_folder(&study));
    if let Some(seed) = begun_with(args, &folder)? {
        overrides.seed = Some(seed);
        study =
            Study::read(&args.file, &text, overrides).map_err(|error| CliError::usage(error.to_string()))?;
    }
    let schedule = Schedule::new(&study);
    if args.dry_run {
        output::print(&plan::plan(&study, &schedule))?;
        return Ok(Exit::Good);
    }
    if args.confinement.is_some() && !study.agents().is_empty() {
        return Err(CliError::usage("this study has agents, and nothing in a sandbox leads any")
            .hint("take `agents` out of the file, or run it with `prony study`"));
    }
    let confinement = match &args.confinement {
        Some(path) => confinement(path)?,
        None => Confinement::default(),
    };
    execute::run(&StudyRequest {
        confinement: &confinement,
        study: &study,
        schedule: &schedule,
        folder: &folder,
        begin: match (args.resume, args.force) {
            (true, _) => Begin::Resume,
            (false, true) => Begin::Over,
            (false, false) => Begin::New,
        },
        format: args.format.unwrap_or(StudyFormat::Text),
        allow_undecided: args.allow_undecided,
        quiet: args.quiet,
        live: args.live,
        lead: &args.lead,
    })
}

/// The seed of the study that `args` go on with, where none is typed: it may have come from the system.
fn begun_with(args: &StudyArgs, folder: &Path) -> Result<Option<u64>, CliError> {
    if !args.resume || args.seed.is_some() {
        return Ok(None);
    }
    let begun = Folder::schedule_of(folder).map_err(|error| cli_error(&error))?;
    Ok(begun.map(|begun| begun.seed))
}

/// The sandbox that the file `path` describes.
fn confinement(path: &Path) -> Result<Confinement, CliError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        CliError::usage(format!("can't read the sandbox {} ({error})", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    Confinement::from_json(&text).map_err(|error| unreadable(&error))
}

fn text(path: &Path) -> Result<String, CliError> {
    let unreadable = |error: &std::io::Error| {
        CliError::usage(format!("can't read the study {} ({error})", path.display()))
            .hint("name a study file: docs/study.md says what stands in one")
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    Ok(text)
}
