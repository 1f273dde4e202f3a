//! `prony lab check`: whether everything that a lab keeps is whole.

use prony_lab::StoreCheck;
use prony_report::clean;

use super::{cli_error, place};
use crate::args::LabCheckArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Checks the store, and prints what is wrong.
pub(super) fn check(args: &LabCheckArgs) -> Result<Exit, CliError> {
    let (_, store) = place(&args.place)?;
    let found = prony_lab::check(&store).map_err(|error| cli_error(&error.into()))?;
    let took_s = found.took.as_secs_f64();
    if found.faults.is_empty() {
        output::print(&format!("whole: {} builds ({took_s:.1} s)\n", found.builds))?;
        output::write_stderr(&looked_at(&found));
        return Ok(Exit::Good);
    }
    let mut cli_error = CliError::target_failed(format!("the store is damaged ({} builds)", found.builds));
    for fault in &found.faults {
        cli_error = cli_error.hint(format!("| {}", clean(fault)));
    }
    Err(cli_error.hint("put a copy in its place: prony lab restore FILE"))
}

/// What was checked, and what was not.
fn looked_at(found: &StoreCheck) -> String {
    let structure = if found.has_pages {
        "pages, indexes, references between rows, audit log"
    } else {
        "audit log (PostgreSQL checks its pages by itself: pg_amcheck)"
    };
    let without = match found.without {
        0 => String::new(),
        count => format!("; {count} are older than checksums and have none"),
    };
    format!(
        "looked at: {structure}; checksums of {} builds that are over, their files and pieces of their outputs{without}\n\
         not looked at: what other rows contain (users, tokens, projects, alerts, notes, monitors, webhooks, events, settings)\n",
        found.compared
    )
}
