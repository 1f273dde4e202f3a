//! What is known of a run that is on.

use std::collections::VecDeque;
use std::time::Duration;

use prony_model::{Phase, Progress, RunEvent, RunPlan, RunResult};
use prony_report::Style;
use prony_report::live::{self, Moment};

use super::view::Shown;

/// The rate now is that of this time.
const NOW: Duration = Duration::from_secs(1);
/// Less than this says nothing about a rate.
const NOW_MIN: Duration = Duration::from_millis(400);
/// Seconds whose rates are kept.
const SECONDS_MAX: usize = 120;

/// The run so far.
pub(crate) struct State {
    plan: RunPlan,
    phase: Option<Phase>,
    progress: Option<Progress>,
    result: Option<Box<RunResult>>,
    recent: Recent,
}

/// The rate of the last second, and of the seconds before.
#[derive(Default)]
struct Recent {
    /// The progress of the last second, the oldest first.
    window: VecDeque<Progress>,
    /// Rates of whole seconds, the oldest first.
    seconds: Vec<f64>,
}

impl State {
    pub(super) fn new(plan: &RunPlan) -> Self {
        Self { plan: plan.clone(), phase: None, progress: None, result: None, recent: Recent::default() }
    }

    /// Takes `event`; returns whether there is something new to see.
    pub(super) fn update(&mut self, event: RunEvent) -> bool {
        match event {
            RunEvent::Phase(phase) => {
                self.phase = Some(phase);
                self.recent.window.clear();
            }
            RunEvent::Progress(progress) => {
                // A run without warm-up begins without a phase.
                self.phase.get_or_insert(Phase::Warmup);
                self.recent.add(progress);
                self.progress = Some(progress);
            }
            RunEvent::SoFar(result) => self.result = Some(result),
            RunEvent::Starting { .. } => {}
            RunEvent::Slice(_) | RunEvent::Counts(_) | RunEvent::Samples(_) | RunEvent::SamplesLost(_) => {
                return false;
            }
        }
        true
    }

    /// What is to be shown.
    pub(super) fn moment(&self, stopping: bool) -> Moment<'_> {
        Moment {
            plan: &self.plan,
            phase: self.phase,
            progress: self.progress.as_ref(),
            rate_per_s: self.recent.rate_per_s(),
            rates_per_s: &self.recent.seconds,
            result: self.result.as_deref(),
            stopping,
        }
    }

    /// The result so far.
    pub(super) fn result(&self) -> Option<&RunResult> {
        self.result.as_deref()
    }
}

impl Recent {
    fn add(&mut self, progress: Progress) {
        let is_next_second =
            self.window.back().is_some_and(|last| last.elapsed.as_secs() < progress.elapsed.as_secs());
        self.window.push_back(progress);
        while self.window.front().is_some_and(|first| first.elapsed + NOW < progress.elapsed) {
            self.window.pop_front();
        }
        if is_next_second && let Some(rate) = self.rate_per_s() {
            if self.seconds.len() == SECONDS_MAX {
                self.seconds.remove(0);
            }
            self.seconds.push(rate);
        }
    }

    /// Good responses per second: counted where they are, estimated in the warm-up.
    fn rate_per_s(&self) -> Option<f64> {
        let (first, last) = self.window.front().zip(self.window.back())?;
        let took = last.elapsed.saturating_sub(first.elapsed);
        if took < NOW_MIN {
            return None;
        }
        if last.done > 0 {
            return Some(last.done.saturating_sub(first.done) as f64 / took.as_secs_f64());
        }
        let rates = self.window.iter().map(|progress| progress.rate_per_s);
        Some(rates.sum::<f64>() / self.window.len() as f64)
    }
}

impl Shown for State {
    fn screen(&self, style: &Style, rows: usize, stopping: bool) -> Vec<String> {
        live::screen(&self.moment(stopping), style, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(elapsed_ms: u64, done: u64, rate_per_s: f64) -> Progress {
        Progress {
            elapsed: Duration::from_millis(elapsed_ms),
            done,
            failed: 0,
            rate_per_s,
            median: None,
            in_flight: 0.0,
            open: 0,
        }
    }

    #[test]
    fn the_rate_is_counted_over_the_last_second() {
        let mut recent = Recent::default();
        for step in 0..=60 {
            // 100 /s for two seconds, then 300 /s.
            let done = if step <= 40 { step * 5 } else { 200 + (step - 40) * 15 };
            recent.add(progress(step * 50, done, 1.0));
        }
        assert_eq!(recent.rate_per_s(), Some(300.0));
        assert_eq!(recent.seconds, [100.0, 100.0, 300.0]);
    }

    #[test]
    fn in_the_warm_up_it_is_the_mean_of_the_slices() {
        let mut recent = Recent::default();
        recent.add(progress(0, 0, 10.0));
        assert_eq!(recent.rate_per_s(), None);
        recent.add(progress(500, 0, 30.0));
        assert_eq!(recent.rate_per_s(), Some(20.0));
    }

    #[test]
    fn seconds_are_bounded() {
        let mut recent = Recent::default();
        for step in 0..10_000 {
            recent.add(progress(step * 500, step, 1.0));
        }
        assert_eq!(recent.seconds.len(), SECONDS_MAX);
        assert!(recent.window.len() <= 3);
    }
}
