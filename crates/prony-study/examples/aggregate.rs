//! A study of 500 runs of a million requests each, made up and put together, for measuring time and memory:
//!
//! ```text
//! cargo build -p prony-study --release --example aggregate
//! target/release/examples/aggregate make /tmp/made
//! command time -v target/release/examples/aggregate draw /tmp/made
//! ```
//!
//! `draw` reads every stored result, and draws the study as text, as Markdown and as JSON.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::{
    HistogramData, Load, LoadKind, RunOptions, RunResult, SecondPoint, StudyAxis, from_json, to_json,
};
use prony_report::{Style, study as report};
use prony_stats::Histogram;
use prony_study::{
    AggregateError, Cell, CellLoad, ComparisonSpec, Order, Restart, Schedule, Step, Study, Template,
    aggregate_folder,
};

/// A short run, whose plan and environment every made run has.
const STORED: &str = include_str!("../../prony/tests/it/stored.json");
const CELLS: usize = 50;
const REPEATS: u32 = 10;
const RESPONSES: u64 = 1_000_000;
/// Length of each run.
const SECONDS: u64 = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", folder] => make(Path::new(folder)),
        ["draw", folder] => draw(Path::new(folder)).map_err(Into::into),
        _ => Err("say `make FOLDER` or `draw FOLDER`".into()),
    }
}

fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder.join("runs"))?;
    for step in schedule().steps {
        fs::write(folder.join(&step.file), to_json(&run(&step)?))?;
    }
    Ok(())
}

fn draw(folder: &Path) -> Result<(), AggregateError> {
    let result = aggregate_folder(&study(), &schedule(), folder)?;
    assert_eq!(result.cells.iter().map(|cell| cell.runs.len()).sum::<usize>(), CELLS * REPEATS as usize);
    assert!(result.cells.iter().all(|cell| cell.kind == LoadKind::Run && !cell.curve.is_empty()));
    black_box(report::text(&result, &Style::default()));
    black_box(report::markdown(&result));
    black_box(report::json(&result));
    Ok(())
}

/// A run with a long tail of response times, which no two runs share.
fn run(step: &Step) -> Result<RunResult, Box<dyn Error>> {
    let mut result = from_json(STORED)?;
    let mut times = Histogram::new();
    let mut state = u64::from(step.place);
    for _ in 0..RESPONSES {
        // Knuth, The Art of Computer Programming, 3.3.4: enough of chance for a distribution.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a minute")]
        times.record((1e6 - 3e6 * uniform.ln()) as u64);
    }
    let data =
        HistogramData { count: RESPONSES, data: times.to_base64_v2(), ..result.histograms.response.clone() };
    result.plan.load = Load::Closed { connections: 8 };
    result.requests.intended = RESPONSES;
    result.requests.done = RESPONSES;
    result.rate.done_per_s = (RESPONSES / SECONDS) as f64;
    result.series = (0..SECONDS)
        .map(|second| SecondPoint {
            second,
            covered_s: 1.0,
            done: RESPONSES / SECONDS,
            ..SecondPoint::default()
        })
        .collect();
    let all = &mut result.histograms;
    for histogram in [
        &mut all.response,
        &mut all.service,
        &mut all.first_byte,
        &mut all.lag,
        &mut all.departure,
        &mut all.network,
        &mut all.arrival,
    ] {
        *histogram = data.clone();
    }
    Ok(result)
}

fn schedule() -> Schedule {
    let cells = u32::try_from(CELLS).expect("a few");
    let steps = (0..REPEATS * cells).map(|at| Step {
        place: at + 1,
        cell: (at % cells) as usize,
        repeat: at / cells + 1,
        file: format!("runs/{:04}.json", at + 1),
    });
    Schedule { seed: 1, fingerprint: String::new(), steps: steps.collect() }
}

fn study() -> Study {
    let cells = (0..CELLS).map(|at| Cell {
        name: at.to_string(),
        slug: at.to_string(),
        key: BTreeMap::from([("variant".to_owned(), at.to_string())]),
        target: None,
        load: CellLoad::Run {
            url: Template("http://127.0.0.1:3000/".to_owned()),
            options: Box::new(RunOptions::default()),
            calibration: false,
            agents: None,
        },
        words: "GET /".to_owned(),
    });
    let comparisons = (1..CELLS).map(|b| ComparisonSpec {
        kind: LoadKind::Run,
        title: "the next".to_owned(),
        a: 0,
        b,
        metric: None,
        margin: 0.02,
    });
    Study {
        name: "made".to_owned(),
        title: "A made study".to_owned(),
        source: None,
        intro: String::new(),
        texts: Vec::new(),
        short: false,
        repeats: REPEATS,
        retries: 3,
        seed: 1,
        order: Order::Interleaved,
        restart: Restart::Never,
        pause: Duration::ZERO,
        folder: PathBuf::new(),
        axes: vec![StudyAxis {
            name: "variant".to_owned(),
            values: (0..CELLS).map(|at| at.to_string()).collect(),
        }],
        targets: Vec::new(),
        cells: cells.collect(),
        comparisons: comparisons.collect(),
        thresholds: Vec::new(),
        published: Vec::new(),
        nats: None,
        text: String::new(),
    }
}
