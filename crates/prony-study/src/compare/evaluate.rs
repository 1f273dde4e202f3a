//! From pairs of blocks to a comparison of each metric. Pure: numbers in, words out.

use prony_model::{
    ChangeInterval, ComparisonMethod, ComparisonOutcome, LookPlan, Metric, MetricComparison,
    words::percent_of,
};
use prony_stats::{
    Aim, Better, Comparison, Criteria, ERRORS_MAX, Errors, LEAST_PAIRS, Looks, NoVerdict, Quantile, Verdict,
    compare, compare_differences, holm, label_swap, look_level, median, pooled_differences, signed_rank_p,
};

use super::block::{Block, BlockPair};
use super::requests::{SideRequests, side_requests};

/// The criteria of a comparison; decided before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The metric that decides.
    pub primary: Metric,
    /// Whether a rate is a property of the servers: not where it was asked for.
    pub closed_loop: bool,
    /// 0.02 is 2 %.
    pub margin: f64,
    /// When it may be looked at.
    pub looks: Looks,
    /// Of the label swaps.
    pub seed: u64,
}

impl Question {
    /// The metric that decides where none is named: a rate where it is a property of the servers.
    pub fn usual_primary(closed_loop: bool) -> Metric {
        if closed_loop { Metric::Rate } else { Metric::P50 }
    }

    /// What is looked at, the primary metric first, CPU time last and where it is known.
    fn metrics(&self, pairs: &[BlockPair]) -> Vec<Metric> {
        let usual = [Metric::Rate, Metric::P50, Metric::P90, Metric::P99, Metric::Cpu];
        let mut blocks = pairs.iter().flat_map(|(a, b)| [a, b]);
        let knows_cpu = !pairs.is_empty() && blocks.all(|block| block.value(Metric::Cpu).is_some());
        let others = usual.into_iter().filter(move |metric| match metric {
            Metric::Rate => self.closed_loop,
            Metric::Cpu => knows_cpu,
            _ => true,
        });
        std::iter::once(self.primary).chain(others.filter(|metric| *metric != self.primary)).collect()
    }

    /// As stored in results.
    pub fn look_plan(&self) -> LookPlan {
        match self.looks {
            Looks::Once => LookPlan::Once,
            Looks::Sequential => LookPlan::Sequential,
        }
    }
}

/// Compares every metric; `forbidden` is the reason why there may be no verdict, if so: it must be given for fewer than
/// [`prony_stats::LEAST_PAIRS`] pairs. In a sequential comparison there are as many as at a look.
pub fn evaluate(pairs: &[BlockPair], question: &Question, forbidden: Option<&str>) -> Vec<MetricComparison> {
    let mut metrics: Vec<MetricComparison> =
        question.metrics(pairs).into_iter().map(|metric| evaluate_one(pairs, metric, question)).collect();
    // What a request costs is a question of its own.
    let is_family = |comparison: &&MetricComparison| comparison.primary || comparison.metric != Metric::Cpu;
    let family = metrics.iter().take_while(is_family).count();
    adjust(&mut metrics[1..family], look_level(question.looks, pairs.len()));
    let reason = forbidden.map(str::to_owned).or_else(|| refusal(pairs));
    if let Some(reason) = reason {
        for metric in &mut metrics {
            metric.outcome = ComparisonOutcome::NoVerdict { reason: reason.clone() };
            metric.differs = false;
        }
    }
    metrics
}

/// The primary metric alone: what a look at a sequential comparison asks.
pub(super) fn evaluate_primary(pairs: &[BlockPair], question: &Question) -> MetricComparison {
    evaluate_one(pairs, question.primary, question)
}

/// Whether a sequential comparison has its answer.
pub(super) fn is_final(comparison: &MetricComparison) -> bool {
    matches!(
        comparison.outcome,
        ComparisonOutcome::Faster | ComparisonOutcome::Slower | ComparisonOutcome::NoDifference
    )
}

/// The median change of `metric` so far, for people who wait.
pub fn estimate(pairs: &[BlockPair], metric: Metric) -> Option<f64> {
    let changes: Option<Vec<f64>> = pairs
        .iter()
        .map(|(a, b)| Some((b.value(metric)? / a.value(metric)?).ln()).filter(|change| change.is_finite()))
        .collect();
    median(&changes?).map(f64::exp_m1)
}

/// What is known of a metric while a comparison is on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoFar {
    /// The metric.
    pub metric: Metric,
    /// The medians of A and of B, in the metric's unit.
    pub sides: [Option<f64>; 2],
    /// The median change from A to B; 0.02 is 2 %.
    pub change: Option<f64>,
}

/// Every metric so far, for people who wait: without intervals and verdicts, which hold at planned looks only.
pub fn so_far(pairs: &[BlockPair], question: &Question) -> Vec<SoFar> {
    let of = |metric: Metric| {
        let side = |pick: fn(&BlockPair) -> &Block| {
            let values: Option<Vec<f64>> = pairs.iter().map(|pair| pick(pair).value(metric)).collect();
            median(&values?)
        };
        SoFar { metric, sides: [side(|pair| &pair.0), side(|pair| &pair.1)], change: estimate(pairs, metric) }
    };
    question.metrics(pairs).into_iter().map(of).collect()
}

/// What is left for too few runs: how they differ, and not whether another would.
pub(crate) fn withhold(comparison: &mut MetricComparison) {
    comparison.method = ComparisonMethod::SingleRuns;
    (comparison.p, comparison.spread, comparison.interval, comparison.differs) = (None, None, None, false);
}

fn evaluate_one(pairs: &[BlockPair], metric: Metric, question: &Question) -> MetricComparison {
    let clean = || pairs.iter().filter(|(a, b)| !(a.has_client_tail || b.has_client_tail));
    if !metric.is_tail() || clean().count() == pairs.len() {
        return evaluate_pairs(pairs, metric, question);
    }
    let kept: Vec<BlockPair> = clean().cloned().collect();
    let mut comparison = evaluate_pairs(&kept, metric, question);
    if kept.len() < LEAST_PAIRS {
        withhold(&mut comparison);
        let reason = format!(
            "the client made the slowest responses in {} of {} pairs; {LEAST_PAIRS} others are needed",
            pairs.len() - kept.len(),
            pairs.len()
        );
        comparison.outcome = ComparisonOutcome::NoVerdict { reason };
    }
    comparison
}

fn evaluate_pairs(pairs: &[BlockPair], metric: Metric, question: &Question) -> MetricComparison {
    let side = |pick: fn(&BlockPair) -> &Block| -> Option<f64> {
        median(&pairs.iter().map(|pair| pick(pair).value(metric)).collect::<Option<Vec<f64>>>()?)
    };
    let mut comparison = MetricComparison {
        metric,
        primary: metric == question.primary,
        method: ComparisonMethod::SignedRanks,
        pairs: pairs.len() as u64,
        a: side(|pair| &pair.0),
        b: side(|pair| &pair.1),
        change: estimate(pairs, metric),
        interval: None,
        spread: None,
        p: None,
        differs: false,
        outcome: ComparisonOutcome::NoVerdict { reason: unknown(metric).to_owned() },
    };
    let quantile = metric.quantile().and_then(|(_, q)| Quantile::new(q).ok());
    match quantile.filter(|q| is_out_of_reach(pairs, *q)) {
        Some(q) => by_swaps(pairs, q, question, &mut comparison),
        None => by_ranks(pairs, question, &mut comparison),
    }
    comparison
}

/// Why there is nothing to compare.
fn unknown(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "the servers' CPU time is not known: they must run on this machine",
        _ => "a block had no good response",
    }
}

/// Whether some block has too few responses for a quantile of its own.
fn is_out_of_reach(pairs: &[BlockPair], q: Quantile) -> bool {
    let least = pairs.iter().flat_map(|(a, b)| [a, b]).map(|block| block.responses.count()).min();
    least.unwrap_or_default() < q.samples_needed()
}

fn by_ranks(pairs: &[BlockPair], question: &Question, comparison: &mut MetricComparison) {
    let Some((found, _)) = rank_comparison(pairs, comparison.metric, question) else { return };
    let differences = differences(pairs, comparison.metric).unwrap_or_default();
    comparison.change = Some(found.change);
    comparison.interval = found.interval.map(|(low, high)| ChangeInterval { low, high });
    comparison.spread = Some(found.spread);
    comparison.p = Some(signed_rank_p(&differences));
    comparison.differs = found.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    comparison.outcome = outcome(&found);
    if found.interval.is_some_and(|(low, high)| has_no_width(low, high)) {
        comparison.differs = false;
        comparison.outcome = ComparisonOutcome::NoVerdict {
            reason: "all pairs show the same ratio: the figure moves in steps".to_owned(),
        };
    }
}

/// The comparison of `metric` pair by pair, and the mean of its differences; `None` where a block has no value.
pub(super) fn rank_comparison(
    pairs: &[BlockPair],
    metric: Metric,
    question: &Question,
) -> Option<(Comparison, f64)> {
    let differences = differences(pairs, metric)?;
    let better = if metric == Metric::Rate { Better::Higher } else { Better::Lower };
    let criteria = Criteria { better, margin: question.margin, looks: question.looks };
    let aim = if metric.quantile().is_none() { Aim::Mean } else { Aim::Typical };
    let blocks = pairs.iter().flat_map(|(a, b)| [a, b]);
    let resolution = blocks.map(|block| block.resolution(metric)).fold(0.0, f64::max);
    // Errors are evaluated for all metrics together.
    let clean = [Errors { failed: 0, requests: 1 }; 2];
    let found = compare_differences(&differences, aim, resolution, clean, criteria).ok()?;
    Some((found, differences.iter().sum::<f64>() / differences.len() as f64))
}

/// ln(B/A) of each pair: of rates and costs as each pair contributes to that of the sides.
fn differences(pairs: &[BlockPair], metric: Metric) -> Option<Vec<f64>> {
    let values = || pairs.iter().map(|(a, b)| Some((a.value(metric)?, b.value(metric)?)));
    if metric.quantile().is_none() {
        let weighted = pairs.iter().map(|(a, b)| Some((a.weighted(metric)?, b.weighted(metric)?)));
        return pooled_differences(&weighted.collect::<Option<Vec<_>>>()?);
    }
    values().map(|pair| pair.map(|(a, b)| (b / a).ln())).collect()
}

/// Whether an interval pretends to know a change exactly.
pub(super) fn has_no_width(low: f64, high: f64) -> bool {
    high - low < 1e-9
}

fn by_swaps(pairs: &[BlockPair], q: Quantile, question: &Question, comparison: &mut MetricComparison) {
    let blocks: Vec<_> = pairs.iter().map(|(a, b)| (a.responses.clone(), b.responses.clone())).collect();
    comparison.method = ComparisonMethod::LabelSwaps;
    let merged = |pick: fn(&BlockPair) -> &Block| {
        let mut all = prony_stats::Histogram::new();
        for pair in pairs {
            all.add_sparse(&pick(pair).responses);
        }
        all.value_at_quantile(q.value()).map(|nanos| nanos as f64 / 1e6)
    };
    (comparison.a, comparison.b) = (merged(|pair| &pair.0), merged(|pair| &pair.1));
    let total = |pick: fn(&BlockPair) -> &Block| -> u64 {
        pairs.iter().map(|pair| pick(pair).responses.count()).sum()
    };
    if total(|pair| &pair.0).min(total(|pair| &pair.1)) < q.samples_needed() {
        let reason = format!("all blocks together have too few responses for {}", comparison.metric.name());
        (comparison.a, comparison.b, comparison.change) = (None, None, None);
        comparison.outcome = ComparisonOutcome::NoVerdict { reason };
        return;
    }
    let Some(found) = label_swap(&blocks, q, question.seed) else { return };
    comparison.change = Some(found.difference.exp_m1());
    comparison.p = Some(found.p);
    comparison.differs = found.p < look_level(question.looks, pairs.len());
    comparison.outcome = match (comparison.differs, found.difference > 0.0) {
        (true, true) => ComparisonOutcome::SlowerSizeUncertain,
        (true, false) => ComparisonOutcome::FasterSizeUncertain,
        (false, _) => ComparisonOutcome::TooNoisy { smallest_detectable: None, pairs_needed: None },
    };
}

/// Differences that only many looks at many metrics show are not claimed.
fn adjust(others: &mut [MetricComparison], level: f64) {
    let probabilities: Vec<f64> = others.iter().map(|comparison| comparison.p.unwrap_or(1.0)).collect();
    for (comparison, p) in others.iter_mut().zip(holm(&probabilities)) {
        comparison.p = comparison.p.map(|_| p);
        let is_claimed = comparison.outcome.is_faster() || comparison.outcome.is_slower();
        if p >= level {
            comparison.differs = false;
            if is_claimed {
                comparison.outcome =
                    ComparisonOutcome::TooNoisy { smallest_detectable: None, pairs_needed: None };
            }
        }
    }
}

fn outcome(found: &Comparison) -> ComparisonOutcome {
    match found.verdict {
        Verdict::Faster => ComparisonOutcome::Faster,
        Verdict::Slower => ComparisonOutcome::Slower,
        Verdict::FasterSizeUncertain => ComparisonOutcome::FasterSizeUncertain,
        Verdict::SlowerSizeUncertain => ComparisonOutcome::SlowerSizeUncertain,
        Verdict::NoDifference { .. } => ComparisonOutcome::NoDifference,
        Verdict::TooNoisy { smallest_detectable, pairs_needed } => ComparisonOutcome::TooNoisy {
            smallest_detectable: Some(smallest_detectable),
            pairs_needed: Some(pairs_needed),
        },
        Verdict::Refused { reason } => ComparisonOutcome::NoVerdict { reason: reason.to_string() },
    }
}

/// Why sides that fail like these must not be compared.
fn refusal(pairs: &[BlockPair]) -> Option<String> {
    let [a, b] = side_requests(pairs);
    let shares = || format!("{} and {} requests failed", a.failed_share("A"), b.failed_share("B"));
    // Any values will do: only the verdict on the errors counts.
    let criteria = Criteria { better: Better::Lower, margin: 1.0, looks: Looks::Once };
    let alike = [(1.0, 1.0); prony_stats::LEAST_PAIRS];
    match compare(&alike, [a.errors(), b.errors()], criteria).ok()?.verdict {
        Verdict::Refused { reason: NoVerdict::TooManyErrors { .. } } => {
            return Some(format!("{}; 1 % is the most", shares()));
        }
        Verdict::Refused { reason: NoVerdict::ErrorsDiffer { .. } } => {
            return Some(format!("{}: they did not do the same", shares()));
        }
        _ => {}
    }
    let unanswered = |side: &SideRequests| side.unanswered as f64 > ERRORS_MAX * side.requests as f64;
    (unanswered(&a) || unanswered(&b)).then(|| {
        format!(
            "{} of A's and {} of B's requests had no answer when their blocks ended; 1 % is the most: use a longer \
             --drain, or offer less",
            percent_of(a.unanswered, a.requests),
            percent_of(b.unanswered, b.requests)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::block::fixtures::block;
    use super::*;

    const QUESTION: Question =
        Question { primary: Metric::P50, closed_loop: true, margin: 0.02, looks: Looks::Once, seed: 7 };

    /// Pairs of blocks of so many responses around a millisecond, B's slower by `factor`, with some noise.
    fn pairs(count: u64, responses: u64, factor: f64, noise: f64) -> Vec<BlockPair> {
        (0..count)
            .map(|k| {
                let jitter = 1.0 + noise * ((k * 7 % count) as f64 / count as f64 - 0.5);
                (block(responses, 1.0), block(responses, factor * jitter))
            })
            .collect()
    }

    fn words(metrics: &[MetricComparison]) -> Vec<(&'static str, ComparisonOutcome)> {
        metrics.iter().map(|comparison| (comparison.metric.name(), comparison.outcome.clone())).collect()
    }

    #[test]
    fn three_times_as_slow() {
        let metrics = evaluate(&pairs(20, 2000, 3.0, 0.02), &QUESTION, None);
        let names: Vec<&str> = metrics.iter().map(|comparison| comparison.metric.name()).collect();
        assert_eq!(names, ["p50", "rate", "p90", "p99"]);
        assert!(
            metrics.iter().all(|comparison| comparison.outcome == ComparisonOutcome::Slower),
            "{:?}",
            words(&metrics)
        );
        assert!(metrics[0].primary && metrics[1..].iter().all(|comparison| !comparison.primary));
        assert!(metrics[0].change.is_some_and(|change| (change - 2.0).abs() < 0.1), "{metrics:?}");
    }

    #[test]
    fn the_same_and_noise() {
        let metrics = evaluate(&pairs(20, 2000, 1.0, 0.01), &QUESTION, None);
        assert_eq!(metrics[0].outcome, ComparisonOutcome::NoDifference, "{:?}", words(&metrics));
        let metrics = evaluate(&pairs(20, 2000, 1.0, 0.9), &QUESTION, None);
        assert!(
            matches!(metrics[0].outcome, ComparisonOutcome::TooNoisy { pairs_needed: Some(100..), .. }),
            "{:?}",
            words(&metrics)
        );
    }

    #[test]
    fn a_tail_that_no_block_reaches_is_evaluated_by_swaps() {
        let metrics = evaluate(&pairs(20, 200, 3.0, 0.02), &QUESTION, None);
        let tail =
            metrics.iter().find(|comparison| comparison.metric == Metric::P99).expect("it is looked at");
        assert_eq!(
            (tail.method, &tail.outcome),
            (ComparisonMethod::LabelSwaps, &ComparisonOutcome::SlowerSizeUncertain)
        );
        let metrics = evaluate(&pairs(20, 30, 3.0, 0.02), &QUESTION, None);
        let tail =
            metrics.iter().find(|comparison| comparison.metric == Metric::P99).expect("it is looked at");
        assert!(matches!(tail.outcome, ComparisonOutcome::NoVerdict { .. }), "{tail:?}");
    }

    #[test]
    fn a_tail_that_the_client_made_leaves_the_rest_to_be_evaluated() {
        // B's slowest are the client's in the first of 20 pairs, and three times A's; all else is the same.
        let with = |spoiled: usize| {
            let mut pairs = pairs(20, 2000, 1.0, 0.02);
            for pair in &mut pairs[..spoiled] {
                *pair = (block(2000, 1.0), Block { has_client_tail: true, ..block(2000, 3.0) });
            }
            evaluate(&pairs, &QUESTION, None)
        };
        let tail = |metrics: &[MetricComparison]| {
            metrics
                .iter()
                .find(|comparison| comparison.metric == Metric::P99)
                .cloned()
                .expect("it is compared")
        };
        let metrics = with(4);
        assert_eq!((metrics[0].pairs, tail(&metrics).pairs), (20, 16), "{:?}", words(&metrics));
        assert!(tail(&metrics).change.is_some_and(|change| change.abs() < 0.05), "{:?}", tail(&metrics));
        let metrics = with(15);
        let ComparisonOutcome::NoVerdict { reason } = tail(&metrics).outcome else {
            panic!("{:?}", tail(&metrics))
        };
        assert_eq!(reason, "the client made the slowest responses in 15 of 20 pairs; 6 others are needed");
        assert!(!matches!(metrics[0].outcome, ComparisonOutcome::NoVerdict { .. }), "{:?}", words(&metrics));
    }

    #[test]
    fn failing_servers_get_no_verdict() {
        let mut failing = pairs(20, 2000, 3.0, 0.02);
        for pair in &mut failing {
            pair.1.summary.failed = 100;
        }
        for comparison in evaluate(&failing, &QUESTION, None) {
            let ComparisonOutcome::NoVerdict { reason } = &comparison.outcome else {
                panic!("{comparison:?}")
            };
            assert!(reason.contains("5 % of B's"), "{reason}");
            assert!(!comparison.differs && comparison.change.is_some(), "{comparison:?}");
        }
    }

    #[test]
    fn cpu_time_is_evaluated_by_itself() {
        let mut pairs = pairs(20, 2000, 1.0, 0.9);
        for (k, (a, b)) in pairs.iter_mut().enumerate() {
            for (block, cost) in [(a, 50.0), (b, 56.0 + 0.1 * (k * 7 % 20) as f64)] {
                (block.summary.cpu_per_request_us, block.cpu_requests) = (Some(cost), 2000);
            }
        }
        let metrics = evaluate(&pairs, &QUESTION, None);
        let cpu = metrics.last().expect("metrics");
        assert_eq!((cpu.metric, &cpu.outcome), (Metric::Cpu, &ComparisonOutcome::Slower), "{cpu:?}");
        assert!(cpu.change.is_some_and(|change| (0.12..0.17).contains(&change)), "{cpu:?}");
        assert!(matches!(metrics[0].outcome, ComparisonOutcome::TooNoisy { .. }), "{:?}", metrics[0]);
        pairs[3].0.summary.cpu_per_request_us = None;
        let metrics = evaluate(&pairs, &QUESTION, None);
        assert!(metrics.iter().all(|comparison| comparison.metric != Metric::Cpu), "{:?}", words(&metrics));
        let metrics = evaluate(&pairs, &Question { primary: Metric::Cpu, ..QUESTION }, None);
        let ComparisonOutcome::NoVerdict { reason } = &metrics[0].outcome else { panic!("{:?}", metrics[0]) };
        assert!(reason.contains("must run on this machine"), "{reason}");
    }

    #[test]
    fn an_asked_rate_is_no_metric() {
        let metrics =
            evaluate(&pairs(20, 2000, 1.0, 0.01), &Question { closed_loop: false, ..QUESTION }, None);
        assert!(metrics.iter().all(|comparison| comparison.metric != Metric::Rate));
    }

    #[test]
    fn a_look_is_final_once_it_has_an_answer() {
        let question = Question { looks: Looks::Sequential, ..QUESTION };
        let first = evaluate_primary(&pairs(10, 2000, 3.0, 0.02), &question);
        assert!(first.interval.is_none() && !is_final(&first), "{first:?}");
        let second = evaluate_primary(&pairs(16, 2000, 3.0, 0.02), &question);
        assert!(is_final(&second), "{second:?}");
    }

    #[test]
    fn the_others_pay_for_their_number() {
        // Found by its own interval, and no longer when three were looked at.
        let mut metrics = evaluate(&pairs(20, 2000, 3.0, 0.02), &QUESTION, None);
        for comparison in &mut metrics[1..] {
            comparison.p = Some(0.04);
        }
        adjust(&mut metrics[1..], 0.05);
        assert!(
            metrics[1..].iter().all(|comparison| !comparison.differs
                && matches!(comparison.outcome, ComparisonOutcome::TooNoisy { .. })),
            "{:?}",
            words(&metrics)
        );
    }
}
