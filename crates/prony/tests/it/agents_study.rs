//! Studies whose searches for a capacity agents share, as processes with a real nats-server and a server that counts. What is found
//! on a busy machine is not what these tests are about.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use prony_model::{CapacityResult, StudyResult, TrialOutcome, capacity_from_json, study_from_json};

use crate::agents_capacity::{check_served, queue_server};
use crate::binary::program_output;
use crate::fleet::{Fleet, ended, started};

/// A search of sessions of two requests each.
const SCENARIO: &str = "[[flow]]\nname = \"pair\"\n[[flow.step]]\nname = \"one\"\npath = \"/\"\n[[flow.step]]\nname = \"two\"\npath = \"/\"\n";

/// A study of the server at `url`, led by `fleet`'s controller, whose loads are `loads`.
fn study(fleet: &Fleet, url: &str, agents: &str, loads: &str) -> Command {
    let folder = &fleet.folder.0;
    let url = url.trim_end_matches('/');
    let text = format!(
        "name = \"shared\"\nseed = 1\npause = \"0\"\norder = \"sequential\"\nagents = \"{agents}\"\n\
         [targets.queue]\nurl = \"{url}\"\n{loads}"
    );
    fs::write(folder.join("shared.toml"), text).expect("it can be written");
    fs::write(folder.join("pair.toml"), SCENARIO).expect("it can be written");
    let mut study = fleet.prony();
    study.current_dir(folder).args(["study", "shared.toml", "--nats", &fleet.url()]);
    study.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    study
}

fn results(fleet: &Fleet) -> PathBuf {
    fleet.folder.0.join("shared.study")
}

/// Its report, and the searches that it stored, in the order of its cells.
fn stored(fleet: &Fleet) -> (StudyResult, Vec<CapacityResult>) {
    let read = |name: &str| fs::read_to_string(results(fleet).join(name)).expect("a file");
    let report = study_from_json(&read("report.json")).expect("a report");
    let files: Vec<&str> =
        report.cells.iter().flat_map(|cell| &cell.runs).map(|run| run.file.as_str()).collect();
    let searches = files.iter().map(|file| capacity_from_json(&read(file)).expect("a search")).collect();
    (report, searches)
}

#[test]
fn agents_share_the_searches_of_a_study() {
    let Some(fleet) = Fleet::with_broker("a search of a study by two agents") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let (server, url) = queue_server();
    let loads = "[loads.rate]\nkind = \"capacity\"\nslo = \"response.p50 < 1s\"\nfrom = 50\nto = 100\ntime = \"30s\"\n\
                 trial = \"1s\"\n";
    let output = program_output(study(&fleet, &url, "2", loads).output().expect("the binary was built"));
    assert!(matches!(output.code, Some(0 | 1 | 3)), "{output:?}");
    let (report, searches) = stored(&fleet);
    assert!(report.complete && report.failures.is_empty(), "{:?}", report.failures);
    let [search] = searches.as_slice() else { panic!("one search: {searches:?}") };
    assert_eq!(search.agents, ["a", "b"]);
    assert!(!search.trials.is_empty(), "{output:?}");
    check_served(search, &server);
    assert!(output.out.contains("by 2 agents"), "{}", output.out);
    // What agents measured is in the study, and nowhere else.
    let runs = fs::read_dir(fleet.folder.0.join("state/prony/runs")).into_iter().flatten().flatten();
    let left: Vec<_> = runs.map(|run| run.file_name()).filter(|name| name != "reported").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_agent_that_is_killed_is_missing_for_one_search_only() {
    let Some(fleet) = Fleet::with_broker("an agent that is killed in a study") else { return };
    let (_a, mut b) = (fleet.connected("a"), fleet.connected("b"));
    let (server, url) = queue_server();
    let loads = "[loads.first]\nkind = \"capacity\"\nscenario = \"pair.toml\"\nslo = \"step.two.response.p50 < 1s\"\nfrom = 10\nto = 40\ntime = \"60s\"\n\
                 trial = \"2s\"\n[loads.second]\nkind = \"capacity\"\nslo = \"response.p50 < 1s\"\nfrom = 20\nto = 40\n\
                 time = \"30s\"\ntrial = \"1s\"\n";
    let mut search = started(study(&fleet, &url, "a,b", loads));
    search.await_line(" /s ");
    let before = server.counters().requests;
    while server.counters().requests < before + 5 && search.child.try_wait().expect("a child").is_none() {
        thread::sleep(Duration::from_millis(10));
    }
    b.kill();
    let _b = fleet.connected("b");
    let (code, rest) = ended(search);
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {rest}");
    let (report, searches) = stored(&fleet);
    assert!(report.complete, "{rest}");
    assert!(searches[0].plan.scenario.is_some());
    let [first, second] = searches.as_slice() else { panic!("two searches: {searches:?}") };
    assert_eq!((&first.agents, &second.agents), (&second.agents, &vec!["a".to_owned(), "b".to_owned()]));
    assert!(first.notes.iter().any(|note| note.contains("the agent b was lost")), "{:?}", first.notes);
    let is_lost = |trial: &prony_model::CapacityTrial| trial.reason.contains("the agent b ");
    let lost = first.trials.iter().position(is_lost).unwrap_or_else(|| panic!("{first:?}"));
    let (with, without) = first.trials.split_at(lost);
    assert_eq!(without[0].outcome, TrialOutcome::Void, "{:?}", without[0]);
    assert!(with.iter().all(|trial| trial.agents == ["a", "b"]), "{with:?}");
    assert!(
        without[1..].iter().all(|trial| trial.agents == ["a"]),
        "it is restarted, and not taken: {without:?}"
    );
    assert!(!second.notes.iter().any(|note| note.contains("was lost")), "{:?}", second.notes);
    assert!(second.trials.iter().all(|trial| trial.agents == ["a", "b"]), "{:?}", second.trials);
}

#[test]
fn the_policy_of_an_agent_holds_in_the_searches_of_a_study() {
    let Some(fleet) = Fleet::with_broker("a policy that limits a search of a study") else { return };
    let policy = fleet.folder.0.join("policy.toml");
    let caps = "[caps]\nrate_per_s = 30\nconnections = 1000\nduration_s = 60\nbytes = 1000000000\n";
    fs::write(&policy, caps).expect("it can be written");
    let mut agent = fleet.agent("a", &["--policy", policy.to_str().expect("UTF-8")]);
    agent.await_line("connected");
    let (_server, url) = queue_server();
    let loads = "[loads.rate]\nkind = \"capacity\"\nslo = \"response.p50 < 1s\"\nfrom = 20\ntime = \"25s\"\ntrial = \"500ms\"\n";
    let output = program_output(study(&fleet, &url, "a", loads).output().expect("the binary was built"));
    assert!(matches!(output.code, Some(0 | 1 | 3)), "{output:?}");
    let (_, searches) = stored(&fleet);
    let (allowed, more): (Vec<_>, Vec<_>) =
        searches[0].trials.iter().partition(|trial| trial.rate_per_s <= 30.0);
    assert!(!allowed.is_empty(), "{searches:?}");
    for trial in &more {
        assert_eq!((trial.outcome, trial.requests), (TrialOutcome::Void, 0), "{trial:?}");
        assert!(trial.reason.contains("the agent a refused: its policy"), "{trial:?}");
    }
}
