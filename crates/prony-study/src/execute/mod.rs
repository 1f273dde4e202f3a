//! The loop of a study: for each run a target that is ready, a measurement, a stored result.
//!
//! A run that can't be made is a failure of that run, and the study goes on: after an hour the other results are
//! worth having. Only a folder that can't be written ends a study.

mod event;
mod run;
mod search;

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::StudyFailure;

pub use event::StudyEvent;

use self::run::{Measured, measure};
use crate::clock;
use crate::folder::{Folder, FolderError};
use crate::runner::Runner;
use crate::schedule::Step;
use crate::study::{Restart, Study};
use crate::target::{Confinement, NoTarget, TargetFailure, Targets};

/// A target that fails so often in a row fails for ever: to try on would take hours and bring nothing.
const FAILURES_MAX: u32 = 3;
/// How often a pause looks whether the study was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What came of a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Executed {
    /// Runs that were made now.
    pub finished: usize,
    /// Runs that could not be made.
    pub failed: usize,
    /// Whether it was stopped by hand.
    pub interrupted: bool,
}

/// Who measures for a study, and who gets its events.
pub(crate) struct Watch<'a> {
    runner: &'a mut dyn Runner,
    sink: &'a mut dyn FnMut(StudyEvent<'_>),
    is_stopped: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    pub(crate) fn runner(&mut self) -> &mut dyn Runner {
        self.runner
    }

    pub(crate) fn report(&mut self, event: StudyEvent<'_>) {
        (self.sink)(event);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }

    /// Waits, unless the study is stopped meanwhile.
    fn pause(&self, pause: Duration) {
        let until = clock::now() + pause;
        while !self.is_stopped() {
            let left = until.saturating_sub(clock::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }
}

/// Makes every run that `folder` has not yet, of targets that run in `confinement`. `is_stopped` says whether somebody wants the study to end; then the
/// runner ends its run early, too, and that is not stored. Whatever was started is stopped when this returns.
pub fn execute(
    study: &Study,
    folder: &Folder,
    confinement: &Confinement,
    runner: &mut dyn Runner,
    is_stopped: &dyn Fn() -> bool,
    sink: &mut dyn FnMut(StudyEvent<'_>),
) -> Result<Executed, FolderError> {
    let steps = &folder.schedule().steps;
    let missing: Vec<&Step> = steps.iter().filter(|step| !folder.is_done(step)).collect();
    let mut watch = Watch { runner, sink, is_stopped };
    watch.report(StudyEvent::Began { done: steps.len() - missing.len(), of: steps.len() });
    let mut conductor = Conductor {
        study,
        folder,
        targets: Targets::new(study, confinement, folder.logs()),
        failures: BTreeMap::new(),
        conducted: Executed::default(),
    };
    let outcome = conductor.all(&missing, &mut watch);
    conductor.targets.stop_unless(|_| false, &mut watch);
    outcome.map(|()| conductor.conducted)
}

struct Conductor<'a> {
    study: &'a Study,
    folder: &'a Folder,
    targets: Targets<'a>,
    /// How often in a row a target failed, and how at last.
    failures: BTreeMap<usize, (u32, StudyFailure)>,
    conducted: Executed,
}

/// Why a run has no result.
enum NoResult {
    Failed(TargetOrRun),
    /// The target died, and what was found by then is worth keeping.
    Died(Box<TargetFailure>, String),
    Interrupted,
}

/// What failed.
enum TargetOrRun {
    Target(TargetFailure),
    /// In words.
    Run(String),
}

impl From<NoTarget> for NoResult {
    fn from(none: NoTarget) -> Self {
        match none {
            NoTarget::Failed(failure) => Self::Failed(TargetOrRun::Target(failure)),
            NoTarget::Interrupted => Self::Interrupted,
        }
    }
}

impl Conductor<'_> {
    fn all(&mut self, missing: &[&Step], watch: &mut Watch<'_>) -> Result<(), FolderError> {
        for (at, step) in missing.iter().enumerate() {
            if at > 0 {
                watch.pause(self.study.pause);
            }
            if watch.is_stopped() {
                self.conducted.interrupted = true;
                break;
            }
            self.one(step, watch)?;
            if self.conducted.interrupted {
                break;
            }
            let ahead = &missing[at + 1..];
            let study = self.study;
            self.targets.stop_unless(|index| is_needed(study, index, step, ahead), watch);
        }
        Ok(())
    }

    /// Makes one run, again where an attempt is worth nothing, and keeps what came of it.
    fn one(&mut self, step: &Step, watch: &mut Watch<'_>) -> Result<(), FolderError> {
        loop {
            let is_again = self.attempt(step, watch)?;
            watch.runner.stored();
            if !is_again {
                break;
            }
            if self.study.restart == Restart::Run {
                self.targets.stop_unless(|_| false, watch);
            }
            watch.pause(self.study.pause);
            if watch.is_stopped() {
                self.conducted.interrupted = true;
                break;
            }
        }
        Ok(())
    }

    /// Makes one run; returns whether it is to be made again. That is so at most as often as the study has retries for
    /// its cell: each of those leaves a file.
    fn attempt(&mut self, step: &Step, watch: &mut Watch<'_>) -> Result<bool, FolderError> {
        let cell = &self.study.cells[step.cell];
        let begun = clock::now();
        watch.report(StudyEvent::Running { step, cell });
        if let Some((_, last)) = self.given_up(cell.target) {
            let why = format!(
                "not tried: its target failed {FAILURES_MAX} times in a row, at last so: {}",
                last.why
            );
            let failure = StudyFailure { why, ..failure(step, String::new(), last.log_tail.clone()) };
            self.fail(step, &failure, watch)?;
            return Ok(false);
        }
        match self.measured(step, watch) {
            Ok(Measured { interrupted: true, is_kept_in_part, text, .. }) => {
                if is_kept_in_part {
                    self.folder.store_partial(step, &text)?;
                }
                self.conducted.interrupted = true;
            }
            Err(NoResult::Interrupted) => self.conducted.interrupted = true,
            Ok(Measured { text, verdict, doubts, retry_because, spoils_target, .. }) => {
                if let Some(target) = cell.target {
                    self.failures.remove(&target);
                    if spoils_target {
                        self.targets.stop(target);
                    }
                }
                let (retry, of) = (self.folder.retried(step.cell) + 1, self.study.retries);
                if !retry_because.is_empty() && retry <= of as usize {
                    self.folder.store_retried(step, &text)?;
                    watch.report(StudyEvent::Retried { step, cell, reasons: &retry_because, retry, of });
                    return Ok(true);
                }
                self.folder.store(step, &text)?;
                self.conducted.finished += 1;
                watch.report(StudyEvent::Finished {
                    step,
                    cell,
                    verdict,
                    doubts: &doubts,
                    took: clock::since(begun),
                });
            }
            Err(NoResult::Failed(TargetOrRun::Run(why))) => {
                let log_tail = cell.target.map(|target| self.targets.log_tail(target)).unwrap_or_default();
                let failure = failure(step, why, log_tail);
                self.fail(step, &failure, watch)?;
            }
            Err(NoResult::Died(failed, text)) => {
                self.folder.store_partial(step, &text)?;
                let failure = failure(step, failed.why.to_string(), failed.log_tail);
                self.fail(step, &failure, watch)?;
                self.count(cell.target, failure, watch);
            }
            Err(NoResult::Failed(TargetOrRun::Target(failed))) => {
                let failure = failure(step, failed.why.to_string(), failed.log_tail);
                self.fail(step, &failure, watch)?;
                self.count(cell.target, failure, watch);
            }
        }
        Ok(false)
    }

    /// A target that is ready, and the load on it.
    fn measured(&mut self, step: &Step, watch: &mut Watch<'_>) -> Result<Measured, NoResult> {
        let cell = &self.study.cells[step.cell];
        if let Some(target) = cell.target {
            self.targets.ensure(target, watch)?;
            self.targets.prepare(target, watch)?;
        }
        let values = cell.target.map(|target| self.targets.values(target)).unwrap_or_default();
        let tls = cell.target.map(|target| self.targets.tls(target)).unwrap_or_default();
        let commit = cell.target.and_then(|target| self.study.targets[target].commit.as_deref());
        let seed = self.study.seed.wrapping_add(u64::from(step.place));
        let measured = measure(&cell.load, &cell.name, (&values, &tls), seed, commit, watch);
        if let Some(target) = cell.target.filter(|_| !watch.is_stopped()) {
            let lives = self.targets.still_lives(target, "during the run");
            if let Err(failure) = lives {
                return Err(match measured {
                    Ok(Measured { is_kept_in_part: true, text, .. }) => {
                        NoResult::Died(Box::new(failure), text)
                    }
                    _ => NoResult::Failed(TargetOrRun::Target(failure)),
                });
            }
        }
        measured.map_err(|why| {
            if watch.is_stopped() { NoResult::Interrupted } else { NoResult::Failed(TargetOrRun::Run(why)) }
        })
    }

    fn fail(
        &mut self,
        step: &Step,
        failure: &StudyFailure,
        watch: &mut Watch<'_>,
    ) -> Result<(), FolderError> {
        self.folder.store_failure(step, failure)?;
        self.conducted.failed += 1;
        let cell = &self.study.cells[step.cell];
        watch.report(StudyEvent::Failed { step, cell, failure });
        Ok(())
    }

    /// Notes that a target failed, and stops what is left of it: it is restarted for its next run.
    fn count(&mut self, target: Option<usize>, failure: StudyFailure, watch: &mut Watch<'_>) {
        let Some(target) = target else { return };
        self.targets.stop(target);
        let entry = self.failures.entry(target).or_insert((0, failure.clone()));
        *entry = (entry.0 + 1, failure);
        if entry.0 == FAILURES_MAX {
            watch.report(StudyEvent::GivenUp { target: &self.study.targets[target].name });
        }
    }

    fn given_up(&self, target: Option<usize>) -> Option<&(u32, StudyFailure)> {
        self.failures.get(&target?).filter(|(times, _)| *times >= FAILURES_MAX)
    }
}

fn failure(step: &Step, why: String, log_tail: String) -> StudyFailure {
    let cell = u32::try_from(step.cell).expect("invariant: a study has at most 10,000 cells");
    StudyFailure { cell, repeat: step.repeat, why, log_tail }
}

/// Whether the target `index` lives on after `step`, for the sake of what is `ahead`.
fn is_needed(study: &Study, index: usize, step: &Step, ahead: &[&Step]) -> bool {
    let uses = |other: &&&Step| study.cells[other.cell].target == Some(index);
    match study.restart {
        Restart::Run => false,
        Restart::Repeat => ahead.iter().filter(uses).any(|other| other.repeat == step.repeat),
        Restart::Never => ahead.iter().any(|other| uses(&other)),
    }
}

#[cfg(test)]
mod tests;
