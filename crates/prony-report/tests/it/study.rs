//! The report of a study.

use std::collections::BTreeMap;

use prony_model::{
    ChangeInterval, CommandExit, ComparisonMethod, ComparisonOutcome, Environment, ErrorKind, Execution,
    FigureBasis, Finding, FindingCode, FindingPlace, Interval, LoadKind, Metric, MetricComparison,
    PublishedFigure, STUDY_FORMAT, STUDY_VERSION, Severity, StudyAxis, StudyCell, StudyComparison,
    StudyFailure, StudyFigure, StudyFinding, StudyMetric, StudyResult, StudyRun, StudyScenario, StudySearch,
    StudyStage, StudyTarget, StudyText, ThresholdOutcome, Verdict,
};
use prony_report::{Style, study};

use crate::study_fixture::{Chance, sessions, threshold};

fn check(name: &str, drawn: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

fn check_text(name: &str, result: &StudyResult, style: Style) {
    let drawn = study::text(result, &style);
    assert!(drawn.lines().all(|line| line.chars().count() <= style.width), "{drawn}");
    check(name, &drawn);
}

fn figure(metric: StudyMetric, value: f64) -> StudyFigure {
    StudyFigure {
        metric,
        value: Some(value),
        interval: Some(Interval { low: value * 0.97, high: value * 1.04, indicative: false }),
        basis: FigureBasis::AcrossRuns,
        runs: 6,
        samples: 600_000,
        range: Some((value * 0.95, value * 1.06)),
        note: None,
    }
}

fn run(repeat: u32, place: u32, verdict: Verdict) -> StudyRun {
    StudyRun {
        repeat,
        place,
        file: format!("runs/{place:04}.json"),
        started_at: format!("2026-01-02T03:{place:02}:05.000Z"),
        verdict,
        requests: 100_000,
        failed: 0,
        figures: BTreeMap::new(),
        findings: Vec::new(),
        limiter: None,
    }
}

fn cell(names: [&str; 3], kind: LoadKind, load: &str, place: u32, figures: Vec<StudyFigure>) -> StudyCell {
    let [target, of, workers] = names;
    let key = [("target", target), ("load", of), ("workers", workers)];
    StudyCell {
        name: [target, of, workers]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        key: key
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
            .collect(),
        kind,
        load: load.to_owned(),
        planned: 6,
        runs: (1..=6).map(|repeat| run(repeat, (repeat - 1) * 5 + place, Verdict::Valid)).collect(),
        figures,
        failed_by_kind: BTreeMap::new(),
        statuses: BTreeMap::from([(200, 600_000)]),
        curve: Vec::new(),
        bins: Vec::new(),
        timelines: Vec::new(),
        executions: Vec::new(),
        searches: Vec::new(),
        stages: Vec::new(),
        scenario: None,
        agents: None,
        retried: Vec::new(),
    }
}

fn loaded(target: &str, workers: &str, place: u32, rate: f64) -> StudyCell {
    let words = "GET /test, closed loop, 400 connections, 30 s";
    let p50 = 400_000.0 / rate;
    let mut success = figure(StudyMetric::Success, 1.0);
    success.interval = Some(Interval { low: 1.0, high: 1.0, indicative: false });
    let figures = vec![
        figure(StudyMetric::Rate, rate),
        success,
        figure(StudyMetric::Mean, p50 * 1.1),
        figure(StudyMetric::P50, p50),
        figure(StudyMetric::P90, p50 * 1.3),
        figure(StudyMetric::P99, p50 * 2.0),
    ];
    cell([target, "wrk", workers], LoadKind::Run, words, place, figures)
}

fn compared(metric: Metric, change: f64, outcome: ComparisonOutcome) -> MetricComparison {
    MetricComparison {
        metric,
        primary: metric == Metric::Rate,
        method: ComparisonMethod::SignedRanks,
        pairs: 6,
        a: Some(12_000.0),
        b: Some(12_000.0 * (1.0 + change)),
        change: Some(change),
        interval: Some(ChangeInterval { low: change - 0.03, high: change + 0.03 }),
        spread: Some(0.02),
        p: Some(0.03),
        differs: true,
        outcome,
    }
}

/// Two targets under a load, one of them with one and two workers, and a command.
fn whole() -> StudyResult {
    let mut withheld = figure(StudyMetric::P99, 1.0);
    (withheld.value, withheld.interval, withheld.range) = (None, None, None);
    withheld.note = Some("withheld in 2 of 6 runs: only 4 of 400 lie beyond it; 1,000 are needed".to_owned());
    let mut slow = loaded("node", "1", 1, 12_000.0);
    slow.figures[5] = withheld;
    let mut command = cell(
        ["node", "wget", ""],
        LoadKind::Exec,
        "wget -q -O - {url}/build/3",
        4,
        vec![
            figure(StudyMetric::WallMean, 8.1),
            figure(StudyMetric::Wall, 7.9),
            figure(StudyMetric::User, 2.1),
            figure(StudyMetric::System, 3.4),
            figure(StudyMetric::StartUp, 0.69),
            figure(StudyMetric::Memory, 7.5),
        ],
    );
    command.executions = vec![Execution { repeat: 1, wall_ms: 7.9, exit: CommandExit::Code(0) }];
    StudyResult {
        format: STUDY_FORMAT.to_owned(),
        version: STUDY_VERSION,
        verdict: Verdict::Valid,
        name: "kv-journal".to_owned(),
        title: "A key-value store: what each change of a journal brought".to_owned(),
        source: Some("a journal of wrk runs, 2016".to_owned()),
        intro: "The journal says what changed.\n\nIt does not say *why*.".to_owned(),
        texts: vec![StudyText { title: "What the journal could not see".to_owned(), body: "<b>".to_owned() }],
        short: false,
        complete: true,
        seed: 1,
        repeats: 6,
        retries: 3,
        started_at: Some("2026-01-02T03:01:05.000Z".to_owned()),
        took_s: 2461.2,
        axes: vec![StudyAxis { name: "target".to_owned(), values: vec!["kv".to_owned(), "node".to_owned()] }],
        targets: vec![StudyTarget {
            name: "kv".to_owned(),
            how: "prony serve kv --workers 1".to_owned(),
            commit: Some("v0.1.0".to_owned()),
        }],
        cells: vec![slow, loaded("kv", "1", 2, 18_234.0), loaded("kv", "2", 3, 31_000.0), command],
        comparisons: vec![StudyComparison {
            title: "kv against Node".to_owned(),
            a: 0,
            b: 1,
            margin: 0.02,
            metrics: vec![
                compared(Metric::Rate, 0.52, ComparisonOutcome::Faster),
                compared(Metric::P50, -0.34, ComparisonOutcome::FasterSizeUncertain),
            ],
        }],
        thresholds: Vec::new(),
        published: vec![PublishedFigure {
            cell: 1,
            metric: StudyMetric::Rate,
            published: 443.78,
            source: None,
            note: Some("213 connect errors, 4,979 timeouts of 18,509 requests".to_owned()),
            measured: Some(18_234.0),
            interval: Some(Interval { low: 17_900.0, high: 18_500.0, indicative: false }),
            ratio: Some(18_234.0 / 443.78),
        }],
        findings: Vec::new(),
        failures: Vec::new(),
        environment: Some(Environment::default()),
        file: "name = \"kv-journal\"\n".to_owned(),
    }
}

/// The same with everything that can be wrong.
fn doubtful() -> StudyResult {
    let mut result = whole();
    (result.verdict, result.complete, result.short) = (Verdict::Invalid, false, true);
    result.thresholds = vec![
        threshold(1, "response.p99 < 40ms", Some(43.9), ThresholdOutcome::Missed),
        threshold(0, "response.p99 < 50ms", None, ThresholdOutcome::Undecided),
        threshold(2, "response.p99 < 50ms", Some(25.8), ThresholdOutcome::Met),
    ];
    result.thresholds[0].evaluated.interval = Some(Interval { low: 39.0, high: 47.0, indicative: false });
    result.thresholds[0].evaluated.is_close = true;
    result.thresholds[1].evaluated.reason = Some("withheld in 1 of 6 runs: too few".to_owned());
    result.failures = vec![StudyFailure {
        cell: 2,
        repeat: 6,
        why: "kv ended before it was ready: read its log".to_owned(),
        log_tail: "starting\n\nerror: port 3000 is taken\n".to_owned(),
    }];
    result.cells[1].failed_by_kind =
        BTreeMap::from([(ErrorKind::ConnectTimeout, 213), (ErrorKind::RequestTimeout, 4979)]);
    let runs = &mut result.cells[2].runs;
    runs.pop();
    runs[2].verdict = Verdict::Invalid;
    let finding = |code, severity, message: &str| Finding {
        code,
        severity,
        evidence: Vec::new(),
        message: message.to_owned(),
        advice: "look for a lock".to_owned(),
    };
    let place = |cell, repeats: &[u32]| FindingPlace { cell, repeats: repeats.to_vec() };
    let all: Vec<FindingPlace> = (0..4)
        .zip(&result.cells)
        .map(|(at, cell)| place(at, &cell.runs.iter().map(|run| run.repeat).collect::<Vec<_>>()))
        .collect();
    result.findings = vec![
        StudyFinding {
            finding: finding(
                FindingCode::ClientCpu,
                Severity::Invalid,
                "a worker thread used 99 % of its core",
            ),
            places: vec![place(2, &[3])],
        },
        StudyFinding {
            finding: finding(FindingCode::SerialServer, Severity::Note, "it works on one request at a time"),
            places: vec![place(0, &[1, 2, 3, 4, 5, 6]), place(1, &[2, 5])],
        },
        StudyFinding { finding: finding(FindingCode::ClosedLoop, Severity::Note, "it follows"), places: all },
    ];
    let reason = "5 valid pairs; at least 6 needed".to_owned();
    for metric in &mut result.comparisons[0].metrics {
        metric.interval = None;
        metric.pairs = 5;
        metric.outcome = ComparisonOutcome::NoVerdict { reason: reason.clone() };
    }
    result
}

#[test]
fn texts() {
    check_text("study", &whole(), Style::default());
    check_text("study-narrow", &whole(), Style { width: 44, ..Style::default() });
    check_text("study-doubtful", &doubtful(), Style::default());
    check_text("study-ascii", &doubtful(), Style { unicode: false, ..Style::default() });
}

#[test]
fn markdowns() {
    check("study-markdown", &study::markdown(&whole()));
    check("study-markdown-doubtful", &study::markdown(&doubtful()));
}

/// Two servers under sessions, in two runs each.
fn visits() -> StudyResult {
    let mut result = whole();
    result.cells.truncate(2);
    result.comparisons.clear();
    result.thresholds.clear();
    result.published.clear();
    result.findings.clear();
    for (seed, cell) in (1..).zip(&mut result.cells) {
        cell.scenario = Some(sessions(6, 3, &mut Chance(seed)));
    }
    result
}

#[test]
fn steps_and_flows() {
    check_text("study-sessions", &visits(), Style::default());
    check_text("study-sessions-narrow", &visits(), Style { width: 60, ..Style::default() });
    check("study-sessions-markdown", &study::markdown(&visits()));
}

#[test]
fn a_study_without_a_run() {
    let mut result = whole();
    result.complete = false;
    result.verdict = Verdict::Invalid;
    for cell in &mut result.cells {
        (cell.runs, cell.figures) = (Vec::new(), Vec::new());
    }
    (result.comparisons, result.published) = (Vec::new(), Vec::new());
    (result.started_at, result.took_s, result.environment) = (None, 0.0, None);
    check_text("study-nothing", &result, Style::default());
    assert!(study::markdown(&result).contains("24 of 24 runs missing"));
}

#[test]
fn a_stored_study_is_drawn_alike() {
    let result = doubtful();
    let again = prony_model::study_from_json(&study::json(&result)).expect("as it was written");
    assert_eq!(again, result);
}

/// One load that two agents shared, of which one was lost in the second run.
fn shared() -> StudyResult {
    let mut cell = loaded("rudy", "1", 1, 50.0);
    let share = |name: &str, runs: usize| {
        let mut share = loaded("rudy", "1", 1, 25.0);
        name.clone_into(&mut share.name);
        share.runs.truncate(runs);
        share.planned = 2;
        share
    };
    cell.agents = Some(prony_model::StudyAgents {
        shares: vec![share("near", 2), share("<far>", 1)],
        more: 3,
        start_spread_ms: Some(0.25),
        overlap_share: Some(0.98),
    });
    StudyResult { cells: vec![cell], comparisons: Vec::new(), thresholds: Vec::new(), ..whole() }
}

#[test]
fn each_agent_has_a_row() {
    let result = shared();
    let together =
        "5 agents, 3 of them not shown, ready within 0.250 ms of each other, measured together in 98";
    let text = prony_report::study::text(&result, &Style::default());
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(together), "{text}");
    assert!(text.contains("near") && text.contains("<far>"), "{text}");
    let markdown = prony_report::study::markdown(&result);
    assert!(markdown.contains(together) && markdown.contains("| near |"), "{markdown}");
    let page = prony_report::study::html(&result);
    assert!(
        page.contains(together) && page.contains("id=\"agents-0\"") && page.contains("&lt;far&gt;"),
        "{page}"
    );
    let stored =
        prony_model::study_from_json(&prony_model::study_to_json(&result)).expect("it is read again");
    assert_eq!(stored, result);
}

/// Two servers, one of which was searched twice and once more in vain, and a load in two stages.
fn launch() -> StudyResult {
    let mut result = whole();
    result.cells.truncate(3);
    (result.comparisons, result.thresholds, result.published) = (Vec::new(), Vec::new(), Vec::new());
    result.findings.clear();
    for (place, cell) in result.cells.iter_mut().take(2).enumerate() {
        cell.kind = LoadKind::Capacity;
        "GET /, capacity with response.p99 < 50ms".clone_into(&mut cell.load);
        cell.key.insert("load".to_owned(), "launch".to_owned());
        let capacity = 1_000.0 * (place + 1) as f64;
        cell.figures = vec![StudyFigure {
            interval: Some(Interval { low: 0.95 * capacity, high: 1.05 * capacity, indicative: false }),
            ..figure(StudyMetric::Capacity, capacity)
        }];
        let search = |repeat, is_partial| StudySearch {
            repeat,
            file: format!("runs/{repeat}-{place}.json"),
            is_partial,
            result: crate::capacity::result(),
        };
        cell.searches = vec![search(1, false), search(2, place == 1)];
    }
    let stage = |name: &str, from_s: f64| StudyStage {
        name: name.to_owned(),
        from_s,
        asked_per_s: Some(500.0),
        intended: 6_000,
        done: 5_400,
        rate: Some(figure(StudyMetric::Rate, 450.0)),
        success: Some(figure(StudyMetric::Success, 0.9)),
        response: StudyScenario::TIMES.map(|metric| figure(metric, 2.5)).to_vec(),
        service: StudyScenario::TIMES.map(|metric| figure(metric, 1.5)).to_vec(),
    };
    result.cells[2].stages = vec![stage("base", 0.0), stage("spike", 12.0)];
    result
}

#[test]
fn capacities_and_stages() {
    check_text("study-capacity", &launch(), Style::default());
    check("study-capacity-markdown", &study::markdown(&launch()));
    let page = study::html(&launch());
    for part in [
        "<table id=\"cells-capacity\"",
        "id=\"chart-capacity-0-0\"",
        "id=\"chart-capacity-1-1\"",
        "id=\"stages-2\"",
        "450 good /s",
        "stopped, and counts in no figure",
        "CAPACITY 1,962 /s [1,931, 1,987]",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let once: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), once.len(), "every id is the page's only one");
}
