//! `prony study`: what a study file says.

mod mistakes;
mod plan;

use std::io::Read as _;
use std::path::Path;

use prony_study::{Host, Overrides, Schedule, Study};

use crate::args::{StudyArgs, check_serve};
use crate::cmd::run::seed;
use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::meant::start_ups;
use crate::{output, terminal};

/// More than [`Study::read`] takes: a file is not read further than that.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Shows what the file of `args` means.
pub(crate) fn study(args: &StudyArgs) -> Result<Exit, Complaint> {
    let text = text(&args.file)?;
    let overrides = Overrides {
        short: args.short,
        seed: args.seed,
        fresh_seed: seed()?,
        repeats: args.repeats,
        host: Host { start_ups, serve: check_serve },
    };
    let study = match Study::read(&args.file, &text, overrides) {
        Ok(study) => study,
        Err(error) => {
            output::tell(&mistakes::drawn(&args.file, &text, &error, &terminal::error_style()));
            return Ok(Exit::Usage);
        }
    };
    let schedule = Schedule::new(&study);
    output::print(&plan::plan(&study, &schedule))?;
    Ok(Exit::Good)
}

fn text(path: &Path) -> Result<String, Complaint> {
    let unreadable = |error: &std::io::Error| {
        Complaint::usage(format!("can't read the study {} ({error})", path.display()))
            .hint("name a study file: docs/study.md says what stands in one")
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    Ok(text)
}
