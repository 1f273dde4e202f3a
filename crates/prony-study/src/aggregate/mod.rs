//! From stored results to what a study found out.
//!
//! Results are taken one after the other and let go of: what stays of each are its numbers, and the merged
//! distributions of its cell.

mod agents;
mod cell;
mod compared;
mod distribution;
mod doubt;
mod evaluated;
mod figure;
mod folder;
mod reading;
mod scenario;
mod stages;
mod stored;
#[cfg(test)]
mod tests;
mod timeline;
mod times;

use std::time::Duration;

use prony_model::{
    Environment, STUDY_FORMAT, STUDY_VERSION, StudyCell, StudyFailure, StudyResult, StudyTarget, Verdict,
    since_1970,
};

use self::cell::CellRecord;
use self::doubt::Doubts;
pub use self::folder::aggregate_folder;
pub use self::stored::{AggregateError, Stored, StoredError};
use crate::{Launch, Schedule, Step, Study, Target, Template};

/// The result of the runs that are there. `stored` are the results with their steps, in any order; a result that
/// can't be read is the caller's error. `failures` are the runs that could not be made.
///
/// A run that is in neither is missing, and the study not complete.
pub fn aggregate<E: From<AggregateError>>(
    study: &Study,
    schedule: &Schedule,
    stored: impl IntoIterator<Item = Result<(Step, Stored), E>>,
    failures: Vec<StudyFailure>,
) -> Result<StudyResult, E> {
    let mut cells: Vec<CellRecord> =
        (0..study.cells.len()).map(|index| CellRecord::new(study, index)).collect();
    let mut doubts = Doubts::default();
    let mut span = Span::default();
    for item in stored {
        let (step, result) = item?;
        let Some(cell) = cells.get_mut(step.cell) else {
            return Err(AggregateError::Cell { file: step.file, cell: step.cell }.into());
        };
        span.add(&result);
        doubts.add(&step, result.findings());
        cell.add(&step, &result).map_err(|error| AggregateError::Distribution { file: step.file, error })?;
    }
    for cell in &mut cells {
        cell.sort();
    }
    let made: usize = cells.iter().map(|cell| cell.runs.len()).sum();
    let complete = made >= schedule.steps.len();
    doubts.add_of_study(study, &cells);
    let planned = planned(study, schedule);
    let summaries: Vec<StudyCell> = cells
        .iter()
        .zip(&study.cells)
        .zip(planned)
        .map(|((record, cell), planned)| record.summary(cell, planned))
        .collect();
    let findings = doubts.findings();
    let worst = findings.iter().map(|finding| finding.finding.clone()).collect::<Vec<_>>();
    let verdicts = summaries.iter().flat_map(|cell| &cell.runs).map(|run| run.verdict);
    let verdict = verdicts.chain([Verdict::from_findings(&worst)]).max().unwrap_or(Verdict::Invalid);
    Ok(StudyResult {
        format: STUDY_FORMAT.to_owned(),
        version: STUDY_VERSION,
        verdict: if complete { verdict } else { Verdict::Invalid },
        name: study.name.clone(),
        title: study.title.clone(),
        source: study.source.clone(),
        intro: study.intro.clone(),
        texts: study.texts.clone(),
        short: study.short,
        complete,
        seed: schedule.seed,
        repeats: study.repeats,
        retries: study.retries,
        took_s: span.took_s(),
        started_at: span.started_at,
        axes: study.axes.clone(),
        targets: targets(study),
        thresholds: evaluated::thresholds(study, &cells),
        published: evaluated::published(study, &summaries),
        comparisons: compared::comparisons(study, schedule.seed, &cells),
        cells: summaries,
        findings,
        failures,
        environment: span.environment,
        file: study.text.clone(),
    })
}

/// How often each cell was to be run.
fn planned(study: &Study, schedule: &Schedule) -> Vec<u32> {
    let mut planned = vec![0; study.cells.len()];
    for step in &schedule.steps {
        if let Some(count) = planned.get_mut(step.cell) {
            *count += 1;
        }
    }
    planned
}

/// From the start of the first run to the end of the last.
#[derive(Default)]
struct Span {
    started_at: Option<String>,
    environment: Option<Environment>,
    /// Both since 1970.
    first: Duration,
    last: Duration,
}

impl Span {
    fn add(&mut self, result: &Stored) {
        let Some(from) = since_1970(result.started_at()) else { return };
        if self.started_at.is_none() || from < self.first {
            self.first = from;
            self.started_at = Some(result.started_at().to_owned());
            self.environment = Some(result.environment().clone());
        }
        let took = Duration::try_from_secs_f64(result.took_s()).unwrap_or_default();
        self.last = self.last.max(from.saturating_add(took));
    }

    fn took_s(&self) -> f64 {
        self.last.saturating_sub(self.first).as_secs_f64()
    }
}

/// Every target once, however many ways of starting it the axes make if those look the same.
fn targets(study: &Study) -> Vec<StudyTarget> {
    let mut unique: Vec<StudyTarget> = Vec::new();
    for target in &study.targets {
        let one = StudyTarget { name: target.name.clone(), how: how(target), commit: target.commit.clone() };
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}

fn how(target: &Target) -> String {
    let joined = |line: &[Template]| line.iter().map(|word| word.0.as_str()).collect::<Vec<_>>().join(" ");
    match &target.launch {
        Launch::Serve(line) => format!("prony serve {}", joined(line)),
        Launch::Command { line, .. } => joined(line),
        Launch::Running => target.url.0.clone(),
    }
}
