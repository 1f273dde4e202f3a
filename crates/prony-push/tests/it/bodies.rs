//! What receivers get is what the result has. The same bodies were read by Prometheus 2.42 and by the official Go types of
//! OTLP (docs/decisions/031-outputs.md).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use prony_push::{Endpoint, HistogramForm, Labels, Protocol, Pusher};

use crate::decoder::Tree;
use crate::fixture::{GOOD_SUM_NS, result};
use crate::receiver::{Pushed, Reaction, TestReceiver};

const WAIT: Duration = Duration::from_secs(30);

/// Two pushes, as a receiver gets them.
fn pushed(protocol: Protocol, form: HistogramForm) -> [Pushed; 2] {
    let receiver = TestReceiver::start(|_| Reaction::Answer("200 OK", b""));
    let endpoint = Endpoint::new(protocol, &receiver.url, Vec::new()).expect("an endpoint");
    let mut labels = Labels::default();
    labels.add("version=1.2").expect("a label");
    labels.add("Zone=a").expect("a label");
    let pusher = Pusher::start(endpoint, labels, form).expect("a thread");
    // The final values are of the same moment here: no receiver takes two samples of one.
    pusher.push(Arc::new(result(2.0)));
    let first = receiver.next();
    let delivery = pusher.finish(Arc::new(result(2.0)), WAIT);
    assert_eq!((delivery.arrived, delivery.failed, delivery.dropped), (2, 0, 0));
    assert!(delivery.is_complete && delivery.last_failure.is_none());
    [first, receiver.next()]
}

/// One series of a `WriteRequest`.
struct Series {
    labels: BTreeMap<String, String>,
    tree: Tree,
}

fn series(pushed: &Pushed) -> Vec<Series> {
    let body = snap::raw::Decoder::new().decompress_vec(&pushed.body).expect("snappy");
    let series: Vec<Series> = Tree::read(&body)
        .messages(1)
        .into_iter()
        .map(|tree| {
            let pairs: Vec<_> = tree.messages(1).iter().map(|label| (label.text(1), label.text(2))).collect();
            assert!(pairs.is_sorted(), "{pairs:?}");
            let labels: BTreeMap<_, _> = pairs.iter().cloned().collect();
            assert_eq!(labels.len(), pairs.len(), "each label once: {pairs:?}");
            Series { labels, tree }
        })
        .collect();
    let distinct: BTreeSet<_> = series.iter().map(|series| &series.labels).collect();
    assert_eq!(distinct.len(), series.len(), "each series once");
    series
}

/// The one series with `name` and `label`.
fn find<'a>(all: &'a [Series], name: &str, label: (&str, &str)) -> &'a Series {
    let is_it = |series: &&Series| {
        series.labels["__name__"] == name
            && (label.0.is_empty() || series.labels.get(label.0).is_some_and(|value| value == label.1))
    };
    let found: Vec<_> = all.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{name} {label:?}");
    found[0]
}

fn value(all: &[Series], name: &str, label: (&str, &str)) -> f64 {
    find(all, name, label).tree.message(2).double(1)
}

/// Bucket by bucket, the exponent of its upper end and its count: from spans and differences.
fn native_buckets(histogram: &Tree) -> Vec<(i64, i64)> {
    let mut deltas = histogram.sints(12).into_iter();
    let (mut index, mut count) = (0, 0);
    let mut found = Vec::new();
    for span in histogram.messages(11) {
        index += span.sint(1);
        for _ in 0..span.uint(2) {
            count += deltas.next().expect("a count for each bucket");
            found.push((index, count));
            index += 1;
        }
    }
    assert_eq!(deltas.next(), None);
    found
}

#[test]
fn remote_write_has_the_figures_of_the_result() {
    let pushes = pushed(Protocol::RemoteWrite, HistogramForm::Native);
    let [first, last] = &pushes;
    assert_eq!(first.head[0], "POST /api/v1/write HTTP/1.1");
    for (name, expected) in [
        ("content-type", "application/x-protobuf"),
        ("content-encoding", "snappy"),
        ("x-prometheus-remote-write-version", "0.1.0"),
    ] {
        assert_eq!(first.header(name), Some(expected), "{name}");
    }
    let all = series(last);
    let none = ("", "");
    assert!((value(&all, "prony_requests_done_total", none) - 1_000.0).abs() < 1e-9);
    assert!((value(&all, "prony_responses_total", ("status", "204")) - 10.0).abs() < 1e-9);
    assert!((value(&all, "prony_failures_total", ("kind", "refused")) - 5.0).abs() < 1e-9);
    let p50 = value(&all, "prony_response_time_quantile_seconds", ("quantile", "0.5"));
    assert!((p50 - 0.001).abs() < 1e-6, "{p50}");
    let labels = &find(&all, "prony_rate_done_per_second", none).labels;
    let expected = [
        ("Zone", "a"),
        ("__name__", "prony_rate_done_per_second"),
        ("job", "prony"),
        ("run", "20260102T030405Z-1a1f22b5"),
        ("target", "http://127.0.0.1:3000/page"),
        ("version", "1.2"),
    ];
    assert_eq!(labels.iter().map(|(name, value)| (&name[..], &value[..])).collect::<Vec<_>>(), expected);

    let histogram = find(&all, "prony_response_time_seconds", ("outcome", "2xx")).tree.message(4);
    assert_eq!((histogram.uint(1), histogram.sint(4), histogram.uint(6)), (1_000, 5, 0));
    assert!((histogram.double(3) - GOOD_SUM_NS as f64 / 1e9).abs() < 1e-9);
    let buckets = native_buckets(&histogram);
    let width = 2_f64.powf(1.0 / 32.0);
    let filled: Vec<_> = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(filled.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [900, 90, 10]);
    for ((index, _), seconds) in filled.iter().zip([0.001, 0.002, 0.05]) {
        let high = width.powf(*index as f64);
        assert!(
            high / width * 0.999 < seconds && seconds <= high * 1.001,
            "{seconds} in a bucket up to {high}"
        );
    }
    let of =
        |pushed: &Pushed| find(&series(pushed), "prony_requests_done_total", none).tree.message(2).uint(2);
    // 3:04:05.678, two seconds, and a drain of a millisecond.
    assert_eq!((of(first), of(last)), (1_767_323_047_679, 1_767_323_047_680));
}

#[test]
fn classic_buckets_add_up() {
    let [_, last] = pushed(Protocol::RemoteWrite, HistogramForm::Classic);
    let all = series(&last);
    let good = |le: &str| {
        let is_it = |series: &&Series| {
            series.labels["__name__"] == "prony_response_time_seconds_bucket"
                && series.labels["outcome"] == "2xx"
                && series.labels["le"] == le
        };
        all.iter().find(is_it).map(|series| series.tree.message(2).double(1))
    };
    assert_eq!(good("0.000524288"), Some(0.0));
    assert_eq!(good("0.001048576"), Some(900.0));
    assert_eq!(good("0.002097152"), Some(990.0));
    assert_eq!(good("+Inf"), Some(1_000.0));
    let count = value(&all, "prony_response_time_seconds_count", ("outcome", "2xx"));
    assert!((count - 1_000.0).abs() < 1e-9);
}

/// The metrics of an `ExportMetricsServiceRequest` by name, and its resource's attributes.
fn otlp(pushed: &Pushed) -> (BTreeMap<String, Tree>, BTreeMap<String, String>) {
    let resource_metrics = Tree::read(&pushed.body).message(1);
    let attributes = attributes(&resource_metrics.message(1).messages(1));
    let scope_metrics = resource_metrics.message(2);
    assert_eq!(scope_metrics.message(1).text(1), "prony");
    let metrics = scope_metrics.messages(2);
    let by_name: BTreeMap<_, _> = metrics.iter().map(|metric| (metric.text(1), metric.clone())).collect();
    assert_eq!(by_name.len(), metrics.len(), "each metric once");
    (by_name, attributes)
}

fn attributes(pairs: &[Tree]) -> BTreeMap<String, String> {
    pairs.iter().map(|pair| (pair.text(1), pair.message(2).text(1))).collect()
}

/// The point of `points` whose attribute is `label`.
fn point(points: &[Tree], field: u64, label: (&str, &str)) -> Tree {
    let is_it =
        |point: &&Tree| attributes(&point.messages(field)).get(label.0).is_some_and(|value| value == label.1);
    points.iter().find(is_it).unwrap_or_else(|| panic!("no point {label:?}")).clone()
}

#[test]
fn otlp_has_the_figures_of_the_result() {
    let [first, last] = pushed(Protocol::Otlp, HistogramForm::Native);
    assert_eq!(first.head[0], "POST /v1/metrics HTTP/1.1");
    assert_eq!(first.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(first.header("content-encoding"), None);
    let (metrics, resource) = otlp(&last);
    assert_eq!(resource["service.name"], "prony");
    assert_eq!(resource["service.instance.id"], "20260102T030405Z-1a1f22b5");
    assert_eq!(
        (resource["version"].as_str(), resource["prony.target"].as_str()),
        ("1.2", "http://127.0.0.1:3000/page")
    );

    let sum = metrics["prony.failures"].message(7);
    assert_eq!((sum.uint(2), sum.uint(3)), (2, 1), "cumulative, monotonic");
    let refused = point(&sum.messages(1), 7, ("kind", "refused"));
    assert!((refused.double(4) - 5.0).abs() < 1e-9);
    // From the start of the measured part until the end of the drain; the second push is a millisecond later.
    assert_eq!(
        (refused.fixed64(2), refused.fixed64(3)),
        (1_767_323_045_678_000_000, 1_767_323_047_680_000_000)
    );

    assert_eq!(metrics["prony.response.time"].text(3), "s");
    let histogram = metrics["prony.response.time"].message(10);
    assert_eq!(histogram.uint(2), 2, "cumulative");
    let good = point(&histogram.messages(1), 1, ("good", "true"));
    assert_eq!((good.fixed64(4), good.sint(6), good.fixed64(7)), (1_000, 5, 0));
    assert!((good.double(5) - GOOD_SUM_NS as f64 / 1e9).abs() < 1e-9);
    assert!((good.double(12) - 0.001).abs() < 1e-9 && (good.double(13) - 0.05).abs() < 1e-9);
    let buckets = good.message(8);
    let offset = buckets.sint(1);
    for (index, (seconds, count)) in buckets
        .uints(2)
        .iter()
        .zip(offset..)
        .filter(|(count, _)| **count > 0)
        .map(|(count, index)| (index, *count))
        .zip([(0.001, 900), (0.002, 90), (0.05, 10)])
        .map(|((index, found), (seconds, count))| (index, (seconds, (found, count))))
    {
        assert_eq!(count.0, count.1);
        let (low, high) = (2_f64.powf(index as f64 / 32.0), 2_f64.powf((index + 1) as f64 / 32.0));
        assert!(low * 0.999 < seconds && seconds <= high * 1.001, "{seconds} in {low}..{high}");
    }
    assert_eq!(buckets.uints(2).iter().sum::<u64>(), 1_000);
}

#[test]
fn otlp_has_classic_histograms_for_who_asks() {
    let [_, last] = pushed(Protocol::Otlp, HistogramForm::Classic);
    let (metrics, _) = otlp(&last);
    assert!(!metrics["prony.response.time"].has(10));
    let good = point(&metrics["prony.response.time"].message(9).messages(1), 9, ("outcome", "2xx"));
    let (counts, bounds) = (good.fixed64s(6), good.fixed64s(7));
    assert_eq!((counts.iter().sum::<u64>(), counts.len()), (1_000, bounds.len() + 1));
    assert!(bounds.iter().map(|bits| f64::from_bits(*bits)).is_sorted());
    assert!((good.double(11) - 0.001).abs() < 1e-9 && (good.double(12) - 0.05).abs() < 1e-9);
}
