//! Steps and flows over the runs of a cell.

use prony_model::{
    FigureBasis, FlowResult, HistogramData, LatencySummary, QUANTILES, ScenarioResult, SessionCounts,
    StepPoint, StepResult, StudyScenario,
};

use super::*;

/// `count` times of about `middle_ms`, with the quantiles that so many support.
fn times(count: u64, middle_ms: f64) -> (LatencySummary, HistogramData) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
    let nanos = |k: u64| (middle_ms * 1e6 * (0.95 + 0.1 * k as f64 / count as f64)) as u64;
    let all: Histogram = (0..count).map(nanos).collect();
    let mut summary = LatencySummary { count, ..LatencySummary::default() };
    for (key, q) in QUANTILES {
        let is_known = (1.0 - q) * count as f64 >= 10.0;
        let value = all.value_at_quantile(q).filter(|_| is_known).map(|nanos| nanos as f64 / 1e6);
        summary.quantiles_ms.insert(key.to_owned(), value);
    }
    summary.max_ms = all.max().map(|nanos| nanos as f64 / 1e6);
    (summary, HistogramData { count, data: all.to_base64_v2(), ..HistogramData::default() })
}

/// A login, and an order of which one in ten fails.
fn sessions(middle_ms: f64, begun: u64) -> ScenarioResult {
    let step = |name: &str, done: u64, failed: u64| {
        let (response, response_histogram) = times(done, middle_ms);
        let (service, service_histogram) = times(done, middle_ms / 2.0);
        let point =
            StepPoint { covered_s: 1.0, ended: done / 2, p50_ms: Some(middle_ms), ..StepPoint::default() };
        StepResult {
            flow: "buy".to_owned(),
            name: name.to_owned(),
            request: format!("POST /{name}"),
            ended: done + failed,
            done,
            failed: if failed > 0 {
                BTreeMap::from([("status".to_owned(), failed)])
            } else {
                BTreeMap::new()
            },
            response,
            service,
            response_histogram,
            service_histogram,
            timeline: vec![point, StepPoint { at_s: 1.0, failed, ..point }],
            ..StepResult::default()
        }
    };
    let failed = begun / 10;
    let counts = SessionCounts { begun, completed: begun - failed, failed, unfinished: 0 };
    let (time, time_histogram) = times(begun - failed, 100.0 * middle_ms);
    ScenarioResult {
        sessions: counts,
        flows: vec![FlowResult {
            name: "buy".to_owned(),
            sessions: counts,
            time: time.clone(),
            time_without_think: time,
            time_histogram: time_histogram.clone(),
            time_without_think_histogram: time_histogram,
        }],
        steps: vec![step("login", begun, 0), step("order", begun - failed, failed)],
        ..ScenarioResult::default()
    }
}

fn figure(figures: &[prony_model::StudyFigure], metric: StudyMetric) -> &prony_model::StudyFigure {
    figures.iter().find(|figure| figure.metric == metric).expect("it is there")
}

fn found(result: &StudyResult, cell: usize) -> &StudyScenario {
    result.cells[cell].scenario.as_ref().expect("there were sessions")
}

#[test]
fn steps_and_flows_have_figures_over_the_runs() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        result.scenario = (step.cell == 0).then(|| sessions(2.0 + 0.01 * f64::from(step.repeat), 2000));
    });
    assert!(result.cells[1].scenario.is_none());
    let found = found(&result, 0);
    assert_eq!((found.sessions.begun, found.sessions.failed), (12_000, 1_200));
    let [login, order] = [&found.steps[0], &found.steps[1]];
    assert_eq!((login.ended, order.ended, order.done), (12_000, 12_000, 10_800));
    assert_eq!(order.failed, BTreeMap::from([("status".to_owned(), 1_200)]));
    let median = figure(&login.response, StudyMetric::P50);
    assert!(median.value.is_some_and(|value| (value - 2.035).abs() < 0.01), "{median:?}");
    assert!(
        median.interval.is_some_and(|interval| interval.low < 2.02 && interval.high > 2.05),
        "{median:?}"
    );
    assert_eq!((median.basis, median.runs, median.samples), (FigureBasis::AcrossRuns, 6, 12_000));
    let service = figure(&login.service, StudyMetric::P99);
    assert!(service.value.is_some_and(|value| (1.0..1.2).contains(&value)), "{service:?}");
    let success = order.success.as_ref().and_then(|figure| figure.value);
    assert_eq!(success, Some(0.9));
    assert_eq!(found.flows[0].success.as_ref().and_then(|figure| figure.value), Some(0.9));
    let session = figure(&found.flows[0].time, StudyMetric::P90);
    assert!(session.value.is_some_and(|value| (190.0..220.0).contains(&value)), "{session:?}");
    // Three of six runs are drawn.
    assert_eq!(order.timelines.iter().map(|timeline| timeline.repeat).collect::<Vec<_>>(), [2, 4, 6]);
    assert!(
        order
            .timelines
            .iter()
            .all(|timeline| timeline.points.len() == 2 && timeline.points[1].failed_per_s > 0.0)
    );
}

#[test]
fn steps_of_short_runs_have_a_p99_of_all_together() {
    use ThresholdOutcome::{Met, Missed, Undecided};
    let mut study = study(6);
    study.thresholds = vec![
        required(0, "step.login.response.p99 < 3ms"),
        required(0, "step.login.response.p99 < 2ms"),
        required(0, "step.order.success > 89%"),
        required(0, "step.order.success > 95%"),
        required(0, "step.order.response.p99 < 3ms"),
        required(0, "step.nobody.success > 95%"),
    ];
    let result = aggregated(&study, QUICK, |step, result| {
        // 300 are too few for a p99, 1,800 are not.
        result.scenario = (step.cell == 0).then(|| sessions(2.0, 300));
    });
    let p99 = figure(&found(&result, 0).steps[0].response, StudyMetric::P99);
    assert!(p99.value.is_some_and(|value| (2.0..2.2).contains(&value)), "{p99:?}");
    assert!(p99.note.as_ref().is_some_and(|note| note.contains("all runs together")), "{p99:?}");
    // A tenth of the orders failed, which may have been the slowest.
    assert_eq!(figure(&found(&result, 0).steps[1].response, StudyMetric::P99).value, None);
    let outcomes: Vec<_> = result.thresholds.iter().map(|one| one.evaluated.outcome).collect();
    assert_eq!(outcomes, [Met, Missed, Met, Missed, Undecided, Undecided]);
}

#[test]
fn sessions_of_invalid_runs_count_for_nothing() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        let is_invalid = step.repeat <= 2;
        result.scenario = Some(sessions(if is_invalid { 900.0 } else { 2.0 }, 2000));
        if is_invalid {
            result.verdict = Verdict::Invalid;
            result.findings = vec![super::finding(FindingCode::NoSuccess, Severity::Invalid)];
        }
    });
    let found = found(&result, 0);
    assert_eq!(found.sessions.begun, 8_000);
    assert!(figure(&found.steps[0].response, StudyMetric::Max).value.is_some_and(|value| value < 3.0));
}

#[test]
fn a_damaged_distribution_of_a_step_is_refused() {
    let study = study(1);
    let schedule = schedule(&study);
    let mut result = run(1, 100, 1.0, 1);
    let mut damaged = sessions(1.0, 100);
    damaged.steps[1].service_histogram.data = "HISTFAAA".to_owned();
    result.scenario = Some(damaged);
    let stored = [Ok((schedule.steps[0].clone(), Stored::Run(Box::new(result))))];
    let error = aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect_err("damaged");
    assert!(error.to_string().contains("runs/0001.json"), "{error}");
}
