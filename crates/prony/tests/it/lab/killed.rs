//! A lab that is killed in the middle of a build: nothing of the build outlives it, and nothing is run twice.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use prony_lab::model::{BuildState, TaskState};

use super::worker::Bench;
use crate::binary::command;

/// `prony lab` on the store of `bench`, which must not be open; returns when it listens.
fn start(bench: &Bench) -> Child {
    let mut lab = command()
        .args(["lab", "--listen", "127.0.0.1:0", "--data"])
        .arg(bench.data())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut line = String::new();
    BufReader::new(lab.stdout.take().expect("it is piped")).read_line(&mut line).expect("text");
    assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
    lab
}

#[test]
fn nothing_outlives_a_killed_lab_and_nothing_is_run_twice() {
    let script = "echo begun; trap '' TERM; setsid sleep 1000 & (setsid sleep 1001 &); sleep 1002";
    let definition = format!("[[task]]\nname = \"endless\"\ncommand = \"{script}\"\n");
    let mut bench = Bench::new("killed", &definition);
    bench.stop();
    let (first, second) = (bench.submit(|_| ()), bench.submit(|_| ()));
    bench.close();
    let mut lab = start(&bench);
    bench.wait_for("a process of the build", || {
        bench.left().iter().filter(|line| line.contains("sleep")).count() >= 3
    });
    lab.kill().expect("it is ours");
    lab.wait().expect("it is ours");
    bench.wait_for("the end of all of them", || bench.left().is_empty());
    // The next lab goes on with the queue, and reports what became of the other.
    bench.open();
    assert_eq!(bench.detail(first).build.state, BuildState::Running, "nobody has looked yet");
    bench.start();
    let build = bench.finished(first);
    assert_eq!((build.build.state, build.build.attempt), (BuildState::Failed, 1));
    assert!(build.build.reason.is_some_and(|reason| reason.starts_with("the lab was stopped while it ran")));
    assert_eq!(build.tasks[1].state, TaskState::Cancelled);
    let build = bench.until(second, |build| build.tasks[1].output_bytes > 0);
    assert_eq!((build.build.state, build.build.attempt), (BuildState::Running, 1));
    assert!(bench.lab().cancel(second, "kim").expect("written"));
    bench.finished(second);
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn a_lab_ends_with_a_signal_and_takes_what_runs_along() {
    let definition = "[[task]]\nname = \"endless\"\ncommand = \"echo begun; sleep 1000\"\n";
    let mut bench = Bench::new("signal", definition);
    bench.stop();
    let id = bench.submit(|_| ());
    bench.close();
    let mut lab = start(&bench);
    bench.wait_for("a process of the build", || bench.left().iter().any(|line| line.contains("sleep")));
    let pid = rustix::process::Pid::from_child(&lab);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is ours");
    assert!(lab.wait().expect("it is ours").success());
    assert_eq!(bench.left(), [""; 0]);
    bench.open();
    let build = bench.detail(id).build;
    assert_eq!(build.state, BuildState::Failed);
    assert_eq!(build.reason.as_deref(), Some("the lab was stopped while it ran; request it again"));
}
