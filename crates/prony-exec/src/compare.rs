//! Which command is faster: pairs of neighbouring runs, never one block of runs against another.

use prony_model::words::plural;
use prony_model::{CommandComparison, CommandResult, ComparisonOutcome, ExecOrder, ExecPlan, Interval};
use prony_stats::{
    Better, CompareError, Comparison, Criteria, DEFAULT_MARGIN, Errors, LEAST_PAIRS, Looks, NoVerdict,
    Verdict, holm, signed_rank_p,
};

/// Pairs at most. Of more rounds, so many neighbours make one pair by their medians: they share the machine's mood,
/// and pairs that don't follow from each other are what the comparison assumes.
const PAIRS_MAX: usize = 40;
/// A difference that is more probable than this by chance has no direction.
const CHANCE: f64 = 0.05;
/// All comparisons are looked at once, after the last round.
const CRITERIA: Criteria = Criteria { better: Better::Lower, margin: DEFAULT_MARGIN, looks: Looks::Once };

/// Compares every command with the reference: the one that the plan names, or the fastest by median.
///
/// Where the reference was not named beforehand, choosing the fastest was itself a look at every pair, and every pair
/// is counted in Holm's adjustment.
pub(crate) fn compare(
    plan: &ExecPlan,
    commands: &[CommandResult],
    rounds: u32,
) -> (Option<u32>, Vec<CommandComparison>) {
    let median = |command: &CommandResult| command.wall.as_ref().map(|wall| wall.median_s);
    let fastest = || {
        let medians = commands.iter().enumerate().filter_map(|(at, command)| Some((at, median(command)?)));
        medians.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
    };
    let named = plan.reference.map(|reference| reference as usize);
    let Some(reference) = named.or_else(fastest).filter(|_| commands.len() > 1) else {
        return (None, Vec::new());
    };
    let blocks: Vec<Vec<f64>> = commands.iter().map(|command| block_medians(command, rounds)).collect();
    let others: Vec<usize> = (0..commands.len()).filter(|at| *at != reference).collect();
    let adjusted = adjusted(&blocks, reference, &others, named.is_some());
    let compared = others.iter().zip(adjusted).map(|(&command, p)| {
        let pairs: Vec<(f64, f64)> =
            blocks[reference].iter().copied().zip(blocks[command].iter().copied()).collect();
        let errors = [reference, command].map(|at| errors(plan, &commands[at]));
        one(plan, command, &pairs, errors, rounds, p)
    });
    (u32::try_from(reference).ok(), compared.collect())
}

/// The probabilities of the comparisons with the reference, adjusted for all that were looked at.
fn adjusted(blocks: &[Vec<f64>], reference: usize, others: &[usize], named: bool) -> Vec<Option<f64>> {
    let mut pairs: Vec<(usize, usize)> = others.iter().map(|other| (reference, *other)).collect();
    if !named {
        for (at, &first) in others.iter().enumerate() {
            pairs.extend(others[at + 1..].iter().map(|second| (first, *second)));
        }
    }
    let of = |&(a, b): &(usize, usize)| {
        let usable = blocks[a].iter().chain(&blocks[b]).all(|time| *time > 0.0);
        let differences: Vec<f64> = blocks[a].iter().zip(&blocks[b]).map(|(a, b)| (b / a).ln()).collect();
        (usable && !differences.is_empty()).then(|| signed_rank_p(&differences))
    };
    let known: Vec<Option<f64>> = pairs.iter().map(of).collect();
    // What has no verdict may be chance, and still was looked at.
    let probabilities: Vec<f64> = known.iter().map(|p| p.unwrap_or(1.0)).collect();
    holm(&probabilities)
        .into_iter()
        .zip(known)
        .take(others.len())
        .map(|(p, known)| known.map(|_| p))
        .collect()
}

/// The medians of a command's blocks of rounds, in the order of time.
fn block_medians(command: &CommandResult, rounds: u32) -> Vec<f64> {
    // A round that was broken off is not in `rounds`.
    let times: Vec<f64> = command.runs.iter().take(rounds as usize).map(|run| run.wall_s).collect();
    let blocks = times.len().min(PAIRS_MAX);
    let block = |i: usize| &times[i * times.len() / blocks..(i + 1) * times.len() / blocks];
    (0..blocks)
        .filter_map(|i| prony_stats::describe(block(i)).map(|description| description.median))
        .collect()
}

fn errors(plan: &ExecPlan, command: &CommandResult) -> Errors {
    let failed = command.runs.iter().filter(|run| !plan.exits.is_good(run.exit)).count();
    Errors { failed: failed as u64, requests: command.runs.len() as u64 }
}

fn one(
    plan: &ExecPlan,
    command: usize,
    pairs: &[(f64, f64)],
    errors: [Errors; 2],
    rounds: u32,
    p: Option<f64>,
) -> CommandComparison {
    let withheld = |reason: String| CommandComparison {
        command: index(command),
        pairs: index(pairs.len()),
        rounds_per_pair: rounds / index(pairs.len()).max(1),
        change: None,
        interval: None,
        p: None,
        margin: CRITERIA.margin,
        verdict: ComparisonOutcome::NoVerdict { reason },
    };
    if plan.order == ExecOrder::Sequential {
        let reason = "the commands ran one after the other, so the machine's mood is part of the difference";
        return withheld(format!("{reason}: leave out --sequential"));
    }
    let comparison = match prony_stats::compare(pairs, errors, CRITERIA) {
        Ok(comparison) => comparison,
        Err(error) => return withheld(no_comparison(&error)),
    };
    let is_chance = p.is_none_or(|p| p > CHANCE);
    let comparison = if is_chance { comparison.without_direction(CRITERIA.margin) } else { comparison };
    let verdict = verdict(&comparison, errors);
    CommandComparison {
        change: Some(comparison.change),
        interval: comparison.interval.map(|(low, high)| Interval { low, high, indicative: false }),
        p,
        verdict,
        ..withheld(String::new())
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn no_comparison(error: &CompareError) -> String {
    match error {
        CompareError::TooFewPairs { pairs } => {
            let are = if *pairs == 1 { "is" } else { "are" };
            let rounds = plural(*pairs as u64, "round");
            format!("{rounds} {are} too few: at least {LEAST_PAIRS} are needed, 20 are better")
        }
        CompareError::NotPositive { .. } => {
            "some runs took no longer than the shell alone: try -N, or give the command more work".to_owned()
        }
        CompareError::NotALook { .. } | CompareError::Margin(_) => error.to_string(),
    }
}

fn verdict(comparison: &Comparison, errors: [Errors; 2]) -> ComparisonOutcome {
    match comparison.verdict {
        Verdict::Faster => ComparisonOutcome::Faster,
        Verdict::Slower => ComparisonOutcome::Slower,
        Verdict::FasterSizeUncertain => ComparisonOutcome::FasterSizeUncertain,
        Verdict::SlowerSizeUncertain => ComparisonOutcome::SlowerSizeUncertain,
        Verdict::NoDifference { .. } => ComparisonOutcome::NoDifference,
        Verdict::TooNoisy { smallest_detectable, pairs_needed } => ComparisonOutcome::TooNoisy {
            smallest_detectable: Some(smallest_detectable),
            pairs_needed: Some(pairs_needed),
        },
        Verdict::Refused { reason: NoVerdict::TooManyErrors { .. } | NoVerdict::ErrorsDiffer { .. } } => {
            let [a, b] = errors;
            let reason = format!(
                "{} of {} and {} of {} runs failed: say which exit codes are good, such as -i=1",
                a.failed, a.requests, b.failed, b.requests
            );
            ComparisonOutcome::NoVerdict { reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_model::{
        CommandExit, CommandRun, ExecCommand, ExecOutput, ExecRuns, ExpectedExits, TimeSummary,
    };

    use super::*;

    fn plan(commands: usize) -> ExecPlan {
        ExecPlan {
            commands: vec![ExecCommand::default(); commands],
            shell: None,
            runs: ExecRuns { warmup: 0, least: 10, most: 10, least_time: Duration::ZERO },
            order: ExecOrder::Interleaved,
            reference: None,
            exits: ExpectedExits { good: Vec::new(), go_on: true },
            input: None,
            output: ExecOutput::Null,
            timeout: Duration::from_secs(1),
            seed: 1,
        }
    }

    /// A command whose runs take `typical_s` give or take `noise_s`, never two in the same way.
    fn command(rounds: u32, typical_s: f64, noise_s: f64) -> CommandResult {
        let run = |round: u32| CommandRun {
            round,
            place: 0,
            at_s: 0.0,
            wall_s: typical_s + noise_s * f64::from(round * 7 % rounds) / f64::from(rounds),
            wall_with_shell_s: typical_s,
            user_s: 0.0,
            system_s: 0.0,
            peak_memory_bytes: 0,
            exit: CommandExit::Code(0),
        };
        let wall = TimeSummary {
            count: rounds,
            mean_s: typical_s,
            stddev_s: None,
            median_s: typical_s,
            median_interval_s: None,
            min_s: typical_s,
            max_s: typical_s,
        };
        CommandResult { runs: (0..rounds).map(run).collect(), wall: Some(wall), ..CommandResult::default() }
    }

    fn check(plan: &ExecPlan, commands: &[CommandResult], rounds: u32, expected: &[(u32, &str)]) {
        let (_, comparisons) = compare(plan, commands, rounds);
        let words: Vec<(u32, String)> = comparisons
            .iter()
            .map(|comparison| {
                (
                    comparison.command,
                    format!("{:?}", comparison.verdict).split([' ', '{']).next().unwrap().to_owned(),
                )
            })
            .collect();
        let expected: Vec<(u32, String)> =
            expected.iter().map(|(command, word)| (*command, (*word).to_owned())).collect();
        assert_eq!(words, expected, "{comparisons:#?}");
    }

    #[test]
    fn the_fastest_is_the_reference_unless_one_is_named() {
        let commands = [command(20, 2.0, 0.01), command(20, 1.0, 0.01), command(20, 1.001, 0.01)];
        assert_eq!(compare(&plan(3), &commands, 20).0, Some(1));
        check(&plan(3), &commands, 20, &[(0, "Slower"), (2, "NoDifference")]);
        let named = ExecPlan { reference: Some(0), ..plan(3) };
        check(&named, &commands, 20, &[(1, "Faster"), (2, "Faster")]);
        assert_eq!(compare(&plan(1), &commands[..1], 20), (None, Vec::new()));
    }

    #[test]
    fn no_verdict_without_grounds() {
        let commands = [command(5, 1.0, 0.01), command(5, 2.0, 0.01)];
        check(&plan(2), &commands, 5, &[(1, "NoVerdict")]);
        let commands = [command(20, 0.0, 0.0), command(20, 2.0, 0.01)];
        check(&plan(2), &commands, 20, &[(1, "NoVerdict")]);
        let commands = [command(20, 1.0, 0.01), command(20, 2.0, 0.01)];
        let sequential = ExecPlan { order: ExecOrder::Sequential, ..plan(2) };
        check(&sequential, &commands, 20, &[(1, "NoVerdict")]);
        let mut failing = command(20, 2.0, 0.01);
        failing.runs[3].exit = CommandExit::Code(1);
        check(&plan(2), &[command(20, 1.0, 0.01), failing.clone()], 20, &[(1, "NoVerdict")]);
        let good = ExecPlan { exits: ExpectedExits { good: vec![1], go_on: false }, ..plan(2) };
        check(&good, &[command(20, 1.0, 0.01), failing], 20, &[(1, "Slower")]);
    }

    #[test]
    fn several_commands_need_more_than_two() {
        // Six pairs can't be rarer than 1 in 32, which one of fifteen comparisons is by chance.
        let two = [command(6, 1.0, 0.01), command(6, 2.0, 0.01)];
        check(&plan(2), &two, 6, &[(1, "Slower")]);
        let six: Vec<CommandResult> = (1..=6).map(|i| command(6, f64::from(i), 0.01)).collect();
        let (_, comparisons) = compare(&plan(6), &six, 6);
        assert!(
            comparisons
                .iter()
                .all(|comparison| matches!(comparison.verdict, ComparisonOutcome::TooNoisy { .. })),
            "{comparisons:#?}"
        );
    }

    #[test]
    fn many_rounds_make_forty_pairs() {
        let commands = [command(1000, 1.0, 0.01), command(1000, 1.5, 0.01)];
        let (_, comparisons) = compare(&plan(2), &commands, 1000);
        assert_eq!((comparisons[0].pairs, comparisons[0].rounds_per_pair), (40, 25));
    }
}
