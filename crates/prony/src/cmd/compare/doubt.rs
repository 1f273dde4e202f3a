//! What speaks against a comparison, and whether anything may be said in spite of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use prony_model::{ComparisonOutcome, Evidence, Finding, FindingCode, Metric, MetricComparison, Severity};
use prony_stats::{LEAST_PAIRS, Looks};
use prony_study::{Block, BlockPair};

use super::live::Measured;
use crate::meant::compare::Live;

/// The share of blocks made by the client beyond which nothing is said: fewer move no median of ranks by much.
const MOST_CLIENT_BLOCKS: f64 = 0.1;
/// The share of the time that the client may wait for a core: warn, invalid. As for a run (docs/findings.md).
const RUN_QUEUE_SHARE: (f64, f64) = (0.01, 0.05);
/// What to do about a client that is in the way.
const GIVE_ROOM: &str = "leave the client a core of its own (`taskset`, fewer --threads, the servers elsewhere), or \
                         offer less: fewer --connections, or a --rate that both bear";

/// What speaks against a comparison.
pub(super) struct Doubt {
    /// The worst first.
    pub(super) findings: Vec<Finding>,
    /// Why nothing may be said, if so.
    pub(super) forbidden: Option<String>,
    /// Whether that is the client, which has no part in the server's CPU time.
    pub(super) is_of_client: bool,
    /// Why nothing may be said of the slowest responses, if so.
    tails: Option<FindingCode>,
}

impl Doubt {
    /// Looks for it in `measured`, of which `counted` are the pairs that count.
    pub(super) fn of(measured: &Measured, counted: &[BlockPair], live: &Live, primary: Metric) -> Self {
        let fault = made_by_client(counted, Block::clients_fault, "the numbers", Severity::Invalid);
        let severity = if is_tail(primary) { Severity::Invalid } else { Severity::Warning };
        let tail = made_by_client(counted, Block::clients_tail, "the slowest responses", severity);
        let tails = tail.as_ref().filter(|tail| tail.severity > Severity::Note).map(|tail| tail.code);
        let mut findings: Vec<Finding> =
            [fault, tail, run_queue_wait(counted), disturbed(measured, counted.len())]
                .into_iter()
                .flatten()
                .chain(measured.interrupted.then(|| interrupted(counted.len())))
                .collect();
        sort(&mut findings);
        let not_measured = not_measured(measured, counted.len(), live);
        let worst = findings.iter().find(|finding| finding.severity == Severity::Invalid);
        let is_of_client = not_measured.is_none() && worst.is_some();
        let forbidden = not_measured.or_else(|| worst.map(|worst| because(worst.code)));
        Self { findings, forbidden, is_of_client, tails }
    }

    /// Adds what the figures themselves show.
    pub(super) fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        sort(&mut self.findings);
    }

    /// Takes the verdicts on tails back that the client made.
    pub(super) fn silence_tails(&self, metrics: &mut [MetricComparison]) {
        let Some(code) = self.tails else { return };
        for told in metrics.iter_mut().filter(|told| is_tail(told.metric)) {
            told.differs = false;
            told.outcome = ComparisonOutcome::NoVerdict { reason: because(code) };
        }
    }
}

/// Whether a few requests in a hundred decide on it.
fn is_tail(metric: Metric) -> bool {
    metric.quantile().is_some_and(|(_, q)| q >= 0.99)
}

fn because(code: FindingCode) -> String {
    format!("the client is in the way: {}", code.name())
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (Reverse(finding.severity), finding.code));
}

/// Why there is too little to say anything, if so.
fn not_measured(measured: &Measured, counted: usize, live: &Live) -> Option<String> {
    if measured.interrupted {
        return Some(format!("ended by hand after {counted} of {} pairs", live.pairs));
    }
    if counted < LEAST_PAIRS || (live.looks == Looks::Sequential && measured.looks.is_empty()) {
        return Some(format!("{counted} of {} pairs were left undisturbed", measured.pairs.len()));
    }
    None
}

fn interrupted(counted: usize) -> Finding {
    Finding {
        code: FindingCode::Interrupted,
        severity: Severity::Warning,
        evidence: vec![Evidence::new("pairs", counted as f64, "count")],
        message: "the comparison was ended by hand: whoever may stop when he likes what he sees finds a difference \
                  in one of five comparisons of a server with itself"
            .to_owned(),
        advice: "let it run to its end, or use --sequential, which ends as soon as it may".to_owned(),
    }
}

/// Blocks whose numbers, or a part of them, the client made; `worst` if there are too many.
fn made_by_client(
    counted: &[BlockPair],
    fault: fn(&Block) -> Option<FindingCode>,
    what: &str,
    worst: Severity,
) -> Option<Finding> {
    let mut codes = BTreeMap::<FindingCode, u64>::new();
    for code in counted.iter().flat_map(|(a, b)| [a, b]).filter_map(fault) {
        *codes.entry(code).or_default() += 1;
    }
    let (all, made) = (2 * counted.len(), codes.values().sum::<u64>());
    let (code, _) = codes.into_iter().max_by_key(|(code, count)| (*count, Reverse(*code)))?;
    let is_much = made as f64 > MOST_CLIENT_BLOCKS * all as f64;
    Some(Finding {
        code,
        severity: if is_much { worst } else { Severity::Note },
        evidence: vec![
            Evidence::new("client_blocks", made as f64, "count"),
            Evidence::new("blocks", all as f64, "count"),
        ],
        message: format!("in {made} of {all} blocks the client made {what}, not the servers"),
        advice: if is_much { GIVE_ROOM } else { "so few decide nothing: the pairs count all the same" }
            .to_owned(),
    })
}

/// The client waited for a core, all blocks together.
fn run_queue_wait(counted: &[BlockPair]) -> Option<Finding> {
    let blocks = || counted.iter().flat_map(|(a, b)| [&a.told, &b.told]);
    let waited: f64 = blocks().filter_map(|block| block.run_queue_wait_s).sum();
    let share = waited / blocks().map(|block| block.measured_s).sum::<f64>().max(f64::MIN_POSITIVE);
    let severity = match share {
        share if share > RUN_QUEUE_SHARE.1 => Severity::Invalid,
        share if share > RUN_QUEUE_SHARE.0 => Severity::Warning,
        _ => return None,
    };
    Some(Finding {
        code: FindingCode::RunQueueWait,
        severity,
        evidence: vec![Evidence::new("run_queue_wait", share, "share")],
        message: format!("the client waited {:.1} % of the time for a core that others used", 100.0 * share),
        advice: GIVE_ROOM.to_owned(),
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

#[cfg(test)]
mod tests {
    use prony_model::{ComparedBlock, HistogramData};
    use prony_stats::Histogram;

    use super::*;

    /// A block of 200 ms without a fault.
    fn block() -> Block {
        let responses: Histogram = (0..100).map(|k| 1_000_000 + k).collect();
        let told = ComparedBlock {
            file: None,
            started_at: "2026-01-02T03:04:05.000Z".to_owned(),
            measured_s: 0.2,
            requests: 100,
            failed: 0,
            failed_by_kind: BTreeMap::new(),
            unanswered: 0,
            rate_per_s: 500.0,
            whole_rounds_per_s: Some(500.0),
            mean_response_ms: Some(1.0),
            cpu_per_request_us: None,
            response_ms: BTreeMap::new(),
            client_cpu_share: 0.3,
            run_queue_wait_s: Some(0.0),
            steal_share: Some(0.0),
            invalid: Vec::new(),
            histogram: HistogramData::default(),
        };
        Block { told, responses: responses.to_sparse(), connections: 4, cpu_requests: 0 }
    }

    /// Twenty pairs of which the first `count` blocks of A are `change`d.
    fn pairs(count: usize, change: fn(&mut Block)) -> Vec<BlockPair> {
        let mut pairs: Vec<BlockPair> = (0..20).map(|_| (block(), block())).collect();
        pairs.iter_mut().take(count).for_each(|pair| change(&mut pair.0));
        pairs
    }

    #[test]
    fn a_few_blocks_of_the_client_decide_nothing() {
        let check = |count: usize, expected: Option<Severity>| {
            let pairs = pairs(count, |block| block.told.invalid = vec![FindingCode::ClientCpu]);
            let found = made_by_client(&pairs, Block::clients_fault, "the numbers", Severity::Invalid);
            assert_eq!(found.map(|found| found.severity), expected, "{count}");
        };
        check(0, None);
        check(4, Some(Severity::Note));
        check(5, Some(Severity::Invalid));
    }

    #[test]
    fn waiting_is_judged_over_all_blocks() {
        let check = |count: usize, expected: Option<Severity>| {
            let found = run_queue_wait(&pairs(count, |block| block.told.run_queue_wait_s = Some(0.1)));
            assert_eq!(found.map(|found| found.severity), expected, "{count}");
        };
        // 0.1 s of 8 s each.
        check(0, None);
        check(1, Some(Severity::Warning));
        check(3, Some(Severity::Warning));
        check(6, Some(Severity::Invalid));
    }
}
