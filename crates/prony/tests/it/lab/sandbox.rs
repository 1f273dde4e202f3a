//! Builds in a sandbox, where this machine has one; where it has none, the lab says so.

use std::fs;
use std::path::Path;
use std::time::Duration;

use prony_lab::work::{Ended, Order, Sandbox, Why};

use super::Bench;

/// A room in the data folder of a lab; none where there is no bubblewrap.
fn bench(name: &str) -> (Bench, Sandbox) {
    let bench = Bench::new(name);
    let data = bench.room.path().parent().expect("it has one");
    fs::write(data.join("secret"), "of the lab").expect("room");
    fs::create_dir(data.join("person")).expect("room");
    fs::create_dir(data.join("person/.ssh")).expect("room");
    fs::write(data.join("person/.ssh/id"), "of a person").expect("room");
    let search_path = std::env::var("PATH").expect("there is one");
    let sandbox = Sandbox::detect(
        &search_path,
        data,
        Some(&data.join("person")),
        Path::new(env!("CARGO_BIN_EXE_prony")),
    );
    // A lab that overlooks a bubblewrap that works would make all tests here pass.
    let bare = [
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-pid",
        "--cap-drop",
        "ALL",
        "true",
    ];
    let works =
        std::process::Command::new("bwrap").args(bare).output().is_ok_and(|output| output.status.success());
    assert_eq!(sandbox.is_there(), works, "{}", sandbox.told());
    (bench, sandbox)
}

/// `script` in the sandbox; none where there is none, and then the reason is told.
fn order(bench: &Bench, sandbox: &Sandbox, script: &str) -> Option<Order> {
    if !sandbox.is_there() {
        assert!(sandbox.told().starts_with("Builds run without a sandbox"), "{}", sandbox.told());
        return None;
    }
    let mut order = bench.order(script);
    order.words = sandbox.wrapped(&bench.room, bench.room.path(), order.words);
    Some(order)
}

#[test]
fn a_build_sees_the_system_but_not_the_lab() {
    let (bench, sandbox) = bench("hidden");
    let script = "cat ../secret ../person/.ssh/id; echo own >file; cat file; echo private >/tmp/prony-lab-test; \
                  touch /etc/prony-lab-test || echo read-only; ls -d /proc/[0-9]* | wc -l; hostname; \
                  grep CapEff /proc/self/status; \"$PRONY\" --version >/dev/null && echo prony";
    let Some(mut order) = order(&bench, &sandbox, script) else { return };
    order.environment.push(("PRONY".into(), env!("CARGO_BIN_EXE_prony").into()));
    let (ran, said) = bench.run(&order);
    assert_eq!(ran.ended, Ended::Code(0), "{said}");
    assert!(!said.contains("of the lab") && !said.contains("of a person"), "{said}");
    assert!(said.contains("own\n") && said.contains("read-only\n") && said.contains("prony-lab\n"), "{said}");
    assert!(said.contains("CapEff:\t0000000000000000") && said.ends_with("prony\n"), "{said}");
    assert!(!Path::new("/tmp/prony-lab-test").exists());
    assert_eq!(fs::read_to_string(bench.room.tmp().join("prony-lab-test")).expect("there"), "private\n");
}

#[test]
fn nothing_leaves_the_sandbox_alive() {
    let (mut bench, sandbox) = bench("alive");
    // Two that don't listen, one of them without a parent.
    let script = "trap '' TERM; (setsid sleep 1000 &); echo on; while :; do sleep 0.02; done";
    bench.bounds.time = Duration::from_millis(700);
    bench.bounds.grace = Duration::from_millis(100);
    let Some(order) = order(&bench, &sandbox, script) else { return };
    let (ran, said) = bench.run(&order);
    assert_eq!((ran.ended, said.as_str()), (Ended::Stopped(Why::Time), "on\n"));
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn limits_hold_in_the_sandbox() {
    let (mut bench, sandbox) = bench("limits");
    bench.bounds.memory_bytes = 64 << 20;
    let script = "{ head -c 120000000 /dev/zero; sleep 1000; } | tail -n 1";
    let Some(order) = order(&bench, &sandbox, script) else { return };
    assert_eq!(bench.run(&order).0.ended, Ended::Stopped(Why::Memory));
}

/// It hears that it is to stop, also where its numbers mean nothing outside.
#[test]
fn a_build_in_the_sandbox_can_save_what_it_has() {
    let (mut bench, sandbox) = bench("polite");
    bench.bounds.time = Duration::from_millis(700);
    let script = "trap 'echo saved; exit 0' TERM; while :; do sleep 0.02; done";
    let Some(order) = order(&bench, &sandbox, script) else { return };
    let (ran, said) = bench.run(&order);
    assert_eq!(ran.ended, Ended::Stopped(Why::Time));
    assert!(said.ends_with("saved\n") && ran.took < bench.bounds.grace, "{said} {ran:?}");
}
