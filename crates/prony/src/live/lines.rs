//! A run while it is on, where there is no screen: a line from time to time, and one for each new finding.

use std::collections::BTreeSet;
use std::time::Duration;

use prony_model::{End, FindingCode, Progress, RunEvent, RunPlan, Severity};
use prony_report::clean;

use super::state::State;
use crate::output;
use crate::progress::ProgressLine;

/// Time between two lines at least.
const LINE_EVERY_MIN: Duration = Duration::from_secs(1);
/// Time between two lines of a run that ends with a number of requests.
const LINE_EVERY_UNPLANNED: Duration = Duration::from_secs(5);
/// Lines of a run whose length is known.
const LINES: u32 = 20;

/// Writes lines to stderr.
pub(crate) struct Lines {
    state: State,
    /// Words a line.
    line: ProgressLine,
    every: Duration,
    /// When the next line is due in this part of the run.
    next: Duration,
    known: BTreeSet<FindingCode>,
}

impl Lines {
    /// For a run of `plan`.
    pub(super) fn new(plan: &RunPlan) -> Self {
        let every = match plan.end {
            End::Duration(total) | End::First { duration: total, .. } => (total / LINES).max(LINE_EVERY_MIN),
            End::Requests(_) => LINE_EVERY_UNPLANNED,
        };
        Self {
            state: State::new(plan),
            line: ProgressLine::new(plan, true),
            every,
            next: Duration::ZERO,
            known: BTreeSet::new(),
        }
    }

    /// Takes `event`, and writes what is due.
    pub(super) fn update(&mut self, event: RunEvent) {
        self.line.update(&event);
        if let RunEvent::Phase(_) = event {
            self.next = Duration::ZERO;
        }
        self.state.update(event);
        let moment = self.state.moment(false);
        // Nothing is known of the rate in the first moments.
        if let (Some(progress), Some(rate_per_s)) = (moment.progress, moment.rate_per_s)
            && progress.elapsed >= self.next
        {
            self.next = progress.elapsed + self.every;
            let line = self.line.text(&Progress { rate_per_s, ..*progress });
            output::write_stderr(&format!("{line}\n"));
        }
        self.write_new_findings();
    }

    fn write_new_findings(&mut self) {
        let findings = self.state.result().map(|result| result.findings.as_slice()).unwrap_or_default();
        for finding in findings.iter().filter(|finding| finding.severity > Severity::Note) {
            if self.known.insert(finding.code) {
                let line = format!("so far: {} ({})", finding.message, finding.code.name());
                output::write_stderr(&format!("{}\n", clean(&line)));
            }
        }
    }
}
