//! What a study will do, before it does it.

use std::fmt::Write as _;
use std::time::Duration;

use prony_model::words::{length, plural};
use prony_report::clean;
use prony_study::{Cell, Estimate, Launch, Order, Restart, Schedule, Study, Target};

/// Cells and runs that are listed each: who wants more of them reads schedule.json.
const LISTED_MAX: usize = 40;

/// The plan as text.
pub(super) fn plan(study: &Study, schedule: &Schedule) -> String {
    let runs = schedule.steps.len();
    let mut page = summary(study, schedule);
    heading(&mut page, "targets");
    for target in &study.targets {
        line(&mut page, &format!("  {}  {}", name(target), how(target)));
    }
    heading(&mut page, "axes");
    for axis in &study.axes {
        line(&mut page, &format!("  {}  {}", axis.name, axis.values.join(", ")));
    }
    heading(&mut page, "cells");
    let width =
        study.cells.iter().take(LISTED_MAX).map(|cell| cell.name.chars().count()).max().unwrap_or_default();
    for Cell { name, words, .. } in study.cells.iter().take(LISTED_MAX) {
        line(&mut page, &format!("  {name:<width$}  {words}"));
    }
    more(&mut page, study.cells.len(), "cell");
    heading(&mut page, "order");
    for step in schedule.steps.iter().take(LISTED_MAX) {
        let name = &study.cells[step.cell].name;
        line(&mut page, &format!("  {:>5}  {name} · repeat {}", step.place, step.repeat));
    }
    more(&mut page, runs, "run");
    for (number, what) in [
        (study.comparisons.len(), "comparison"),
        (study.thresholds.len(), "threshold"),
        (study.published.len(), "published figure"),
    ] {
        if number > 0 {
            line(&mut page, &plural(number as u64, what));
        }
    }
    page
}

/// How much there is to do, in three lines.
pub(super) fn summary(study: &Study, schedule: &Schedule) -> String {
    let mut page = String::new();
    let runs = schedule.steps.len();
    line(&mut page, &study.title);
    let cells = plural(study.cells.len() as u64, "cell");
    let repeats = plural(u64::from(study.repeats), "repeat");
    let short = if study.short { " · the short form" } else { "" };
    line(
        &mut page,
        &format!("{cells} × {repeats} = {} · {}{short}", plural(runs as u64, "run"), order(study)),
    );
    line(&mut page, &time(&Estimate::new(study, schedule)));
    if study.retries > 0 {
        let runs = plural(u64::from(study.retries), "more run");
        line(&mut page, &format!("up to {runs} per cell, if the machine makes runs invalid"));
    }
    page
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{}", clean(text));
}

fn heading(page: &mut String, text: &str) {
    let _ = writeln!(page, "\n{text}");
}

fn more(page: &mut String, all: usize, what: &str) {
    if let Some(more) = all.checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        line(page, &format!("  … and {} more", plural(more as u64, what)));
    }
}

fn order(study: &Study) -> String {
    let order = match study.order {
        Order::Random => "in random order within each repeat",
        Order::Interleaved => "repeat by repeat, in the order of the file",
        Order::Sequential => "cell by cell",
    };
    let restart = match study.restart {
        Restart::Run => "a fresh target for each run",
        Restart::Repeat => "a fresh target for each repeat",
        Restart::Never => "targets are started once",
    };
    format!("{order} · {restart} · seed {}", study.seed)
}

/// "takes 12 min 30 s, and the time of 24 starts"
fn time(estimate: &Estimate) -> String {
    // To the second above: pauses are of no more interest.
    let least = estimate.least();
    let least = length(Duration::from_secs(least.as_secs() + u64::from(least.subsec_nanos() > 0)));
    let mut words = match estimate.unknown {
        0 => format!("takes {least}"),
        unknown => format!("takes at least {least}; {} of unknown length", plural(unknown as u64, "run")),
    };
    if estimate.starts > 0 {
        let _ = write!(words, ", and the time of {}", plural(estimate.starts as u64, "start"));
    }
    words
}

/// "kv (workers 2)"
fn name(target: &Target) -> String {
    if target.key.is_empty() {
        return target.name.clone();
    }
    let values: Vec<String> = target.key.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    format!("{} ({})", target.name, values.join(", "))
}

fn how(target: &Target) -> String {
    let joined = |words: &[prony_study::Template]| {
        let words: Vec<&str> = words.iter().map(|word| word.0.as_str()).collect();
        words.join(" ")
    };
    match &target.launch {
        Launch::Serve(words) => format!("prony serve {}", joined(words)),
        Launch::Command { line, build, .. } => {
            let steps: Vec<String> = build.lines.iter().map(|line| format!("{}; ", line.join(" "))).collect();
            format!("{}{}", steps.concat(), joined(line))
        }
        Launch::Running => format!("{} (runs already)", target.url.0),
    }
}
