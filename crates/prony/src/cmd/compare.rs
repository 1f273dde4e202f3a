//! `prony compare`: which of two servers is faster, by how much, or that it can't be told.

mod block;
mod condition;
mod judge;
mod live;
mod stored;

use std::collections::BTreeMap;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    COMPARISON_FORMAT, COMPARISON_VERSION, ComparedPair, ComparedSide, ComparisonKind, ComparisonOutcome,
    ComparisonResult, Evidence, Finding, FindingCode, Load, Metric, RunPlan, Severity, Verdict,
};
use prony_report::{Style, clean, compare as report, seconds};
use prony_stats::{LEAST_PAIRS, Looks};

use self::block::Block;
pub(crate) use self::condition::{Condition, condition};
use self::judge::{Question, errors, estimate, judge};
use self::live::{Measured, measure};
use crate::args::{CompareArgs, CompareFormat};
use crate::calibration;
use crate::cmd::run::{COMMIT, seed};
use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::meant::compare::{Live, Meant, What, meant};
use crate::progress::StatusLine;
use crate::{clock, output, signals, terminal};

/// The share of blocks made by the client rather than by the servers beyond which nothing is said.
const MOST_CLIENT_BLOCKS: f64 = 0.1;

/// Compares what `args` name, reports, and says by the exit code whether a condition holds.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Complaint> {
    let meant = meant(args, seed()?)?;
    let result = match &meant.what {
        What::Live(live) => compare_live(live, &meant)?,
        What::Stored { files, force } => stored::compare(files, *force, meant.primary, meant.margin)?,
    };
    let holds = holds(&meant.fail_if, &result)?;
    output::print(&render(&result, meant.format, &terminal::style()))?;
    if let Some(destination) = &meant.destination {
        destination.write(&prony_model::comparison_to_json(&result))?;
    }
    Ok(exit(&result, holds))
}

fn render(result: &ComparisonResult, format: CompareFormat, style: &Style) -> String {
    match format {
        CompareFormat::Text => report::text(result, style),
        CompareFormat::Json => prony_model::comparison_to_json(result),
        CompareFormat::Markdown => report::markdown(result),
    }
}

/// Whether any condition of `--fail-if` holds.
fn holds(conditions: &[Condition], result: &ComparisonResult) -> Result<bool, Complaint> {
    let mut any = false;
    for condition in conditions {
        let Some(holds) = condition.holds(&result.metrics) else {
            let name = condition.metric().map_or("the primary metric", Metric::name);
            return Err(Complaint::usage(format!("--fail-if asks for {name}, which is not compared here"))
                .hint(
                    "in an open loop both sides have the same rate; p99.9 is compared as --primary p99.9",
                ));
        };
        any |= holds;
    }
    Ok(any)
}

/// By hand before all, then whether anything could be said, then what was said.
fn exit(result: &ComparisonResult, holds: bool) -> Exit {
    let primary = result.metrics.iter().find(|told| told.primary);
    let is_silent = primary.is_none_or(|told| matches!(told.outcome, ComparisonOutcome::NoVerdict { .. }));
    if result.interrupted {
        Exit::Interrupted
    } else if result.kind == ComparisonKind::Interleaved && result.b.requests > 0 && is_all_failed(result) {
        Exit::TargetFailed
    } else if result.verdict == Verdict::Invalid || (is_silent && result.kind != ComparisonKind::TooFewRuns) {
        Exit::Invalid
    } else if holds {
        Exit::ThresholdMissed
    } else {
        Exit::Good
    }
}

fn is_all_failed(result: &ComparisonResult) -> bool {
    [&result.a, &result.b].into_iter().any(|side| side.requests > 0 && side.failed == side.requests)
}

fn compare_live(live: &Live, meant: &Meant) -> Result<ComparisonResult, Complaint> {
    let closed_loop = matches!(live.plans[0].load, Load::Closed { .. });
    let question = Question {
        primary: meant.primary.unwrap_or(if closed_loop { Metric::Rate } else { Metric::P50 }),
        closed_loop,
        margin: meant.margin,
        looks: live.looks,
        seed: live.seed,
    };
    let control = Control::default();
    let on_interrupt = control.clone();
    signals::on_interrupt(move || on_interrupt.stop())?;
    let known = calibration::load(&prony_engine::environment());
    let mut run = |plan: &RunPlan| {
        let mut result = prony_engine::run(plan, &control, &mut |_| {})?;
        if let Some(known) = &known {
            result.compare_with(known);
        }
        Ok(result)
    };
    let status = StatusLine::new(meant.quiet);
    status.write(&format!(
        "warming up {} and {}",
        clean(&live.plans[0].target.to_string()),
        clean(&live.plans[1].target.to_string())
    ));
    let began = clock::monotonic();
    let mut told = |counted: &[(Block, Block)]| {
        status.write(&progress(counted, live, question.primary, clock::monotonic().saturating_sub(began)));
    };
    let measured = measure(live, &question, &mut run, &mut told)?;
    drop(status);
    Ok(result(live, &question, measured))
}

/// How far it is, for people who wait.
fn progress(counted: &[(Block, Block)], live: &Live, primary: Metric, elapsed: Duration) -> String {
    let (done, total) = (counted.len(), live.pairs);
    let left = elapsed.as_secs_f64() / done.max(1) as f64 * total.saturating_sub(done) as f64;
    let most = if live.looks == Looks::Sequential { "at most " } else { "" };
    let change = estimate(counted, primary)
        .map(|change| format!(" · {} {}", primary.name(), prony_report::signed_percent(change)))
        .unwrap_or_default();
    format!("pair {done} of {most}{total}{change} · {most}{} left", seconds(left.round()))
}

/// Everything that is known of a comparison that is over.
fn result(live: &Live, question: &Question, measured: Measured) -> ComparisonResult {
    let counted: Vec<(Block, Block)> =
        measured.pairs.iter().filter(|pair| pair.dropped.is_none()).map(|pair| pair.blocks.clone()).collect();
    let findings = findings(&measured, counted.len());
    let verdict = Verdict::from_findings(&findings);
    let forbidden = forbidden(&measured, counted.len(), live, &findings);
    let errors = errors(&counted);
    let mut sides = measured.sides.into_iter().zip(errors).map(|(side, errors)| ComparedSide {
        name: side.plan.target.to_string(),
        plan: side.plan,
        addresses: side.addresses,
        driver: side.driver,
        requests: errors.requests,
        failed: errors.failed,
    });
    let mut side = || sides.next().expect("invariant: there are two sides");
    let mut environment = measured.environment;
    environment.prony_commit = COMMIT.map(str::to_owned);
    environment.load_average_after = prony_engine::environment().load_average_before;
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict,
        kind: ComparisonKind::Interleaved,
        started_at: measured.started_at,
        interrupted: measured.interrupted,
        a: side(),
        b: side(),
        margin: question.margin,
        looks: question.look_plan(),
        seed: Some(live.seed),
        block_s: Some(measured.block.as_secs_f64()),
        metrics: judge(&counted, question, forbidden.as_deref()),
        pairs: measured
            .pairs
            .into_iter()
            .map(|pair| ComparedPair {
                order: pair.order,
                dropped: pair.dropped.map(str::to_owned),
                a: pair.blocks.0.told,
                b: pair.blocks.1.told,
            })
            .collect(),
        looks_taken: measured.looks,
        notes: Vec::new(),
        findings,
        environment,
    }
}

/// Why nothing may be said, if so.
fn forbidden(measured: &Measured, counted: usize, live: &Live, findings: &[Finding]) -> Option<String> {
    if measured.interrupted {
        return Some(format!("ended by hand after {counted} of {} pairs", live.pairs));
    }
    if counted < LEAST_PAIRS || (live.looks == Looks::Sequential && measured.looks.is_empty()) {
        return Some(format!("{counted} of {} pairs were left undisturbed", measured.pairs.len()));
    }
    let worst = findings.iter().find(|finding| finding.severity == Severity::Invalid)?;
    Some(format!("see {}", worst.code.name()))
}

/// What makes the comparison doubtful, the worst first.
fn findings(measured: &Measured, counted: usize) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        clients_fault(measured).into_iter().chain(disturbed(measured, counted)).collect();
    if measured.interrupted {
        findings.push(Finding {
            code: FindingCode::Interrupted,
            severity: Severity::Warning,
            evidence: vec![Evidence::new("pairs", counted as f64, "count")],
            message: "the comparison was ended by hand: whoever may stop when he likes what he sees finds a \
                      difference in one of five comparisons of a server with itself"
                .to_owned(),
            advice: "let it run to its end, or use --sequential, which ends as soon as it may".to_owned(),
        });
    }
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// Blocks that the client made.
fn clients_fault(measured: &Measured) -> Option<Finding> {
    let blocks = measured
        .pairs
        .iter()
        .filter(|pair| pair.dropped.is_none())
        .flat_map(|pair| [&pair.blocks.0, &pair.blocks.1]);
    let (mut all, mut codes) = (0_u64, BTreeMap::<FindingCode, u64>::new());
    for block in blocks {
        all += 1;
        if let Some(code) = block.clients_fault() {
            *codes.entry(code).or_default() += 1;
        }
    }
    let made: u64 = codes.values().sum();
    let (code, _) = codes.into_iter().max_by_key(|(code, count)| (*count, std::cmp::Reverse(*code)))?;
    let share = made as f64 / all as f64;
    let (severity, advice) = if share > MOST_CLIENT_BLOCKS {
        (
            Severity::Invalid,
            "leave the client a core of its own (`taskset`, fewer --threads, the servers elsewhere), or offer less: \
             fewer --connections, or a --rate that both bear",
        )
    } else {
        (Severity::Note, "a few blocks don't decide anything; the pairs count all the same")
    };
    Some(Finding {
        code,
        severity,
        evidence: vec![
            Evidence::new("client_blocks", made as f64, "count"),
            Evidence::new("blocks", all as f64, "count"),
        ],
        message: format!("in {made} of {all} blocks the client made the numbers, not the servers"),
        advice: advice.to_owned(),
    })
}

/// Pairs that do not count.
fn disturbed(measured: &Measured, counted: usize) -> Option<Finding> {
    let dropped: Vec<&'static str> = measured.pairs.iter().filter_map(|pair| pair.dropped).collect();
    let reason = dropped.first()?;
    let is_left = counted >= LEAST_PAIRS;
    Some(Finding {
        code: FindingCode::Steal,
        severity: if is_left { Severity::Note } else { Severity::Invalid },
        evidence: vec![
            Evidence::new("dropped_pairs", dropped.len() as f64, "count"),
            Evidence::new("pairs", measured.pairs.len() as f64, "count"),
        ],
        message: format!("{} of {} pairs don't count: {reason}", dropped.len(), measured.pairs.len()),
        advice: "compare at another time, or on another machine".to_owned(),
    })
}
