//! What is to be done: a study file, checked, with every axis multiplied out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use prony_model::{
    ExecPlan, LoadKind, RequestOptions, RunAgents, RunOptions, StatusSet, StudyAxis, StudyMetric, StudyText,
    Threshold, TlsChoices,
};

use crate::capacity::CapacityOptions;

/// A study. Indices (`usize`) of targets and cells are into its own lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Fit for file names.
    pub name: String,
    /// For people.
    pub title: String,
    /// Of the published figures.
    pub source: Option<String>,
    /// What it is about.
    pub intro: String,
    /// Further sections.
    pub texts: Vec<StudyText>,
    /// Whether the `[short]` part was applied.
    pub short: bool,
    /// How often each cell is run.
    pub repeats: u32,
    /// Invalid runs of a cell that are made again at most.
    pub retries: u32,
    /// Of the order and, with the number of the step, of each load.
    pub seed: u64,
    /// In which order.
    pub order: Order,
    /// How long a target lives.
    pub restart: Restart,
    /// Between runs.
    pub pause: Duration,
    /// Where relative paths begin: the folder of the study file.
    pub folder: PathBuf,
    /// The axes, in the order of the file.
    pub axes: Vec<StudyAxis>,
    /// Every target of every cell, and before them the services that they need: one for each way of starting it
    /// that the axes make.
    pub targets: Vec<Target>,
    /// Every point of the matrix.
    pub cells: Vec<Cell>,
    /// What is compared.
    pub comparisons: Vec<ComparisonSpec>,
    /// What is required of figures.
    pub thresholds: Vec<CellThreshold>,
    /// What was published.
    pub published: Vec<Publication>,
    /// The broker between this process and agents.
    pub nats: Option<String>,
    /// The file's text.
    pub text: String,
}

impl Study {
    /// Everybody who is asked to load, each once.
    pub fn agents(&self) -> Vec<&RunAgents> {
        self.cells.iter().filter_map(|cell| cell.load.agents()).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The order of the runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Every repeat holds every cell once, shuffled.
    #[default]
    Random,
    /// Every repeat holds every cell once, in the order of the file.
    Interleaved,
    /// All repeats of a cell after one another.
    Sequential,
}

/// How long a target lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Restart {
    /// For one run.
    Run,
    /// For one repeat of all cells that use it.
    #[default]
    Repeat,
    /// For the study.
    Never,
}

/// Text with placeholders that are known only when targets run: `{port}` and `{url}` of the target itself,
/// `{NAME.port}` and `{NAME.url}` of a service. Those of the axes are filled in already.
///
/// Braces that are meant as such are doubled around a name, `{{name}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(pub String);

/// A server, or a service that servers need.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its name in the file.
    pub name: String,
    /// The values of the axes that its text uses; two targets of one name differ in them.
    pub key: BTreeMap<String, String>,
    /// How it comes to be.
    pub launch: Launch,
    /// `http://127.0.0.1:{port}`, or https, unless the file says otherwise.
    pub url: Template,
    /// How it is reached over TLS.
    pub tls: TlsChoices,
    /// A port of its own; absent: a free one.
    pub port: Option<u16>,
    /// Services that must run before it, by index.
    pub needs: Vec<usize>,
    /// When it may be loaded.
    pub ready: Ready,
    /// How it is stopped.
    pub stop: Stop,
    /// Requests before every load.
    pub prepare: Vec<Ask>,
    /// Its commit, as the file states it.
    pub commit: Option<String>,
}

/// How a target comes to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Launch {
    /// `prony serve` with these arguments; `--port {port}` is added unless they name one, and `--tls-ca` with
    /// `--tls` where nothing else says whom to trust.
    Serve(Vec<Template>),
    /// A command of one's own.
    Command {
        /// Program and arguments: no shell.
        line: Vec<Template>,
        /// What must be made first, once for the study.
        build: Build,
        /// Working folder.
        folder: PathBuf,
        /// Added to the environment.
        environment: BTreeMap<String, Template>,
    },
    /// It runs already.
    Running,
}

/// Commands that make a target, in its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// Program and arguments of each.
    pub lines: Vec<Vec<String>>,
    /// At most this long together.
    pub within: Duration,
}

/// When a target may be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// A GET of this path; absent: its port takes connections.
    pub path: Option<String>,
    /// A good answer to it.
    pub status: StatusSet,
    /// At most this long.
    pub within: Duration,
}

/// How a target is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Number of the signal.
    pub signal: i32,
    /// After this long it is killed, with all that it started.
    pub within: Duration,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// `GET`, `PUT`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: String,
    /// A good answer.
    pub status: StatusSet,
}

/// One point of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// For people: its value on every axis of more than one value.
    pub name: String,
    /// Fit for file names, and no other cell's.
    pub slug: String,
    /// Its value on every axis that it has, by the axis's name.
    pub key: BTreeMap<String, String>,
    /// The target, by index; a command may do without.
    pub target: Option<usize>,
    /// What is done.
    pub load: CellLoad,
    /// What is done, in words.
    pub words: String,
}

/// What is done in one run of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellLoad {
    /// A load.
    Run {
        /// On this URL.
        url: Template,
        /// Of this kind.
        options: Box<RunOptions>,
        /// `auto` or not: whether the result is set against this machine's calibration.
        calibration: bool,
        /// The agents that share it; absent: this process.
        agents: Option<RunAgents>,
    },
    /// Single requests.
    Probe {
        /// To this URL.
        url: Template,
        /// Of this kind.
        options: Box<RequestOptions>,
        /// How many.
        count: u32,
        /// All on one connection.
        reuse: bool,
    },
    /// A command, as in `plan.commands`: one, whose texts are templates still; `plan.seed` is not yet that of the run.
    Exec {
        /// How it is timed.
        plan: Box<ExecPlan>,
    },
    /// A search for what the target carries.
    Capacity {
        /// On this URL.
        url: Template,
        /// What each trial does, an open loop of any rate and length.
        options: Box<RunOptions>,
        /// Whether trials are set against this machine's calibration.
        calibration: bool,
        /// The agents that share its loads; absent: this process.
        agents: Option<RunAgents>,
        /// What is searched for.
        search: Box<CapacityOptions>,
    },
}

impl CellLoad {
    /// Its kind.
    pub fn kind(&self) -> LoadKind {
        match self {
            Self::Run { .. } => LoadKind::Run,
            Self::Probe { .. } => LoadKind::Probe,
            Self::Exec { .. } => LoadKind::Exec,
            Self::Capacity { .. } => LoadKind::Capacity,
        }
    }

    /// The agents that share it.
    pub fn agents(&self) -> Option<&RunAgents> {
        match self {
            Self::Run { agents, .. } | Self::Capacity { agents, .. } => agents.as_ref(),
            Self::Probe { .. } | Self::Exec { .. } => None,
        }
    }
}

/// B against A, both cells of runs or both of searches.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonSpec {
    /// Runs or searches.
    pub kind: LoadKind,
    /// What is asked, in words.
    pub title: String,
    /// What B is compared with.
    pub a: usize,
    /// What is compared.
    pub b: usize,
    /// The primary metric; absent: the rate in a closed loop, else p50.
    pub metric: Option<prony_model::Metric>,
    /// The change that is taken as none: 0.02 is 2 %.
    pub margin: f64,
}

/// What is required of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellThreshold {
    /// The cell.
    pub cell: usize,
    /// What is required.
    pub threshold: Threshold,
}

/// A published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// The cell that stands for it.
    pub cell: usize,
    /// Of what.
    pub metric: StudyMetric,
    /// How much, in the metric's unit.
    pub value: f64,
    /// Where, if not in the study's source.
    pub source: Option<String>,
    /// What the write-up could not see.
    pub note: Option<String>,
}
