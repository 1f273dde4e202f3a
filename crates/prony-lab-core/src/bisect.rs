//! Bisects: one comparison after the other, until the first slow commit is found.
//!
//! A thread looks for bisects whose comparison is over and moves each on, in one transaction: it notes the outcome, and
//! requests the next comparison or ends the bisect. All that it goes by is in the store, so a lab that was killed goes on
//! where it was, and nothing is requested twice.

use std::time::Duration;

use crate::event_cursor::{AFTER_ERROR, POLL_INTERVAL};
use crate::history::request_comparison;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{Bisect, BisectId, BisectState, BuildId, BuildState, Candidate, Outcome, Step};
use prony_lab_store::background::Background;
use prony_lab_store::{Store, StoreError, Tx, bisects, builds};

/// In whose name comparisons are requested.
pub const BY: &str = "a bisect";
/// A comparison needs the study and what it always needs, and no other task.
const TASKS: [&str; 1] = ["study"];
/// Characters of a hash that people read.
const SHORT_COMMIT: usize = 10;

/// Moves bisects on from now on.
pub fn start(store: Store) -> std::io::Result<Background> {
    let mut seen = None;
    Background::start_aside("lab-bisect", move || {
        let version = store.version();
        if seen == Some(version) {
            return POLL_INTERVAL;
        }
        match turn(&store) {
            Ok(()) => {
                seen = Some(version);
                Duration::ZERO
            }
            Err(_) => AFTER_ERROR,
        }
    })
}

/// Moves all on that wait for nothing more.
pub fn turn(store: &Store) -> Result<(), StoreError> {
    for id in store.read_blocking(bisects::due)? {
        store.write_blocking(move |tx| advance(tx, id, clock::wall()))?;
    }
    Ok(())
}

/// Notes the outcome of the comparison that a bisect waited for, and does what follows.
fn advance(tx: &mut Tx<'_>, id: BisectId, now: Moment) -> Result<(), StoreError> {
    let Some(mut bisect) = bisects::one(tx, id)?.filter(|bisect| bisect.state == BisectState::Running) else {
        return Ok(());
    };
    if let Some(build) = bisect.build.take() {
        let Some((state, outcome)) = outcome(tx, build)? else { return Ok(()) };
        if state == BuildState::Cancelled {
            let reason = format!("its comparison, build {build}, was cancelled");
            return end(tx, bisect, BisectState::Cancelled, reason, now);
        }
        for candidate in bisect.candidates.iter_mut().filter(|candidate| candidate.build == Some(build)) {
            candidate.outcome = Some(outcome);
        }
    }
    // Comparisons that were made before are taken as they are; each round decides one candidate.
    for _ in 0..=bisect.candidates.len() {
        let place = match bisect.step() {
            Step::Measure(place) => place,
            ended => {
                let (state, reason) = result(&bisect, ended);
                return end(tx, bisect, state, reason, now);
            }
        };
        let Some(build) = comparison(tx, &bisect, place, now)? else {
            let reason = "its project no longer compares commits: check its definition, and request it again";
            return end(tx, bisect, BisectState::Failed, reason.to_owned(), now);
        };
        let known = outcome(tx, build)?.map(|(_, outcome)| outcome);
        let candidate = &mut bisect.candidates[place];
        (candidate.build, candidate.outcome) = (Some(build), known);
        if known.is_none() {
            bisect.build = Some(build);
            break;
        }
    }
    bisects::advance(tx, BisectState::Running, &bisect, now)
}

/// The comparison of the candidate at `place` with the good commit: one that has a verdict, or may have one, or a new one.
fn comparison(
    tx: &mut Tx<'_>,
    bisect: &Bisect,
    place: usize,
    now: Moment,
) -> Result<Option<BuildId>, StoreError> {
    let commit = &bisect.candidates[place].commit.commit;
    let known = builds::comparison(tx, bisect.project, &bisect.variant, &bisect.base, commit)?;
    if let Some(known) = known
        && outcome(tx, known)?.is_none_or(|(_, outcome)| outcome != Outcome::Skipped)
    {
        return Ok(Some(known));
    }
    request_comparison(tx, bisect.project, &bisect.variant, [&bisect.base, commit], &TASKS, BY, now)
}

/// How a comparison ended, and what it showed; `None` while it is not over.
fn outcome(tx: &mut Tx<'_>, build: BuildId) -> Result<Option<(BuildState, Outcome)>, StoreError> {
    let found = builds::one(tx, build)?.map(|found| found.build);
    let found = found.ok_or_else(|| StoreError::Missing(format!("build {build}")))?;
    Ok(found.state.is_final().then(|| (found.state, Outcome::of(found.state, found.verdict))))
}

/// The last state of a bisect that ends with `step`, in words.
fn result(bisect: &Bisect, step: Step) -> (BisectState, String) {
    let named = |place: usize| bisect.candidates.get(place).map_or_else(String::new, describe);
    match step {
        Step::Found(place) => (BisectState::Found, format!("the first slow commit is {}", named(place))),
        Step::Narrowed(first, last) => (
            BisectState::Narrowed,
            format!(
                "the first slow commit is one of {}, from {} to {}: the others of them have no clear result",
                last + 1 - first,
                named(first),
                named(last)
            ),
        ),
        Step::Refuted => (
            BisectState::Refuted,
            format!("measured in turn, build {} is not slower than build {}", bisect.bad, bisect.good),
        ),
        Step::Unclear | Step::Measure(_) => {
            let reason =
                "its last commits have no clear result: measure them for longer, or choose another build";
            (BisectState::Failed, reason.to_owned())
        }
    }
}

/// `0123456789 (Kim: make it slow)`
fn describe(candidate: &Candidate) -> String {
    let commit = &candidate.commit;
    let short: String = commit.commit.chars().take(SHORT_COMMIT).collect();
    format!("{short} ({}: {})", commit.author, commit.subject)
}

fn end(
    tx: &mut Tx<'_>,
    bisect: Bisect,
    state: BisectState,
    reason: String,
    now: Moment,
) -> Result<(), StoreError> {
    let from = bisect.state;
    let ended = Bisect { state, reason: Some(reason), build: None, ended_at: Some(now), ..bisect };
    bisects::advance(tx, from, &ended, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::{BuildVerdict, Commit};
    use prony_lab_store::fixture::{on_both, on_both_addresses};
    use prony_lab_store::past::{Measured, Past};
    use prony_lab_store::projects;

    /// A project whose commits are numbered, and a bisect of those from 1 up to `last`.
    struct Course<'a> {
        past: Past<'a>,
        id: BisectId,
    }

    fn hash(number: usize) -> String {
        format!("{number:040x}")
    }

    impl<'a> Course<'a> {
        fn new(store: &'a Store, last: usize) -> Self {
            let past = Past::new(store);
            let project = past.project;
            let good = past.build("main", &hash(0), Measured::default());
            let bad = past.build("main", &hash(last), Measured::default());
            let candidates: Vec<_> = (1..=last)
                .map(|number| Candidate {
                    commit: Commit::new(&hash(number), "Kim", &format!("change {number}"), None),
                    build: None,
                    outcome: None,
                })
                .collect();
            let bisect = Bisect {
                id: BisectId(0),
                project,
                variant: "default".to_owned(),
                good,
                bad,
                base: hash(0),
                tip: hash(last),
                state: BisectState::Listing,
                reason: None,
                candidates,
                build: None,
                requested_by: "kim".to_owned(),
                requested_at: Moment(1),
                ended_at: None,
            };
            let id = store.write_blocking(move |tx| {
                let id = bisects::add(tx, &bisect)?;
                let running = Bisect { id, state: BisectState::Running, ..bisect };
                bisects::advance(tx, BisectState::Listing, &running, Moment(2))?;
                Ok(id)
            });
            Self { past, id: id.expect("accepted") }
        }

        fn bisect(&self) -> Bisect {
            let id = self.id;
            self.past.store.read_blocking(|tx| bisects::one(tx, id)).expect("read").expect("there")
        }

        fn turn(&self) {
            turn(self.past.store).expect("moved on");
        }

        /// Ends comparisons by `verdict` of the number of the second commit until the bisect ends; how many these were.
        fn follow(&self, verdict: impl Fn(usize) -> Option<BuildVerdict>) -> usize {
            for count in 0..50 {
                self.turn();
                // Again, as after a restart: nothing more happens.
                self.turn();
                let waiting = self.past.comparisons();
                let bisect = self.bisect();
                if !bisect.state.is_open() {
                    assert_eq!(waiting, []);
                    return count;
                }
                assert_eq!(waiting.len(), 1, "{waiting:?}");
                let build = &waiting[0];
                assert_eq!((bisect.build, build.base.as_deref()), (Some(build.id), Some(hash(0).as_str())));
                assert_eq!((build.requested_by.as_str(), build.priority.name()), (BY, "low"));
                let number = usize::from_str_radix(&build.reference, 16).expect("a number");
                match verdict(number) {
                    Some(verdict) => self.past.end_comparison(build.id, verdict),
                    None => self.past.fail_comparison(build.id, "it does not compile"),
                }
            }
            panic!("{:?}", self.bisect());
        }
    }

    #[test]
    fn the_first_slow_commit_is_found_in_a_few_comparisons() {
        on_both(|store| {
            let course = Course::new(store, 20);
            let slow = |number| if number >= 13 { BuildVerdict::Slower } else { BuildVerdict::NoDifference };
            let count = course.follow(|number| Some(slow(number)));
            let bisect = course.bisect();
            assert_eq!(bisect.state, BisectState::Found, "{bisect:?}");
            assert_eq!(bisect.found().map(|found| found.commit.commit.clone()), Some(hash(13)));
            let reason = bisect.reason.expect("a result");
            assert_eq!(reason, "the first slow commit is 0000000000 (Kim: change 13)");
            assert!(bisect.ended_at.is_some() && count <= 6, "{count}");
            // Asked again, every comparison is there already.
            let again = Course::new(store, 20);
            assert_eq!(again.follow(|_| panic!("it was measured")), 0);
            assert_eq!(again.bisect().found().map(|found| found.commit.commit.clone()), Some(hash(13)));
        });
    }

    #[test]
    fn commits_without_a_verdict_are_passed_over() {
        on_both(|store| {
            let course = Course::new(store, 9);
            course.follow(|number| match number {
                4..=6 => None,
                7.. => Some(BuildVerdict::Slower),
                _ => Some(BuildVerdict::Faster),
            });
            let bisect = course.bisect();
            assert_eq!(bisect.state, BisectState::Narrowed, "{bisect:?}");
            let reason = bisect.reason.expect("a result");
            assert!(reason.starts_with("the first slow commit is one of 4, from "), "{reason}");
            let noisy = Course::new(store, 30);
            let count = noisy.follow(|_| Some(BuildVerdict::TooNoisy));
            assert_eq!((noisy.bisect().state, count), (BisectState::Failed, 8));
        });
    }

    #[test]
    fn a_difference_that_is_none_and_a_project_that_changed_end_it() {
        on_both(|store| {
            let course = Course::new(store, 5);
            assert_eq!(course.follow(|_| Some(BuildVerdict::NoDifference)), 1);
            assert_eq!(course.bisect().state, BisectState::Refuted);
            let course = Course::new(store, 6);
            let project = course.past.project;
            store.write_blocking(move |tx| projects::archive(tx, project, Moment(9))).expect("archived");
            course.turn();
            assert_eq!(course.bisect().state, BisectState::Failed);
            assert_eq!(course.past.comparisons(), []);
        });
    }

    #[test]
    fn a_lab_that_begins_again_goes_on_where_it_was() {
        on_both_addresses(|address| {
            let store = Store::open(address).expect("a store");
            let course = Course::new(&store, 5);
            course.turn();
            let (id, project, waits) = (course.id, course.past.project, course.bisect().build);
            drop(store);
            let store = Store::open(address).expect("the same store");
            let course = Course { past: Past { store: &store, project }, id };
            course.turn();
            let waiting: Vec<_> = course.past.comparisons().iter().map(|build| build.id).collect();
            assert_eq!(waiting, Vec::from_iter(waits));
            let slow = |number| if number >= 2 { BuildVerdict::Slower } else { BuildVerdict::NoDifference };
            course.follow(|number| Some(slow(number)));
            assert_eq!(course.bisect().found().map(|found| found.commit.commit.clone()), Some(hash(2)));
        });
    }

    #[test]
    fn a_comparison_that_is_cancelled_cancels_the_bisect() {
        on_both(|store| {
            let course = Course::new(store, 5);
            course.turn();
            let build = course.bisect().build.expect("it waits for one");
            let cancel = move |tx: &mut Tx<'_>| prony_lab_store::queue::cancel(tx, build, "eli", Moment(9));
            assert_eq!(store.write_blocking(cancel), Ok(true));
            course.turn();
            let bisect = course.bisect();
            assert_eq!((bisect.state, bisect.build), (BisectState::Cancelled, None));
            assert!(bisect.reason.is_some_and(|reason| reason.contains("was cancelled")));
        });
    }
}
