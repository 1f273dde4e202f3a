//! How far a study is: one line on a terminal, else a line for every run that has ended.

use std::time::Duration;

use prony_model::{Progress, RunEvent, Verdict};
use prony_report::capacity::trial_line;
use prony_report::{clean, rate, seconds, verdict_word};
use prony_study::{Folder, Step, Study, StudyEvent, TrialPlan};

use crate::output;
use crate::progress::StatusLine;
use crate::terminal;

/// Shows the events of a study that runs.
pub(super) struct StudyLine {
    status: StatusLine,
    /// Whether ended runs get lines of their own.
    run_lines: bool,
    quiet: bool,
    /// Runs in all.
    pub(super) of: usize,
    /// What is being run: its place and its cell.
    now: String,
    /// The trial that runs, of a search.
    trial: String,
    /// For each cell, how long its runs took, and how many are to come.
    cells: Vec<Pace>,
}

/// What is known of the runs of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    took: Duration,
    done: u32,
    left: u32,
}

impl StudyLine {
    /// For the runs of `study` that `folder` has not; nothing is shown but failures where `quiet`.
    pub(super) fn new(study: &Study, folder: &Folder, quiet: bool) -> Self {
        let mut cells = vec![Pace::default(); study.cells.len()];
        let steps = &folder.schedule().steps;
        for step in steps.iter().filter(|step| !folder.is_done(step)) {
            cells[step.cell].left += 1;
        }
        Self {
            status: StatusLine::new(quiet),
            run_lines: !quiet && !terminal::has_progress_line(),
            quiet,
            of: steps.len(),
            now: String::new(),
            trial: String::new(),
            cells,
        }
    }

    /// Shows `event`.
    pub(super) fn update(&mut self, event: &StudyEvent<'_>) {
        match event {
            StudyEvent::Began { done, of } if *done > 0 && !self.quiet => {
                self.print(&format!("{done} of {of} runs are there already\n"));
            }
            StudyEvent::Building { target, line } => self.show(&format!("building {target}: {line}")),
            StudyEvent::Starting { target } => self.show(&format!("starting {target}")),
            StudyEvent::Stopping { target } => self.show(&format!("stopping {target}")),
            StudyEvent::Running { step, cell } => {
                self.trial.clear();
                self.now = format!("{} of {} · {}", step.place, self.of, clean(&cell.name));
                self.show("");
            }
            StudyEvent::Run(RunEvent::Progress(progress)) => self.show(&doing(&self.trial, &live(progress))),
            StudyEvent::TrialBegins(plan) => {
                self.trial = trial(plan);
                self.show(&self.trial);
            }
            StudyEvent::TrialEnded(trial) => {
                self.trial.clear();
                if self.run_lines {
                    output::write_stderr(&format!("  {}\n", clean(&trial_line(trial))));
                }
            }
            StudyEvent::Retried { step, cell, reasons, retry, of } if !self.quiet => {
                let reasons: Vec<&str> = reasons.iter().map(|code| code.name()).collect();
                self.print(&format!(
                    "{} of {} · {} · INVALID ({}), made again: retry {retry} of at most {of}\n",
                    step.place,
                    self.of,
                    clean(&cell.name),
                    reasons.join(", ")
                ));
            }
            StudyEvent::Began { .. }
            | StudyEvent::Ready { .. }
            | StudyEvent::Run(_)
            | StudyEvent::Retried { .. } => {}
            StudyEvent::Exec(event) => {
                if let prony_model::ExecEvent::Run { done, expected, .. } = event {
                    self.show(&format!("round {} of {expected}", done + 1));
                }
            }
            StudyEvent::Finished { step, cell, verdict, took, .. } => {
                self.count(step, Some(*took));
                if self.run_lines {
                    let name = clean(&cell.name);
                    output::write_stderr(&format!("{}\n", ended(step, self.of, &name, *verdict, *took)));
                }
            }
            StudyEvent::Failed { step, cell, failure } => {
                self.count(step, None);
                let tail = failure.log_tail.lines().map(|line| format!("       | {}\n", clean(line)));
                let (place, name, why) = (step.place, clean(&cell.name), clean(&failure.why));
                let lines: String = tail.collect();
                self.print(&format!("failed: {place} of {} · {name}: {why}\n{lines}", self.of));
            }
            StudyEvent::GivenUp { target } => {
                self.print(&format!("given up: {}; its other runs are not tried\n", clean(target)));
            }
        }
    }

    /// A line that stays.
    fn print(&self, text: &str) {
        self.status.write("");
        output::write_stderr(text);
    }

    /// The line that is written over.
    fn show(&self, what: &str) {
        let parts = [self.now.as_str(), what, &self.left().map(describe).unwrap_or_default()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.status.write(&parts.join(" · "));
    }

    /// Counts a run that has ended; `took` if it was made.
    pub(super) fn count(&mut self, step: &Step, took: Option<Duration>) {
        let pace = &mut self.cells[step.cell];
        pace.left = pace.left.saturating_sub(1);
        if let Some(took) = took {
            pace.took += took;
            pace.done += 1;
        }
    }

    /// The time that the runs to come will take if they take as long as those before; a cell that was not run yet takes
    /// as long as the others on average.
    pub(super) fn left(&self) -> Option<Duration> {
        let done: u32 = self.cells.iter().map(|pace| pace.done).sum();
        let took: Duration = self.cells.iter().map(|pace| pace.took).sum();
        let mean = took.checked_div(done)?;
        let of_cell = |pace: &Pace| pace.took.checked_div(pace.done).unwrap_or(mean) * pace.left;
        Some(self.cells.iter().map(of_cell).sum())
    }
}

pub(super) fn live(progress: &Progress) -> String {
    format!("{} /s", rate(progress.rate_per_s))
}

/// `live`, behind the `trial` that runs, if one does.
pub(super) fn doing(trial: &str, live: &str) -> String {
    if trial.is_empty() { live.to_owned() } else { format!("{trial} · {live}") }
}

/// "trying 1,200 /s for 10 s"
pub(super) fn trial(plan: &TrialPlan) -> String {
    format!("trying {} /s for {}", rate(plan.rate_per_s), seconds(plan.length.as_secs_f64()))
}

/// A line for a run that has ended.
pub(super) fn ended(step: &Step, of: usize, name: &str, verdict: Option<Verdict>, took: Duration) -> String {
    let verdict = verdict.map(|verdict| format!(" · {}", verdict_word(verdict))).unwrap_or_default();
    format!(
        "{} of {of} · {name} · repeat {}{verdict} · {}",
        step.place,
        step.repeat,
        seconds(took.as_secs_f64())
    )
}

/// Rounded up: an estimate of zero is wrong.
fn describe(left: Duration) -> String {
    let left_s = left.as_secs() + 1;
    match left_s {
        0..=99 => format!("{left_s} s left"),
        100..=5999 => format!("{} min left", left_s.div_ceil(60)),
        _ => format!("{:.1} h left", left.as_secs_f64() / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[(u64, u32, u32)]) -> StudyLine {
        let pace = |&(took_s, done, left)| Pace { took: Duration::from_secs(took_s), done, left };
        StudyLine {
            status: StatusLine::new(true),
            run_lines: false,
            quiet: true,
            of: 8,
            now: String::new(),
            trial: String::new(),
            cells: cells.iter().map(pace).collect(),
        }
    }

    #[test]
    fn the_time_left_is_that_of_the_cells_to_come() {
        let check = |cells: &[(u64, u32, u32)], expected: Option<u64>| {
            assert_eq!(line(cells).left().map(|left| left.as_secs()), expected, "{cells:?}");
        };
        check(&[(0, 0, 4), (0, 0, 4)], None);
        check(&[(20, 2, 2), (0, 0, 4)], Some(60));
        check(&[(20, 2, 2), (2, 2, 2)], Some(22));
        check(&[(20, 2, 0)], Some(0));
    }

    #[test]
    fn times_are_written_as_people_say_them() {
        let check = |left_s, expected: &str| assert_eq!(describe(Duration::from_secs(left_s)), expected);
        check(0, "1 s left");
        check(98, "99 s left");
        check(99, "2 min left");
        check(3600, "61 min left");
        check(9000, "2.5 h left");
    }

    #[test]
    fn a_run_that_ended_is_one_line() {
        let step = Step { place: 3, cell: 0, repeat: 2, file: String::new() };
        let line = ended(&step, 8, "kv", Some(Verdict::Valid), Duration::from_millis(3_200));
        assert_eq!(line, "3 of 8 · kv · repeat 2 · VALID · 3.2 s");
    }
}
