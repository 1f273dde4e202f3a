//! The one line on stderr that shows how far a run is; nothing where stderr is not a terminal.

use std::io::Write as _;
use std::time::Duration;

use prony_model::{End, Phase, Progress, RunEvent, RunPlan};
use prony_report::{count, rate, seconds};

use crate::live::screen;
use crate::terminal;

/// Writes one line over and over, and takes it away at the end.
pub(crate) struct ProgressLine {
    status: StatusLine,
    phase: Phase,
    warmup: Duration,
    end: End,
}

impl ProgressLine {
    /// For a run of `plan`; never shown where `quiet`.
    pub(crate) fn new(plan: &RunPlan, quiet: bool) -> Self {
        Self { status: StatusLine::new(quiet), phase: Phase::Warmup, warmup: plan.warmup, end: plan.end }
    }

    /// Shows `event`.
    pub(crate) fn update(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Starting { addresses, .. } => {
                self.status.write(&format!("starting {}", addresses.join(", ")));
            }
            RunEvent::Phase(phase) => self.phase = *phase,
            RunEvent::Progress(progress) => self.status.write(&self.text(progress)),
            RunEvent::Slice(_)
            | RunEvent::Counts(_)
            | RunEvent::Samples(_)
            | RunEvent::SamplesLost(_)
            | RunEvent::SoFar(_) => {}
        }
    }

    /// Takes the line away, so that something else can be written; the next event brings it back.
    pub(crate) fn interrupt(&self) {
        self.status.write("");
    }

    /// Reports that the run is about to end early.
    pub(crate) fn stopping() {
        if !screen::note_stopping() && terminal::has_progress_line() {
            let _ = std::io::stderr().write_all(b"\r\x1b[Kstopping; Ctrl-C again leaves without a report");
        }
    }

    /// The line, without the terminal.
    pub(crate) fn text(&self, progress: &Progress) -> String {
        let elapsed = seconds(progress.elapsed.as_secs_f64().round());
        let ended = progress.done + progress.failed;
        let place = match (self.phase, self.end) {
            (Phase::Warmup, _) => format!("warm-up {elapsed} of {}", seconds(self.warmup.as_secs_f64())),
            (Phase::Drain, _) => format!("waiting for the last answers, {elapsed}"),
            (Phase::Measure, End::Duration(total) | End::First { duration: total, .. }) => {
                format!("{elapsed} of {}", seconds(total.as_secs_f64()))
            }
            (Phase::Measure, End::Requests(total)) => {
                format!("{} of {} requests, {elapsed}", count(ended), count(total))
            }
        };
        let median = progress.median.map(|median| format!(" · p50 {}", seconds(median.as_secs_f64())));
        let errors = if progress.failed == 1 { "error" } else { "errors" };
        format!(
            "{place} · {} /s{} · {} {errors}",
            rate(progress.rate_per_s),
            median.unwrap_or_default(),
            count(progress.failed)
        )
    }
}

/// A line on stderr that is written over and over, whatever it contains, and taken away at the end.
pub(crate) struct StatusLine {
    shown: bool,
}

impl StatusLine {
    /// Never shown where `quiet`, or where stderr is not a terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { shown: !quiet && terminal::has_progress_line() }
    }

    /// Shows `line` in the place of the one before.
    pub(crate) fn write(&self, line: &str) {
        if self.shown {
            // One column is left free: a full line would wrap on some terminals and could not be taken back.
            let room = terminal::progress_width().saturating_sub(1);
            let line: String = line.chars().take(room).collect();
            // A progress line that can't be written is not missed.
            let _ = std::io::stderr().write_all(format!("\r\x1b[K{line}").as_bytes());
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.write("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_where_the_run_is() {
        let progress = Progress {
            elapsed: Duration::from_millis(3_040),
            done: 5_999,
            failed: 1,
            rate_per_s: 1_999.7,
            median: Some(Duration::from_micros(2_710)),
            in_flight: 50.0,
            open: 50,
        };
        let mut line = ProgressLine {
            status: StatusLine { shown: false },
            phase: Phase::Measure,
            warmup: Duration::from_secs(1),
            end: End::Duration(Duration::from_secs(10)),
        };
        assert_eq!(line.text(&progress), "3 s of 10 s · 2,000 /s · p50 2.71 ms · 1 error");
        line.end = End::Requests(10_000);
        assert_eq!(line.text(&progress), "6,000 of 10,000 requests, 3 s · 2,000 /s · p50 2.71 ms · 1 error");
        line.phase = Phase::Drain;
        assert!(line.text(&progress).starts_with("waiting for the last answers, 3 s"));
    }
}
