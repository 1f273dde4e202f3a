//! A comparison while it is on: how many pairs are measured, what is being loaded, and how B differs so far. No verdict and
//! no interval: they hold at the end, or at the looks that were planned, and not for anyone who stops when it looks good.

use std::time::Duration;

use prony_model::{Metric, RunPlan};

use super::{Block, bar, cut, fitted, hint, share};
use crate::compare::{name, value};
use crate::number::{or_dash, rate, seconds, signed_percent};
use crate::page::Page;
use crate::{Style, facts};

/// Columns of a metric's name,
const METRIC: usize = 20;
/// and of each of its numbers.
const NUMBER: usize = 14;

/// What is known of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricSoFar {
    /// The metric.
    pub metric: Metric,
    /// The medians of A and of B, in the metric's unit.
    pub sides: [Option<f64>; 2],
    /// The median change from A to B; 0.02 is 2 %.
    pub change: Option<f64>,
}

/// A comparison at one moment.
#[derive(Debug, Clone, Copy)]
pub struct PairsMoment<'a> {
    /// What is done to A and to B.
    pub plans: &'a [RunPlan; 2],
    /// Pairs that count so far.
    pub done: usize,
    /// Pairs in all.
    pub of: usize,
    /// Whether it may end before that.
    pub may_end_early: bool,
    /// Which side is loaded, if that is known: 0 is A.
    pub side: Option<usize>,
    /// Good responses per second of that load now.
    pub rate_per_s: Option<f64>,
    /// The time that the pairs to come will take, if they take as long as those before.
    pub left: Option<Duration>,
    /// Every metric, the one that decides first.
    pub metrics: &'a [MetricSoFar],
    /// Whether it was asked to end.
    pub stopping: bool,
}

/// `moment` in at most `rows` lines, none wider than `style` says.
pub fn pairs_screen(moment: &PairsMoment<'_>, style: &Style, rows: usize) -> Vec<String> {
    let block = |rank, draw: &dyn Fn(&mut Page, &PairsMoment<'_>)| {
        Block::drawn(rank, style, &|page: &mut Page| draw(page, moment))
    };
    let blocks = vec![
        block(4, &sides),
        Block::gap(),
        block(8, &place),
        block(6, &now),
        Block::gap(),
        block(7, &metrics),
        Block::gap(),
        block(2, &caution),
        block(1, &|page, moment| hint(page, moment.stopping, "comparison")),
    ];
    fitted(blocks, rows)
}

fn sides(page: &mut Page, moment: &PairsMoment<'_>) {
    let columns = page.style().columns();
    for (letter, plan) in ["A", "B"].into_iter().zip(moment.plans) {
        page.line(&cut(&format!("{letter}  {} {}", plan.request.method, plan.target), columns));
    }
    page.line(&cut(&facts::load(&moment.plans[0]), columns));
}

fn place(page: &mut Page, moment: &PairsMoment<'_>) {
    let most = if moment.may_end_early { "at most " } else { "" };
    let left = moment.left.map(|left| format!(" · {} left", seconds(left.as_secs_f64().ceil())));
    let early = if moment.stopping { "; ending early" } else { "" };
    let text = format!("{} of {most}{}{}{early}", moment.done, moment.of, left.unwrap_or_default());
    match share(moment.done as f64, moment.of as f64) {
        Some(share) => bar(page, "pairs", share, &text),
        None => page.labelled("pairs", None, &text),
    }
}

fn now(page: &mut Page, moment: &PairsMoment<'_>) {
    let what = match (moment.side, moment.done) {
        (Some(0), _) => "A is loaded",
        (Some(_), _) => "B is loaded",
        (None, 0) => "warm-up",
        (None, _) => "between two blocks",
    };
    let rate = moment.rate_per_s.map(|now| format!(", {} /s", rate(now))).unwrap_or_default();
    page.labelled("now", None, &format!("{what}{rate}"));
}

fn metrics(page: &mut Page, moment: &PairsMoment<'_>) {
    if moment.done == 0 {
        return;
    }
    let columns = page.style().columns();
    let row = |name: &str, a: &str, b: &str, change: &str| {
        cut(format!("{name:<METRIC$}{a:<NUMBER$}{b:<NUMBER$}{change}").trim_end(), columns)
    };
    page.line(&row("median so far", "A", "B", "B against A"));
    for one in moment.metrics {
        let change = or_dash(one.change, signed_percent);
        let [a, b] = one.sides.map(|side| value(one.metric, side));
        page.line(&row(&name(one.metric), &a, &b, &change));
    }
}

/// Why there is no verdict yet.
fn caution(page: &mut Page, moment: &PairsMoment<'_>) {
    if moment.done > 0 {
        page.labelled("verdict", None, "at the end: stopping when it looks good would make one of chance");
    }
}

#[cfg(test)]
mod tests {
    use prony_model::{RunOptions, Target};

    use super::*;

    fn plans() -> [RunPlan; 2] {
        ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"]
            .map(|url| RunOptions::default().plan(Target::parse(url).expect("a URL"), 1).expect("a plan"))
    }

    fn drawn(moment: &PairsMoment<'_>, width: usize, rows: usize) -> Vec<String> {
        pairs_screen(moment, &Style { width, colour: false, unicode: true }, rows)
    }

    #[test]
    fn the_screen_says_how_far_it_is_and_never_who_wins() {
        let plans = plans();
        let metrics = [
            MetricSoFar { metric: Metric::Rate, sides: [Some(1000.0), Some(1100.0)], change: Some(0.1) },
            MetricSoFar { metric: Metric::P50, sides: [Some(900.0), None], change: None },
        ];
        let mut moment = PairsMoment {
            plans: &plans,
            done: 5,
            of: 20,
            may_end_early: true,
            side: Some(1),
            rate_per_s: Some(1099.6),
            left: Some(Duration::from_millis(7_100)),
            metrics: &metrics,
            stopping: false,
        };
        let text = drawn(&moment, 79, 24).join("\n");
        for expected in [
            "B  GET http://127.0.0.1:1/b",
            " 25 %  5 of at most 20 · 8 s left",
            "now       B is loaded, 1,100 /s",
            "rate                1,000 /s      1,100 /s      +10 %",
            "p50 response        900 ms        –             –",
            "so far; Ctrl-C ends the comparison with its report",
        ] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        for never in ["FASTER", "faster", "SLOWER"] {
            assert!(!text.contains(never), "{text}");
        }
        moment.stopping = true;
        assert!(drawn(&moment, 79, 24).join("\n").contains("ending early"));
        (moment.done, moment.side, moment.metrics) = (0, None, &[]);
        let text = drawn(&moment, 79, 24).join("\n");
        assert!(text.contains("warm-up") && !text.contains("verdict"), "{text}");
    }

    #[test]
    fn small_terminals_keep_the_place() {
        let plans = plans();
        let moment = PairsMoment {
            plans: &plans,
            done: 1,
            of: 2,
            may_end_early: false,
            side: None,
            rate_per_s: None,
            left: None,
            metrics: &[],
            stopping: false,
        };
        for (width, rows) in [(20, 1), (30, 3), (79, 24), (200, 60)] {
            let lines = drawn(&moment, width, rows);
            assert!(lines.len() <= rows && lines.iter().any(|line| line.starts_with("pairs")), "{lines:?}");
        }
    }
}
