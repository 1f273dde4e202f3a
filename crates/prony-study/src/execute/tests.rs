use std::cell::Cell as Shared;

use prony_model::{
    ExecEvent, ExecPlan, ExecResult, Finding, FindingCode, ProbePlan, ProbeResult, RunAgents, RunEvent,
    RunPlan, RunResult, Severity, Verdict, from_json,
};

use super::*;
use crate::Led;
use crate::fixture::{Place, Scripted, schedule, study};
use crate::study::{Ask, CellLoad, Template};
use crate::{Begin, Confinement, RunnerError, StudyEvent};

type Responder = fn(&str) -> Result<u16, String>;

/// Runs the study with `script`; also the requests, and the events that end a run, in words.
fn conducted<F: FnMut(&str) -> Result<u16, String>>(
    study: &Study,
    folder: &Folder,
    script: F,
) -> (Executed, Scripted<F>, Vec<String>) {
    let mut runner = Scripted::new(script);
    let mut events = Vec::new();
    let conducted =
        execute(study, folder, &Confinement::default(), &mut runner, &|| false, &mut |event| match event {
            StudyEvent::Finished { step, .. } => events.push(format!("{} done", step.place)),
            StudyEvent::Failed { step, failure, .. } => {
                events.push(format!("{} {}", step.place, failure.why));
            }
            StudyEvent::GivenUp { target } => events.push(format!("{target} given up")),
            _ => {}
        });
    (conducted.expect("the folder can be written"), runner, events)
}

#[test]
fn missing_runs_are_made_and_the_others_left_alone() {
    let place = Place::new("missing");
    let (study, schedule) = study();
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let (all, runner, _) = conducted(&study, &folder, |_| Ok(200));
    assert_eq!(all, Executed { finished: 4, failed: 0, interrupted: false });
    assert_eq!((runner.count("a:1/load"), runner.count("b:1/load")), (2, 2), "{:?}", runner.requests);
    let before = place.files("runs");
    let lost = "0003-r2-a.json";
    std::fs::remove_file(place.0.join("runs").join(lost)).expect("it is there");
    let (rest, runner, events) = conducted(&study, &folder, |_| Ok(201));
    assert_eq!((rest.finished, events), (1, vec!["3 done".to_owned()]));
    assert_eq!(runner.requests, ["GET http://a:1/ready", "GET http://a:1/load"]);
    for (name, text) in place.files("runs") {
        assert_eq!(name != lost, before[&name] == text, "{name}");
    }
}

#[test]
fn a_run_that_fails_is_told_kept_and_tried_again() {
    let place = Place::new("failed");
    let (study, schedule) = study();
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let mut loads = 0;
    let (all, _, events) = conducted(&study, &folder, |request| {
        loads += usize::from(request.ends_with("/load"));
        if request.ends_with("/load") && loads == 2 { Err("no room".to_owned()) } else { Ok(200) }
    });
    assert_eq!(all, Executed { finished: 3, failed: 1, interrupted: false });
    assert_eq!(events, ["1 done", "2 no room", "3 done", "4 done"]);
    let failures = folder.failures();
    assert_eq!((failures.len(), failures[0].cell, failures[0].repeat), (1, 1, 1), "{failures:?}");
    let (again, _, _) = conducted(&study, &folder, |_| Ok(200));
    assert_eq!((again.finished, again.failed), (1, 0));
    assert_eq!((folder.failures(), place.files("failed").len()), (vec![], 0));
}

#[test]
fn a_target_that_always_fails_is_given_up() {
    let place = Place::new("given-up");
    let (mut study, _) = study();
    study.repeats = 5;
    let schedule = schedule(&study);
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let script: Responder = |request| Ok(if request == "GET http://b:1/ready" { 503 } else { 200 });
    let (all, runner, events) = conducted(&study, &folder, script);
    assert_eq!(all, Executed { finished: 5, failed: 5, interrupted: false });
    assert_eq!(runner.count("b:1/ready"), 3);
    assert_eq!(events.iter().filter(|event| *event == "b given up").count(), 1);
    assert!(
        events[1].starts_with("2 b: not ready after 0 s: it answered 503; give it more time"),
        "{events:?}"
    );
    let last = events.last().expect("ten and one");
    assert!(last.starts_with("10 not tried: its target failed 3 times in a row, at last so: b: "), "{last}");
}

/// Measures nothing: its runs are invalid for these causes, one after the other, and then valid.
struct Invalid {
    causes: Vec<FindingCode>,
    runs: usize,
}

impl Runner for Invalid {
    fn run(&mut self, _: &RunPlan, _: bool, _: &mut dyn FnMut(RunEvent)) -> Result<RunResult, RunnerError> {
        let mut result =
            from_json(include_str!("../../../prony/tests/it/stored.json")).expect("a stored run");
        result.timing.interrupted = false;
        let finding = |code: &FindingCode| Finding {
            code: *code,
            severity: Severity::Invalid,
            evidence: Vec::new(),
            message: String::new(),
            advice: String::new(),
        };
        result.findings = self.causes.get(self.runs).map(finding).into_iter().collect();
        result.verdict = Verdict::from_findings(&result.findings);
        self.runs += 1;
        Ok(result)
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

    fn probe(&mut self, _: &ProbePlan) -> Result<ProbeResult, RunnerError> {
        unreachable!("no cell of these tests is a probe")
    }

    fn exec(&mut self, _: &ExecPlan, _: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError> {
        unreachable!("no cell of these tests is a command")
    }
}

/// Two repeats of one cell, with `retries`, on a machine that makes runs invalid for these `causes`: runs that are
/// made, and the verdicts that stay.
fn retried(name: &str, retries: u32, causes: &[FindingCode]) -> (usize, Vec<Verdict>, usize) {
    let place = Place::new(name);
    let (mut study, _) = study();
    study.retries = retries;
    study.cells.truncate(1);
    study.cells[0].target = None;
    let url = Template("http://127.0.0.1:1/".to_owned());
    study.cells[0].load = CellLoad::Run { url, options: Box::default(), calibration: false, agents: None };
    let schedule = schedule(&study);
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let mut runner = Invalid { causes: causes.to_vec(), runs: 0 };
    execute(&study, &folder, &Confinement::default(), &mut runner, &|| false, &mut |_| ())
        .expect("the folder can be written");
    let result = crate::aggregate_folder(&study, &schedule, &place.0).expect("its own results");
    let cell = &result.cells[0];
    (runner.runs, cell.runs.iter().map(|run| run.verdict).collect(), cell.retried.len())
}

#[test]
fn runs_that_the_machine_made_invalid_are_made_again() {
    use FindingCode::{ClientCpu, RunQueueWait, Steal};
    const VALID: Verdict = Verdict::Valid;
    assert_eq!(retried("none", 3, &[]), (2, vec![VALID, VALID], 0));
    assert_eq!(retried("two", 3, &[Steal, RunQueueWait]), (4, vec![VALID, VALID], 2));
    // The bound is for all runs of the cell; what stays invalid then is reported so.
    assert_eq!(retried("bound", 3, &[Steal; 5]), (5, vec![Verdict::Invalid; 2], 3));
    assert_eq!(retried("zero", 0, &[Steal]), (2, vec![Verdict::Invalid, VALID], 0));
    assert_eq!(retried("servers", 3, &[ClientCpu]), (2, vec![Verdict::Invalid, VALID], 0));
}

#[test]
fn attempts_are_kept_and_counted_for_each_cell() {
    let place = Place::new("retried");
    let (study, schedule) = study();
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let steps = &schedule.steps;
    for _ in 0..2 {
        folder.store_retried(&steps[0], "{}").expect("room");
    }
    folder.store_retried(&steps[2], "{}").expect("room");
    assert_eq!((folder.retried(0), folder.retried(1)), (3, 0), "steps 0 and 2 are of one cell");
    assert!(!folder.is_done(&steps[0]), "the run itself is still to be made");
    let files: Vec<String> = place.files("retried").into_keys().collect();
    assert_eq!(files, ["0001-r1-a.1.json", "0001-r1-a.2.json", "0003-r2-a.1.json"]);
    drop(folder);
    // A study that goes on knows them; one that starts over forgets them.
    let resumed = Folder::open(&place.0, &study, &schedule, Begin::Resume).expect("the same plan");
    assert_eq!(resumed.retried(0), 3);
    drop(resumed);
    drop(Folder::open(&place.0, &study, &schedule, Begin::Over).expect("over"));
    assert!(place.files("retried").is_empty());
}

#[test]
fn what_was_stopped_by_hand_is_not_kept() {
    let place = Place::new("stopped");
    let (study, schedule) = study();
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let stopped = Shared::new(false);
    let mut runner = Scripted::new(|request: &str| {
        stopped.set(request == "GET http://b:1/load");
        if stopped.get() { Err("stopped".to_owned()) } else { Ok(200) }
    });
    let conducted =
        execute(&study, &folder, &Confinement::default(), &mut runner, &|| stopped.get(), &mut |_| ());
    let expected = Executed { finished: 1, failed: 0, interrupted: true };
    assert_eq!(conducted.expect("the folder can be written"), expected);
    assert_eq!((place.files("runs").len(), folder.failures()), (1, vec![]));
}

#[test]
fn a_target_is_prepared_before_every_load() {
    let place = Place::new("prepared");
    let (mut study, schedule) = study();
    let ask = Ask {
        method: "PUT".to_owned(),
        path: "/key".to_owned(),
        headers: Vec::new(),
        body: "value".to_owned(),
        status: prony_model::StatusSet::parse("201").expect("a status"),
    };
    study.targets[0].prepare = vec![ask];
    let folder = Folder::open(&place.0, &study, &schedule, Begin::New).expect("a folder");
    let mut puts = 0;
    let (all, runner, events) = conducted(&study, &folder, |request| {
        puts += u16::from(request.starts_with("PUT "));
        Ok(if request.starts_with("PUT ") { 199 + puts * 2 } else { 200 })
    });
    assert_eq!(runner.requests[..3], ["GET http://a:1/ready", "PUT http://a:1/key", "GET http://a:1/load"]);
    assert_eq!(all, Executed { finished: 3, failed: 1, interrupted: false });
    let why =
        "3 a: PUT /key before the load went wrong (it answered 203): the load would have met another state";
    assert_eq!(events[2], why);
}

#[test]
fn targets_live_as_long_as_the_study_says() {
    let (mut study, schedule) = study();
    let steps: Vec<&Step> = schedule.steps.iter().collect();
    let mut check = |restart, cells: [usize; 4], expected: [bool; 3]| {
        study.restart = restart;
        let steps: Vec<Step> =
            steps.iter().zip(cells).map(|(step, cell)| Step { cell, ..(*step).clone() }).collect();
        let steps: Vec<&Step> = steps.iter().collect();
        let lives: Vec<bool> = (0..3).map(|at| is_needed(&study, 0, steps[at], &steps[at + 1..])).collect();
        assert_eq!(lives, expected, "{restart:?} {cells:?}");
    };
    check(Restart::Run, [0, 0, 0, 0], [false, false, false]);
    check(Restart::Repeat, [0, 0, 0, 0], [true, false, true]);
    check(Restart::Repeat, [0, 1, 0, 1], [false, false, false]);
    check(Restart::Never, [0, 1, 0, 1], [true, true, false]);
    check(Restart::Never, [0, 0, 0, 0], [true, true, true]);
}
