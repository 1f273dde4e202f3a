//! A comparison while it is on: a screen, or a line from time to time where there is none.

use std::time::Duration;

use prony_model::{Progress, RunEvent, RunPlan};
use prony_report::live::{MetricSoFar, PairsMoment, pairs_screen};
use prony_report::{Style, seconds, signed_percent};
use prony_stats::Looks;
use prony_study::{BlockPair, LiveComparison, Question, so_far};

use super::view::{Shown, View};
use crate::cli_error::CliError;
use crate::{clock, output, terminal};

/// Lines of a comparison, without a screen.
const LINES: usize = 20;

/// Shows a comparison.
pub(crate) enum LivePairs {
    /// On a terminal.
    View(View<Pairs>),
    /// In a pipe, a file, or on a terminal where nothing can be written over.
    Lines(Box<Pairs>),
}

/// What is known of a comparison.
pub(crate) struct Pairs {
    plans: [RunPlan; 2],
    question: Question,
    of: usize,
    began: Duration,
    done: usize,
    left: Option<Duration>,
    side: Option<usize>,
    rate_per_s: Option<f64>,
    metrics: Vec<MetricSoFar>,
}

impl LivePairs {
    /// For `comparison`, which asks `question` and begins now.
    pub(crate) fn new(comparison: &LiveComparison, question: Question) -> Result<Self, CliError> {
        let pairs = Pairs {
            plans: comparison.plans.clone(),
            question,
            of: comparison.pairs,
            began: clock::monotonic(),
            done: 0,
            left: None,
            side: None,
            rate_per_s: None,
            metrics: Vec::new(),
        };
        if terminal::has_progress_line() {
            View::new(pairs).map(Self::View)
        } else {
            Ok(Self::Lines(Box::new(pairs)))
        }
    }

    /// Notes that a load of `plan` begins, or is over where there is none.
    pub(crate) fn loads(&mut self, plan: Option<&RunPlan>) {
        if let Self::View(view) = self {
            view.update(|pairs| pairs.loads(plan));
        }
    }

    /// Takes what happens in a load.
    pub(crate) fn update(&mut self, event: &RunEvent) {
        if let (Self::View(view), RunEvent::Progress(progress)) = (self, event) {
            view.update(|pairs| pairs.rate_per_s = rate(progress));
        }
    }

    /// Takes the pairs that count so far.
    pub(crate) fn counted(&mut self, counted: &[BlockPair]) {
        match self {
            Self::View(view) => view.update(|pairs| pairs.counted(counted)),
            Self::Lines(pairs) => {
                pairs.counted(counted);
                if pairs.is_line_due() {
                    output::write_stderr(&format!("{}\n", pairs.line()));
                }
            }
        }
    }
}

fn rate(progress: &Progress) -> Option<f64> {
    Some(progress.rate_per_s).filter(|rate| *rate > 0.0)
}

impl Pairs {
    fn loads(&mut self, plan: Option<&RunPlan>) {
        self.rate_per_s = None;
        // The same target twice, as in a comparison of a server with itself, says nothing about the side.
        let [a, b] = self.plans.each_ref().map(|side| plan.is_some_and(|plan| plan.target == side.target));
        self.side = match (a, b) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            _ => None,
        };
    }

    fn counted(&mut self, counted: &[BlockPair]) {
        self.done = counted.len();
        let elapsed = clock::monotonic().saturating_sub(self.began);
        let to_come = u32::try_from(self.of.saturating_sub(self.done)).unwrap_or(u32::MAX);
        let each = u32::try_from(self.done).ok().and_then(|done| elapsed.checked_div(done));
        self.left = each.map(|each| each.saturating_mul(to_come));
        let metric = |one: prony_study::SoFar| MetricSoFar {
            metric: one.metric,
            sides: one.sides,
            change: one.change,
        };
        self.metrics = so_far(counted, &self.question).into_iter().map(metric).collect();
    }

    fn may_end_early(&self) -> bool {
        self.question.looks == Looks::Sequential
    }

    fn is_line_due(&self) -> bool {
        self.done > 0 && (self.done == self.of || self.done.is_multiple_of(self.of.div_ceil(LINES).max(1)))
    }

    /// `pair 3 of 20 · rate +1.2 % · 5 s left`
    fn line(&self) -> String {
        let most = if self.may_end_early() { "at most " } else { "" };
        let primary = self.metrics.first();
        let change =
            primary.and_then(|one| Some(format!(" · {} {}", one.metric.name(), signed_percent(one.change?))));
        let left = self.left.map(|left| format!(" · {most}{} left", seconds(left.as_secs_f64().round())));
        let parts = [change, left].map(Option::unwrap_or_default);
        format!("pair {} of {most}{}{}", self.done, self.of, parts.concat())
    }
}

impl Shown for Pairs {
    fn screen(&self, style: &Style, rows: usize, stopping: bool) -> Vec<String> {
        let moment = PairsMoment {
            plans: &self.plans,
            done: self.done,
            of: self.of,
            may_end_early: self.may_end_early(),
            side: self.side,
            rate_per_s: self.rate_per_s,
            left: self.left,
            metrics: &self.metrics,
            stopping,
        };
        pairs_screen(&moment, style, rows)
    }
}
