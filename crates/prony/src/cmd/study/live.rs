//! `prony study --live`: a screen on a terminal that can show one; elsewhere the usual lines, with one more for each
//! finding when it is first seen.

use std::collections::BTreeMap;

use prony_model::{ExecEvent, FindingCode, RunEvent, Verdict};
use prony_report::live::{StudyMoment, study_screen};
use prony_report::{Style, clean};
use prony_study::{Study, StudyEvent};

use super::progress::{StudyLine, doing, ended, live, trial};
use crate::cli_error::CliError;
use crate::live::view::{Shown, View};
use crate::{output, terminal};

/// Lines of ended runs that are kept for the screen.
const ENDED_KEPT: usize = 16;

/// Shows a study.
pub(super) enum LiveStudy {
    /// As without `--live`.
    Line(StudyLine),
    /// In a pipe, a file, or on a terminal where nothing can be written over.
    Lines(StudyLine, Findings),
    /// On a terminal.
    Screen(Screen),
}

/// A screen; what is to stay after it is written at the end.
pub(super) struct Screen {
    /// Dropped before the rest is written.
    view: Option<View<State>>,
    stays: String,
}

/// In how many runs each finding was.
#[derive(Default)]
pub(super) struct Findings(BTreeMap<&'static str, usize>);

/// What is known of a study.
pub(super) struct State {
    name: String,
    /// Knows the pace; it shows nothing itself.
    line: StudyLine,
    done: usize,
    invalid: usize,
    failed: usize,
    cell: String,
    doing: String,
    /// The trial that runs, of a search.
    trial: String,
    findings: Findings,
    ended: Vec<String>,
}

impl LiveStudy {
    /// For `study`, of which `line` knows what is to be run.
    pub(super) fn new(line: StudyLine, study: &Study, is_live: bool) -> Result<Self, CliError> {
        if !is_live {
            return Ok(Self::Line(line));
        }
        if !terminal::has_progress_line() {
            return Ok(Self::Lines(line, Findings::default()));
        }
        let state = State {
            name: study.name.clone(),
            line,
            done: 0,
            invalid: 0,
            failed: 0,
            cell: String::new(),
            doing: String::new(),
            trial: String::new(),
            findings: Findings::default(),
            ended: Vec::new(),
        };
        Ok(Self::Screen(Screen { view: Some(View::new(state)?), stays: String::new() }))
    }

    /// Shows `event`.
    pub(super) fn update(&mut self, event: &StudyEvent<'_>) {
        match self {
            Self::Line(line) => line.update(event),
            Self::Lines(line, findings) => {
                line.update(event);
                for code in doubts(event) {
                    if findings.add(*code) == 1 {
                        output::write_stderr(&format!("so far: a run with the finding {}\n", code.name()));
                    }
                }
            }
            Self::Screen(screen) => {
                let line = screen.view.as_ref().and_then(|view| view.update(|state| state.update(event)));
                screen.stays.push_str(&line.unwrap_or_default());
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.view = None;
        output::write_stderr(&self.stays);
    }
}

/// What makes the run doubtful that `event` ends.
fn doubts<'a>(event: &StudyEvent<'a>) -> &'a [FindingCode] {
    match event {
        StudyEvent::Finished { doubts, .. } => doubts,
        StudyEvent::Retried { reasons, .. } => reasons,
        _ => &[],
    }
}

impl Findings {
    /// Counts a finding of a run; returns in how many it was.
    fn add(&mut self, code: FindingCode) -> usize {
        let runs = self.0.entry(code.name()).or_default();
        *runs += 1;
        *runs
    }

    /// The most frequent first.
    fn sorted(&self) -> Vec<(&'static str, usize)> {
        let mut all: Vec<_> = self.0.iter().map(|(name, runs)| (*name, *runs)).collect();
        all.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs));
        all
    }
}

impl State {
    /// Takes `event`; returns what people must see after the screen is gone.
    fn update(&mut self, event: &StudyEvent<'_>) -> Option<String> {
        for code in doubts(event) {
            self.findings.add(*code);
        }
        match event {
            StudyEvent::Began { done, .. } => self.done = *done,
            StudyEvent::Building { target, line } => self.doing = format!("building {target}: {line}"),
            StudyEvent::Starting { target } => self.doing = format!("starting {target}"),
            StudyEvent::Stopping { target } => self.doing = format!("stopping {target}"),
            StudyEvent::Ready { .. } => self.doing.clear(),
            StudyEvent::Running { step, cell } => {
                self.cell =
                    format!("{} of {} · {} · repeat {}", step.place, self.line.of, cell.name, step.repeat);
                self.doing.clear();
                self.trial.clear();
            }
            StudyEvent::Run(RunEvent::Progress(progress)) => {
                self.doing = doing(&self.trial, &live(progress));
            }
            StudyEvent::TrialBegins(plan) => self.trial = trial(plan),
            StudyEvent::TrialEnded(_) => self.trial.clear(),
            StudyEvent::Run(_) => {}
            StudyEvent::Exec(event) => {
                if let ExecEvent::Run { done, expected, .. } = event {
                    self.doing = format!("round {} of {expected}", done + 1);
                }
            }
            StudyEvent::Finished { step, cell, verdict, took, .. } => {
                self.line.count(step, Some(*took));
                self.done += 1;
                self.invalid += usize::from(*verdict == Some(Verdict::Invalid));
                self.note(ended(step, self.line.of, &clean(&cell.name), *verdict, *took));
            }
            StudyEvent::Retried { step, cell, retry, of, .. } => {
                let place = format!("{} of {} · {}", step.place, self.line.of, clean(&cell.name));
                self.note(format!("{place} · INVALID, made again: retry {retry} of at most {of}"));
            }
            StudyEvent::Failed { step, cell, failure } => {
                self.line.count(step, None);
                self.failed += 1;
                let (name, why) = (clean(&cell.name), clean(&failure.why));
                let line = format!("failed: {} of {} · {name}: {why}", step.place, self.line.of);
                self.note(line.clone());
                let tail = failure.log_tail.lines().map(|line| format!("       | {}\n", clean(line)));
                return Some(format!("{line}\n{}", tail.collect::<String>()));
            }
            StudyEvent::GivenUp { target } => {
                let line = format!("given up: {}; its other runs are not tried", clean(target));
                self.note(line.clone());
                return Some(format!("{line}\n"));
            }
        }
        None
    }

    fn note(&mut self, line: String) {
        self.cell.clear();
        self.doing.clear();
        if self.ended.len() == ENDED_KEPT {
            self.ended.remove(0);
        }
        self.ended.push(line);
    }
}

impl Shown for State {
    fn screen(&self, style: &Style, rows: usize, stopping: bool) -> Vec<String> {
        let findings = self.findings.sorted();
        let moment = StudyMoment {
            name: &self.name,
            done: self.done,
            invalid: self.invalid,
            failed: self.failed,
            of: self.line.of,
            left: self.line.left(),
            cell: &self.cell,
            doing: &self.doing,
            findings: &findings,
            ended: &self.ended,
            stopping,
        };
        study_screen(&moment, style, rows)
    }
}
