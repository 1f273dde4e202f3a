//! What is wrong with the figures of a comparison, seen from the figures themselves.

use prony_model::{ComparisonOutcome, Evidence, Finding, FindingCode, Metric, MetricComparison, Severity};
use prony_stats::median;

use super::block::BlockPair;
use super::evaluate::{Question, has_no_width, rank_comparison};

/// Requests of a block that keep the mean of a few from deciding it.
pub(super) const LEAST_REQUESTS: f64 = 100.0;
/// Rounds of a block that keep its last one, which is not followed by others, from deciding it.
pub(super) const LEAST_ROUNDS: f64 = 20.0;

/// Every doubt about `metrics`, which [`evaluate`](super::evaluate()) made of `pairs`.
pub(super) fn figure_findings(
    pairs: &[BlockPair],
    metrics: &[MetricComparison],
    question: &Question,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = metrics.iter().filter_map(zero_width).collect();
    found.extend(question.closed_loop.then(|| contradiction(metrics)).flatten());
    found.extend(uneven(pairs, metrics, question));
    found.extend(question.closed_loop.then(|| few_rounds(pairs)).flatten());
    found
}

/// A figure that moves in steps too coarse to be compared.
fn zero_width(comparison: &MetricComparison) -> Option<Finding> {
    let interval = comparison.interval.filter(|interval| has_no_width(interval.low, interval.high))?;
    Some(Finding {
        code: FindingCode::ZeroWidthInterval,
        severity: Severity::Warning,
        evidence: vec![
            Evidence::new("change", interval.low, "share"),
            Evidence::new("pairs", comparison.pairs as f64, "count"),
        ],
        message: format!(
            "all {} pairs show the same {} ratio: the figure moves in steps, and the interval has no width",
            comparison.pairs,
            comparison.metric.name()
        ),
        advice: "measure longer blocks (--block 2s), or more connections".to_owned(),
    })
}

/// In a closed loop more responses per second mean shorter ones.
fn contradiction(metrics: &[MetricComparison]) -> Option<Finding> {
    let change = |metric| {
        let comparison =
            metrics.iter().find(|comparison| comparison.metric == metric && comparison.differs)?;
        comparison.change
    };
    let (rate, p50) = (change(Metric::Rate)?, change(Metric::P50)?);
    (rate.signum() == p50.signum()).then(|| {
        let words = if rate > 0.0 { ("faster", "slower") } else { ("slower", "faster") };
        Finding {
            code: FindingCode::ContradictingFigures,
            severity: Severity::Warning,
            evidence: vec![Evidence::new("rate", rate, "share"), Evidence::new("p50", p50, "share")],
            message: format!(
                "the rate says {} and the median response time says {}: in a closed loop the rate follows the mean \
                 response time, so a few slow responses decide one of them",
                words.0, words.1
            ),
            advice: "look at the whole distributions (prony run URL --json) before you choose; a fixed load \
                     (--rate) with --primary p99 compares the slow ones"
                .to_owned(),
        }
    })
}

/// A mean that the usual pair does not show.
fn uneven(pairs: &[BlockPair], metrics: &[MetricComparison], question: &Question) -> Option<Finding> {
    let has_verdict =
        |comparison: &&MetricComparison| !matches!(comparison.outcome, ComparisonOutcome::NoVerdict { .. });
    let comparison = metrics.iter().filter(has_verdict).find(|comparison| comparison.primary)?;
    let (found, mean) = rank_comparison(pairs, comparison.metric, question)?;
    found.is_uneven.then(|| Finding {
        code: FindingCode::UnevenPairs,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("usual_pair", found.change, "share"),
            Evidence::new("all_pairs", mean.exp_m1(), "share"),
        ],
        message: format!(
            "the usual pair changed by {:+.1} %, all blocks together by {:+.1} %: a few blocks were very different, \
             and the interval was widened to hold both",
            100.0 * found.change,
            100.0 * mean.exp_m1()
        ),
        advice: "if a server stops now and then, make blocks longer than it takes (--block 2s) and pairs many \
                 (--pairs 40); if the machine was disturbed, compare again"
            .to_owned(),
    })
}

/// Blocks too short for what they hold.
fn few_rounds(pairs: &[BlockPair]) -> Option<Finding> {
    let blocks = || pairs.iter().flat_map(|(a, b)| [a, b]);
    let requests = median(&blocks().map(|block| block.responses.count() as f64).collect::<Vec<_>>())?;
    let rounds = median(&blocks().filter_map(super::Block::rounds).collect::<Vec<_>>())?;
    (requests < 0.9 * LEAST_REQUESTS || rounds < 0.9 * LEAST_ROUNDS).then(|| Finding {
        code: FindingCode::FewRounds,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("requests_per_block", requests, "count"),
            Evidence::new("rounds_per_block", rounds, "count"),
        ],
        message: format!(
            "the usual block held {requests:.0} requests and {rounds:.1} rounds of its connections; {LEAST_REQUESTS} \
             and {LEAST_ROUNDS} are better"
        ),
        advice: "make blocks longer (--block 5s) or connections more (-c)".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use prony_model::ChangeInterval;
    use prony_stats::Looks;

    use super::super::block::fixtures::block;
    use super::super::evaluate::evaluate;
    use super::*;

    const QUESTION: Question =
        Question { primary: Metric::Rate, closed_loop: true, margin: 0.02, looks: Looks::Once, seed: 7 };

    fn codes(found: &[Finding]) -> Vec<FindingCode> {
        found.iter().map(|finding| finding.code).collect()
    }

    fn pairs(change: impl Fn(u64, &mut super::super::Block)) -> Vec<BlockPair> {
        (0..20)
            .map(|k| {
                let mut b = block(1000, 1.0 + 0.001 * (k * 7 % 20) as f64);
                change(k, &mut b);
                (block(1000, 1.0), b)
            })
            .collect()
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        let pairs = pairs(|_, _| {});
        let metrics = evaluate(&pairs, &QUESTION, None);
        assert_eq!(codes(&figure_findings(&pairs, &metrics, &QUESTION)), []);
    }

    /// Two servers of 39.2 and 40.8 ms whose blocks held as many rounds were "no difference, 0 % [0 %, 0 %]".
    #[test]
    fn an_interval_without_width_is_no_answer() {
        let pairs = pairs(|_, block| block.summary.whole_rounds_per_s = Some(1000.0));
        let metrics = evaluate(&pairs, &QUESTION, None);
        assert!(matches!(metrics[0].outcome, ComparisonOutcome::NoVerdict { .. }), "{:?}", metrics[0]);
        assert_eq!(codes(&figure_findings(&pairs, &metrics, &QUESTION)), [FindingCode::ZeroWidthInterval]);
    }

    #[test]
    fn faster_and_slower_at_once() {
        let pairs = pairs(|k, block| block.summary.whole_rounds_per_s = Some(1500.0 + k as f64));
        let mut metrics = evaluate(&pairs, &QUESTION, None);
        for comparison in metrics.iter_mut().filter(|comparison| comparison.metric == Metric::P50) {
            comparison.differs = true;
            comparison.change = Some(0.026);
            comparison.interval = Some(ChangeInterval { low: 0.02, high: 0.03 });
        }
        assert_eq!(codes(&figure_findings(&pairs, &metrics, &QUESTION)), [FindingCode::ContradictingFigures]);
    }

    #[test]
    fn a_server_that_stops_now_and_then() {
        let pairs = pairs(|k, block| {
            let factor = if k % 10 == 0 { 0.2 } else { 1.03 };
            block.summary.whole_rounds_per_s = Some(factor * (1000.0 + k as f64));
        });
        let metrics = evaluate(&pairs, &QUESTION, None);
        assert!(!metrics[0].outcome.is_faster(), "{:?}", metrics[0]);
        assert!(codes(&figure_findings(&pairs, &metrics, &QUESTION)).contains(&FindingCode::UnevenPairs));
    }

    #[test]
    fn short_blocks_are_named() {
        let mut pairs = pairs(|_, _| {});
        for (a, b) in &mut pairs {
            (a.summary.mean_response_ms, b.summary.mean_response_ms) = (Some(98.0), Some(100.5));
        }
        let metrics = evaluate(&pairs, &QUESTION, None);
        let found = figure_findings(&pairs, &metrics, &QUESTION);
        assert_eq!(codes(&found), [FindingCode::FewRounds]);
        assert!(found[0].message.contains("2.0 rounds"), "{}", found[0].message);
    }
}
