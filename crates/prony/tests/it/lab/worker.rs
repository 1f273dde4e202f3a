//! Builds from the queue to their end: what runs, what is kept, and what becomes of those that go wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_lab::model::{BisectState, BuildDetail, BuildId, BuildRequest, BuildState, RangeState, TaskState};
use prony_lab::work::{Surroundings, Worker};
use prony_lab::{Lab, LabOptions, SandboxMode};

use super::checkout::{commit, git};
use crate::folder::Folder;

/// Between polls.
const PAUSE: Duration = Duration::from_millis(20);
/// Looks until something is given up: two minutes, which a busy machine may take.
const POLLS: u32 = 6_000;

/// A lab with a worker, and the repository of its project `tiny`.
pub(super) struct Bench {
    folder: Folder,
    /// None while it is closed.
    lab: Option<Lab>,
    worker: Option<Worker>,
    pub(super) repository: PathBuf,
}

pub(super) fn options(data: &Path) -> LabOptions {
    LabOptions {
        listen: Vec::new(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_prony")),
        search_path: std::env::var("PATH").expect("there is one"),
        has_worker: true,
        sandbox: SandboxMode::Require,
        ..LabOptions::new(data.to_owned())
    }
}

impl Bench {
    /// `definition` follows on the repository, which has one commit.
    pub(super) fn new(name: &str, definition: &str) -> Self {
        let folder = Folder::new(&format!("lab-worker-{name}"));
        let repository = folder.0.join("repository");
        std::fs::create_dir(&repository).expect("room");
        git(&repository, &["init", "--quiet"]);
        commit(&repository, "file", "one");
        let definition = format!("repository = \"{}\"\n{definition}", repository.display());
        Self::with(folder, repository, &definition)
    }

    /// With a repository that is there, in `folder`.
    pub(super) fn with(folder: Folder, repository: PathBuf, definition: &str) -> Self {
        let options = options(&folder.0.join("data"));
        Self::with_options(folder, repository, definition, options)
    }

    /// The same for a lab with `options`.
    pub(super) fn with_options(
        folder: Folder,
        repository: PathBuf,
        definition: &str,
        options: LabOptions,
    ) -> Self {
        let lab = Lab::open(options).expect("a lab");
        lab.register(&"tiny".parse().expect("a name"), definition).expect("a definition");
        let mut bench = Self { folder, lab: Some(lab), worker: None, repository };
        bench.start();
        bench
    }

    pub(super) fn lab(&self) -> &Lab {
        self.lab.as_ref().expect("it is open")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.0.join("data")
    }

    pub(super) fn start(&mut self) {
        self.worker = Some(Worker::start(self.lab(), &Surroundings::default()).expect("a worker"));
    }

    pub(super) fn stop(&mut self) {
        self.worker = None;
    }

    /// Lets go of the store, so that another process can have it.
    pub(super) fn close(&mut self) {
        self.stop();
        self.lab = None;
    }

    pub(super) fn open(&mut self) {
        self.lab = Some(Lab::open(options(&self.data())).expect("the same store"));
    }

    /// Waits until `is_so`.
    pub(super) fn wait_for(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..POLLS {
            if is_so() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("waited for {what}: {:?}", self.left());
    }

    pub(super) fn submit(&self, change: impl FnOnce(&mut BuildRequest)) -> BuildId {
        let mut request = BuildRequest { project: "tiny".to_owned(), ..BuildRequest::default() };
        change(&mut request);
        self.lab().submit(&request, "kim").expect("accepted")
    }

    pub(super) fn detail(&self, id: BuildId) -> BuildDetail {
        self.lab().build(id).expect("read").expect("there")
    }

    /// Waits until `is_it` holds of the build.
    pub(super) fn until(&self, id: BuildId, is_it: impl Fn(&BuildDetail) -> bool) -> BuildDetail {
        for _ in 0..POLLS {
            let build = self.detail(id);
            if is_it(&build) {
                return build;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("{:#?}", self.detail(id));
    }

    pub(super) fn finished(&self, id: BuildId) -> BuildDetail {
        self.until(id, |build| build.build.state.is_final())
    }

    /// A build that is over, asked for without anything special.
    fn built(&self) -> BuildDetail {
        self.finished(self.submit(|_| ()))
    }

    /// What the task `name` wrote.
    pub(super) fn output(&self, build: &BuildDetail, name: &str) -> String {
        let task = build.tasks.iter().find(|task| task.name == name).expect("there");
        String::from_utf8_lossy(&self.lab().output(task.id).expect("read")).into_owned()
    }

    /// The processes that work in folders of this lab.
    pub(super) fn left(&self) -> Vec<String> {
        let in_room = |entry: &std::fs::DirEntry| {
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.folder.0))
        };
        let processes = std::fs::read_dir("/proc").expect("it is there").flatten().filter(in_room);
        processes
            .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
            .collect()
    }

    fn rooms(&self) -> usize {
        std::fs::read_dir(self.folder.0.join("data/work")).expect("there").count()
    }
}

fn states(build: &BuildDetail) -> Vec<(&str, TaskState)> {
    build.tasks.iter().map(|task| (task.name.as_str(), task.state)).collect()
}

#[test]
fn a_build_checks_out_runs_its_tasks_and_says_what_they_wrote() {
    let bench = Bench::new(
        "tasks",
        "variants = [\"small\", \"large\"]\n\
         [[task]]\nname = \"compile\"\ncommand = \"cat file; echo; echo made >made; echo $PRONY_VARIANT $PRONY_PROJECT\"\n\
         [[task]]\nname = \"test\"\ncommand = \"cat made; echo bad >&2; exit 4\"\n\
         [[task]]\nname = \"lint\"\ncommand = \"true\"\n",
    );
    let id = bench.submit(|request| request.variant = "large".to_owned());
    let build = bench.finished(id);
    assert_eq!(build.build.state, BuildState::Failed);
    assert_eq!(build.build.reason.as_deref(), Some("test: exit code 4"));
    let expected = [
        ("checkout", TaskState::Success),
        ("compile", TaskState::Success),
        ("test", TaskState::Failed),
        ("lint", TaskState::Skipped),
    ];
    assert_eq!(states(&build), expected);
    let head = git(&bench.repository, &["rev-parse", "HEAD"]);
    assert_eq!(build.build.commit.as_deref(), Some(head.as_str()));
    assert!(bench.output(&build, "checkout").ends_with(&format!("{head} write file\n")));
    let made = (build.build.commit_author.as_deref(), build.build.commit_subject.as_deref());
    assert_eq!(made, (Some("Kim"), Some("write file")));
    assert!(build.build.commit_at.is_some());
    assert_eq!(bench.output(&build, "compile"), "one\nlarge tiny\n");
    assert_eq!(bench.output(&build, "test"), "made\nbad\n");
    let test = &build.tasks[2];
    assert!(
        test.exit_code == Some(4) && test.ended_at >= test.started_at && test.output_bytes == 9,
        "{test:?}"
    );
    bench.wait_for("the end of its room", || bench.rooms() == 0);
    let id = bench.submit(|request| request.tests = vec!["lint".to_owned()]);
    let build = bench.finished(id);
    assert_eq!((build.build.state, states(&build).len()), (BuildState::Completed, 2));
}

#[test]
fn commits_between_builds_are_listed() {
    // The study is missing, so that nothing is measured: what was checked out is known all the same.
    let bench = Bench::new("commits", "study = \"prony.toml\"\n");
    let good = bench.built();
    let hashes = ["a", "b", "c"].map(|name| commit(&bench.repository, name, "x"));
    let bad = bench.built();
    let [from, to] = [&good, &bad].map(|build| build.build.commit.clone().expect("it was checked out"));
    assert_eq!(to, hashes[2]);
    assert_eq!(bench.lab().commits(bad.build.id).expect("read"), None, "there is no baseline");
    let compared =
        bench.submit(|request| (request.base, request.reference) = (from.clone(), "main".to_owned()));
    let compared = bench.finished(compared);
    assert_eq!(compared.build.commit_author.as_deref(), Some("Kim"));
    let range = bench.lab().commits(compared.build.id).expect("read").expect("it is known");
    assert_eq!((range.state, range.ahead, range.behind), (RangeState::Listed, 3, 0), "{range:?}");
    let listed: Vec<_> = range.commits.iter().map(|commit| commit.commit.as_str()).collect();
    assert_eq!(listed, [&hashes[2], &hashes[1], &hashes[0]], "the newest first");
    // A bisect gets them from the worker, the oldest first.
    let bisect = |good: &BuildDetail, bad: &BuildDetail| {
        let id = bench.lab().request_bisect(good.build.id, bad.build.id, "kim").expect("accepted");
        let one = || bench.lab().bisect(id).expect("read").expect("there");
        bench.wait_for("the list of a bisect", || one().state != BisectState::Listing);
        one()
    };
    let begun = bisect(&good, &bad);
    assert_eq!((begun.state, begun.candidates.len()), (BisectState::Running, 3), "{begun:?}");
    assert_eq!(begun.candidates[0].commit.commit, hashes[0]);
    let backwards = bisect(&bad, &good);
    assert_eq!(backwards.state, BisectState::Failed);
    assert!(backwards.reason.is_some_and(|reason| reason.contains("no descendant")));
}

#[test]
fn what_can_not_be_checked_out_fails_with_the_reason() {
    let bench = Bench::new("missing", "[[task]]\nname = \"compile\"\ncommand = \"true\"\n");
    let id = bench.submit(|request| request.reference = "nothing".to_owned());
    let build = bench.finished(id);
    assert_eq!(states(&build), [("checkout", TaskState::Failed), ("compile", TaskState::Skipped)]);
    let reason = build.build.reason.expect("it has one");
    assert!(reason.starts_with("checkout: there is no branch, tag or commit `nothing`"), "{reason}");
}

#[test]
fn output_is_there_while_the_task_runs_and_the_build_can_be_called_off() {
    let bench = Bench::new(
        "cancel",
        "[[task]]\nname = \"endless\"\ncommand = \"echo begun; setsid sleep 1000 & wait\"\n",
    );
    let (first, second) = (bench.submit(|_| ()), bench.submit(|_| ()));
    let build = bench.until(first, |build| build.tasks[1].output_bytes > 0);
    assert_eq!(
        (build.build.state, bench.output(&build, "endless").as_str()),
        (BuildState::Running, "begun\n")
    );
    assert_eq!(bench.detail(second).build.state, BuildState::Queued, "one at a time");
    assert!(
        bench.lab().cancel(second, "eli").expect("written")
            && bench.lab().cancel(first, "kim").expect("written")
    );
    assert_eq!(bench.detail(second).build.state, BuildState::Cancelled, "at once");
    let build = bench.finished(first);
    assert_eq!(build.build.state, BuildState::Cancelled);
    assert_eq!(build.build.reason.as_deref(), Some("cancelled by kim"));
    assert_eq!(states(&build), [("checkout", TaskState::Success), ("endless", TaskState::Cancelled)]);
    assert!(!bench.lab().cancel(first, "kim").expect("written"), "it is over");
    // The same once more.
    let again = bench.lab().again(first, "eli").expect("accepted");
    bench.until(again, |build| build.tasks[1].output_bytes > 0);
    assert!(bench.lab().cancel(again, "eli").expect("written"));
    assert_eq!(bench.finished(again).build.state, BuildState::Cancelled);
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn builds_that_break_their_limits_fail_with_the_reason_and_leave_nothing() {
    let check = |name: &str, limits: &str, command: &str, state: TaskState, reason: &str| {
        let definition = format!("[limits]\n{limits}\n[[task]]\nname = \"bad\"\ncommand = '''{command}'''\n");
        let bench = Bench::new(name, &definition);
        let build = bench.built();
        let bad = &build.tasks[1];
        assert_eq!((build.build.state, bad.state), (BuildState::Failed, state), "{name}: {build:?}");
        let stored = bad.reason.as_deref().unwrap_or_default();
        assert!(stored.contains(reason), "{name}: {stored}");
        assert!(build.build.reason.expect("it has one").starts_with("bad: "));
        assert_eq!(bench.left(), [""; 0], "{name}");
        bench.wait_for("the end of its room", || bench.rooms() == 0);
    };
    let failed = TaskState::Failed;
    check(
        "output",
        "output = \"1MiB\"",
        "trap '' TERM; yes",
        failed,
        "wrote more than 1 MiB; raise limits.output",
    );
    check(
        "time",
        "time = \"5s\"",
        "trap '' TERM PIPE; (setsid sleep 1000 &) ; sleep 1000 & sleep 1000",
        TaskState::Timeout,
        "took longer than",
    );
    check(
        "memory",
        "memory = \"64MiB\"",
        "{ head -c 120000000 /dev/zero; sleep 1000; } | tail -n 1",
        failed,
        "had more than 64 MiB of memory",
    );
    check(
        "disk",
        "disk = \"10MiB\"",
        "n=0; while :; do head -c 1000000 /dev/zero >f$n; n=$((n + 1)); sleep 0.01; done",
        failed,
        "had more than 10 MiB in its folder",
    );
    check(
        "forks",
        "processes = 20",
        "echo 'for n in 1 2; do [ $1 -gt 0 ] && setsid sh ./bomb $(($1 - 1)) & done; sleep 1000' >bomb; sh ./bomb 7",
        failed,
        "had more than 20 processes at once",
    );
}

/// O11: the cause, not only the number or the kind of what went wrong.
#[test]
fn failures_have_their_cause() {
    let bench = Bench::new(
        "cause-disk",
        "[limits]\ndisk = \"10MiB\"\n[[task]]\nname = \"fill\"\ncommand = \"head -c 20000000 /dev/zero >file\"\n",
    );
    let reason = bench.built().build.reason.expect("it has one");
    assert!(reason.starts_with("fill: ") && reason.contains("limits.disk"), "{reason}");
    let bench = Bench::new("cause-ready", "study = \"prony.toml\"\n");
    let study = "name = \"x\"\n[targets.sleepy]\ncommand = \"sleep 100\"\nready = { path = \"/\", within = \"1s\" }\n\
                 [loads.l]\nconnections = 1\nduration = \"1s\"\n[matrix]\ntarget = [\"sleepy\"]\nload = [\"l\"]\n";
    commit(&bench.repository, "prony.toml", study);
    let reason = bench.built().build.reason.expect("it has one");
    assert!(reason.starts_with("study: sleepy") && reason.contains("1 s"), "{reason}");
}

#[test]
fn a_lab_that_stops_ends_what_runs_and_says_so() {
    let mut bench =
        Bench::new("stop", "[[task]]\nname = \"endless\"\ncommand = \"echo begun; sleep 1000\"\n");
    let (first, second) = (bench.submit(|_| ()), bench.submit(|_| ()));
    bench.until(first, |build| build.tasks[1].output_bytes > 0);
    bench.stop();
    let build = bench.detail(first);
    assert_eq!(build.build.state, BuildState::Failed);
    assert_eq!(build.build.reason.as_deref(), Some("the lab was stopped while it ran; request it again"));
    assert_eq!(bench.detail(second).build.state, BuildState::Queued);
    assert_eq!(bench.left(), [""; 0]);
    bench.start();
    bench.until(second, |build| build.tasks[1].output_bytes > 0);
    assert_eq!(bench.detail(first).build.attempt, 1, "it is not run again");
}

#[test]
fn what_waits_too_long_expires_while_another_runs() {
    let bench = Bench::new(
        "expire",
        "queue = \"1s\"\n[[task]]\nname = \"endless\"\ncommand = \"echo begun; sleep 1000\"\n",
    );
    let first = bench.submit(|_| ());
    bench.until(first, |build| build.tasks[1].output_bytes > 0);
    let second = bench.submit(|_| ());
    let build = bench.finished(second);
    assert_eq!((build.build.state, build.build.attempt), (BuildState::Expired, 0));
    assert_eq!(bench.detail(first).build.state, BuildState::Running);
}
