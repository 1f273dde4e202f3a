//! OTLP metrics: an `ExportMetricsServiceRequest` in protobuf, and what a receiver answers.
//!
//! Sources: "OTLP Specification 1.7"; `opentelemetry/proto/{collector/metrics/v1/metrics_service,metrics/v1/metrics,
//! common/v1/common,resource/v1/resource}.proto`.

use prony_model::RunResult;

use crate::endpoint::Labels;
use crate::exponential::{Exponential, HistogramForm, classic};
use crate::figures::{metrics, moments, run_id, target};
use crate::metric::{Distribution, Metric, Points};
use crate::protobuf::Message;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
/// A receiver's words about what it rejected, in bytes.
const WORDS_MAX: usize = 300;

/// The metrics of `result` at `unix_ms`, as the body of a request.
pub(crate) fn body(result: &RunResult, labels: &Labels, form: HistogramForm, unix_ms: u64) -> Vec<u8> {
    let span = Span { start_ns: nanos(moments(result).0.as_millis()), end_ns: nanos(unix_ms.into()) };
    let mut request = Message::default();
    request.message(1, |resource_metrics| {
        resource_metrics.message(1, |resource| {
            attribute(resource, 1, "service.name", "prony");
            attribute(resource, 1, "service.instance.id", &run_id(result));
            attribute(resource, 1, "prony.run", &run_id(result));
            attribute(resource, 1, "prony.target", target(result));
            for (name, value) in labels.iter() {
                attribute(resource, 1, name, value);
            }
        });
        resource_metrics.message(2, |scope_metrics| {
            scope_metrics.message(1, |scope| {
                scope.text(1, "prony");
                scope.text(2, env!("CARGO_PKG_VERSION"));
            });
            // A metric without points is no metric.
            for metric in metrics(result).iter().filter(|metric| !is_empty(metric)) {
                scope_metrics.message(2, |message| write_metric(message, metric, form, span));
            }
        });
    });
    request.into_bytes()
}

/// What a point is of: nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Span {
    start_ns: u64,
    end_ns: u64,
}

fn nanos(millis: u128) -> u64 {
    u64::try_from(millis * 1_000_000).unwrap_or(u64::MAX)
}

fn is_empty(metric: &Metric) -> bool {
    match &metric.points {
        Points::Counter(points) | Points::Gauge(points) => points.is_empty(),
        Points::Histogram(points) => points.is_empty(),
    }
}

/// `metrics.v1.Metric`.
fn write_metric(message: &mut Message, metric: &Metric, form: HistogramForm, span: Span) {
    message.text(1, metric.name);
    message.text(2, metric.description);
    message.text(3, metric.unit.ucum());
    match &metric.points {
        Points::Gauge(points) => message.message(5, |gauge| {
            for (labels, value) in points {
                gauge.message(1, |point| number(point, labels, *value, span));
            }
        }),
        Points::Counter(points) => message.message(7, |sum| {
            for (labels, value) in points {
                sum.message(1, |point| number(point, labels, *value, span));
            }
            sum.uint(2, CUMULATIVE);
            // Monotonic.
            sum.uint(3, 1);
        }),
        Points::Histogram(points) => {
            let (field, write): (_, fn(&mut Message, &Distribution)) = match form {
                HistogramForm::Native => (10, exponential_buckets),
                HistogramForm::Classic => (9, explicit_buckets),
            };
            let attributes_field = if form == HistogramForm::Native { 1 } else { 9 };
            message.message(field, |histogram| {
                for (labels, distribution) in points {
                    histogram.message(1, |point| {
                        attributes(point, attributes_field, labels);
                        point.fixed64(2, span.start_ns);
                        point.fixed64(3, span.end_ns);
                        point.fixed64(4, distribution.values.count());
                        point.double(5, distribution.sum_s);
                        write(point, distribution);
                    });
                }
                histogram.uint(2, CUMULATIVE);
            });
        }
    }
}

/// `NumberDataPoint`.
fn number(point: &mut Message, labels: &[(&str, impl AsRef<str>)], value: f64, span: Span) {
    point.fixed64(2, span.start_ns);
    point.fixed64(3, span.end_ns);
    point.double(4, value);
    attributes(point, 7, labels);
}

/// What `ExponentialHistogramDataPoint` has beyond other points.
fn exponential_buckets(point: &mut Message, distribution: &Distribution) {
    let found = Exponential::of(&distribution.values);
    point.sint(6, found.scale.into());
    point.fixed64(7, found.zero);
    point.message(8, |buckets| {
        buckets.sint(1, found.offset.into());
        buckets.packed_uints(2, found.counts);
    });
    if let Some((min, max)) = distribution.range_s {
        point.double(12, min);
        point.double(13, max);
    }
}

/// What `HistogramDataPoint` has beyond other points.
fn explicit_buckets(point: &mut Message, distribution: &Distribution) {
    let (bounds, counts) = classic(&distribution.values);
    point.packed_fixed64s(6, counts);
    point.packed_doubles(7, bounds);
    if let Some((min, max)) = distribution.range_s {
        point.double(11, min);
        point.double(12, max);
    }
}

fn attributes(message: &mut Message, field: u32, labels: &[(&str, impl AsRef<str>)]) {
    for (name, value) in labels {
        attribute(message, field, name, value.as_ref());
    }
}

/// `common.v1.KeyValue` with a string.
fn attribute(message: &mut Message, field: u32, name: &str, value: &str) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.text(1, value));
    });
}

/// What a receiver took no points of, although it answered 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Points that it rejected.
    pub points: u64,
    /// Why, in its words.
    pub why: String,
}

/// What the answer of a receiver (`ExportMetricsServiceResponse`) says that it rejected. An answer that can't be read, as
/// of a receiver that answers in JSON or in words, says nothing.
pub fn rejection(answer: &[u8]) -> Option<Rejection> {
    let partial_success = fields(answer)?.into_iter().find_map(|field| match field {
        (1, Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    })?;
    let mut found = Rejection { points: 0, why: String::new() };
    for field in fields(partial_success)? {
        match field {
            (1, Value::Varint(points)) => found.points = points,
            (2, Value::Bytes(words)) => {
                let words = String::from_utf8_lossy(&words[..words.len().min(WORDS_MAX)]);
                found.why = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            }
            _ => {}
        }
    }
    // With nothing rejected the words are a warning.
    (found.points > 0).then_some(found)
}

/// The value of a field, as far as answers have them.
enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

/// All fields of a message; `None` where it is none.
fn fields(mut rest: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut rest)?),
            1 => take(&mut rest, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => take(&mut rest, 4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        found.push((key >> 3, value));
    }
    Some(found)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(points: i64, why: &str) -> Vec<u8> {
        let mut message = Message::default();
        message.message(1, |partial| {
            partial.int(1, points);
            partial.text(2, why);
        });
        message.into_bytes()
    }

    #[test]
    fn an_answer_says_what_was_rejected() {
        let expected = Rejection { points: 3, why: "too old\u{20}".to_owned() };
        assert_eq!(rejection(&answer(3, "too old\u{7}")), Some(expected));
        assert_eq!(rejection(&answer(0, "deprecated")), None, "a warning");
        assert_eq!(rejection(b""), None, "all was taken");
    }

    #[test]
    fn answers_that_are_no_messages_say_nothing() {
        let whole = answer(3, "no");
        for end in 1..whole.len() {
            assert_eq!(rejection(&whole[..end]), None, "cut at {end}");
        }
        for bad in [
            &b"{\"partialSuccess\":{}}"[..],
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x0a\xff\xff",
        ] {
            assert_eq!(rejection(bad), None);
        }
        let long = answer(1, &"\u{e9}".repeat(1_000));
        assert!(rejection(&long).expect("one").why.chars().count() <= WORDS_MAX);
    }
}
