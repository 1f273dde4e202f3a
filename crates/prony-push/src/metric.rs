//! Metrics, before they are encoded for one receiver or another.

use std::borrow::Cow;

use prony_stats::Histogram;

/// The unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A count, a share or a state.
    One,
    Seconds,
    Bytes,
    /// Per second.
    PerSecond,
}

impl Unit {
    /// As UCUM writes it, which OTLP wants. Of `1`, collectors would make `_ratio`.
    pub(crate) fn ucum(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Seconds => "s",
            Self::Bytes => "By",
            Self::PerSecond => "1/s",
        }
    }

    /// The end of a name in Prometheus.
    fn suffix(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Seconds => "_seconds",
            Self::Bytes => "_bytes",
            Self::PerSecond => "_per_second",
        }
    }
}

/// Labels of one point, beside those of the run.
pub(crate) type PointLabels = Vec<(&'static str, Cow<'static, str>)>;

/// One metric with all its points.
pub(crate) struct Metric {
    /// Words with dots: `prony.response.time`.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) unit: Unit,
    pub(crate) points: Points,
}

/// The points of a metric.
pub(crate) enum Points {
    /// Totals since the start of the measured part.
    Counter(Vec<(PointLabels, f64)>),
    /// Values as they are.
    Gauge(Vec<(PointLabels, f64)>),
    /// Distributions since the start of the measured part.
    Histogram(Vec<(PointLabels, Distribution)>),
}

/// A distribution of times.
pub(crate) struct Distribution {
    pub(crate) values: Histogram,
    /// Exact, which the buckets of a stored histogram no longer know.
    pub(crate) sum_s: f64,
    /// Exact least and greatest value, seconds.
    pub(crate) range_s: Option<(f64, f64)>,
}

impl Metric {
    /// Its name in Prometheus: with underscores, its unit, and `_total` where it is a counter. What the collector of
    /// OpenTelemetry makes of the name that OTLP gets is the same.
    pub(crate) fn prometheus_name(&self) -> String {
        let mut name = self.name.replace('.', "_");
        name.push_str(self.unit.suffix());
        if matches!(self.points, Points::Counter(_)) {
            name.push_str("_total");
        }
        name
    }
}
