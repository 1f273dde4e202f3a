//! What speaks against a comparison, and whether there is a verdict in spite of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use prony_model::{ComparisonOutcome, Evidence, Finding, FindingCode, Metric, MetricComparison, Severity};
use prony_stats::{LEAST_PAIRS, Looks, signed_rank_p};

use super::block::{Block, BlockPair};
use super::pairs::{LiveComparison, Measured};

/// The share of blocks made by the client beyond which there is no verdict: fewer move no median of ranks by much.
const CLIENT_BLOCKS_MAX: f64 = 0.1;
/// The share of the time that the client may wait for a core: warn, invalid. As for a run (docs/findings.md).
const RUN_QUEUE_SHARE: (f64, f64) = (0.01, 0.05);
/// A wait beyond RUN_QUEUE_SHARE leaves a direction as long as A and B had it alike: up to this share of the time,
/// with a difference of at most so much of it, and none that chance makes as rarely as this.
const EVEN_WAIT: EvenWait = EvenWait { share: 0.5, difference: 0.25, p: 0.1 };
/// What to do about a client that is in the way.
const GIVE_ROOM: &str = "leave the client a core of its own (`taskset`, or the servers on another machine), or \
                         reduce the load: fewer --connections, or a --rate that both can sustain";

struct EvenWait {
    share: f64,
    difference: f64,
    p: f64,
}

/// What speaks against a comparison.
pub(super) struct Doubt {
    /// The worst first.
    pub(super) findings: Vec<Finding>,
    /// Why there is no verdict, if so.
    pub(super) forbidden: Option<String>,
    /// Whether that is the client, which has no part in the server's CPU time.
    pub(super) is_of_client: bool,
    /// Why there is no verdict on the slowest responses, if so.
    tails: Option<FindingCode>,
    /// The client waited so long for a core that every difference of times is diluted: the direction stands, alone.
    is_diluted: bool,
}

impl Doubt {
    /// Looks for it in `measured`, of which `counted` are the pairs that count.
    pub(super) fn of(
        measured: &Measured,
        counted: &[BlockPair],
        live: &LiveComparison,
        primary: Metric,
    ) -> Self {
        let fault = made_by_client(counted, Block::clients_fault, "the numbers", Severity::Invalid);
        let severity = if primary.is_tail() { Severity::Invalid } else { Severity::Warning };
        let tail = made_by_client(counted, Block::clients_tail, "the slowest responses", severity);
        let tails = tail.as_ref().filter(|tail| tail.severity > Severity::Note).map(|tail| tail.code);
        let waits = Waits::of(counted);
        let mut findings: Vec<Finding> =
            [fault, tail, waits.as_ref().and_then(Waits::finding), disturbed(measured, counted.len())]
                .into_iter()
                .flatten()
                .chain(measured.interrupted.then(|| interrupted(counted.len())))
                .collect();
        sort(&mut findings);
        let not_measured = not_measured(measured, counted.len(), live);
        let worst = findings.iter().find(|finding| finding.severity == Severity::Invalid);
        let is_of_client = not_measured.is_none() && worst.is_some();
        let forbidden = not_measured.or_else(|| worst.map(|worst| because(worst.code)));
        let is_diluted = waits.is_some_and(|waits| waits.share > RUN_QUEUE_SHARE.1);
        Self { findings, forbidden, is_of_client, tails, is_diluted }
    }

    /// Adds what the figures themselves show.
    pub(super) fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        sort(&mut self.findings);
    }

    /// Weakens the verdicts on times as far as a client that waited requires.
    pub(super) fn dilute(&self, metrics: &mut [MetricComparison]) {
        if !self.is_diluted {
            return;
        }
        for comparison in metrics.iter_mut().filter(|comparison| comparison.metric != Metric::Cpu) {
            comparison.outcome =
                match std::mem::replace(&mut comparison.outcome, ComparisonOutcome::NoDifference) {
                    ComparisonOutcome::Faster => ComparisonOutcome::FasterSizeUncertain,
                    ComparisonOutcome::Slower => ComparisonOutcome::SlowerSizeUncertain,
                    ComparisonOutcome::NoDifference => ComparisonOutcome::NoVerdict {
                        reason: "the client's waiting may hide a difference".to_owned(),
                    },
                    other => other,
                };
        }
    }

    /// Takes the verdicts on tails back that the client made.
    pub(super) fn silence_tails(&self, metrics: &mut [MetricComparison]) {
        let Some(code) = self.tails else { return };
        for comparison in metrics.iter_mut().filter(|comparison| comparison.metric.is_tail()) {
            comparison.differs = false;
            comparison.outcome = ComparisonOutcome::NoVerdict { reason: because(code) };
        }
    }
}

fn because(code: FindingCode) -> String {
    format!("the client is in the way: {}", code.name())
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (Reverse(finding.severity), finding.code));
}

/// Why there is too little for a verdict, if so.
fn not_measured(measured: &Measured, counted: usize, live: &LiveComparison) -> Option<String> {
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
        message:
            "the comparison was stopped by hand, and stopping early biases the result: stopping at the first \
                  difference finds one in a fifth of comparisons of a server with itself"
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
    let is_much = made as f64 > CLIENT_BLOCKS_MAX * all as f64;
    Some(Finding {
        code,
        severity: if is_much { worst } else { Severity::Note },
        evidence: vec![
            Evidence::new("client_blocks", made as f64, "count"),
            Evidence::new("blocks", all as f64, "count"),
        ],
        message: format!("the client dominated {what} in {made} of {all} blocks"),
        advice: if is_much { GIVE_ROOM } else { "so few decide nothing: the pairs count all the same" }
            .to_owned(),
    })
}

/// How long the client waited for a core, all blocks together.
struct Waits {
    /// Of all measured time.
    share: f64,
    /// Of the time of A's blocks, and of B's.
    sides: [f64; 2],
    /// How rarely chance alone makes the two differ as much.
    p: f64,
}

impl Waits {
    fn of(counted: &[BlockPair]) -> Option<Self> {
        let share = |block: &Block| {
            Some(block.summary.run_queue_wait_s? / block.summary.measured_s.max(f64::MIN_POSITIVE))
        };
        let pairs: Vec<[f64; 2]> = counted.iter().filter_map(|(a, b)| Some([share(a)?, share(b)?])).collect();
        if pairs.is_empty() {
            return None;
        }
        let sides = [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).sum::<f64>() / pairs.len() as f64);
        let differences: Vec<f64> = pairs.iter().map(|[a, b]| b - a).collect();
        Some(Self { share: f64::midpoint(sides[0], sides[1]), sides, p: signed_rank_p(&differences) })
    }

    /// Whether A and B met the same disturbance, so that it makes neither of them the faster one.
    fn is_even(&self) -> bool {
        let [a, b] = self.sides;
        self.share <= EVEN_WAIT.share
            && (a - b).abs() <= EVEN_WAIT.difference * self.share
            && self.p >= EVEN_WAIT.p
    }

    fn finding(&self) -> Option<Finding> {
        let severity = match self.share {
            share if share > RUN_QUEUE_SHARE.1 && !self.is_even() => Severity::Invalid,
            share if share > RUN_QUEUE_SHARE.0 => Severity::Warning,
            _ => return None,
        };
        let [a, b] = self.sides;
        let both = format!("{:.1} % beside A, {:.1} % beside B", 100.0 * a, 100.0 * b);
        let so = match severity {
            Severity::Warning if self.share > RUN_QUEUE_SHARE.1 => {
                ", as much beside both: a direction can be trusted, and the true difference may be greater"
            }
            _ => "",
        };
        Some(Finding {
            code: FindingCode::RunQueueWait,
            severity,
            evidence: vec![
                Evidence::new("run_queue_wait", self.share, "share"),
                Evidence::new("run_queue_wait_a", a, "share"),
                Evidence::new("run_queue_wait_b", b, "share"),
            ],
            message: format!(
                "the client waited {:.1} % of the time for a CPU that other processes were using ({both}){so}",
                100.0 * self.share
            ),
            advice: GIVE_ROOM.to_owned(),
        })
    }
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
    use prony_model::{ComparedBlock, ComparisonMethod, HistogramData};
    use prony_stats::Histogram;

    use super::*;

    /// A block of 200 ms without a fault.
    fn block() -> Block {
        let responses: Histogram = (0..100).map(|k| 1_000_000 + k).collect();
        let summary = ComparedBlock {
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
        Block {
            summary,
            responses: responses.to_sparse(),
            connections: 4,
            cpu_requests: 0,
            has_client_tail: false,
        }
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
            let pairs = pairs(count, |block| block.summary.invalid = vec![FindingCode::ClientCpu]);
            let found = made_by_client(&pairs, Block::clients_fault, "the numbers", Severity::Invalid);
            assert_eq!(found.map(|found| found.severity), expected, "{count}");
        };
        check(0, None);
        check(4, Some(Severity::Note));
        check(5, Some(Severity::Invalid));
    }

    fn wait(pairs: &[BlockPair]) -> Option<Severity> {
        Waits::of(pairs)?.finding().map(|found| found.severity)
    }

    /// Twenty pairs in which the client waited for these shares of 200 ms, and for a little more now and then.
    fn pairs_with_waits(a: f64, b: f64) -> Vec<BlockPair> {
        let mut pairs = pairs(0, |_| {});
        for (index, pair) in pairs.iter_mut().enumerate() {
            let more = |turn: usize| 0.02 * ((index * turn) % 5) as f64;
            pair.0.summary.run_queue_wait_s = Some(0.2 * (a + more(3)));
            pair.1.summary.run_queue_wait_s = Some(0.2 * (b + more(2)));
        }
        pairs
    }

    #[test]
    fn waiting_is_evaluated_over_all_blocks() {
        let check = |count: usize, expected: Option<Severity>| {
            let pairs = pairs(count, |block| block.summary.run_queue_wait_s = Some(0.1));
            assert_eq!(wait(&pairs), expected, "{count}");
        };
        // 0.1 s of 8 s each.
        check(0, None);
        check(1, Some(Severity::Warning));
        check(3, Some(Severity::Warning));
        check(8, Some(Severity::Invalid));
    }

    #[test]
    fn a_wait_that_both_sides_had_alike_leaves_a_direction() {
        let check = |a: f64, b: f64, expected: Severity| {
            assert_eq!(wait(&pairs_with_waits(a, b)), Some(expected), "{a} {b}");
        };
        check(0.2, 0.2, Severity::Warning);
        check(0.2, 0.3, Severity::Invalid);
        check(0.3, 0.2, Severity::Invalid);
        check(0.55, 0.55, Severity::Invalid);
        assert!(Waits::of(&[]).is_none());
    }

    fn compared(metric: Metric, outcome: ComparisonOutcome) -> MetricComparison {
        MetricComparison {
            metric,
            primary: true,
            method: ComparisonMethod::SignedRanks,
            pairs: 20,
            a: Some(1.0),
            b: Some(1.1),
            change: Some(0.1),
            interval: None,
            spread: None,
            p: None,
            differs: true,
            outcome,
        }
    }

    #[test]
    fn of_diluted_times_only_directions_are_reported() {
        use ComparisonOutcome::{
            Faster, FasterSizeUncertain, NoDifference, NoVerdict, Slower, SlowerSizeUncertain,
        };
        let doubt = |is_diluted| Doubt {
            findings: Vec::new(),
            forbidden: None,
            is_of_client: false,
            tails: None,
            is_diluted,
        };
        let diluted = |metric, outcome: &ComparisonOutcome, is_diluted| {
            let mut comparisons = [compared(metric, outcome.clone())];
            doubt(is_diluted).dilute(&mut comparisons);
            comparisons[0].outcome.clone()
        };
        assert_eq!(diluted(Metric::P50, &Faster, true), FasterSizeUncertain);
        assert_eq!(diluted(Metric::Rate, &Slower, true), SlowerSizeUncertain);
        assert!(matches!(diluted(Metric::P50, &NoDifference, true), NoVerdict { .. }));
        assert_eq!(diluted(Metric::Cpu, &NoDifference, true), NoDifference);
        assert_eq!(diluted(Metric::P50, &Slower, false), Slower);
    }
}
