//! Studies as the aggregation would hand them over, made from distributions that the tests choose.

use std::collections::BTreeMap;

use prony_model::{
    ChangeInterval, CommandExit, ComparisonMethod, ComparisonOutcome, CurvePoint, ErrorKind,
    EvaluatedThreshold, Evidence, Execution, Figure, FigureBasis, Finding, FindingCode, FindingPlace,
    HistogramBin, Interval, LoadKind, Metric, MetricComparison, PublishedFigure, STUDY_FORMAT, STUDY_VERSION,
    SessionCounts, Severity, StudyAxis, StudyCell, StudyComparison, StudyFailure, StudyFigure, StudyFinding,
    StudyFlow, StudyMetric, StudyResult, StudyRun, StudyScenario, StudyStep, StudyTarget, StudyText,
    StudyThreshold, ThresholdOutcome, Timeline, TimelinePoint, Verdict,
};

/// A generator of numbers in 0..1 that is the same everywhere (SplitMix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About 1, sometimes a tail of `spread` times as much.
    fn factor(&mut self, spread: f64) -> f64 {
        let sum: f64 = (0..6).map(|_| self.share()).sum::<f64>() / 3.0 - 1.0;
        (sum * spread).exp()
    }
}

/// What a cell of the made-up study is like.
pub(crate) struct Server {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Middles of the peaks of the response time, ms, and their shares.
    pub(crate) peaks: Vec<(f64, f64)>,
    /// Share of failures.
    pub(crate) failing: f64,
    /// How much longer a response is than the service.
    pub(crate) waiting: f64,
}

/// Sessions of two steps, the second of which fails sometimes, in `repeats` runs of `seconds`.
pub(crate) fn sessions(repeats: u32, seconds: u32, chance: &mut Chance) -> StudyScenario {
    let counts = SessionCounts { begun: 6_000, completed: 5_700, failed: 290, unfinished: 10 };
    let mut times = |middle: f64| -> Vec<StudyFigure> {
        let ratios = [1.0, 1.6, 2.8, 9.0];
        let figure_of = |(metric, ratio): (StudyMetric, f64)| {
            let values: Vec<f64> =
                (0..repeats).map(|_| middle * ratio * (0.98 + 0.04 * chance.share())).collect();
            figure(metric, &values, 6_000)
        };
        StudyScenario::TIMES.into_iter().zip(ratios).map(figure_of).collect()
    };
    let of_steps = [(times(12.0), times(11.0)), (times(31.0), times(30.0))];
    let (time, time_without_think) = (times(2_043.0), times(43.0));
    let mut timeline = |repeat: u32, middle: f64, fails: bool| Timeline {
        repeat,
        points: (0..seconds)
            .map(|second| TimelinePoint {
                at_s: f64::from(second),
                rate_per_s: 190.0 + 20.0 * chance.share(),
                failed_per_s: if fails && second % 7 == 3 { 4.0 } else { 0.0 },
                p50_ms: Some(middle * (0.9 + 0.2 * chance.share())),
                p99_ms: (second % 5 != 4).then(|| middle * (2.6 + 0.6 * chance.share())),
                max_ms: Some(middle * 9.0),
            })
            .collect(),
    };
    let share = |value: f64| Some(figure(StudyMetric::Success, &vec![value; repeats as usize], 6_000));
    let mut step = |name: &str, place: usize, failed: u64| StudyStep {
        flow: "buy".to_owned(),
        name: name.to_owned(),
        request: format!("POST /{name}"),
        ended: 6_000,
        done: 6_000 - failed,
        failed: if failed > 0 { BTreeMap::from([("status".to_owned(), failed)]) } else { BTreeMap::new() },
        success: share(1.0 - failed as f64 / 6_000.0),
        response: of_steps[place].0.clone(),
        service: of_steps[place].1.clone(),
        timelines: (1..=repeats.min(3))
            .map(|repeat| timeline(repeat, [12.0, 31.0][place], failed > 0))
            .collect(),
    };
    StudyScenario {
        sessions: counts,
        flows: vec![StudyFlow {
            name: "buy".to_owned(),
            sessions: counts,
            success: share(0.95),
            time,
            time_without_think,
        }],
        steps: vec![step("login", 0, 0), step("order", 1, 290)],
    }
}

/// The axes' values of a cell.
fn key(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
}

fn figure(metric: StudyMetric, values: &[f64], samples: u64) -> StudyFigure {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (sorted.first().copied(), sorted.last().copied());
    let enough = sorted.len() >= 6;
    let interval =
        first.zip(last).filter(|_| enough).map(|(low, high)| Interval { low, high, indicative: false });
    StudyFigure {
        metric,
        value: sorted.get(sorted.len() / 2).copied(),
        interval,
        basis: if enough { FigureBasis::AcrossRuns } else { FigureBasis::None },
        runs: u32::try_from(values.len()).expect("few"),
        samples,
        range: first.zip(last),
        note: (!enough).then(|| format!("n = {} runs: no interval", sorted.len())),
    }
}

/// A cell without anything measured.
fn empty(kind: LoadKind, pairs: &[(&str, &str)], planned: u32) -> StudyCell {
    let values: Vec<&str> = pairs.iter().map(|(_, value)| *value).collect();
    StudyCell {
        name: values.join(" · "),
        key: key(pairs),
        kind,
        load: "GET /test, closed loop, 400 connections, 30 s".to_owned(),
        planned,
        runs: Vec::new(),
        retried: Vec::new(),
        figures: Vec::new(),
        failed_by_kind: BTreeMap::new(),
        statuses: BTreeMap::new(),
        curve: Vec::new(),
        bins: Vec::new(),
        timelines: Vec::new(),
        executions: Vec::new(),
        searches: Vec::new(),
        stages: Vec::new(),
        scenario: None,
        agents: None,
    }
}

fn run(repeat: u32, place: u32, figures: BTreeMap<StudyMetric, f64>, requests: u64, failed: u64) -> StudyRun {
    StudyRun {
        repeat,
        place,
        file: format!("runs/{place:04}-cell.json"),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        verdict: Verdict::Valid,
        requests,
        failed,
        figures,
        findings: Vec::new(),
        limiter: None,
    }
}

/// The figures of a cell from those of its runs.
fn gathered(cell: &mut StudyCell) {
    for metric in StudyMetric::ALL {
        let values: Vec<f64> = cell.runs.iter().filter_map(|run| run.figures.get(&metric).copied()).collect();
        if !values.is_empty() {
            let samples = cell.runs.iter().map(|run| run.requests).sum();
            cell.figures.push(figure(metric, &values, samples));
        }
    }
}

/// A cell of loads on `server`, with a timeline of `seconds`.
pub(crate) fn loaded(
    pairs: &[(&str, &str)],
    server: &Server,
    repeats: u32,
    seconds: u32,
    chance: &mut Chance,
) -> StudyCell {
    const SAMPLES: usize = 20_000;
    let mut cell = empty(LoadKind::Run, pairs, repeats);
    let mut times: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let mut left = chance.share();
            let peak = server.peaks.iter().find(|(_, share)| {
                left -= share;
                left <= 0.0
            });
            let middle = peak.or(server.peaks.last()).expect("a server has a peak").0;
            let tail = if chance.share() < 0.01 { 1.0 + 8.0 * chance.share() } else { 1.0 };
            middle * chance.factor(0.5) * tail
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |quantile: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the list")]
        let index = ((quantile * SAMPLES as f64) as usize).min(SAMPLES - 1);
        times[index]
    };
    for step in 0..=90 {
        let quantile = 1.0 - 10_f64.powf(-f64::from(step) * 3.3 / 90.0);
        let response_ms = at(quantile);
        cell.curve.push(CurvePoint { quantile, response_ms, service_ms: response_ms / server.waiting });
    }
    let mut from_ms = times[0];
    while from_ms <= times[SAMPLES - 1] {
        let to_ms = from_ms * 1.15;
        let count = times.iter().filter(|time| (from_ms..to_ms).contains(*time)).count() as u64;
        cell.bins.push(HistogramBin { from_ms, to_ms, count });
        from_ms = to_ms;
    }
    for repeat in 1..=repeats {
        let shift = chance.factor(0.12);
        let figures = [
            (StudyMetric::Rate, server.rate * shift),
            (StudyMetric::Success, 1.0 - server.failing),
            (StudyMetric::P50, at(0.5) / shift),
            (StudyMetric::P90, at(0.9) / shift),
            (StudyMetric::P99, at(0.99) / shift),
            (StudyMetric::P999, at(0.999) / shift),
            (StudyMetric::Max, times[SAMPLES - 1] / shift),
        ];
        let requests = 182_340_u32;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of requests"
        )]
        let failed = (server.failing * f64::from(requests)) as u64;
        cell.runs.push(run(repeat, repeat, BTreeMap::from(figures), requests.into(), failed));
        let points = (0..seconds).map(|second| {
            let swing = chance.factor(0.2);
            TimelinePoint {
                at_s: f64::from(second) + 0.5,
                rate_per_s: server.rate * shift * swing,
                failed_per_s: if server.failing > 0.0 && chance.share() < 0.1 { 3.0 } else { 0.0 },
                p50_ms: (second != 7).then(|| at(0.5) / swing),
                p99_ms: (second != 7).then(|| at(0.99) / swing / swing),
                max_ms: Some(at(0.999)),
            }
        });
        if repeat <= 12 {
            cell.timelines.push(Timeline { repeat, points: points.collect() });
        }
    }
    if server.failing > 0.0 {
        cell.failed_by_kind.insert(ErrorKind::RequestTimeout, 5061);
    }
    gathered(&mut cell);
    cell
}

/// A cell of a command that takes about `wall_ms`, `start_up` of it to start.
pub(crate) fn timed(pairs: &[(&str, &str)], wall_ms: f64, start_up: f64, chance: &mut Chance) -> StudyCell {
    let mut cell = empty(LoadKind::Exec, pairs, 6);
    "wget -q -O - {url}/build/3".clone_into(&mut cell.load);
    for repeat in 1..=6 {
        for index in 0..100 {
            let outlier = if index == 0 { 3.0 } else { 1.0 };
            let exit = if index == 50 { CommandExit::Code(4) } else { CommandExit::Code(0) };
            cell.executions.push(Execution { repeat, wall_ms: wall_ms * chance.factor(0.2) * outlier, exit });
        }
        let wall = wall_ms * chance.factor(0.05);
        let figures = [
            (StudyMetric::Wall, wall),
            (StudyMetric::WallMean, wall * 1.02),
            (StudyMetric::User, wall * 0.4),
            (StudyMetric::System, wall * 0.5),
            (StudyMetric::StartUp, start_up),
            (StudyMetric::Memory, 6.3),
        ];
        cell.runs.push(run(repeat, repeat, BTreeMap::from(figures), 100, 1));
    }
    gathered(&mut cell);
    cell
}

/// A cell of probes whose server takes `server_ms`.
pub(crate) fn probed(pairs: &[(&str, &str)], server_ms: f64, chance: &mut Chance) -> StudyCell {
    let mut cell = empty(LoadKind::Probe, pairs, 6);
    "GET /, 10 probes".clone_into(&mut cell.load);
    for repeat in 1..=6 {
        let server = server_ms * chance.factor(0.1);
        let figures = [
            (StudyMetric::Dns, 0.4),
            (StudyMetric::Tcp, 0.08 * chance.factor(0.3)),
            (StudyMetric::Server, server),
            (StudyMetric::Transfer, 0.2),
            (StudyMetric::Probe, server + 0.7),
        ];
        cell.runs.push(run(repeat, repeat, BTreeMap::from(figures), 10, 0));
    }
    gathered(&mut cell);
    cell
}

/// A study of `cells`, with nothing required, compared or found.
pub(crate) fn study(axes: &[(&str, &[&str])], cells: Vec<StudyCell>) -> StudyResult {
    let axis = |(name, values): &(&str, &[&str])| StudyAxis {
        name: (*name).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    StudyResult {
        format: STUDY_FORMAT.to_owned(),
        version: STUDY_VERSION,
        verdict: Verdict::Valid,
        name: "kv-journal".to_owned(),
        title: "A key-value store: what each change of a journal brought".to_owned(),
        source: Some("a journal of wrk runs, 2016".to_owned()),
        intro: "A server in Node and one of ours, with a load that is the journal's own.\n\nBoth keep their values in \
                memory."
            .to_owned(),
        texts: vec![StudyText {
            title: "What the journal could not see".to_owned(),
            body: "Every answer was a 404.".to_owned(),
        }],
        short: false,
        complete: true,
        seed: 7,
        repeats: 6,
        retries: 3,
        started_at: Some("2026-01-02T03:04:05Z".to_owned()),
        took_s: 754.0,
        axes: axes.iter().map(axis).collect(),
        targets: vec![StudyTarget {
            name: "kv".to_owned(),
            how: "prony serve kv --workers {workers}".to_owned(),
            commit: Some("9be31e5".to_owned()),
        }],
        cells,
        comparisons: Vec::new(),
        thresholds: Vec::new(),
        published: Vec::new(),
        findings: Vec::new(),
        failures: Vec::new(),
        environment: Some(crate::text::healthy().environment),
        file: "name = \"kv-journal\"\nrepeats = 6\n\n[targets.kv]\nserve = \"kv\"\n".to_owned(),
    }
}

/// Two servers under two widths of load, with everything that a study can hold.
pub(crate) fn journal() -> StudyResult {
    let mut chance = Chance(1);
    let server = |rate, peaks: &[(f64, f64)], failing, waiting| Server {
        rate,
        peaks: peaks.to_vec(),
        failing,
        waiting,
    };
    let mut cells = Vec::new();
    for (target, load, server) in [
        ("kv", "100", server(18_234.0, &[(2.7, 1.0)], 0.0, 1.0)),
        ("kv", "400", server(19_900.0, &[(9.1, 0.9), (40.0, 0.1)], 0.0, 1.3)),
        ("node", "100", server(5_900.0, &[(0.3, 0.4), (8.0, 0.6)], 0.0, 1.0)),
        ("node", "400", server(5_400.0, &[(60.0, 0.7), (200.0, 0.3)], 0.01, 1.8)),
    ] {
        cells.push(loaded(&[("target", target), ("connections", load)], &server, 6, 30, &mut chance));
    }
    cells[3].runs[2].verdict = Verdict::Doubtful;
    cells[3].runs[2].findings = vec![FindingCode::NotSteady];
    let mut study = study(&[("target", &["kv", "node"]), ("connections", &["100", "400"])], cells);
    study.verdict = Verdict::Doubtful;
    study.comparisons = vec![comparison(2, 0), comparison(3, 1)];
    study.thresholds = vec![
        threshold(0, "response.p99 <= 50ms", Some(2.9), ThresholdOutcome::Met),
        threshold(3, "response.p99 <= 50ms", Some(412.0), ThresholdOutcome::Missed),
        threshold(2, "response.p99 <= 50ms", None, ThresholdOutcome::Undecided),
    ];
    study.published = vec![
        published(
            3,
            StudyMetric::Rate,
            443.78,
            5_400.0,
            Some("213 connect errors, 4,979 timeouts of 18,509 requests"),
        ),
        published(1, StudyMetric::Rate, 25_000.0, 19_900.0, None),
        published(1, StudyMetric::P99, 3.0, 58.0, None),
    ];
    study.findings = vec![
        doubt(FindingCode::NotSteady, Severity::Warning),
        doubt(FindingCode::ClosedLoop, Severity::Note),
    ];
    study.failures = vec![StudyFailure {
        cell: 3,
        repeat: 6,
        why: "node did not answer within 20 s".to_owned(),
        log_tail: "listening on 3000\nError: EMFILE, too many open files\n".to_owned(),
    }];
    study
}

fn comparison(a: u32, b: u32) -> StudyComparison {
    let compared = |metric, change: f64, primary, outcome| MetricComparison {
        metric,
        primary,
        method: ComparisonMethod::SignedRanks,
        pairs: 6,
        a: Some(5_900.0),
        b: Some(5_900.0 * (1.0 + change)),
        change: Some(change),
        interval: Some(ChangeInterval { low: change - 0.03, high: change + 0.03 }),
        spread: Some(0.03),
        p: Some(0.03),
        differs: true,
        outcome,
    };
    let noisy = ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.1), pairs_needed: Some(160) };
    StudyComparison {
        title: "Node against ours".to_owned(),
        a,
        b,
        margin: 0.02,
        metrics: vec![
            compared(Metric::Rate, 2.1, true, ComparisonOutcome::Faster),
            compared(Metric::P50, 0.003, false, ComparisonOutcome::NoDifference),
            compared(Metric::P99, -0.03, false, noisy),
        ],
    }
}

pub(crate) fn threshold(
    cell: u32,
    text: &str,
    measured: Option<f64>,
    outcome: ThresholdOutcome,
) -> StudyThreshold {
    let figure = Figure::of_metric(StudyMetric::P99);
    let evaluated = EvaluatedThreshold {
        text: text.to_owned(),
        figure,
        measured,
        word: None,
        interval: None,
        samples: if measured.is_some() { 12_000 } else { 0 },
        outcome,
        is_close: false,
        reason: None,
    };
    StudyThreshold { cell, evaluated }
}

fn published(
    cell: u32,
    metric: StudyMetric,
    published: f64,
    measured: f64,
    note: Option<&str>,
) -> PublishedFigure {
    PublishedFigure {
        cell,
        metric,
        published,
        source: None,
        note: note.map(str::to_owned),
        measured: Some(measured),
        interval: Some(Interval { low: measured * 0.95, high: measured * 1.06, indicative: false }),
        ratio: Some(measured / published),
    }
}

fn doubt(code: FindingCode, severity: Severity) -> StudyFinding {
    StudyFinding {
        finding: Finding {
            code,
            severity,
            evidence: vec![Evidence::new("p", 0.001, "share")],
            message: "the rate fell by 31 % from the first to the last second".to_owned(),
            advice: "give the server a longer warm-up".to_owned(),
        },
        places: vec![FindingPlace { cell: 3, repeats: vec![3, 4] }],
    }
}
