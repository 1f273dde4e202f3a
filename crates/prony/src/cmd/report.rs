//! `prony report`: stored results again, in any format, and what is to be said of several together.

use std::io::Write as _;

use prony_model::Finding;
use prony_report::{Style, markdown, text};

use crate::args::{Format, ReportArgs};
use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::meant::clock;
use crate::render::{Named, render};
use crate::{output, terminal};

mod read;
mod together;

use read::Stored;

/// Prints the results of all files, or, if one of them is bad, nothing but why.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Complaint> {
    let format = args.output.unwrap_or(Format::Text);
    let clock = clock(args.clock, format)?;
    if format == Format::Hgrm && args.files.len() > 1 {
        return Err(Complaint::usage("-o hgrm is one distribution, and there are several files")
            .hint("name one of them, or use -o hlog, which holds many"));
    }
    if args.files.iter().filter(|file| read::is_stdin(file)).count() > 1 {
        return Err(Complaint::usage("stdin can be read once only").hint("write - once"));
    }
    let stored = args.files.iter().map(|file| read::read(file)).collect::<Result<Vec<_>, _>>()?;
    for stored in &stored {
        doubt(stored, args.force)?;
    }
    let runs: Vec<Named<'_>> =
        stored.iter().map(|stored| Named { file: &stored.name, result: &stored.result }).collect();
    let rendered = render(&runs, format, clock).map_err(|error| Complaint::usage(error.to_string()))?;
    let findings = together::findings(&runs);
    output::print(&(rendered + &beside(&findings, format)))?;
    if beside(&findings, format).is_empty() {
        tell(&text::findings(&findings, &Style::default()));
    }
    Ok(Exit::Good)
}

/// Refuses a result that contradicts itself, or says so.
fn doubt(stored: &Stored, force: bool) -> Result<(), Complaint> {
    /// Whoever edits one number makes several contradictions.
    const TOLD: usize = 3;
    let found = stored.result.check();
    let reasons = found.iter().take(TOLD).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let what = format!("{} contradicts itself: {reasons}", stored.name);
    if found.is_empty() {
        return Ok(());
    }
    if !force {
        return Err(
            Complaint::usage(what).hint("it is not as prony wrote it; to print it all the same, add --force")
        );
    }
    tell(&format!("warning: {}\n", prony_report::clean(&what)));
    Ok(())
}

/// The findings as a part of the report, for formats that people read.
fn beside(findings: &[Finding], format: Format) -> String {
    let drawn = match format {
        _ if findings.is_empty() => return String::new(),
        Format::Text => text::findings(findings, &terminal::style()),
        Format::Markdown => markdown::findings(findings),
        Format::Json | Format::Csv | Format::Hgrm | Format::Hlog => return String::new(),
    };
    format!("\n{drawn}")
}

fn tell(text: &str) {
    // Whoever closed stderr does not want to know.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
