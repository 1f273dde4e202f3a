//! What several tests of this crate need: a small study, a runner that follows a script, a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use prony_model::{
    Environment, ExecEvent, ExecPlan, ExecResult, PROBE_FORMAT, PROBE_VERSION, ProbePlan, ProbeResult,
    ProbedRequest, ProbedResponse, RequestOptions, RunAgents, RunEvent, RunPlan, RunResult, StatusSet,
    TlsChoices,
};

use crate::{
    Cell, CellLoad, Launch, Led, Order, Ready, Restart, Runner, RunnerError, Schedule, Step, Stop, Study,
    Target, Template,
};

/// A study of two targets that run already, one cell each, and its schedule: two repeats.
pub(crate) fn study() -> (Study, Schedule) {
    let study = Study {
        name: "two".to_owned(),
        title: String::new(),
        source: None,
        intro: String::new(),
        texts: Vec::new(),
        short: false,
        repeats: 2,
        retries: 3,
        seed: 40,
        order: Order::Interleaved,
        restart: Restart::Repeat,
        pause: Duration::ZERO,
        folder: PathBuf::new(),
        axes: Vec::new(),
        targets: vec![target("a"), target("b")],
        cells: vec![cell("a", 0), cell("b", 1)],
        comparisons: Vec::new(),
        thresholds: Vec::new(),
        published: Vec::new(),
        nats: None,
        text: "name = \"two\"\n".to_owned(),
    };
    let schedule = schedule(&study);
    (study, schedule)
}

/// Every repeat holds every cell once.
pub(crate) fn schedule(study: &Study) -> Schedule {
    let cells = study.cells.len();
    let step = |at: usize| {
        let (place, repeat) = (at + 1, at / cells + 1);
        let cell = at % cells;
        Step {
            place: u32::try_from(place).expect("few"),
            cell,
            repeat: u32::try_from(repeat).expect("few"),
            file: format!("runs/{place:04}-r{repeat}-{}.json", study.cells[cell].slug),
        }
    };
    let steps = (0..cells * study.repeats as usize).map(step).collect();
    Schedule { seed: study.seed, fingerprint: "f1".to_owned(), steps }
}

/// One that runs already, and is ready when `GET /ready` is answered.
fn target(name: &str) -> Target {
    Target {
        name: name.to_owned(),
        key: BTreeMap::new(),
        launch: Launch::Running,
        url: Template(format!("http://{name}:1")),
        tls: TlsChoices::default(),
        port: None,
        needs: Vec::new(),
        ready: Ready {
            path: Some("/ready".to_owned()),
            status: StatusSet::default(),
            within: Duration::ZERO,
        },
        stop: Stop { signal: 15, within: Duration::from_secs(1) },
        prepare: Vec::new(),
        commit: None,
    }
}

fn cell(name: &str, target: usize) -> Cell {
    Cell {
        name: name.to_owned(),
        slug: name.to_owned(),
        key: BTreeMap::new(),
        target: Some(target),
        load: CellLoad::Probe {
            url: Template("{url}/load".to_owned()),
            options: Box::new(RequestOptions::default()),
            count: 1,
            reuse: false,
        },
        words: String::new(),
    }
}

/// Answers requests by `script`, by method and URL: a status, or why there is no result.
pub(crate) struct Scripted<F> {
    pub(crate) script: F,
    /// `GET http://a:1/ready`
    pub(crate) requests: Vec<String>,
}

impl<F: FnMut(&str) -> Result<u16, String>> Scripted<F> {
    pub(crate) fn new(script: F) -> Self {
        Self { script, requests: Vec::new() }
    }

    /// Requests to URLs with this end.
    pub(crate) fn count(&self, end: &str) -> usize {
        self.requests.iter().filter(|request| request.ends_with(end)).count()
    }
}

impl<F: FnMut(&str) -> Result<u16, String>> Runner for Scripted<F> {
    fn run(&mut self, _: &RunPlan, _: bool, _: &mut dyn FnMut(RunEvent)) -> Result<RunResult, RunnerError> {
        unreachable!("no cell of these tests is a run")
    }

    fn find_agents(&mut self, _: &RunAgents) -> Result<Vec<String>, RunnerError> {
        unreachable!("no cell of these tests has agents")
    }

    fn run_on_agents(
        &mut self,
        _: &RunPlan,
        _: &RunAgents,
        _: &mut dyn FnMut(RunEvent),
    ) -> Result<Led, RunnerError> {
        unreachable!("no cell of these tests has agents")
    }

    fn probe(&mut self, plan: &ProbePlan) -> Result<ProbeResult, RunnerError> {
        let request = format!("{} {}", plan.request.method, plan.target.url);
        let status = (self.script)(&request).map_err(RunnerError);
        self.requests.push(request);
        Ok(ProbeResult { started_at: self.requests.len().to_string(), ..answered(plan, status?) })
    }

    fn exec(&mut self, _: &ExecPlan, _: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError> {
        unreachable!("no cell of these tests is a command")
    }
}

/// A probe by `plan` that was answered with `status`.
pub(crate) fn answered(plan: &ProbePlan, status: u16) -> ProbeResult {
    let response = ProbedResponse { status, ..ProbedResponse::default() };
    ProbeResult {
        format: PROBE_FORMAT.to_owned(),
        version: PROBE_VERSION,
        plan: plan.clone(),
        started_at: String::new(),
        interrupted: false,
        requests: vec![ProbedRequest { response: Some(response), ..ProbedRequest::default() }],
        later: None,
        environment: Environment::default(),
    }
}

/// A path of its own for a test, gone afterwards.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("prony-study-{name}-{}", std::process::id()));
        // What an aborted test may have left.
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// Every file in `part`, with its text.
    pub(crate) fn files(&self, part: &str) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.0.join(part)).expect("it is there").flatten();
        let file = |entry: fs::DirEntry| {
            let text = fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        };
        entries.filter(|entry| entry.path().is_file()).map(file).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
