//! A client and a lab that answers; builds are ended here, not run.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::{Gate, Lab, LabOptions, Serving, serve};
use prony_lab_core::actions::sessions::{Origin, accept_invitation};
use prony_lab_core::actions::tokens::{NewToken, TOKEN_DAYS};
use prony_lab_core::actions::{AccessError, Actor, act_blocking, tokens, users};
use prony_lab_model::auth::Password;
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildKind, BuildVerdict, Definition, ProjectId, Repeat};
use prony_lab_store::results::{self, NewThreshold, Results};
use prony_lab_store::{StoreError, Tx, builds, projects, queue};

/// Longer than any build here takes.
const PATIENCE: Duration = Duration::from_mins(2);
/// Between two looks for a build in the queue.
const PAUSE: Duration = Duration::from_millis(5);
const BASE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const COMMIT: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const PROJECT: &str = "repository = \"https://example.org/a.git\"\nstudy = \"prony.toml\"\n\
                       [[task]]\nname = \"compile\"\ncommand = \"make\"\n";

struct Bench {
    _folder: tempfile::TempDir,
    lab: Lab,
    _serving: Serving,
    address: String,
    client: Client,
}

impl Bench {
    /// A lab whose project has a good build of [`BASE`], and a token of a runner.
    fn new(definition: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let lab = Lab::open(LabOptions::new(folder.path().to_owned()));
        let lab = lab.expect("a lab");
        let serving = serve(&lab).expect("a lab that answers");
        let address = format!("http://{}", serving.addresses()[0]);
        let text = definition.to_owned();
        let registered = lab.store.write_blocking(move |tx| {
            projects::register(tx, &"web".parse().expect("a name"), &text, Moment(1))
        });
        registered.expect("registered");
        let token = token(&lab, Role::Runner);
        let client = Client::new(&address, &token).expect("a client");
        let bench = Self { _folder: folder, lab, _serving: serving, address, client };
        let base = bench.request();
        bench.end(base, BASE, BuildState::Completed, Some(BuildVerdict::NoBaseline), None);
        bench
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.lab.store.write_blocking(work).expect("written")
    }

    fn request(&self) -> BuildId {
        let request = BuildRequest { project: "web".to_owned(), ..BuildRequest::default() };
        self.client.submit(&request).expect("accepted").build.id
    }

    /// A build of [`COMMIT`] that is over.
    fn ended(&self, state: BuildState, verdict: BuildVerdict, baseline: Option<BuildId>) -> BuildId {
        let id = self.request();
        self.end(id, COMMIT, state, Some(verdict), baseline);
        id
    }

    /// Does what the worker does when a build ends.
    fn end(
        &self,
        id: BuildId,
        commit: &'static str,
        state: BuildState,
        verdict: Option<BuildVerdict>,
        baseline: Option<BuildId>,
    ) {
        self.write(move |tx| {
            assert_eq!(queue::take(tx, Moment(2))?, Some(id));
            let base = builds::one(tx, id)?.expect("there").build.base;
            queue::set_commits(tx, id, commit, base.as_deref(), None)?;
            let steps = [BuildState::Assigned, BuildState::Running, BuildState::Finalizing, state];
            if let Some(verdict) = verdict {
                builds::set_verdict(tx, id, verdict, baseline)?;
            }
            for step in steps.windows(2) {
                builds::advance(tx, id, step[0], step[1], None, Moment(3))?;
            }
            Ok(())
        });
    }

    /// The build that was requested next.
    fn queued(&self) -> BuildDetail {
        loop {
            let open = self.lab.store.read_blocking(|tx| builds::open(tx, 10)).expect("read");
            if let Some(build) = open.first() {
                return self.client.build(build.id).expect("there");
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits at the gate for `id`, while `work` does what the lab's worker would; the result, and what was reported.
    fn gate(&self, id: BuildId, repeats: Option<u32>, work: impl FnOnce()) -> (Gate, Vec<String>) {
        let (client, steps) = (&self.client, Mutex::new(Vec::new()));
        let decided = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                client.gate(id, repeats, PATIENCE, |step| {
                    let words = match step {
                        GateStep::State(_) => return,
                        GateStep::Ended(build) => format!("{} ended", build.id),
                        GateStep::Repeated { build, by, why } => format!("{build} as {by}: {why}"),
                        GateStep::NotRepeated { build, why } => format!("{build} not: {why}"),
                    };
                    steps.lock().expect("nobody panicked").push(words);
                })
            });
            work();
            waiting.join().expect("it does not panic")
        });
        (decided.expect("decided"), steps.into_inner().expect("nobody panicked"))
    }

    fn page(&self, id: BuildId) -> String {
        let answer = self.client.agent.get(self.client.page(id)).header("Authorization", &self.client.bearer);
        answer.call().expect("an answer").body_mut().read_to_string().expect("text")
    }
}

/// A token of a new user.
fn token(lab: &Lab, role: Role) -> String {
    let hash = Password::choose("some good words", "x").expect("a password").hash();
    let made = act_blocking(&lab.store, Actor::at_machine("root"), move |tx, ctx| {
        let name = role.to_string();
        let link = users::invite(tx, ctx, &name.parse().expect("a name"), role)?;
        accept_invitation(tx, &link.digest(), &hash, &Origin::default(), ctx.now)?;
        let new = NewToken { user: name, label: "ci".to_owned(), role, days: TOKEN_DAYS };
        Ok::<_, AccessError>(tokens::add(tx, ctx, &new)?.text())
    });
    made.expect("a token")
}

#[test]
fn a_noisy_result_is_decided_by_a_comparison() {
    for (verdict, expected) in
        [(BuildVerdict::NoDifference, Gate::Open), (BuildVerdict::Slower, Gate::Missed)]
    {
        let bench = Bench::new(PROJECT);
        let first = bench.ended(BuildState::Completed, BuildVerdict::TooNoisy, Some(BuildId(1)));
        let (gate, steps) = bench.gate(first, None, || {
            let BuildDetail { build, tasks, repeat_of, .. } = bench.queued();
            assert_eq!((build.kind, build.base.as_deref()), (BuildKind::Comparison, Some(BASE)));
            assert_eq!(build.reference, COMMIT);
            assert_eq!(tasks.last().map(|task| task.name.as_str()), Some("study"));
            let why = "its result was too noisy".to_owned();
            assert_eq!(repeat_of, Some(Repeat { build: first, why }));
            bench.end(build.id, COMMIT, BuildState::Completed, Some(verdict), None);
        });
        assert_eq!(gate, expected);
        assert_eq!(steps, ["2 ended", "2 as 3: its result was too noisy", "3 ended"]);
        let page = bench.page(first);
        assert!(
            page.contains("as <a href=\"/build/3\">build 3</a>, because its result was too noisy"),
            "{page}"
        );
        let page = bench.page(BuildId(3));
        assert!(
            page.contains("<a href=\"/build/2\">build 2</a>, because its result was too noisy"),
            "{page}"
        );
        // Anyone who asks later gets the same, and nothing is measured again.
        assert_eq!(bench.gate(first, None, || ()), (expected, steps));
        assert_eq!(bench.client.build(first).expect("there").repeats.len(), 1);
    }
}

#[test]
fn it_is_repeated_so_often_and_no_more() {
    let definition = format!("{PROJECT}[gate]\nrepeats = 1\n");
    for (repeats, expected) in [(None, 1), (Some(3), 3), (Some(0), 0)] {
        let bench = Bench::new(&definition);
        let first = bench.ended(BuildState::Degraded, BuildVerdict::NoDifference, Some(BuildId(1)));
        let (gate, steps) = bench.gate(first, repeats, || {
            for _ in 0..expected {
                let build = bench.queued().build;
                assert_eq!((build.kind, build.base.as_deref()), (BuildKind::Comparison, Some(BASE)));
                bench.end(build.id, COMMIT, BuildState::Completed, Some(BuildVerdict::TooNoisy), None);
            }
        });
        assert_eq!(gate, Gate::Undecided);
        assert_eq!(bench.client.build(first).expect("there").repeats.len(), expected, "{steps:?}");
        let last = steps.last().expect("a step");
        assert!(expected == 0 || last.ends_with(&format!("{expected} repeats are the most")), "{steps:?}");
    }
}

#[test]
fn a_comparison_that_fails_is_followed_by_the_same_build() {
    let bench = Bench::new(PROJECT);
    let first = bench.ended(BuildState::Completed, BuildVerdict::TooNoisy, Some(BuildId(1)));
    let (gate, steps) = bench.gate(first, None, || {
        let build = bench.queued().build;
        bench.end(build.id, COMMIT, BuildState::Failed, Some(BuildVerdict::NoBaseline), None);
        let build = bench.queued().build;
        assert_eq!((build.kind, build.reference.as_str()), (BuildKind::Project, COMMIT));
        bench.end(build.id, COMMIT, BuildState::Completed, Some(BuildVerdict::Faster), Some(BuildId(1)));
    });
    assert_eq!(gate, Gate::Open);
    let why = "3 as 4: the comparison of the two commits failed";
    assert_eq!(steps[2..], ["3 ended", why, "4 ended"]);
    let repeats = bench.client.build(first).expect("there").repeats;
    assert_eq!(repeats.iter().map(|repeat| repeat.build).collect::<Vec<_>>(), [BuildId(3), BuildId(4)]);
}

#[test]
fn a_repeat_without_a_result_changes_nothing() {
    let bench = Bench::new(PROJECT);
    let first = bench.ended(BuildState::Degraded, BuildVerdict::Invalid, None);
    let (gate, steps) = bench.gate(first, None, || {
        let build = bench.queued().build;
        assert_eq!(
            (build.kind, build.reference.as_str()),
            (BuildKind::Project, COMMIT),
            "there is no baseline"
        );
        bench.end(build.id, COMMIT, BuildState::Failed, None, None);
    });
    assert_eq!(gate, Gate::Invalid);
    let steps: Vec<_> = steps.iter().map(String::as_str).collect();
    let why = "2 as 3: its numbers could not be used";
    assert_eq!(steps, ["2 ended", why, "3 ended", "3 not: it has no result"]);
}

#[test]
fn thresholds_that_are_open_are_measured_again() {
    let bench = Bench::new(PROJECT);
    let first = bench.ended(BuildState::Degraded, BuildVerdict::TooNoisy, Some(BuildId(1)));
    bench.write(move |tx| {
        let open = NewThreshold {
            words: "p99 at most 5 ms".to_owned(),
            cell: "a".to_owned(),
            metric: "p99".to_owned(),
            value: None,
            is_met: None,
        };
        let found = Results { fingerprint: "x".to_owned(), measured: Vec::new(), thresholds: vec![open] };
        results::keep(tx, first, ProjectId(1), "default", &found)
    });
    let (gate, _) = bench.gate(first, None, || {
        let build = bench.queued().build;
        assert_eq!((build.kind, build.base, build.reference.as_str()), (BuildKind::Project, None, COMMIT));
        let verdict = Some(BuildVerdict::ThresholdMissed);
        bench.end(build.id, COMMIT, BuildState::Completed, verdict, Some(BuildId(1)));
    });
    assert_eq!(gate, Gate::Missed);
}

#[test]
fn what_another_measurement_would_not_change_is_not_repeated() {
    let bench = Bench::new(PROJECT);
    let check = |id: BuildId, expected: Gate, why: Option<&str>| {
        let (gate, steps) = bench.gate(id, None, || ());
        assert_eq!(gate, expected);
        let steps: Vec<_> = steps.iter().skip(1).cloned().collect();
        let expected = why.map(|why| format!("{id} not: {why}"));
        assert_eq!(steps, Vec::from_iter(expected));
    };
    let (completed, degraded) = (BuildState::Completed, BuildState::Degraded);
    check(bench.ended(completed, BuildVerdict::Slower, None), Gate::Missed, None);
    check(bench.ended(degraded, BuildVerdict::ThresholdMissed, None), Gate::Missed, None);
    check(bench.ended(completed, BuildVerdict::Faster, None), Gate::Open, None);
    check(bench.ended(BuildState::Failed, BuildVerdict::TooNoisy, None), Gate::Failed, None);
    let why = Some("there is nothing to compare it with");
    check(bench.ended(completed, BuildVerdict::NoBaseline, None), Gate::Undecided, why);
    // A folder has what it has now.
    bench.write(|tx| {
        let folder = "folder = \"/srv/a\"\nstudy = \"prony.toml\"\n";
        assert!(Definition::read(folder).is_ok());
        projects::register(tx, &"web".parse().expect("a name"), folder, Moment(1)).map(drop)
    });
    let why = Some("its files come from a folder, which may have changed since");
    check(bench.ended(completed, BuildVerdict::TooNoisy, None), Gate::Undecided, why);
}

#[test]
fn two_who_wait_share_a_repeat() {
    let bench = Bench::new(PROJECT);
    let first = bench.ended(BuildState::Completed, BuildVerdict::TooNoisy, Some(BuildId(1)));
    let client = &bench.client;
    let repeat = move || client.repeat(first, None).expect("answered").build;
    let both = std::thread::scope(|scope| {
        let threads = [scope.spawn(repeat), scope.spawn(repeat)];
        threads.map(|thread| thread.join().expect("it does not panic"))
    });
    assert_eq!(both, [Some(BuildId(3)); 2]);
    assert_eq!(bench.client.repeat(BuildId(3), None).expect("answered").why, "it is not over yet");
    assert_eq!(bench.client.build(first).expect("there").repeats.len(), 1);
}

#[test]
fn who_may_only_read_or_wait_no_longer_gets_what_is_known() {
    let mut bench = Bench::new(PROJECT);
    let first = bench.ended(BuildState::Completed, BuildVerdict::TooNoisy, Some(BuildId(1)));
    let mut steps = Vec::new();
    let gate = bench.client.gate(first, Some(1), Duration::ZERO, |step| steps.push(format!("{step:?}")));
    assert!(matches!(gate, Ok(Gate::Undecided)), "{gate:?}");
    assert!(steps.last().is_some_and(|step| step.contains("--timeout")), "{steps:?}");
    bench.client = Client::new(&bench.address, &token(&bench.lab, Role::Viewer)).expect("a client");
    let (gate, steps) = bench.gate(first, None, || ());
    assert_eq!(gate, Gate::Undecided);
    assert!(steps.last().is_some_and(|step| step.contains("the role runner")), "{steps:?}");
}

#[test]
fn a_token_goes_to_this_machine_or_by_https() {
    let token = ApiToken::new().text();
    for good in
        ["http://127.0.0.1:3000", "http://localhost:3000/", "http://[::1]:1", "https://lab.example.org"]
    {
        assert!(Client::new(good, &token).is_ok(), "{good}");
    }
    let refused = |address: &str| Client::new(address, &token).expect_err(address);
    assert!(matches!(refused("http://lab.example.org"), ClientError::Clear(_)));
    assert!(matches!(refused("http://10.0.0.1:3000"), ClientError::Clear(_)));
    for bad in ["", "127.0.0.1:3000", "ftp://localhost/", "http://localhost/x", "http://a:b@localhost/"] {
        assert!(matches!(refused(bad), ClientError::Address(_)), "{bad}");
    }
    assert!(matches!(Client::new("http://127.0.0.1:1", "secret"), Err(ClientError::Token(_))));
}

#[test]
fn nothing_answers() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number");
    let client = Client::new(&format!("http://{free}"), &ApiToken::new().text()).expect("a client");
    let error = client.build(BuildId(1)).expect_err("nobody is there");
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert!(error.to_string().starts_with("no lab answers at http://127.0.0.1:"), "{error}");
}
