//! Whether a result agrees with itself. What the engine writes always does; a file that was edited by hand, or
//! mixed together of two, seldom.

use crate::{
    CleanParts, Clock, HistogramData, LatencySummary, Outcome, QUANTILES, Requests, RunResult, Verdict,
};

/// Two parts of a result that can't both be true.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Contradiction {
    /// A number that follows from others does not.
    #[error("{what} is {found}, and {from} make {made}")]
    Sum {
        /// The number.
        what: &'static str,
        /// What it is.
        found: u64,
        /// The numbers that it follows from.
        from: &'static str,
        /// What they make.
        made: u128,
    },
    /// Minimum, quantiles and maximum, or the ends of an interval, don't ascend.
    #[error("of {clock}, {lower} is {lower_ms} ms and {upper} is {upper_ms} ms")]
    Order {
        /// The clock, or the outcome and its clock.
        clock: String,
        /// What should be less.
        lower: String,
        /// Its value.
        lower_ms: f64,
        /// What should be greater.
        upper: String,
        /// Its value.
        upper_ms: f64,
    },
    /// A distribution of more or fewer samples than its summary.
    #[error("{clock} has {summary} samples, and its histogram {histogram}")]
    HistogramCount {
        /// The clock, or the outcome and its clock.
        clock: String,
        /// Samples of the summary.
        summary: u64,
        /// Samples of the histogram.
        histogram: u64,
    },
    /// An outcome that is unknown or stands there twice.
    #[error("its outcome `{name}` is unknown or stands there twice")]
    Outcome {
        /// The name.
        name: String,
    },
    /// A verdict that is not the one of the findings.
    #[error("its verdict is {found:?}, and its findings make it {made:?}")]
    Verdict {
        /// The verdict.
        found: Verdict,
        /// The one of the worst finding.
        made: Verdict,
    },
}

impl RunResult {
    /// Everything in this result that contradicts something else in it; nothing for one that is as it was
    /// written.
    pub fn check(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        self.check_counts(&mut found);
        self.check_outcomes(&mut found);
        for clock in Clock::ALL {
            let Some(summary) = self.summary(clock) else { continue };
            summary.check(clock.name(), &mut found);
            histogram_count(clock.name(), summary.count, self.histogram(clock), &mut found);
        }
        if let Some(clean) = &self.clean {
            clean.check(&mut found);
        }
        self.check_stages(&mut found);
        let made = Verdict::from_findings(&self.findings);
        if self.verdict != made {
            found.push(Contradiction::Verdict { found: self.verdict, made });
        }
        found
    }

    fn check_counts(&self, found: &mut Vec<Contradiction>) {
        let requests = &self.requests;
        let ended = [requests.done, requests.failed, requests.censored, requests.never_sent];
        sum("intended", requests.intended, "done, failed, censored and never_sent", &ended, found);
        let kinds: Vec<u64> = requests.failed_by_kind.values().copied().collect();
        sum("failed", requests.failed, "failed_by_kind", &kinds, found);
        let statuses: Vec<u64> = self.statuses.values().copied().collect();
        sum("answered", requests.answered, "statuses", &statuses, found);
        if let Some(traffic) = &self.traffic {
            let answered = traffic.measured.answered;
            let retried = self.retries.as_ref().map_or(0, |retries| retries.answers_retried);
            sum(
                "the traffic's answers of the measured part",
                answered,
                if retried == 0 { "answered" } else { "answered and retried" },
                &[requests.answered, retried],
                found,
            );
        }
        sum("done", requests.done, "the samples of response", &[self.latency.response.count], found);
        sum("done", requests.done, "the samples of service", &[self.latency.service.count], found);
    }

    fn check_stages(&self, found: &mut Vec<Contradiction>) {
        if self.stages.is_empty() {
            return;
        }
        let of = |count: fn(&Requests) -> u64| -> Vec<u64> {
            self.stages.iter().map(|stage| count(&stage.requests)).collect()
        };
        let requests = &self.requests;
        sum("intended", requests.intended, "the stages", &of(|requests| requests.intended), found);
        sum("done", requests.done, "the stages", &of(|requests| requests.done), found);
        for stage in &self.stages {
            let (response, service) = (&stage.response, &stage.service);
            for (clock, summary, histogram) in [
                ("response", response, &stage.response_histogram),
                ("service", service, &stage.service_histogram),
            ] {
                let clock = format!("{clock} of stage {}", stage.name);
                summary.check(&clock, found);
                histogram_count(&clock, summary.count, histogram, found);
            }
            sum("the done of a stage", stage.requests.done, "its samples", &[response.count], found);
        }
    }

    fn check_outcomes(&self, found: &mut Vec<Contradiction>) {
        let (mut done, mut failed, mut seen) = (Vec::new(), Vec::new(), [false; Outcome::COUNT]);
        for entry in &self.outcomes {
            let known = Outcome::all().find(|outcome| outcome.name() == entry.outcome);
            let Some(outcome) = known.filter(|outcome| !std::mem::replace(&mut seen[outcome.index()], true))
            else {
                // One is enough: a file can hold millions.
                found.push(Contradiction::Outcome { name: entry.outcome.clone() });
                return;
            };
            let counts = if outcome.error_kind().is_none() { &mut done } else { &mut failed };
            counts.push(entry.count);
            for (clock, summary, histogram) in [
                ("response", &entry.response, &entry.response_histogram),
                ("service", &entry.service, &entry.service_histogram),
            ] {
                let clock = format!("{clock} of {}", entry.outcome);
                summary.check(&clock, found);
                histogram_count(&clock, summary.count, histogram, found);
            }
            sum("the count of an outcome", entry.count, "its samples", &[entry.response.count], found);
        }
        sum("done", self.requests.done, "the good outcomes", &done, found);
        sum("failed", self.requests.failed, "the bad outcomes", &failed, found);
    }
}

impl CleanParts {
    fn check(&self, found: &mut Vec<Contradiction>) {
        let requests = &self.requests;
        let ended = [requests.done, requests.failed, requests.censored, requests.never_sent];
        let from = "done, failed, censored and never_sent of the clean parts";
        sum("intended of the clean parts", requests.intended, from, &ended, found);
        for (clock, summary, histogram) in [
            ("response of the clean parts", &self.response, &self.response_histogram),
            ("service of the clean parts", &self.service, &self.service_histogram),
        ] {
            summary.check(clock, found);
            histogram_count(clock, summary.count, histogram, found);
            sum("done of the clean parts", requests.done, clock, &[summary.count], found);
        }
    }
}

impl LatencySummary {
    /// Whether minimum, quantiles and maximum ascend, and intervals are the right way round.
    fn check(&self, clock: &str, found: &mut Vec<Contradiction>) {
        let quantile = |key: &str| self.quantiles_ms.get(key).copied().flatten();
        let quantiles = QUANTILES.iter().map(|(key, _)| (*key, quantile(key)));
        let all = std::iter::once(("min", self.min_ms)).chain(quantiles).chain([("max", self.max_ms)]);
        let known: Vec<(&str, f64)> = all.filter_map(|(name, value)| Some((name, value?))).collect();
        let mut ascend = |lower: (&str, f64), upper: (&str, f64)| {
            if lower.1 > upper.1 {
                found.push(Contradiction::Order {
                    clock: clock.to_owned(),
                    lower: lower.0.to_owned(),
                    lower_ms: lower.1,
                    upper: upper.0.to_owned(),
                    upper_ms: upper.1,
                });
            }
        };
        known.windows(2).for_each(|pair| ascend(pair[0], pair[1]));
        if let (Some(min), Some(mean), Some(max)) = (self.min_ms, self.mean_ms, self.max_ms) {
            ascend(("min", min), ("mean", mean));
            ascend(("mean", mean), ("max", max));
        }
        for (key, interval) in &self.intervals_ms {
            let ends = [format!("the lower end of {key}"), format!("the upper end of {key}")];
            ascend((&ends[0], interval.low), (&ends[1], interval.high));
        }
    }
}

/// An absent histogram contradicts nothing.
fn histogram_count(clock: &str, summary: u64, histogram: &HistogramData, found: &mut Vec<Contradiction>) {
    if !histogram.data.is_empty() && histogram.count != summary {
        let histogram = histogram.count;
        found.push(Contradiction::HistogramCount { clock: clock.to_owned(), summary, histogram });
    }
}

fn sum(what: &'static str, value: u64, from: &'static str, parts: &[u64], found: &mut Vec<Contradiction>) {
    let made: u128 = parts.iter().copied().map(u128::from).sum();
    if u128::from(value) != made {
        found.push(Contradiction::Sum { what, found: value, from, made });
    }
}
