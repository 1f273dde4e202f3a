//! The metrics of a result: of the one so far, and of the final one. They are the figures of the report, by the same names
//! as far as names can be the same.

use std::borrow::Cow;
use std::time::Duration;

use prony_model::{
    Clock, LatencySummary, Outcome, QUANTILES, RunResult, Severity, StatusClass, Verdict, since_1970,
};
use prony_stats::Histogram;
use prony_summary::distribution;

use crate::metric::{Distribution, Metric, PointLabels, Points, Unit};

/// The run of `result`, as metrics name it: when its load began, and its seed. `20260102T030405Z-0000002a`.
pub(crate) fn run_id(result: &RunResult) -> String {
    let digits = |text: &str| text.chars().filter(|c| !matches!(c, '-' | ':')).collect::<String>();
    let started_at = result.timing.started_at.split('.').next().unwrap_or_default();
    format!("{}Z-{:08x}", digits(started_at.trim_end_matches('Z')), result.plan.seed)
}

/// The target of `result`, without its query, which may have secrets.
pub(crate) fn target(result: &RunResult) -> &str {
    result.plan.target.url.split(['?', '#']).next().unwrap_or_default()
}

/// When the measured part began, and the moment that `result` is of; both since 1970.
pub(crate) fn moments(result: &RunResult) -> (Duration, Duration) {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let timing = &result.timing;
    let started = since_1970(&timing.started_at).unwrap_or_default() + seconds(timing.warmup_s);
    (started, started + seconds(timing.measured_s) + seconds(timing.drain_s))
}

/// All metrics of `result`. Where a distribution is damaged, which happens to files only, it is left out.
pub(crate) fn metrics(result: &RunResult) -> Vec<Metric> {
    let mut metrics = counters(result);
    metrics.extend(gauges(result));
    metrics.extend(quantiles(result));
    metrics.extend(histograms(result));
    metrics
}

fn label(name: &'static str, value: impl Into<Cow<'static, str>>) -> PointLabels {
    vec![(name, value.into())]
}

fn counters(result: &RunResult) -> Vec<Metric> {
    let counter =
        |name, description, unit, points| Metric { name, description, unit, points: Points::Counter(points) };
    let one = |value: u64| vec![(PointLabels::new(), value as f64)];
    let requests = &result.requests;
    let count = |name, description, value: u64| counter(name, description, Unit::One, one(value));
    let statuses =
        result.statuses.iter().map(|(status, count)| (label("status", status.to_string()), *count as f64));
    let kinds =
        requests.failed_by_kind.iter().map(|(kind, count)| (label("kind", kind.name()), *count as f64));
    vec![
        count("prony.requests.intended", "Requests that were due", requests.intended),
        count("prony.requests.sent", "Requests handed to the kernel", requests.sent),
        count("prony.requests.answered", "Complete responses of any status", requests.answered),
        count("prony.requests.done", "Good responses: complete, and every check passed", requests.done),
        count("prony.requests.failed", "Requests without a good response", requests.failed),
        count("prony.requests.censored", "Requests still unanswered when the run ended", requests.censored),
        count(
            "prony.requests.never.sent",
            "Requests due, for which no connection was free",
            requests.never_sent,
        ),
        counter("prony.responses", "Complete responses by status code", Unit::One, statuses.collect()),
        counter("prony.failures", "Failed requests by kind", Unit::One, kinds.collect()),
        counter("prony.sent", "Bytes sent, heads included", Unit::Bytes, one(result.bytes.sent)),
        counter("prony.received", "Bytes received, heads included", Unit::Bytes, one(result.bytes.received)),
        count("prony.connections.opened", "Connections opened, warm-up included", result.connections.opened),
        counter(
            "prony.client.cpu.time",
            "CPU time of the client's worker threads",
            Unit::Seconds,
            vec![(PointLabels::new(), result.client.cpu_s)],
        ),
    ]
}

fn gauges(result: &RunResult) -> Vec<Metric> {
    let gauge = |name, description, unit, value: f64| Metric {
        name,
        description,
        unit,
        points: Points::Gauge(vec![(PointLabels::new(), value)]),
    };
    let rate = |name, description, value| gauge(name, description, Unit::PerSecond, value);
    let rates = &result.rate;
    let mut gauges = vec![
        rate("prony.rate.sent", "Requests sent, mean of the measured part", rates.sent_per_s),
        rate("prony.rate.answered", "Complete responses, mean of the measured part", rates.answered_per_s),
        rate("prony.rate.done", "Good responses, mean of the measured part", rates.done_per_s),
        gauge("prony.measured.time", "Length of the measured part", Unit::Seconds, result.timing.measured_s),
    ];
    gauges.extend(
        rates.asked_per_s.map(|asked| rate("prony.rate.asked", "The rate that the run is to have", asked)),
    );
    let verdicts = [Verdict::Valid, Verdict::Doubtful, Verdict::Invalid];
    let verdicts =
        verdicts.map(|verdict| (label("verdict", verdict.name()), f64::from(verdict == result.verdict)));
    gauges.push(Metric {
        name: "prony.run.verdict",
        description: "1 for the verdict of the run, 0 for the others",
        unit: Unit::One,
        points: Points::Gauge(verdicts.into()),
    });
    let severities = [Severity::Note, Severity::Warning, Severity::Invalid];
    let found = severities.map(|severity| {
        let count = result.findings.iter().filter(|finding| finding.severity == severity).count();
        (label("severity", severity_name(severity)), count as f64)
    });
    gauges.push(Metric {
        name: "prony.run.findings",
        description: "Findings of the run by severity",
        unit: Unit::One,
        points: Points::Gauge(found.into()),
    });
    gauges
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

/// The quantiles of the report: those that it withholds are no points.
fn quantiles(result: &RunResult) -> Vec<Metric> {
    let of = |name, description, summary: &LatencySummary| {
        let known = QUANTILES.iter().filter_map(|(key, _)| {
            let value_ms = summary.quantiles_ms.get(*key).copied().flatten()?;
            Some((label("quantile", *key), value_ms / 1e3))
        });
        let max = summary.max_ms.map(|max_ms| (label("quantile", "1"), max_ms / 1e3));
        Metric { name, description, unit: Unit::Seconds, points: Points::Gauge(known.chain(max).collect()) }
    };
    vec![
        of(
            "prony.response.time.quantile",
            "Response time of good responses, from when each was due",
            &result.latency.response,
        ),
        of(
            "prony.service.time.quantile",
            "Service time of good responses, from when each was sent",
            &result.latency.service,
        ),
        of("prony.send.lag.quantile", "How late the client itself sent", &result.latency.lag),
    ]
}

fn histograms(result: &RunResult) -> Vec<Metric> {
    let by_outcome = |name, description, of: fn(&prony_model::OutcomeSummary) -> (&str, &LatencySummary)| {
        let points = result.outcomes.iter().filter_map(|entry| {
            let (data, summary) = of(entry);
            let values = Histogram::from_base64_v2(data).ok()?;
            let good = if is_good(&entry.outcome) { "true" } else { "false" };
            let labels = vec![("outcome", Cow::from(entry.outcome.clone())), ("good", Cow::from(good))];
            Some((labels, distribution_of(values, summary)))
        });
        Metric { name, description, unit: Unit::Seconds, points: Points::Histogram(points.collect()) }
    };
    let of_clock = |name, description, clock| {
        let values = distribution(result, clock).ok().flatten();
        let point = values.map(|values| {
            let summary = result.summary(clock).cloned().unwrap_or_default();
            (PointLabels::new(), distribution_of(values, &summary))
        });
        Metric {
            name,
            description,
            unit: Unit::Seconds,
            points: Points::Histogram(point.into_iter().collect()),
        }
    };
    vec![
        by_outcome("prony.response.time", "From when a request was due until it ended", |entry| {
            (&entry.response_histogram.data, &entry.response)
        }),
        by_outcome("prony.service.time", "From when a request was sent until it ended", |entry| {
            (&entry.service_histogram.data, &entry.service)
        }),
        of_clock("prony.connect.time", "Opening a connection", Clock::Connect),
        of_clock("prony.send.lag", "How late the client itself sent", Clock::Lag),
    ]
}

fn distribution_of(values: Histogram, summary: &LatencySummary) -> Distribution {
    let sum_s = summary.mean_ms.unwrap_or_default() * summary.count as f64 / 1e3;
    let range_s = summary.min_ms.zip(summary.max_ms).map(|(min, max)| (min / 1e3, max / 1e3));
    Distribution { values, sum_s, range_s }
}

/// Whether the outcome of this name is a good response.
fn is_good(name: &str) -> bool {
    StatusClass::ALL.into_iter().any(|class| Outcome::Done(class).name() == name)
}
