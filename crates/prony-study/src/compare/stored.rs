//! Stored results against each other. They were not measured in turn, so little follows from them; what does not
//! follow is not reported.

use prony_model::{
    BlockOrder, COMPARISON_FORMAT, COMPARISON_VERSION, ChangeInterval, ComparedPair, ComparedSide,
    ComparisonKind, ComparisonResult, Interval, Load, Metric, MetricComparison, RunPlan, RunResult, Verdict,
    since_1970,
    words::{percent_of, plural},
};
use prony_stats::{DecodeError, ERRORS_MAX, Errors, LEAST_PAIRS, Looks};

use super::block::{Block, BlockPair};
use super::evaluate::{Question, evaluate, withhold};
use super::findings::figure_findings;
use super::requests::{SideRequests, side_requests};

/// Differences that are listed one by one.
pub const DIFFERENCES_LISTED_MAX: usize = 8;
/// The label swaps of stored results start from here: the same files give the same probability.
const SWAP_SEED: u64 = 1;

/// One run, and what its file is called.
#[derive(Debug)]
pub struct StoredRun {
    /// What its file is called.
    pub name: String,
    /// The run.
    pub result: RunResult,
}

/// What is asked of stored results.
#[derive(Debug, Clone, Copy)]
pub struct StoredQuestion {
    /// The metric that decides; `None` leaves it to the load.
    pub primary: Option<Metric>,
    /// 0.02 is 2 %.
    pub margin: f64,
    /// Show results that can't be compared, without a verdict.
    pub force: bool,
}

/// Why stored results are not compared.
#[derive(Debug)]
pub enum IncomparableRuns {
    /// They were not measured alike, or some of them can't be compared with anything: each reason once.
    Different(Vec<String>),
    /// The distribution of a run can't be read.
    Damaged {
        /// What its file is called.
        name: String,
        /// What is wrong with it.
        error: DecodeError,
    },
}

/// Compares the runs of A with those of B, of which there is one at least.
pub fn compare_stored(
    [mut a, mut b]: [Vec<StoredRun>; 2],
    asked: &StoredQuestion,
) -> Result<ComparisonResult, IncomparableRuns> {
    let StoredQuestion { primary, margin, force } = *asked;
    let differences = differences(&a, &b);
    if !differences.is_empty() && !force {
        return Err(IncomparableRuns::Different(differences));
    }
    let start = |stored: &StoredRun| since_1970(&stored.result.timing.started_at);
    a.sort_by_key(start);
    b.sort_by_key(start);
    let mut notes: Vec<String> = differences.into_iter().take(DIFFERENCES_LISTED_MAX).collect();
    notes.extend(left_out(a.len(), b.len()));
    let count = a.len().min(b.len());
    if count >= LEAST_PAIRS {
        notes.extend(one_after_the_other(&a, &b));
    }
    let forbidden = if !notes.is_empty() && force && is_forced(&notes, &a, &b) {
        Some("these results can't be compared: see the notes".to_owned())
    } else if count < LEAST_PAIRS {
        Some(format!("{} on each side; at least {LEAST_PAIRS} needed", plural(count as u64, "run")))
    } else {
        None
    };
    let blocks = blocks(&a, &b)?;
    Ok(result(&a, &b, &blocks, &StoredOptions { primary, margin, forbidden, notes }))
}

/// What a result is made of, beside the runs.
struct StoredOptions {
    primary: Option<Metric>,
    margin: f64,
    forbidden: Option<String>,
    notes: Vec<String>,
}

fn result(
    a: &[StoredRun],
    b: &[StoredRun],
    blocks: &[BlockPair],
    options: &StoredOptions,
) -> ComparisonResult {
    let first = &a[0].result;
    let closed_loop = matches!(first.plan.load, Load::Closed { .. });
    let question = Question {
        primary: options.primary.unwrap_or_else(|| Question::usual_primary(closed_loop)),
        closed_loop,
        margin: options.margin,
        looks: Looks::Once,
        seed: SWAP_SEED,
    };
    let mut metrics = evaluate(blocks, &question, options.forbidden.as_deref());
    let kind = if blocks.len() < LEAST_PAIRS { ComparisonKind::TooFewRuns } else { ComparisonKind::Stored };
    if kind == ComparisonKind::TooFewRuns {
        for comparison in &mut metrics {
            single_runs(comparison, first, &b[0].result, blocks.len());
        }
    }
    let mut findings = figure_findings(blocks, &metrics, &question);
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    let [requests_a, requests_b] = side_requests(blocks);
    let began = if since_1970(&first.timing.started_at) <= since_1970(&b[0].result.timing.started_at) {
        first
    } else {
        &b[0].result
    };
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: Verdict::from_findings(&findings),
        kind,
        started_at: began.timing.started_at.clone(),
        interrupted: false,
        a: side(a, requests_a),
        b: side(b, requests_b),
        margin: options.margin,
        looks: question.look_plan(),
        seed: None,
        block_s: None,
        pairs: blocks.iter().map(pair).collect(),
        looks_taken: Vec::new(),
        metrics,
        notes: options.notes.clone(),
        findings,
        environment: first.environment.clone(),
    }
}

/// Everything that makes these results incomparable, each once.
fn differences(a: &[StoredRun], b: &[StoredRun]) -> Vec<String> {
    let reference = &a[0];
    let mut found: Vec<String> = Vec::new();
    for stored in a.iter().chain(b) {
        for what in of_one(stored).into_iter().chain(of_two(reference, stored)) {
            if !found.contains(&what) {
                found.push(what);
            }
        }
    }
    found
}

/// What keeps a result from being compared with anything.
fn of_one(stored: &StoredRun) -> Vec<String> {
    let (name, result) = (&stored.name, &stored.result);
    let mut found = Vec::new();
    if let Some(contradiction) = result.check().first() {
        found.push(format!("{name} contradicts itself: {contradiction}"));
    }
    if result.verdict == Verdict::Invalid {
        found.push(format!("{name} is INVALID"));
    }
    let requests = &result.requests;
    let errors = Errors { failed: requests.failed, requests: requests.intended };
    if errors.share() > ERRORS_MAX {
        found
            .push(format!("in {name} {} of the requests failed", percent_of(errors.failed, errors.requests)));
    }
    found
}

/// What two results were not measured alike in.
fn of_two(reference: &StoredRun, stored: &StoredRun) -> Vec<String> {
    let (one, other) = (&reference.result, &stored.result);
    let (plan, other_plan) = (&one.plan, &other.plan);
    let differ = [
        ("the load (rate, connections)", plan.load != other_plan.load),
        (
            "the request (method, headers, body, version, keep-alive, pipeline)",
            plan.request != other_plan.request,
        ),
        ("the scenario", plan.scenario != other_plan.scenario),
        ("what makes an answer good", plan.checks != other_plan.checks),
        ("the stages", plan.stages != other_plan.stages),
        ("the length", plan.end != other_plan.end),
        ("the warm-up", plan.warmup != other_plan.warmup),
        ("the threads", plan.threads != other_plan.threads),
        ("the driver", one.driver.name != other.driver.name),
        ("the machine", one.environment.fingerprint() != other.environment.fingerprint()),
    ];
    let of = |what: &str| format!("{} and {} differ in {what}", reference.name, stored.name);
    differ.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| of(what)).collect()
}

/// Whether what is shown by force gets no verdict.
fn is_forced(notes: &[String], a: &[StoredRun], b: &[StoredRun]) -> bool {
    differences(a, b).iter().any(|what| notes.contains(what))
}

fn left_out(a: usize, b: usize) -> Option<String> {
    let (side, more) = if a > b { ("A", a - b) } else { ("B", b - a) };
    (more > 0).then(|| format!("{side} has {more} more: the last ones have no partner and are left out"))
}

/// Runs of one side that all came before those of the other.
fn one_after_the_other(a: &[StoredRun], b: &[StoredRun]) -> Option<String> {
    let start = |stored: &StoredRun| since_1970(&stored.result.timing.started_at);
    let (first_a, last_a) = (a.first().and_then(start)?, a.last().and_then(start)?);
    let (first_b, last_b) = (b.first().and_then(start)?, b.last().and_then(start)?);
    (last_a < first_b || last_b < first_a).then(|| {
        "all runs of one side came before those of the other: measured so, up to a third of the comparisons of a \
         server with itself find a difference. Take turns (a, b, b, a, …)"
            .to_owned()
    })
}

fn blocks(a: &[StoredRun], b: &[StoredRun]) -> Result<Vec<BlockPair>, IncomparableRuns> {
    let block = |stored: &StoredRun| {
        let name = &stored.name;
        Block::of_run(&stored.result, name.clone())
            .map_err(|error| IncomparableRuns::Damaged { name: name.clone(), error })
    };
    a.iter().zip(b).map(|(a, b)| Ok((block(a)?, block(b)?))).collect()
}

fn pair((a, b): &BlockPair) -> ComparedPair {
    let start = |block: &Block| since_1970(&block.summary.started_at);
    let order = if start(a) <= start(b) { BlockOrder::AFirst } else { BlockOrder::BFirst };
    ComparedPair { order, dropped: None, a: a.summary.clone(), b: b.summary.clone() }
}

fn side(runs: &[StoredRun], requests: SideRequests) -> ComparedSide {
    let first = &runs[0];
    let result = &first.result;
    let more = if runs.len() > 1 { format!(" and {} more", runs.len() - 1) } else { String::new() };
    let commit = result.target_commit.as_ref().map(|commit| format!(", {commit}")).unwrap_or_default();
    ComparedSide {
        name: format!("{}{commit} ({}{more})", result.plan.target, first.name),
        plan: RunPlan::clone(&result.plan),
        addresses: result.addresses.clone(),
        driver: result.driver.name.clone(),
        requests: requests.requests,
        failed: requests.failed,
        failed_by_kind: requests.failed_by_kind,
        unanswered: requests.unanswered,
    }
}

/// What is known of two runs: how they differ, and how far each of them is known by its own sections.
fn single_runs(comparison: &mut MetricComparison, a: &RunResult, b: &RunResult, runs: usize) {
    withhold(comparison);
    let both = (interval(comparison.metric, a), interval(comparison.metric, b));
    if let ((Some(a), Some(b)), Some(change), 1) = (both, comparison.change, runs) {
        // Errors of independent runs add up as squares, on the scale of ratios.
        let half = |interval: Interval| (interval.high / interval.low).ln() / 2.0;
        let half = half(a).hypot(half(b));
        let center = change.ln_1p();
        comparison.interval =
            Some(ChangeInterval { low: (center - half).exp_m1(), high: (center + half).exp_m1() })
                .filter(|interval| interval.low.is_finite() && interval.high.is_finite());
    }
}

fn interval(metric: Metric, result: &RunResult) -> Option<Interval> {
    match (metric, metric.quantile()) {
        (Metric::Cpu, _) => result.server.as_ref()?.cpu_per_request_us?.interval,
        (_, None) => result.rate.interval_per_s,
        (_, Some((key, _))) => result.latency.response.intervals_ms.get(key).copied(),
    }
}
