//! What must not be true of a comparison: `slower:5%`, as `prony compare --fail-if` has it.

use prony_model::{ChangeInterval, ComparisonOutcome, Metric, MetricComparison, Problem, parse_percent};

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparisonCondition {
    /// Of this metric; `None` is the primary one.
    metric: Option<Metric>,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    /// Worse; surely by as much as this, if it is given.
    Slower(Option<f64>),
    /// Better or worse; surely by as much as this, if it is given.
    Different(Option<f64>),
    /// It is not known.
    TooNoisy,
}

impl ComparisonCondition {
    /// Reads `slower`, `slower:5%`, `different`, `too-noisy`, each with a metric before it, if need be.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = || {
            let advice = "write slower, slower:5%, different, different:5% or too-noisy, or p99:slower:5%";
            Problem::new(format!("`{text}` is not a condition"), advice)
        };
        let mut parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let metric = Metric::ALL.into_iter().find(|metric| Some(&metric.name()) == parts.first());
        if metric.is_some() {
            parts.remove(0);
        }
        let size = |text: &str| parse_percent(text).map(Some).map_err(|_| wrong());
        let what = match parts[..] {
            ["slower"] => What::Slower(None),
            ["slower", by] => What::Slower(size(by)?),
            ["different"] => What::Different(None),
            ["different", by] => What::Different(size(by)?),
            ["too-noisy"] => What::TooNoisy,
            _ => return Err(wrong()),
        };
        Ok(Self { metric, what })
    }

    /// Whether `metrics`, of which one is primary, are as they must not be; `None` if the metric is not among
    /// them.
    pub fn holds(&self, metrics: &[MetricComparison]) -> Option<bool> {
        let comparison = metrics.iter().find(|comparison| match self.metric {
            Some(metric) => comparison.metric == metric,
            None => comparison.primary,
        })?;
        Some(match self.what {
            What::Slower(by) => is_slower(comparison, by),
            What::Different(by) => is_slower(comparison, by) || is_faster(comparison, by),
            What::TooNoisy => matches!(comparison.outcome, ComparisonOutcome::TooNoisy { .. }),
        })
    }

    /// The metric it names.
    pub fn metric(&self) -> Option<Metric> {
        self.metric
    }
}

fn is_slower(comparison: &MetricComparison, by: Option<f64>) -> bool {
    match by {
        None => comparison.outcome.is_slower(),
        Some(by) => comparison.differs && worse(comparison).is_some_and(|(low, _)| low >= by.ln_1p()),
    }
}

fn is_faster(comparison: &MetricComparison, by: Option<f64>) -> bool {
    match by {
        None => comparison.outcome.is_faster(),
        Some(by) => comparison.differs && worse(comparison).is_some_and(|(_, high)| high <= -by.ln_1p()),
    }
}

/// The interval on the logarithmic scale, turned so that above 0 is worse.
fn worse(comparison: &MetricComparison) -> Option<(f64, f64)> {
    let ChangeInterval { low, high } = comparison.interval?;
    let (low, high) = (low.ln_1p(), high.ln_1p());
    Some(if comparison.metric == Metric::Rate { (-high, -low) } else { (low, high) })
}

#[cfg(test)]
mod tests {
    use prony_model::ComparisonMethod;

    use super::*;

    fn compared(metric: Metric, low: f64, high: f64, outcome: ComparisonOutcome) -> [MetricComparison; 1] {
        [MetricComparison {
            metric,
            primary: true,
            method: ComparisonMethod::SignedRanks,
            pairs: 20,
            a: Some(1.0),
            b: Some(1.0),
            change: Some(f64::midpoint(low, high)),
            interval: Some(ChangeInterval { low, high }),
            spread: Some(0.01),
            p: Some(0.01),
            differs: low > 0.0 || high < 0.0,
            outcome,
        }]
    }

    fn check(text: &str, metrics: &[MetricComparison], expected: Option<bool>) {
        assert_eq!(
            ComparisonCondition::parse(text).expect(text).holds(metrics),
            expected,
            "{text}: {metrics:?}"
        );
    }

    #[test]
    fn a_slower_server() {
        let slower = compared(Metric::P50, 0.03, 0.06, ComparisonOutcome::Slower);
        check("slower", &slower, Some(true));
        check("slower:2%", &slower, Some(true));
        check("slower:5%", &slower, Some(false));
        check("p50:slower:2%", &slower, Some(true));
        check("p99:slower:2%", &slower, None);
        check("different", &slower, Some(true));
        check("different:5%", &slower, Some(false));
        check("too-noisy", &slower, Some(false));
    }

    #[test]
    fn a_higher_rate_is_faster() {
        let faster = compared(Metric::Rate, 0.03, 0.06, ComparisonOutcome::Faster);
        check("slower:2%", &faster, Some(false));
        check("different:2%", &faster, Some(true));
        let slower = compared(Metric::Rate, -0.06, -0.03, ComparisonOutcome::Slower);
        check("slower:2%", &slower, Some(true));
    }

    #[test]
    fn more_cpu_time_is_slower() {
        let dearer = compared(Metric::Cpu, 0.06, 0.09, ComparisonOutcome::Slower);
        check("cpu:slower:5%", &dearer, Some(true));
        check("cpu:slower:10%", &dearer, Some(false));
        check("p50:slower:5%", &dearer, None);
    }

    #[test]
    fn what_is_not_known_is_neither() {
        let noise = ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.1), pairs_needed: Some(90) };
        let noisy = compared(Metric::P50, -0.1, 0.1, noise);
        check("too-noisy", &noisy, Some(true));
        check("slower", &noisy, Some(false));
        check("different:1%", &noisy, Some(false));
    }

    #[test]
    fn what_is_no_condition() {
        for text in ["", "slow", "slower:", "slower:0%", "p98:slower", "too-noisy:2%", "slower:2%:p99"] {
            assert!(ComparisonCondition::parse(text).is_err(), "{text}");
        }
    }
}
