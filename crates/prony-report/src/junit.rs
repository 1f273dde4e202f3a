//! Thresholds as JUnit XML, as CI servers (Jenkins, GitLab, …) read it: a suite for each run or study, a case for each
//! threshold, and one for each run and each cell. A threshold that is missed is a failure, an undecided one is skipped,
//! and what gave no numbers that can be defended is an error.

use std::fmt::Write as _;

use prony_model::{EvaluatedThreshold, RunResult, StudyCell, StudyResult, ThresholdOutcome, Verdict};

use crate::facts::verdict_word;
use crate::svg::escaped;
use crate::{facts, study, threshold};

/// Characters of a time stamp to the second: CI servers want no zone.
const SECOND_CHARACTERS: usize = "2026-01-02T03:04:05".len();

/// One line of a CI server's report.
struct Case {
    class: String,
    name: String,
    took_s: f64,
    outcome: Outcome,
}

/// What became of a case, with the figures or the reason.
enum Outcome {
    Passed(String),
    Failed(String),
    Broken(String),
    Skipped(String),
}

/// The cases of one result.
struct Suite {
    name: String,
    started_at: Option<String>,
    took_s: f64,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

/// Runs, each with the name of its file; none (an empty name) for a run that is just over.
pub fn runs(results: &[(&str, &RunResult)]) -> String {
    document(&results.iter().map(|(file, result)| of_run(file, result)).collect::<Vec<_>>())
}

/// A study.
pub fn study(result: &StudyResult) -> String {
    document(&[of_study(result)])
}

fn of_run(file: &str, result: &RunResult) -> Suite {
    let load = facts::what(&result.plan);
    let class = if file.is_empty() { "prony.run".to_owned() } else { format!("prony.run.{file}") };
    let reason = || match result.findings.first() {
        Some(worst) => format!("{}: {}; {}", verdict_word(result.verdict), worst.message, worst.advice),
        None => verdict_word(result.verdict).to_owned(),
    };
    let whole = Case {
        class: class.clone(),
        name: format!("{load} is measured"),
        took_s: result.timing.measured_s,
        outcome: match result.verdict {
            Verdict::Invalid => Outcome::Broken(reason()),
            Verdict::Doubtful => Outcome::Passed(reason()),
            Verdict::Valid => Outcome::Passed(verdict_word(result.verdict).to_owned()),
        },
    };
    let thresholds = result.thresholds.iter().map(|threshold| of_threshold(&class, "", threshold));
    let mut properties = vec![
        ("verdict", result.verdict.name().to_owned()),
        ("seed", result.plan.seed.to_string()),
        ("prony", result.environment.prony_version.clone()),
    ];
    properties.extend(result.limiter.as_ref().map(|limiter| ("limiter", limiter.kind.name().to_owned())));
    Suite {
        name: if file.is_empty() { load } else { format!("{file}: {load}") },
        started_at: Some(result.timing.started_at.clone()),
        took_s: result.timing.warmup_s + result.timing.measured_s + result.timing.drain_s,
        properties,
        cases: std::iter::once(whole).chain(thresholds).collect(),
    }
}

fn of_study(result: &StudyResult) -> Suite {
    let class = format!("prony.study.{}", result.name);
    let cells = result.cells.iter().zip(0..).map(|(cell, index)| Case {
        class: class.clone(),
        name: format!("{} is measured", cell.name),
        took_s: 0.0,
        outcome: of_cell(result, cell, index),
    });
    let thresholds = result.thresholds.iter().map(|one| {
        let cell = study::cell_name(result, one.cell);
        of_threshold(&class, &format!("{cell}: "), &one.evaluated)
    });
    Suite {
        name: result.title.clone(),
        started_at: result.started_at.clone(),
        took_s: result.took_s,
        properties: vec![("verdict", result.verdict.name().to_owned()), ("seed", result.seed.to_string())],
        cases: cells.chain(thresholds).collect(),
    }
}

/// A cell is broken by a run that could not be made, and where none of its runs can be defended.
fn of_cell(result: &StudyResult, cell: &StudyCell, index: u32) -> Outcome {
    if let Some(failure) = result.failures.iter().find(|failure| failure.cell == index) {
        return Outcome::Broken(format!("repeat {}: {}\n{}", failure.repeat, failure.why, failure.log_tail));
    }
    let valid = cell.runs.iter().filter(|run| run.verdict != Verdict::Invalid).count();
    let counted = format!("{valid} valid of {} planned", crate::number::plural(cell.planned.into(), "run"));
    if valid > 0 { Outcome::Passed(counted) } else { Outcome::Broken(counted) }
}

fn of_threshold(class: &str, place: &str, threshold: &EvaluatedThreshold) -> Case {
    let found = threshold::found(threshold);
    Case {
        class: class.to_owned(),
        name: format!("{place}{}", threshold.text),
        took_s: 0.0,
        outcome: match threshold.outcome {
            ThresholdOutcome::Met => Outcome::Passed(found),
            ThresholdOutcome::Missed => Outcome::Failed(format!("{}: {found}", threshold.text)),
            ThresholdOutcome::Undecided => Outcome::Skipped(format!("undecided: {found}")),
        },
    }
}

fn document(suites: &[Suite]) -> String {
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let took_s = suites.iter().map(|suite| suite.took_s).sum();
    // Writing to a `String` can't fail.
    let _ = writeln!(text, "<testsuites name=\"prony\" {}>", counts(all(), took_s));
    for suite in suites {
        write_suite(&mut text, suite);
    }
    text.push_str("</testsuites>\n");
    text
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>, took_s: f64) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            Outcome::Passed(_) => {}
            Outcome::Failed(_) => failures += 1,
            Outcome::Broken(_) => errors += 1,
            Outcome::Skipped(_) => skipped += 1,
        }
    }
    format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{took_s:.3}\""
    )
}

fn write_suite(text: &mut String, suite: &Suite) {
    let stamp = suite.started_at.as_deref().and_then(|start| start.get(..SECOND_CHARACTERS));
    let stamp = stamp.map(|stamp| format!(" timestamp=\"{}\"", escaped(stamp))).unwrap_or_default();
    let counts = counts(suite.cases.iter(), suite.took_s);
    let _ =
        writeln!(text, "  <testsuite name=\"{}\" {counts}{stamp}>\n    <properties>", escaped(&suite.name));
    for (name, value) in &suite.properties {
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", escaped(value));
    }
    text.push_str("    </properties>\n");
    for case in &suite.cases {
        let Case { class, name, took_s, outcome } = case;
        let (class, name) = (escaped(class), escaped(name));
        let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{took_s:.3}\">");
        let _ = match outcome {
            Outcome::Passed(found) => write!(text, "<system-out>{}</system-out>", lines(found)),
            Outcome::Failed(found) => write_reason(text, "failure", "missed", found),
            Outcome::Broken(reason) => write_reason(text, "error", "invalid", reason),
            Outcome::Skipped(reason) => write!(text, "<skipped message=\"{}\"/>", first_line(reason)),
        };
        text.push_str("</testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}

fn write_reason(text: &mut String, element: &str, kind: &str, reason: &str) -> std::fmt::Result {
    let (message, reason) = (first_line(reason), lines(reason));
    write!(text, "<{element} type=\"{kind}\" message=\"{message}\">{reason}</{element}>")
}

fn first_line(text: &str) -> String {
    escaped(text.lines().next().unwrap_or_default())
}

/// Each line made harmless; [`escaped`] alone would write line feeds out.
fn lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}
