//! How far a calibration is: one line that is written over on a terminal, else one for each setting.

use std::time::Duration;

use prony_report::{count, rate, seconds};
use prony_study::CalibrationStep;

use crate::{output, terminal};

/// What is shown while settings are measured.
pub(super) struct Steps {
    quiet: bool,
    on_terminal: bool,
    total: usize,
    each: Duration,
}

impl Steps {
    pub(super) fn new(total: usize, each: Duration, quiet: bool) -> Self {
        Self { quiet, on_terminal: terminal::has_progress_line(), total, each }
    }

    /// Shows that `step` begins, after `done` others.
    pub(super) fn begin(&self, done: usize, step: &CalibrationStep) {
        let left = self.each * u32::try_from(self.total.saturating_sub(done)).unwrap_or(u32::MAX);
        if self.on_terminal {
            let line = format!(
                "{} of {} · {} · {} left",
                done + 1,
                self.total,
                name(step),
                seconds(left.as_secs_f64().round())
            );
            let room = terminal::progress_width().saturating_sub(1);
            self.write(&format!("\r\x1b[K{}", line.chars().take(room).collect::<String>()));
        }
    }

    /// Shows what `step`, the last of `done`, gave.
    pub(super) fn end(&self, done: usize, step: &CalibrationStep, rate_per_s: f64) {
        if !self.on_terminal {
            self.write(&format!("{done} of {}: {}: {} /s\n", self.total, name(step), rate(rate_per_s)));
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.on_terminal {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        if !self.quiet {
            output::write_stderr(text);
        }
    }
}

/// What distinguishes `step` from the others, in words.
pub(super) fn name(step: &CalibrationStep) -> String {
    let mut name = match step.asked_per_s {
        Some(target) => format!("{} /s", rate(target.as_per_second())),
        None if step.connections == 1 => "1 connection".to_owned(),
        None => format!("{} connections", count(step.connections.into())),
    };
    if step.threads > 1 {
        name = format!("{name}, {} threads", step.threads);
    }
    name.push_str(if step.keep_alive { ", keep-alive" } else { ", one request each" });
    if step.pipeline > 1 {
        name = format!("{name}, pipeline {}", step.pipeline);
    }
    if step.response_bytes > 1024 {
        name = format!("{name}, answers of {} bytes", count(step.response_bytes));
    }
    name
}
