//! Searches as runs of a study, on a simulated server: what is stored of those that end and of those that are stopped.

use std::path::Path;

use prony_model::{
    CapacityOutcome, ExecEvent, ExecPlan, ExecResult, ProbePlan, ProbeResult, RunAgents, RunEvent, RunPlan,
    RunResult, StudyMetric, StudyResult, ThresholdOutcome,
};

use crate::capacity::Rig;
use crate::file::Overrides;
use crate::fixture::{Place, answered};
use crate::loads::LoadRunner as _;
use crate::{
    Begin, Confinement, Executed, Folder, Led, Runner, RunnerError, Schedule, Study, StudyEvent,
    aggregate_folder, execute,
};

/// A server of known capacity, which is ready at once.
struct Simulated(Rig);

impl Runner for Simulated {
    fn run(
        &mut self,
        plan: &RunPlan,
        _: bool,
        _: &mut dyn FnMut(RunEvent),
    ) -> Result<RunResult, RunnerError> {
        self.0.run(plan).map(|loaded| loaded.result).map_err(RunnerError)
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
        Ok(answered(plan, 200))
    }

    fn exec(&mut self, _: &ExecPlan, _: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError> {
        unreachable!("no cell of these tests is a command")
    }
}

/// The server carries the two rates that may be tried, so that the search is short: at least 120 per second.
fn study() -> Study {
    let text = "name = 'launch'\nseed = 1\nthresholds = ['capacity > 100', 'capacity > 1000']\n\
        [targets.a]\nurl = 'http://127.0.0.1:9'\nready = { path = '/' }\n[loads.launch]\nkind = 'capacity'\n\
        slo = 'p50 < 50ms'\nfrom = 100\nto = 120\ntime = '1h'\ntrial = '1s'";
    Study::read(Path::new("launch.toml"), text, Overrides::default()).expect("the file is right")
}

/// Makes what is missing, by a server on which Ctrl-C comes in the run `interrupted_at`.
fn conducted(place: &Place, interrupted_at: usize, begin: Begin) -> (Executed, usize, StudyResult) {
    let study = study();
    let schedule = Schedule::new(&study);
    let folder = Folder::open(&place.0, &study, &schedule, begin).expect("a folder");
    let mut rig = Rig::new(500.0);
    rig.interrupted_at = interrupted_at;
    let mut runner = Simulated(rig);
    let mut trials = 0;
    let mut sink = |event: StudyEvent<'_>| trials += usize::from(matches!(event, StudyEvent::TrialEnded(_)));
    let executed = execute(&study, &folder, &Confinement::default(), &mut runner, &|| false, &mut sink);
    let result = aggregate_folder(&study, &schedule, &place.0).expect("whole files");
    (executed.expect("the folder can be written"), trials, result)
}

#[test]
fn a_search_is_a_run_of_a_study() {
    let place = Place::new("search");
    let (executed, trials, result) = conducted(&place, usize::MAX, Begin::New);
    assert_eq!(executed, Executed { finished: 1, failed: 0, interrupted: false });
    let cell = &result.cells[0];
    assert!(result.complete && cell.searches.len() == 1 && !cell.searches[0].is_partial);
    let search = &cell.searches[0].result;
    assert_eq!((search.trials.len(), cell.runs[0].requests), (trials, trials as u64));
    assert!(
        matches!(search.outcome, CapacityOutcome::AtLeast { lower_per_s, .. } if lower_per_s <= 120.0),
        "{:?}",
        search.outcome
    );
    let figure = &cell.figures[0];
    assert_eq!((figure.metric, figure.value, figure.runs), (StudyMetric::Capacity, None, 0));
    assert!(figure.note.as_ref().is_some_and(|note| note.starts_with("at least 120 /s: ")), "{figure:?}");
    let outcomes: Vec<_> = result.thresholds.iter().map(|one| one.evaluated.outcome).collect();
    assert_eq!(outcomes, [ThresholdOutcome::Met, ThresholdOutcome::Undecided]);
}

#[test]
fn what_a_stopped_search_found_is_kept_and_the_search_made_again() {
    let place = Place::new("search-stopped");
    // The pilot is two runs; the third trial is the one that is stopped.
    let (executed, trials, result) = conducted(&place, 5, Begin::New);
    assert_eq!(executed, Executed { finished: 0, failed: 0, interrupted: true });
    assert_eq!((trials, place.files("runs").len(), place.files("partial").len()), (2, 0, 1));
    let cell = &result.cells[0];
    assert!(!result.complete && cell.runs.is_empty() && cell.figures.is_empty());
    assert!(cell.searches[0].is_partial && cell.searches[0].file.ends_with(".1.json"));
    assert_eq!(cell.searches[0].result.trials.len(), 2);
    let (executed, _, result) = conducted(&place, 4, Begin::Resume);
    assert!(executed.interrupted, "stopped once more");
    let files: Vec<String> = result.cells[0].searches.iter().map(|search| search.file.clone()).collect();
    assert!(files.len() == 2 && files[1].ends_with(".2.json"), "{files:?}");
    let (executed, _, result) = conducted(&place, usize::MAX, Begin::Resume);
    assert_eq!((executed.finished, result.cells[0].searches.len()), (1, 1));
    assert!(result.complete && !result.cells[0].searches[0].is_partial);
    assert_eq!(place.files("partial").len(), 2, "nothing is removed");
    let (executed, ..) = conducted(&place, 3, Begin::Over);
    assert!(executed.interrupted);
    assert_eq!(place.files("partial").len(), 0, "the first trial was stopped: nothing was found");
}
