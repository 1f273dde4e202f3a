//! Studies of made results, end to end. One file: all tests share the makers of results at its top.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use prony_model::{
    ComparisonOutcome, Evidence, Finding, FindingCode, KERNEL_P99, Load, LoadKind, Metric, RunOptions,
    RunResult, Severity, StatusSet, StudyAxis, StudyMetric, ThresholdOutcome, TlsChoices, Verdict, from_json,
};
use prony_stats::Histogram;

use super::*;
use crate::{Cell, CellLoad, CellThreshold, ComparisonSpec, Order, Publication, Ready, Restart, Stop};

mod agents;
mod scenario;
mod searches;
mod stages;

/// A short run, with what these tests need and no more.
const STORED: &str = include_str!("../../../prony/tests/it/stored.json");

/// A target by two numbers of connections and, for each, by two versions: cells 0 to 3.
fn study(repeats: u32) -> Study {
    let axis = |name: &str, values: [&str; 2]| StudyAxis {
        name: name.to_owned(),
        values: values.map(str::to_owned).to_vec(),
    };
    let cell = |connections: &str, version: &str| Cell {
        name: format!("{connections}, {version}"),
        slug: format!("{connections}-{version}"),
        key: BTreeMap::from([
            ("connections".to_owned(), connections.to_owned()),
            ("version".to_owned(), version.to_owned()),
        ]),
        target: Some(usize::from(version == "new")),
        load: CellLoad::Run {
            url: Template("{url}/".to_owned()),
            options: Box::new(RunOptions::default()),
            calibration: false,
            agents: None,
        },
        words: format!("GET /, closed loop, {connections} connections"),
    };
    Study {
        name: "made".to_owned(),
        title: "A made study".to_owned(),
        source: None,
        intro: String::new(),
        texts: Vec::new(),
        short: false,
        repeats,
        retries: 3,
        seed: 7,
        order: Order::Random,
        restart: Restart::Repeat,
        pause: Duration::ZERO,
        folder: PathBuf::new(),
        axes: vec![axis("connections", ["1", "8"]), axis("version", ["old", "new"])],
        targets: vec![target("old"), target("new")],
        cells: vec![cell("1", "old"), cell("1", "new"), cell("8", "old"), cell("8", "new")],
        comparisons: Vec::new(),
        thresholds: Vec::new(),
        published: Vec::new(),
        nats: None,
        text: "name = \"made\"\n".to_owned(),
    }
}

fn target(version: &str) -> Target {
    Target {
        name: "rudy".to_owned(),
        key: BTreeMap::from([("version".to_owned(), version.to_owned())]),
        launch: Launch::Serve(vec![Template("rudy".to_owned()), Template(format!("--{version}"))]),
        url: Template("http://127.0.0.1:{port}".to_owned()),
        tls: TlsChoices::default(),
        port: None,
        needs: Vec::new(),
        ready: Ready { path: None, status: StatusSet::default(), within: Duration::from_secs(1) },
        stop: Stop { signal: 15, within: Duration::from_secs(1) },
        prepare: Vec::new(),
        commit: None,
    }
}

/// Every cell once in each repeat.
fn schedule(study: &Study) -> Schedule {
    let cells = study.cells.len();
    let steps = (0..study.repeats as usize * cells).map(|at| Step {
        place: index(at) + 1,
        cell: at % cells,
        repeat: index(at / cells) + 1,
        file: format!("runs/{:04}.json", at + 1),
    });
    Schedule { seed: 7, fingerprint: "f".to_owned(), steps: steps.collect() }
}

fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a few")
}

/// A valid run of `responses` responses of about `middle_ms`, which follow from the number of connections.
fn run(connections: u32, responses: u64, middle_ms: f64, place: u32) -> RunResult {
    let mut result = from_json(STORED).expect("a stored run");
    // No two runs are alike.
    let middle_ms = middle_ms * (1.0 + 0.001 * f64::from(place * 7 % 5));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
    let nanos = |k: u64| (middle_ms * 1e6 * (0.95 + 0.1 * k as f64 / responses as f64)) as u64;
    let times: Histogram = (0..responses).map(nanos).collect();
    result.findings.clear();
    result.verdict = Verdict::Valid;
    result.plan.load = Load::Closed { connections };
    result.timing.started_at = format!("2026-01-02T03:{:02}:{:02}.000Z", place / 60, place % 60);
    result.timing.measured_s = 1.0;
    result.requests.intended = responses;
    result.requests.done = responses;
    result.rate.done_per_s = 1000.0 * f64::from(connections) / middle_ms;
    result.latency.response.count = responses;
    for (key, value) in &mut result.latency.response.quantiles_ms {
        let q: f64 = key.parse().expect("a quantile");
        *value = times.value_at_quantile(q).map(|nanos| nanos as f64 / 1e6);
    }
    result.latency.response.withheld.clear();
    let data = prony_model::HistogramData {
        count: responses,
        data: times.to_base64_v2(),
        ..result.histograms.response.clone()
    };
    result.histograms.response = data.clone();
    result.histograms.service = data;
    result
}

/// The study with a result for every step; the times are those of the cell.
fn aggregated(study: &Study, middle_ms: [f64; 4], change: fn(&Step, &mut RunResult)) -> StudyResult {
    let schedule = schedule(study);
    let stored = schedule.steps.iter().map(|step| {
        let connections = if step.cell < 2 { 1 } else { 8 };
        let mut result = run(connections, 2000, middle_ms[step.cell], step.place);
        change(step, &mut result);
        Ok((step.clone(), Stored::Run(Box::new(result))))
    });
    aggregate::<AggregateError>(study, &schedule, stored, Vec::new()).expect("whole results")
}

/// A server that is as quick on eight connections as on one.
const QUICK: [f64; 4] = [1.0, 1.0, 1.0, 1.0];

fn nothing(_: &Step, _: &mut RunResult) {}

fn codes(result: &StudyResult) -> Vec<FindingCode> {
    result.findings.iter().map(|found| found.finding.code).collect()
}

fn finding(code: FindingCode, severity: Severity) -> Finding {
    let words = String::new;
    Finding { code, severity, evidence: Vec::new(), message: words(), advice: words() }
}

fn required(cell: usize, text: &str) -> CellThreshold {
    CellThreshold { cell, threshold: text.parse().expect("a threshold") }
}

/// Requests that failed did fail, in an invalid run, too; nothing else of it is decided.
#[test]
fn failures_of_invalid_runs_miss_what_is_required() {
    use ThresholdOutcome::{Missed, Undecided};

    let mut study = study(1);
    study.thresholds = vec![required(0, "errors < 1%"), required(0, "p99 < 1h"), required(1, "errors < 1%")];
    let result = aggregated(&study, QUICK, |_, result| {
        result.requests.failed = 500;
        result.verdict = Verdict::Invalid;
        if result.timing.started_at.ends_with("02.000Z") {
            result.requests.failed = 0;
        }
    });
    let outcomes: Vec<_> = result.thresholds.iter().map(|one| one.evaluated.outcome).collect();
    assert_eq!(outcomes, [Missed, Undecided, Undecided]);
}

fn spec(a: usize, b: usize) -> ComparisonSpec {
    let (kind, title) = (LoadKind::Run, "the new one".to_owned());
    ComparisonSpec { kind, title, a, b, metric: Some(Metric::P50), margin: 0.02 }
}

#[test]
fn a_whole_study() {
    let result = aggregated(&study(6), QUICK, nothing);
    assert!(result.complete && result.verdict == Verdict::Valid, "{:?}", result.findings);
    assert_eq!((result.cells.len(), result.targets.len(), result.took_s), (4, 2, 24.001));
    assert_eq!(result.started_at.as_deref(), Some("2026-01-02T03:00:01.000Z"));
    let cell = &result.cells[3];
    assert_eq!((cell.planned, cell.runs.len(), cell.statuses[&200]), (6, 6, 120));
    assert_eq!(cell.runs[1].file, "runs/0008.json");
    let p50 = cell.figures.iter().find(|figure| figure.metric == StudyMetric::P50).expect("a median");
    assert!(p50.value.is_some_and(|value| (value - 1.0).abs() < 0.01) && p50.interval.is_some(), "{p50:?}");
    assert_eq!((p50.runs, p50.samples), (6, 12_000));
    assert_eq!(cell.bins.iter().map(|bin| bin.count).sum::<u64>(), 12_000);
    assert!(cell.curve.last().is_some_and(|point| point.quantile > 0.999));
    assert_eq!(cell.timelines.len(), 6);
    assert_eq!(codes(&result), []);
}

#[test]
fn invalid_runs_count_for_nothing_and_are_reported() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        if step.cell == 2 && step.repeat < 3 {
            result.verdict = Verdict::Invalid;
            result.rate.done_per_s = 1e6;
        }
    });
    assert_eq!(result.verdict, Verdict::Invalid);
    let rate =
        result.cells[2].figures.iter().find(|figure| figure.metric == StudyMetric::Rate).expect("a rate");
    assert_eq!((rate.runs, rate.interval), (4, None));
    assert!(rate.value.is_some_and(|value| value < 9000.0), "{rate:?}");
    assert_eq!((result.cells[2].runs.len(), result.cells[2].curve.is_empty()), (6, false));
}

/// A neighbour makes a run's times useless, and not what a request costs the server; a server that fails makes both so.
#[test]
fn disturbed_runs_still_show_what_a_request_costs_the_server() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        let cpu = prony_model::ServerFigure { value: 80.0, interval: None, requests: 2000 };
        result.server = Some(prony_model::ServerUse { cpu_per_request_us: Some(cpu), ..Default::default() });
        if step.cell == 2 && step.repeat < 6 {
            let failed = if step.repeat == 1 { FindingCode::NoSuccess } else { FindingCode::RunQueueWait };
            result.findings.push(finding(failed, Severity::Invalid));
            result.verdict = Verdict::Invalid;
        }
    });
    let of =
        |metric| result.cells[2].figures.iter().find(|figure| figure.metric == metric).expect("a figure");
    assert_eq!(of(StudyMetric::Rate).runs, 1);
    let cpu = of(StudyMetric::CpuPerRequest);
    assert_eq!(
        (cpu.runs, cpu.value, cpu.samples),
        (5, Some(80.0), 10_000),
        "all but the run that failed: {cpu:?}"
    );
}

#[test]
fn a_tail_that_the_client_made_is_measured_by_the_kernels_clock_alone() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        if step.cell != 2 {
            return;
        }
        let kernel = &mut result.latency.kernel_response;
        kernel.count = 2000;
        kernel.quantiles_ms.insert("0.99".to_owned(), Some(1.0));
        if step.repeat == 1 {
            let mut found = finding(FindingCode::TailBlame, Severity::Warning);
            found.evidence.push(Evidence::new(KERNEL_P99, 1.0, "ms"));
            result.findings.push(found);
            result.latency.response.quantiles_ms.insert("0.99".to_owned(), Some(90.0));
        }
    });
    let of = |cell: usize, metric| result.cells[cell].figures.iter().find(|figure| figure.metric == metric);
    let own = of(2, StudyMetric::P99).expect("a figure that is withheld");
    assert_eq!((own.value, own.runs), (None, 5), "not even of all runs together: {own:?}");
    assert!(own.note.as_ref().is_some_and(|note| note.contains("the client made this tail")), "{own:?}");
    let kernel = of(2, StudyMetric::P99Kernel).expect("a figure of its own");
    assert_eq!((kernel.value, kernel.runs), (Some(1.0), 6));
    assert!(of(2, StudyMetric::P50).is_some_and(|figure| figure.runs == 6 && figure.value.is_some()));
    assert!(of(1, StudyMetric::P99).is_some_and(|figure| figure.value.is_some()), "other cells keep theirs");
}

#[test]
fn a_run_in_which_nothing_was_due_counts_for_nothing() {
    let result = aggregated(&study(6), QUICK, |step, result| {
        if step.cell == 1 && step.repeat == 2 {
            result.requests.intended = 0;
            result.rate.done_per_s = 0.0;
        }
    });
    assert_eq!((result.cells[1].runs[1].verdict, result.verdict), (Verdict::Invalid, Verdict::Invalid));
    let rate =
        result.cells[1].figures.iter().find(|figure| figure.metric == StudyMetric::Rate).expect("a rate");
    assert!(rate.runs == 5 && rate.range.is_some_and(|(least, _)| least > 0.0), "{rate:?}");
}

#[test]
fn a_missing_run_makes_a_study_invalid() {
    let study = study(1);
    let schedule = schedule(&study);
    let stored =
        schedule.steps[..3].iter().map(|step| Ok((step.clone(), Stored::Run(Box::new(run(1, 20, 1.0, 1))))));
    let result = aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect("whole results");
    assert!(!result.complete && result.verdict == Verdict::Invalid);
    assert_eq!((result.cells[3].runs.len(), result.cells[3].figures.len()), (0, 0));
}

#[test]
fn pairs_are_repeats() {
    let mut study = study(6);
    study.comparisons = vec![spec(2, 3)];
    let result = aggregated(&study, [1.0, 1.0, 1.0, 3.0], nothing);
    let comparison = &result.comparisons[0].metrics[0];
    assert_eq!(
        (comparison.metric, comparison.pairs, &comparison.outcome),
        (Metric::P50, 6, &ComparisonOutcome::Slower)
    );
    assert!(comparison.change.is_some_and(|change| (change - 2.0).abs() < 0.05), "{comparison:?}");
}

#[test]
fn a_client_that_made_one_tail_of_six_leaves_rate_and_median_to_be_compared() {
    let mut study = study(6);
    study.comparisons = vec![spec(2, 3)];
    let result = aggregated(&study, [1.0, 1.0, 1.0, 3.0], |step, result| {
        if step.cell == 3 && step.repeat == 4 {
            let mut found = finding(FindingCode::TailBlame, Severity::Warning);
            found.evidence.push(Evidence::new(KERNEL_P99, 1.0, "ms"));
            result.findings.push(found);
        }
    });
    let of = |metric| {
        result.comparisons[0].metrics.iter().find(|comparison| comparison.metric == metric).expect("compared")
    };
    assert_eq!((of(Metric::P50).pairs, &of(Metric::P50).outcome), (6, &ComparisonOutcome::Slower));
    let tail = of(Metric::P99);
    let reason = "the client made the slowest responses in 1 of 6 pairs; 6 others are needed".to_owned();
    assert_eq!((tail.pairs, &tail.outcome), (5, &ComparisonOutcome::NoVerdict { reason }));
    assert!((tail.p, tail.interval, tail.differs) == (None, None, false), "{tail:?}");
}

#[test]
fn five_pairs_are_too_few_for_a_verdict() {
    let mut study = study(6);
    study.comparisons = vec![spec(2, 3)];
    let result = aggregated(&study, [1.0, 1.0, 1.0, 3.0], |step, result| {
        if step.cell == 3 && step.repeat == 4 {
            result.verdict = Verdict::Invalid;
        }
    });
    for comparison in &result.comparisons[0].metrics {
        let reason = "5 valid pairs; at least 6 needed".to_owned();
        assert_eq!((comparison.pairs, &comparison.outcome), (5, &ComparisonOutcome::NoVerdict { reason }));
        assert!(
            (comparison.p, comparison.interval, comparison.differs) == (None, None, false)
                && comparison.change.is_some(),
            "{comparison:?}"
        );
    }
}

#[test]
fn thresholds_and_published_figures() {
    let mut study = study(6);
    study.thresholds = vec![
        required(2, "p99 <= 50ms"),
        required(2, "p99 >= 2ms"),
        required(2, "service.max < 1ns"),
        required(2, "status.2xx == 100%"),
        required(2, "verdict == valid"),
        required(2, "limiter == client"),
        required(2, "server.memory < 1GiB"),
    ];
    study.published =
        vec![Publication { cell: 2, metric: StudyMetric::Rate, value: 400.0, source: None, note: None }];
    let result = aggregated(&study, QUICK, nothing);
    let outcomes: Vec<_> =
        result.thresholds.iter().map(|one| (one.evaluated.text.as_str(), one.evaluated.outcome)).collect();
    let expected = [
        ("response.p99 <= 50ms", ThresholdOutcome::Met),
        ("response.p99 >= 2ms", ThresholdOutcome::Missed),
        ("service.max < 1ns", ThresholdOutcome::Missed),
        ("status.2xx == 100%", ThresholdOutcome::Met),
        ("verdict == valid", ThresholdOutcome::Met),
        ("limiter == client", ThresholdOutcome::Undecided),
        ("server.memory < 1GiB", ThresholdOutcome::Undecided),
    ];
    assert_eq!(outcomes, expected);
    assert!(
        result.published[0].ratio.is_some_and(|ratio| (ratio - 20.0).abs() < 0.1),
        "{:?}",
        result.published
    );
}

/// Twenty requests in the short form are no fifth of the hundred that were published.
#[test]
fn a_short_study_has_no_ratio_to_published_totals() {
    for (short, expected) in [(false, [true, true, true]), (true, [false, false, true])] {
        let mut study = study(6);
        study.short = short;
        let publication = |metric| Publication { cell: 2, metric, value: 0.0305, source: None, note: None };
        study.published = [StudyMetric::Total, StudyMetric::Max, StudyMetric::Rate].map(publication).into();
        let result = aggregated(&study, QUICK, nothing);
        let has_ratio: Vec<bool> = result.published.iter().map(|figure| figure.ratio.is_some()).collect();
        assert_eq!(has_ratio, expected, "{:?}", result.published);
        assert!(result.published.iter().all(|figure| figure.measured.is_some()));
    }
}

#[test]
fn what_is_withheld_is_not_met() {
    let mut study = study(6);
    study.thresholds = vec![required(0, "p99 <= 50ms"), required(1, "p99 <= 50ms")];
    let result = aggregated(&study, QUICK, |step, result| {
        let above_ms = (step.cell == 1).then_some(30_000.0);
        let note = prony_model::QuantileNote { reason: "cut off".to_owned(), above_ms };
        result.requests.failed = 500;
        result.latency.response.quantiles_ms.insert("0.99".to_owned(), None);
        result.latency.response.withheld.insert("0.99".to_owned(), note);
    });
    let outcomes: Vec<_> =
        result.thresholds.iter().map(|one| (one.evaluated.measured, one.evaluated.outcome)).collect();
    assert_eq!(outcomes, [(None, ThresholdOutcome::Undecided), (None, ThresholdOutcome::Missed)]);
}

#[test]
fn a_single_run_is_reported() {
    let result = aggregated(&study(1), QUICK, nothing);
    assert_eq!(codes(&result), [FindingCode::SingleRun]);
    assert!(result.findings[0].finding.message.starts_with("n = 1 for each of 4 cells"));
    assert_eq!((result.verdict, result.findings[0].places.len()), (Verdict::Doubtful, 4));
}

#[test]
fn a_serial_server_is_reported() {
    // One request at a time, 40 ms each: eight connections wait for each other.
    let result = aggregated(&study(6), [40.0, 40.0, 320.0, 320.0], nothing);
    assert_eq!(codes(&result), [FindingCode::SerialServer]);
    let found = &result.findings[0];
    assert!(
        found.finding.message.contains("24.9 /s on one: it works on one request at a time"),
        "{}",
        found.finding.message
    );
    assert_eq!(found.places.len(), 2);
    // A client at its limit shows nothing of the server.
    let result = aggregated(&study(6), [40.0, 40.0, 320.0, 320.0], |_, result| {
        result.findings = vec![finding(FindingCode::NearClientLimit, Severity::Note)];
    });
    assert_eq!(codes(&result), [FindingCode::NearClientLimit]);
}

#[test]
fn two_factors_are_reported() {
    let mut study = study(6);
    study.comparisons = vec![spec(2, 3), spec(0, 3)];
    let result = aggregated(&study, QUICK, nothing);
    assert_eq!(codes(&result), [FindingCode::TwoFactors]);
    let found = &result.findings[0];
    assert!(found.finding.message.contains("8, new against 1, old: connections and version differ"));
    assert_eq!(found.places.iter().map(|place| place.cell).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn findings_are_reported_once_with_their_places() {
    let result = aggregated(&study(2), QUICK, |step, result| {
        if step.cell == 1 {
            let severity = if step.repeat == 2 { Severity::Warning } else { Severity::Note };
            result.findings = vec![finding(FindingCode::Steal, severity)];
        }
    });
    assert_eq!(codes(&result), [FindingCode::Steal]);
    let found = &result.findings[0];
    assert_eq!(found.finding.severity, Severity::Warning);
    assert_eq!((found.places[0].cell, found.places[0].repeats.as_slice()), (1, [1, 2].as_slice()));
}

#[test]
fn a_damaged_distribution_is_refused_by_name() {
    let study = study(1);
    let schedule = schedule(&study);
    let mut damaged = run(1, 20, 1.0, 1);
    damaged.histograms.response.data = "*".to_owned();
    let stored = [Ok((schedule.steps[0].clone(), Stored::Run(Box::new(damaged))))];
    let error =
        aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect_err("it is damaged");
    assert!(error.to_string().starts_with("runs/0001.json: "), "{error}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    assert!(matches!(Stored::from_json(STORED), Ok(Stored::Run(_))));
    assert!(matches!(
        Stored::from_json("{\"format\": \"prony.compare\", \"version\": 1}"),
        Err(StoredError::Kind(kind)) if kind == "prony.compare"
    ));
    assert!(matches!(Stored::from_json("{"), Err(StoredError::Format(_))));
}

/// A folder that is gone with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_is_read_file_by_file() {
    let folder = Scratch(std::env::temp_dir().join(format!("prony-digest-{}", std::process::id())));
    std::fs::create_dir_all(folder.0.join("runs")).expect("a folder");
    let study = study(1);
    let schedule = schedule(&study);
    for step in &schedule.steps[1..] {
        let text = prony_model::to_json(&run(8, 2000, 1.0, step.place));
        std::fs::write(folder.0.join(&step.file), text).expect("a file");
    }
    let result = aggregate_folder(&study, &schedule, &folder.0).expect("whole files");
    let made: Vec<usize> = result.cells.iter().map(|cell| cell.runs.len()).collect();
    assert_eq!((made.as_slice(), result.complete), ([0, 1, 1, 1].as_slice(), false));
    std::fs::write(folder.0.join(&schedule.steps[0].file), "{").expect("a file");
    let error = aggregate_folder(&study, &schedule, &folder.0).expect_err("one is damaged");
    assert!(error.to_string().starts_with("runs/0001.json: not JSON, or cut short"), "{error}");
}
