//! Bisects: which of the commits between a fast and a slow build is the first slow one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use super::{BisectId, BuildId, BuildState, BuildVerdict, Commit, ProjectId};
use crate::clock::Moment;

/// Commits of a bisect that could not be measured; after so many it ends with a range.
pub(crate) const SKIPS_MAX: usize = 8;
/// Commits between two builds: with halving, ten comparisons. More are narrowed down by builds between them first.
pub const CANDIDATES_MAX: u32 = 1_000;

/// Which builds to bisect between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BisectRequest {
    /// A build from before the change.
    pub good: BuildId,
    /// A later, slower build of the same project and variant.
    pub bad: BuildId,
}

/// How far a bisect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BisectState {
    /// The worker is to list the commits.
    Listing,
    /// Comparisons run.
    Running,
    /// The first slow commit is found.
    Found,
    /// It is one of a few that could not be measured.
    Narrowed,
    /// Measured in turn, the later commit is not slower.
    Refuted,
    /// It can't go on.
    Failed,
    /// Somebody cancelled it, or one of its comparisons.
    Cancelled,
}

named!(
    BisectState,
    "state of a bisect",
    Listing = "listing",
    Running = "running",
    Found = "found",
    Narrowed = "narrowed",
    Refuted = "refuted",
    Failed = "failed",
    Cancelled = "cancelled"
);

/// What a comparison with the good commit showed of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is not slower.
    Fast,
    /// It is slower.
    Slow,
    /// Neither could be shown.
    Skipped,
}

/// A commit that may be the first slow one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The commit.
    pub commit: Commit,
    /// The build that compares it with the good commit.
    pub build: Option<BuildId>,
    /// What that showed.
    pub outcome: Option<Outcome>,
}

/// A bisect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bisect {
    /// Its number; 0 before it has one.
    pub id: BisectId,
    /// Of which project.
    pub project: ProjectId,
    /// Of which variant.
    pub variant: String,
    /// The build from before the change.
    pub good: BuildId,
    /// The later, slower build.
    pub bad: BuildId,
    /// The commit of the good build.
    pub base: String,
    /// The commit of the bad build.
    pub tip: String,
    /// How far it is.
    pub state: BisectState,
    /// Its result, or why it has none.
    pub reason: Option<String>,
    /// The commits after the good one up to the bad one, the oldest first. Of merged branches only the merge.
    pub candidates: Vec<Candidate>,
    /// The comparison that it waits for.
    pub build: Option<BuildId>,
    /// Who asked.
    pub requested_by: String,
    /// When.
    pub requested_at: Moment,
    /// When it ended.
    pub ended_at: Option<Moment>,
}

/// What a bisect does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Measure the candidate at this place.
    Measure(usize),
    /// This is the first slow one.
    Found(usize),
    /// The first slow one is among these, the last included.
    Narrowed(usize, usize),
    /// The last one is not slower than the good commit.
    Refuted,
    /// Too few of the last ones can be measured.
    Unclear,
}

impl BisectState {
    /// Whether something follows.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Listing | Self::Running)
    }
}

impl Outcome {
    /// What a comparison that is over showed of its second commit.
    pub fn of(state: BuildState, verdict: Option<BuildVerdict>) -> Self {
        let is_measured = matches!(state, BuildState::Completed | BuildState::Degraded);
        match verdict.filter(|_| is_measured) {
            Some(BuildVerdict::Slower) => Self::Slow,
            Some(BuildVerdict::Faster | BuildVerdict::NoDifference) => Self::Fast,
            _ => Self::Skipped,
        }
    }
}

impl Bisect {
    /// What comes next.
    pub fn step(&self) -> Step {
        let outcomes: Vec<_> = self.candidates.iter().map(|candidate| candidate.outcome).collect();
        next_step(&outcomes)
    }

    /// The first slow commit, once it is found.
    pub fn found(&self) -> Option<&Candidate> {
        match (self.state, self.step()) {
            (BisectState::Found, Step::Found(place)) => self.candidates.get(place),
            _ => None,
        }
    }
}

/// What follows from what is known of the candidates, the oldest first. The last one is measured first: two builds at
/// different times may differ by more than their commits.
fn next_step(outcomes: &[Option<Outcome>]) -> Step {
    let skipped = outcomes.iter().filter(|outcome| **outcome == Some(Outcome::Skipped)).count();
    let Some(end) = outcomes.iter().rposition(|outcome| *outcome != Some(Outcome::Skipped)) else {
        return Step::Unclear;
    };
    let last = outcomes.len() - 1;
    match outcomes[end] {
        None if skipped >= SKIPS_MAX => return Step::Unclear,
        None => return Step::Measure(end),
        Some(Outcome::Fast) if end == last => return Step::Refuted,
        Some(Outcome::Fast) => return Step::Narrowed(end + 1, last),
        Some(_) => {}
    }
    let is = |wanted: Outcome| move |outcome: &Option<Outcome>| *outcome == Some(wanted);
    let slow = outcomes.iter().position(is(Outcome::Slow)).unwrap_or(end);
    let first = outcomes[..slow].iter().rposition(is(Outcome::Fast)).map_or(0, |fast| fast + 1);
    if first == slow {
        return Step::Found(slow);
    }
    let middle = first.midpoint(slow);
    let untried = (first..slow).filter(|place| outcomes[*place].is_none());
    match untried.min_by_key(|place| place.abs_diff(middle)) {
        Some(place) if skipped < SKIPS_MAX => Step::Measure(place),
        _ => Step::Narrowed(first, slow),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Outcome::{Fast, Skipped, Slow};

    /// Follows the steps through a history whose `measure` gives each commit's outcome: the end, and how many were
    /// measured.
    fn followed(count: usize, measure: impl Fn(usize) -> Outcome) -> (Step, usize) {
        let mut outcomes = vec![None; count];
        for measured in 0..=count {
            match next_step(&outcomes) {
                Step::Measure(place) => {
                    assert_eq!(outcomes[place], None, "nothing is measured twice");
                    outcomes[place] = Some(measure(place));
                }
                end => return (end, measured),
            }
        }
        panic!("it never ends: {outcomes:?}");
    }

    #[test]
    fn next_steps() {
        let check = |text: &str, expected: Step| {
            let outcomes: Vec<_> = text
                .chars()
                .map(|letter| match letter {
                    'f' => Some(Fast),
                    's' => Some(Slow),
                    'x' => Some(Skipped),
                    _ => None,
                })
                .collect();
            assert_eq!(next_step(&outcomes), expected, "{text}");
        };
        check("", Step::Unclear);
        check(".", Step::Measure(0));
        check("s", Step::Found(0));
        check("f", Step::Refuted);
        check("x", Step::Unclear);
        check("...", Step::Measure(2));
        check("..f", Step::Refuted);
        check("....s", Step::Measure(2));
        check("..f.s", Step::Measure(3));
        check("..fss", Step::Found(3));
        check("..s.s", Step::Measure(1));
        // Skipped: the nearest of the middle.
        check("..x.s", Step::Measure(1));
        check(".xx.s", Step::Measure(3));
        check(".fxxs", Step::Narrowed(2, 4));
        check("xxxxs", Step::Narrowed(0, 4));
        // The end can't be measured: its neighbour is.
        check("....x", Step::Measure(3));
        check("...sx", Step::Measure(1));
        check("...fx", Step::Narrowed(4, 4));
        check("xx", Step::Unclear);
        check(&format!(".{}s", "x".repeat(SKIPS_MAX)), Step::Narrowed(0, SKIPS_MAX + 1));
        check(&format!(".{}", "x".repeat(SKIPS_MAX)), Step::Unclear);
    }

    #[test]
    fn verdicts_count_only_of_what_was_measured() {
        use BuildVerdict as V;
        for (verdict, expected) in [
            (Some(V::Slower), Slow),
            (Some(V::Faster), Fast),
            (Some(V::NoDifference), Fast),
            (Some(V::TooNoisy), Skipped),
            (Some(V::Invalid), Skipped),
            (Some(V::NoBaseline), Skipped),
            (None, Skipped),
        ] {
            assert_eq!(Outcome::of(BuildState::Completed, verdict), expected, "{verdict:?}");
            assert_eq!(Outcome::of(BuildState::Degraded, verdict), expected, "{verdict:?}");
            assert_eq!(Outcome::of(BuildState::Failed, verdict), Skipped, "{verdict:?}");
        }
    }

    proptest! {
        #[test]
        fn the_first_slow_commit_is_found((count, first) in (1_usize..1_000).prop_flat_map(|count| (Just(count), 0..count))) {
            let (end, measured) = followed(count, |place| if place >= first { Slow } else { Fast });
            prop_assert_eq!(end, Step::Found(first));
            // The end, and the binary logarithm of the rest.
            prop_assert!(measured <= 2 + count.ilog2() as usize, "{} of {}", measured, count);
        }

        #[test]
        fn noise_never_leads_to_a_wrong_commit(
            (count, first) in (1_usize..300).prop_flat_map(|count| (Just(count), 0..count)),
            noisy in proptest::collection::vec(proptest::bool::weighted(0.3), 300),
        ) {
            let real = |place: usize| if place >= first { Slow } else { Fast };
            let (end, measured) = followed(count, |place| if noisy[place] { Skipped } else { real(place) });
            match end {
                Step::Found(place) => prop_assert_eq!(place, first),
                Step::Narrowed(from, to) => prop_assert!((from..=to).contains(&first), "{from}..={to}"),
                Step::Unclear => prop_assert!(noisy[count - 1]),
                Step::Refuted | Step::Measure(_) => prop_assert!(false, "{end:?}"),
            }
            // Neighbours of the middle halve less well.
            prop_assert!(measured <= 2 * (2 + count.ilog2() as usize) + SKIPS_MAX, "{measured} of {count}");
        }

        #[test]
        fn what_is_not_slower_is_refuted(count in 1_usize..300) {
            prop_assert_eq!(followed(count, |_| Fast), (Step::Refuted, 1));
        }
    }
}
