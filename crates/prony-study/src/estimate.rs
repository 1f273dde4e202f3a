//! How long a study takes, as far as that is known before.

use std::collections::BTreeSet;
use std::time::Duration;

use prony_model::{End, Target};

use crate::schedule::Schedule;
use crate::study::{CellLoad, Launch, Restart, Study};

/// The time that a study takes at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Warm-ups and measured parts whose length is known.
    pub loads: Duration,
    /// Between runs.
    pub pauses: Duration,
    /// Runs whose length is not known: by a number of requests in a closed loop, probes, commands, searches.
    pub unknown: usize,
    /// How often a target is started; how long that takes is its own.
    pub starts: usize,
}

impl Estimate {
    /// The estimate for the runs of `schedule`.
    pub fn new(study: &Study, schedule: &Schedule) -> Self {
        let mut estimate = Self::default();
        let lengths: Vec<Option<Duration>> = study.cells.iter().map(|cell| length(&cell.load)).collect();
        let mut started = BTreeSet::new();
        for step in &schedule.steps {
            match lengths[step.cell] {
                Some(length) => estimate.loads = estimate.loads.saturating_add(length),
                None => estimate.unknown += 1,
            }
            let target = study.cells[step.cell].target;
            if let Some(target) = target.filter(|at| study.targets[*at].launch != Launch::Running) {
                // What makes two runs share a process.
                started.insert(match study.restart {
                    Restart::Run => (target, step.place),
                    Restart::Repeat => (target, step.repeat),
                    Restart::Never => (target, 0),
                });
            }
        }
        let gaps = u32::try_from(schedule.steps.len().saturating_sub(1)).unwrap_or(u32::MAX);
        estimate.pauses = study.pause.saturating_mul(gaps);
        estimate.starts = started.len();
        estimate
    }

    /// All that is known.
    pub fn least(&self) -> Duration {
        self.loads.saturating_add(self.pauses)
    }
}

/// The length of one run, where it is known before.
fn length(load: &CellLoad) -> Option<Duration> {
    let CellLoad::Run { options, .. } = load else { return None };
    let plan = options.plan(Target::parse("http://127.0.0.1/").ok()?, 0).ok()?;
    let measured = match plan.end {
        End::Duration(duration) | End::First { duration, .. } => duration,
        End::Requests(requests) => {
            let seconds = requests as f64 / plan.load.rate()?.as_per_second();
            Duration::try_from_secs_f64(seconds).ok()?
        }
    };
    Some(measured.saturating_add(plan.warmup))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::Overrides;

    fn check(text: &str, least_ms: u64, unknown: usize, starts: usize) {
        let study =
            Study::read(Path::new("made.toml"), text, Overrides::default()).expect("the file is right");
        let estimate = Estimate::new(&study, &Schedule::new(&study));
        let actual = (estimate.least(), estimate.unknown, estimate.starts);
        assert_eq!(actual, (Duration::from_millis(least_ms), unknown, starts), "{text}");
    }

    #[test]
    fn what_is_known_is_added_up() {
        let target = "[targets.a]\nserve = 'null'\n[loads.x]\n";
        check(&format!("repeats = 3\npause = '100ms'\n{target}duration = '2s'\n"), 3 * 3000 + 200, 0, 3);
        check(&format!("{target}rate = 100\nrequests = 500\n"), 5000, 0, 1);
        check(&format!("{target}requests = 500\n"), 0, 1, 1);
        check(
            &format!(
                "restart = 'never'\nrepeats = 2\npause = '0'\n{target}warmup = '0'\n[loads.y]\nkind = 'probe'\n"
            ),
            20_000,
            2,
            1,
        );
        check("[targets.a]\nurl = 'http://127.0.0.1:1'\n[loads.x]\n", 11_000, 0, 0);
    }
}
