//! Prometheus remote write, version 1: a `WriteRequest` in protobuf, compressed by snappy.
//!
//! Sources: "Prometheus Remote-Write 1.0 specification"; `prompb/types.proto` and `prompb/remote.proto` of Prometheus.
//! Labels are sorted by name, as receivers require.

use prony_model::RunResult;

use crate::endpoint::Labels;
use crate::exponential::{Exponential, HistogramForm, classic};
use crate::figures::{metrics, run_id, target};
use crate::metric::{Distribution, Metric, Points};
use crate::protobuf::Message;

/// The width of the bucket around 0 that Prometheus has by itself: 2^-128.
const ZERO_THRESHOLD: f64 = f64::from_bits((1023 - 128) << 52);

/// The metrics of `result` at `unix_ms`, as the body of a request.
pub(crate) fn body(result: &RunResult, labels: &Labels, form: HistogramForm, unix_ms: u64) -> Vec<u8> {
    let request = write_request(result, labels, form, unix_ms);
    snap::raw::Encoder::new().compress_vec(&request).expect("invariant: far below 4 GiB")
}

/// `prometheus.WriteRequest`.
fn write_request(result: &RunResult, labels: &Labels, form: HistogramForm, unix_ms: u64) -> Vec<u8> {
    let timestamp = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    let mut series = Series { request: Message::default(), common: common(result, labels), timestamp };
    for metric in metrics(result) {
        let name = metric.prometheus_name();
        series.metadata(&name, &metric);
        match &metric.points {
            Points::Counter(points) | Points::Gauge(points) => {
                for (labels, value) in points {
                    series.sample(&name, labels, *value);
                }
            }
            Points::Histogram(points) => {
                for (labels, distribution) in points {
                    match form {
                        HistogramForm::Native => series.native(&name, labels, distribution),
                        HistogramForm::Classic => series.classic(&name, labels, distribution),
                    }
                }
            }
        }
    }
    series.request.into_bytes()
}

/// Labels of every series.
fn common(result: &RunResult, labels: &Labels) -> Vec<(String, String)> {
    let own = [("job", "prony".to_owned()), ("run", run_id(result)), ("target", target(result).to_owned())];
    // A job may have another name.
    let own = own.into_iter().filter(|(name, _)| labels.iter().all(|(given, _)| given != *name));
    let given = labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.map(|(name, value)| (name.to_owned(), value)).chain(given).collect()
}

/// A request that is being written.
struct Series {
    request: Message,
    common: Vec<(String, String)>,
    timestamp: i64,
}

impl Series {
    /// `MetricMetadata`, field 3 of the request.
    fn metadata(&mut self, name: &str, metric: &Metric) {
        // MetricType: COUNTER, GAUGE, HISTOGRAM.
        let kind = match metric.points {
            Points::Counter(_) => 1,
            Points::Gauge(_) => 2,
            Points::Histogram(_) => 3,
        };
        self.request.message(3, |metadata| {
            metadata.uint(1, kind);
            metadata.text(2, name);
            metadata.text(4, metric.description);
        });
    }

    /// A series of one value.
    fn sample(&mut self, name: &str, labels: &[(&str, impl AsRef<str>)], value: f64) {
        let timestamp = self.timestamp;
        self.series(name, labels, |series| {
            series.message(2, |sample| {
                sample.double(1, value);
                sample.int(2, timestamp);
            });
        });
    }

    /// `prometheus.Histogram` with integer counts: each span's counts are differences from bucket to bucket.
    fn native(&mut self, name: &str, labels: &[(&str, impl AsRef<str>)], distribution: &Distribution) {
        let timestamp = self.timestamp;
        let buckets = Exponential::of(&distribution.values);
        self.series(name, labels, |series| {
            series.message(4, |histogram| {
                histogram.uint(1, distribution.values.count());
                histogram.double(3, distribution.sum_s);
                histogram.sint(4, buckets.scale.into());
                histogram.double(5, ZERO_THRESHOLD);
                histogram.uint(6, buckets.zero);
                let spans = buckets.spans();
                let mut before = 0_i64;
                let mut deltas = Vec::with_capacity(buckets.counts.len());
                for (gap, counts) in &spans {
                    histogram.message(11, |span| {
                        span.sint(1, i64::from(*gap));
                        span.uint(2, counts.len() as u64);
                    });
                    for count in *counts {
                        let count = i64::try_from(*count).unwrap_or(i64::MAX);
                        deltas.push(count - std::mem::replace(&mut before, count));
                    }
                }
                histogram.packed_sints(12, deltas);
                histogram.int(15, timestamp);
            });
        });
    }

    /// Series with the label `le`, as scrapes of classic histograms have them.
    fn classic(&mut self, name: &str, labels: &[(&str, impl AsRef<str>)], distribution: &Distribution) {
        let (bounds, counts) = classic(&distribution.values);
        let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut below = 0;
        for (bound, count) in bounds.zip(counts) {
            below += count;
            let of_bucket: Vec<(&str, &str)> = labels
                .iter()
                .map(|(name, value)| (*name, value.as_ref()))
                .chain([("le", bound.as_str())])
                .collect();
            self.sample(&format!("{name}_bucket"), &of_bucket, below as f64);
        }
        self.sample(&format!("{name}_count"), labels, below as f64);
        self.sample(&format!("{name}_sum"), labels, distribution.sum_s);
    }

    /// `TimeSeries`, field 1 of the request.
    fn series(
        &mut self,
        name: &str,
        labels: &[(&str, impl AsRef<str>)],
        write_point: impl FnOnce(&mut Message),
    ) {
        let own = labels.iter().map(|(name, value)| (*name, value.as_ref()));
        let common = self.common.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut all: Vec<(&str, &str)> = own.chain(common).chain([("__name__", name)]).collect();
        all.sort_unstable();
        self.request.message(1, |series| {
            for (name, value) in all {
                series.message(1, |label| {
                    label.text(1, name);
                    label.text(2, value);
                });
            }
            write_point(series);
        });
    }
}
