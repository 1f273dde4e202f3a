//! How a run went along: what changed from its beginning to its end, in the response times of its parts.

mod drift;

use prony_model::words::{milliseconds, percent, whole};
use prony_model::{Finding, FindingCode, LatencyDrift, Severity};
use prony_stats::{Histogram, Sparse, WARM_UP_SLICES, WarmUp, log_medians, mann_kendall, outliers, warm_up};

pub(crate) use self::drift::drifted;

/// Change from the first to the last third of the run that matters.
const DRIFT: f64 = 0.10;
/// Change of p50 by the beginning that is worth a word: one that pulls no number does no harm.
const PULLED_P50: f64 = 0.02;
/// The same for p99 and the rate.
const PULLED: f64 = 0.05;
/// Distance of a part's median from that of the others that matters, however alike those are.
const UNLIKE: f64 = 0.25;
/// Share of the parts that may be unlike the others: more of them are no moments, but a run that changed.
const MOMENTS_SHARE: f64 = 0.20;
/// Responses of a part, in the mean, from which one without any is no chance: with 20 expected, e^-20.
const RESPONSES_A_PART: u64 = 20;

/// A run as a row of parts, all of them with one offered load: parts are compared with one another, which need not be alike
/// where the rate changes from one to the next.
pub struct Timeline<'a> {
    parts: &'a [Sparse],
    /// Length of a part, nanoseconds.
    part_ns: u64,
    /// All parts together.
    responses: &'a Histogram,
    /// First part and logarithm of the median of each of at most [`WARM_UP_SLICES`] groups of parts.
    medians: Vec<(usize, f64)>,
    /// Groups at the beginning that are unlike the rest, and by how much; none if half of them were.
    warm_up: Option<(usize, f64)>,
    /// Load before it that was not counted, seconds.
    warmup_s: f64,
}

/// What some parts of a run say; milliseconds.
struct Numbers {
    p50: f64,
    p99: f64,
    /// Good responses.
    per_s: f64,
}

/// The times of a run in which nothing was answered.
#[derive(Debug, Clone, Copy)]
struct Silence {
    times: usize,
    /// First part and number of parts.
    longest: (usize, usize),
    /// Parts of all of them.
    total: usize,
}

impl Silence {
    fn of(times: &[(usize, usize)]) -> Option<Self> {
        let longest = *times.iter().max_by_key(|(first, parts)| (*parts, std::cmp::Reverse(*first)))?;
        Some(Self { times: times.len(), longest, total: times.iter().map(|(_, parts)| parts).sum() })
    }
}

impl<'a> Timeline<'a> {
    /// The timeline of `parts`, each `part_ns` nanoseconds of one rate and all together `responses`, after a warm-up of
    /// `warmup_s` seconds that was not counted.
    pub fn new(parts: &'a [Sparse], part_ns: u64, responses: &'a Histogram, warmup_s: f64) -> Self {
        let medians = log_medians(parts);
        let values: Vec<f64> = medians.iter().map(|(_, median)| *median).collect();
        Self { parts, part_ns, responses, warm_up: beginning(&values), medians, warmup_s }
    }

    /// What changed on the way: a run that is not steady, or has the certain `drift`; a warm-up that was counted; parts
    /// unlike the others.
    pub fn findings(&self, drift: &[LatencyDrift]) -> Vec<Finding> {
        let changed = self.not_steady().or_else(|| drifted(drift));
        [changed, self.warm_up(), self.outlier_slices()].into_iter().flatten().collect()
    }

    /// The medians after the warm-up.
    fn settled(&self) -> &[(usize, f64)] {
        &self.medians[self.warm_up.map_or(0, |(groups, _)| groups)..]
    }

    /// The rate did not settle.
    fn not_steady(&self) -> Option<Finding> {
        let medians: Vec<f64> = self.settled().iter().map(|(_, median)| *median).collect();
        let trend = mann_kendall(&medians)?;
        let third = medians.len() / 3;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let change = (mean(&medians[medians.len() - third..]) - mean(&medians[..third])).exp_m1();
        if trend.is_steady() || change.abs() < DRIFT {
            return None;
        }
        let direction = if change > 0.0 { "rose" } else { "fell" };
        Some(Finding::new(
            FindingCode::NotSteady,
            Severity::Warning,
            &[("change", change, "share"), ("tau", trend.tau, "ratio"), ("p", trend.p, "probability")],
            format!(
                "the median response time {direction} by {} from the first to the last third of the run",
                percent(change.abs())
            ),
            "give a longer --warmup if it settles, or a longer --duration if it does not",
        ))
    }

    /// The beginning of the measured part was still warm-up.
    fn warm_up(&self) -> Option<Finding> {
        let (groups, change) = self.warm_up?;
        let first = self.medians[groups].0;
        let beginning = self.numbers(0, first)?;
        let with = self.numbers(0, self.parts.len())?;
        let without = self.numbers(first, self.parts.len())?;
        let pulled = |with: f64, without: f64, most: f64| (with / without - 1.0).abs() > most;
        if !pulled(with.p50, without.p50, PULLED_P50)
            && !pulled(with.p99, without.p99, PULLED)
            && !pulled(with.per_s, without.per_s, PULLED)
        {
            return None;
        }
        let length_s = self.seconds(first);
        Some(Finding::new(
            FindingCode::WarmUp,
            Severity::Warning,
            &[
                ("length", length_s, "s"),
                ("change", change, "share"),
                ("p50", with.p50, "ms"),
                ("p50_without", without.p50, "ms"),
                ("p99", with.p99, "ms"),
                ("p99_without", without.p99, "ms"),
                ("rate", with.per_s, "per_s"),
                ("rate_without", without.per_s, "per_s"),
            ],
            format!(
                "the first {length_s:.1} s were unlike the rest (p50 {}): with them p50 is {}, p99 {} and the rate {} /s, \
                 without {}, {} and {} /s",
                milliseconds(beginning.p50),
                milliseconds(with.p50),
                milliseconds(with.p99),
                whole(with.per_s),
                milliseconds(without.p50),
                milliseconds(without.p99),
                whole(without.per_s)
            ),
            format!("leave the beginning out: --warmup {}s", (self.warmup_s + length_s).ceil()),
        ))
    }

    /// What the parts `from..to` say, if anything was answered in them.
    fn numbers(&self, from: usize, to: usize) -> Option<Numbers> {
        let mut sum = Histogram::new();
        for part in &self.parts[from..to] {
            sum.add_sparse(part);
        }
        let quantile = |q| sum.value_at_quantile(q).map(|nanos| nanos as f64 / 1e6);
        let per_s = sum.count() as f64 / self.seconds(to - from);
        Some(Numbers { p50: quantile(0.5)?, p99: quantile(0.99)?, per_s })
    }

    /// Some moments of the run were unlike the others.
    fn outlier_slices(&self) -> Option<Finding> {
        let settled = self.settled();
        let medians: Vec<f64> = settled.iter().map(|(_, median)| median.exp() / 1e6).collect();
        let center = prony_stats::median(&medians)?;
        let far = |index: &usize| (medians[*index] / center - 1.0).abs() > UNLIKE;
        let mut unlike: Vec<usize> = outliers(&medians).into_iter().filter(far).collect();
        if unlike.len() as f64 > medians.len() as f64 * MOMENTS_SHARE {
            unlike.clear();
        }
        let silent = Silence::of(&self.silent_times());
        if unlike.is_empty() && silent.is_none() {
            return None;
        }
        let furthest = unlike.iter().max_by(|a, b| {
            let distance = |index: usize| (medians[index] / center).ln().abs();
            distance(**a).total_cmp(&distance(**b))
        });
        let groups = self.groups();
        let mut parts = Vec::new();
        if let Some(&furthest) = furthest {
            let (count, at_s) = (unlike.len(), self.seconds(settled[furthest].0));
            parts.push(format!(
                "{count} of {groups} parts of the run had a median that differed from the rest, the furthest {} at \
                 {at_s:.1} s against {}",
                milliseconds(medians[furthest]),
                milliseconds(center)
            ));
        }
        parts.extend(silent.as_ref().map(|silent| self.silence(silent)));
        Some(Finding::new(
            FindingCode::OutlierSlices,
            Severity::Note,
            &[
                ("unlike", unlike.len() as f64, "count"),
                ("parts", groups as f64, "count"),
                ("silent_times", silent.map_or(0.0, |silent| silent.times as f64), "count"),
                ("silent_longest", self.seconds(silent.map_or(0, |silent| silent.longest.1)), "s"),
                ("silent_total", self.seconds(silent.map_or(0, |silent| silent.total)), "s"),
            ],
            format!("{}; all requests stay in the numbers", parts.join(", and ")),
            "look at the series (--json) and at what ran then: a collection of garbage, a backup, a neighbour",
        ))
    }

    fn silence(&self, silence: &Silence) -> String {
        let (first, parts) = silence.longest;
        let length = |parts: usize| milliseconds(self.seconds(parts) * 1e3);
        // The last answer before and the first one after lie within neighbouring parts.
        let longest = format!("nothing was answered for at least {}", length(parts));
        let begin = format!("from {:.1} s on", self.seconds(first));
        match silence.times {
            1 => format!("{longest} ({begin})"),
            times => format!("{longest} ({begin}; {times} such times, {} in all)", length(silence.total)),
        }
    }

    /// The times without any response, where all others have many: first part and number of parts of each.
    fn silent_times(&self) -> Vec<(usize, usize)> {
        let is_empty = |part: usize| self.parts[part].is_empty();
        let mut times: Vec<(usize, usize)> = Vec::new();
        for group in self.silent_groups() {
            let first = group * self.parts.len() / self.groups();
            if times.last().is_some_and(|(begin, parts)| first < begin + parts) {
                continue;
            }
            // The silence may have begun in the group before, and go on beyond this one.
            let begin = (0..first).rev().take_while(|part| is_empty(*part)).last().unwrap_or(first);
            let parts = (begin..self.parts.len()).take_while(|part| is_empty(*part)).count();
            times.push((begin, parts));
        }
        times
    }

    /// The groups of parts without any response, where the others have many.
    fn silent_groups(&self) -> Vec<usize> {
        let groups = self.groups();
        if self.responses.count() < groups as u64 * RESPONSES_A_PART {
            return Vec::new();
        }
        let first_part = |group: usize| group * self.parts.len() / groups;
        let has_any = |group: &usize| self.medians.iter().any(|(first, _)| *first == first_part(*group));
        let settled = self.settled().first().map_or(0, |(first, _)| *first);
        let from = if self.warm_up.is_some() { settled } else { 0 };
        (0..groups).filter(|group| first_part(*group) >= from && !has_any(group)).collect()
    }

    /// Groups of parts that have a median each.
    fn groups(&self) -> usize {
        self.parts.len().min(WARM_UP_SLICES)
    }

    /// The time of so many parts.
    fn seconds(&self, parts: usize) -> f64 {
        parts as f64 * self.part_ns as f64 / 1e9
    }
}

/// How many of the values at the beginning are unlike those that follow, and by how much.
///
/// A cut at the last place that is checked, half-way, says that the run changed later on: then the beginning is
/// compared with the first half alone, and so on.
fn beginning(values: &[f64]) -> Option<(usize, f64)> {
    match warm_up(values) {
        WarmUp::None => None,
        WarmUp::Cut { slices, .. } if slices == values.len() / 2 => beginning(&values[..slices]),
        WarmUp::Cut { slices, change } => Some((slices, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 100;
    const PART_NS: u64 = 50_000_000;

    /// A run whose parts have these medians, in microseconds, give or take 2 %; 0 for a part without a response.
    fn check(parts_us: &[u64], expected: &[(FindingCode, &str)]) {
        let parts: Vec<Sparse> = parts_us
            .iter()
            .zip([0, 20, 10, 15, 5].iter().cycle())
            .map(|(us, more)| {
                let mut part = Histogram::new();
                part.record_n(us * (1000 + more), if *us == 0 { 0 } else { COUNT });
                part.to_sparse()
            })
            .collect();
        let mut all = Histogram::new();
        for part in &parts {
            all.add_sparse(part);
        }
        let timeline = Timeline::new(&parts, PART_NS, &all, 1.0);
        let found = timeline.findings(&timeline.drift());
        let codes: Vec<FindingCode> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, expected.iter().map(|(code, _)| *code).collect::<Vec<_>>(), "{found:#?}");
        for (finding, (_, words)) in found.iter().zip(expected) {
            let text = format!("{} {}", finding.message, finding.advice);
            assert!(text.contains(words), "`{text}` does not say `{words}`");
        }
    }

    /// `count` parts of `us` each, and so on.
    fn row(steps: &[(usize, u64)]) -> Vec<u64> {
        steps.iter().flat_map(|(count, us)| std::iter::repeat_n(*us, *count)).collect()
    }

    #[test]
    fn a_steady_run_has_none() {
        check(&row(&[(40, 500)]), &[]);
        check(&row(&[(200, 500)]), &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_slow_beginning() {
        let slow = row(&[(8, 5000), (52, 500)]);
        check(&slow, &[(FindingCode::WarmUp, "the first 0.4 s were unlike the rest (p50 5.")]);
        check(&slow, &[(FindingCode::WarmUp, "--warmup 2s")]);
        check(&slow, &[(FindingCode::WarmUp, "with them p50 is 505 µs, p99 5.10 ms and the rate 2,000 /s")]);
        let quick = row(&[(2, 100), (58, 500)]);
        check(&quick, &[]);
        let long = row(&[(40, 5000), (200, 500)]);
        check(&long, &[(FindingCode::WarmUp, "the first 2.0 s")]);
    }

    #[test]
    fn a_slow_beginning_of_a_run_that_changes_later() {
        let change = row(&[(6, 9000), (24, 500), (30, 300)]);
        check(&change, &[(FindingCode::NotSteady, "fell by"), (FindingCode::WarmUp, "the first 0.3 s")]);
        check(&row(&[(30, 500), (30, 300)]), &[(FindingCode::NotSteady, "fell by 4")]);
    }

    #[test]
    fn a_trend() {
        let rising: Vec<u64> = (0..60).map(|index| 500 + index * 10).collect();
        check(&rising, &[(FindingCode::NotSteady, "rose by")]);
    }

    #[test]
    fn moments_unlike_the_others() {
        let slow = row(&[(30, 500), (1, 5000), (20, 500), (1, 50), (8, 500)]);
        check(&slow, &[(FindingCode::OutlierSlices, "2 of 60 parts")]);
        let slowest = row(&[(30, 500), (1, 9000), (29, 500)]);
        check(&slowest, &[(FindingCode::OutlierSlices, "the furthest 9.00 ms at 1.5 s against 5")]);
        let silent = row(&[(30, 500), (6, 0), (24, 500)]);
        check(
            &silent,
            &[(FindingCode::OutlierSlices, "nothing was answered for at least 300 ms (from 1.5 s on)")],
        );
    }

    #[test]
    fn silent_times_are_not_added_up() {
        let twice = row(&[(20, 500), (2, 0), (10, 500), (4, 0), (24, 500)]);
        check(
            &twice,
            &[(
                FindingCode::OutlierSlices,
                "nothing was answered for at least 200 ms (from 1.6 s on; 2 such times, 300 ms in all)",
            )],
        );
        // In a longer run a group has several parts: two whole ones and a part of a third were silent.
        let long = row(&[(126, 500), (11, 0), (103, 500)]);
        check(&long, &[(FindingCode::OutlierSlices, "for at least 550 ms (from 6.3 s on)")]);
    }
}
