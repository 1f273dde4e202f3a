//! Commands in a sandbox. The machine of the tests has bubblewrap (`./test` installs it).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_lab::SandboxMode;
use prony_lab::work::{Network, Sandbox, Scope, Use, Workspace};
use prony_supervisor::{CommandSpec, Ended, StopReason};

use super::Bench;

/// A workspace in the data folder of a lab.
fn bench(name: &str) -> (Bench, Sandbox) {
    let mut bench = Bench::new(name);
    let data = bench.room.path().parent().expect("it has one").to_owned();
    let search_path = std::env::var("PATH").expect("there is one");
    let program = Path::new(env!("CARGO_BIN_EXE_prony"));
    let sandbox = Sandbox::detect(SandboxMode::Require, &search_path, &data, program, None);
    assert!(sandbox.is_there(), "{}", sandbox.describe());
    bench.room = Workspace::make(&data, "7", sandbox.user()).expect("room");
    (bench, sandbox)
}

/// A task that also sees `expose`.
fn used(expose: &[PathBuf]) -> Use<'_> {
    Use { scope: Scope::Task, network: Network::Own, sources: &[], expose, egress: None, caches: &[] }
}

/// `script` in the sandbox, as a task of a build.
fn order(bench: &Bench, sandbox: &Sandbox, script: &str) -> CommandSpec {
    let used = used(&[]);
    let mut order = bench.order(script);
    order.words = sandbox.wrapped(&bench.room, &bench.room.home(), used, order.words);
    order
}

#[test]
fn a_build_has_its_own_and_the_system() {
    let (bench, sandbox) = bench("hidden");
    let script = "echo own >file; cat file; echo private >/tmp/prony-lab-test; \
                  touch /etc/prony-lab-test || echo read-only; ls -d /proc/[0-9]* | wc -l; hostname; \
                  \"$PRONY\" --version >/dev/null && echo prony; id -un; for folder in ../*; do [ -n \"$(ls -A $folder)\" ] && basename $folder; done; true";
    let mut order = order(&bench, &sandbox, script);
    order.environment.push(("PRONY".into(), env!("CARGO_BIN_EXE_prony").into()));
    let (ran, output) = bench.run(&order);
    assert_eq!(ran.ended, Ended::Code(0), "{output}");
    assert!(
        output.contains("own\n") && output.contains("read-only\n") && output.contains("prony-lab\n"),
        "{output}"
    );
    // Where the lab's own folder is below /tmp, the places of its other folders are seen, and empty.
    assert!(output.ends_with("prony\nbuild\nhome\ntmp\n"), "{output}");
    assert!(!Path::new("/tmp/prony-lab-test").exists());
    assert_eq!(fs::read_to_string(bench.room.tmp().join("prony-lab-test")).expect("there"), "private\n");
}

#[test]
fn what_an_administrator_exposes_can_be_read_and_nothing_else() {
    let (bench, sandbox) = bench("exposed");
    let outside = bench.room.path().parent().expect("it has one").join("toolchain");
    for folder in ["bin", "private"] {
        fs::create_dir_all(outside.join(folder)).expect("room");
        fs::write(outside.join(folder).join("tool"), "text\n").expect("room");
    }
    let expose = [outside.join("bin")];
    let used = used(&expose);
    let mut order = bench.order(&format!("cd {}; cat bin/tool; echo x >bin/tool; ls", outside.display()));
    order.words = sandbox.wrapped(&bench.room, &bench.room.home(), used, order.words);
    let (_, output) = bench.run(&order);
    assert!(
        output.starts_with("text\n") && output.contains("Read-only") && output.ends_with("\nbin\n"),
        "{output}"
    );
    assert_eq!(fs::read_to_string(outside.join("bin/tool")).expect("there"), "text\n");
}

#[test]
fn nothing_leaves_the_sandbox_alive() {
    let (mut bench, sandbox) = bench("alive");
    // Two that don't listen, one of them without a parent.
    let script = "trap '' TERM; (setsid sleep 1000 &); echo on; while :; do sleep 0.02; done";
    bench.bounds.time = Duration::from_millis(1500);
    bench.bounds.grace = Duration::from_millis(100);
    let (ran, output) = bench.run(&order(&bench, &sandbox, script));
    assert_eq!((ran.ended, output.as_str()), (Ended::Stopped(StopReason::Time), "on\n"));
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn limits_hold_in_the_sandbox() {
    let (mut bench, sandbox) = bench("limits");
    bench.bounds.memory_bytes = 64 << 20;
    let script = "{ head -c 120000000 /dev/zero; sleep 1000; } | tail -n 1";
    assert_eq!(bench.run(&order(&bench, &sandbox, script)).0.ended, Ended::Stopped(StopReason::Memory));
}

/// It hears that it is to stop, also where its numbers mean nothing outside, and where it is asked alone.
#[test]
fn a_build_in_the_sandbox_can_save_what_it_has() {
    for tree in [true, false] {
        let (mut bench, sandbox) = bench(&format!("polite-{tree}"));
        bench.bounds.time = Duration::from_secs(5);
        let mut order =
            order(&bench, &sandbox, "trap 'echo saved; exit 0' TERM; while :; do sleep 0.02; done");
        order.tree = tree;
        let (ran, output) = bench.run(&order);
        assert_eq!(ran.ended, Ended::Stopped(StopReason::Time));
        assert!(output.ends_with("saved\n") && ran.took < bench.bounds.grace, "{output} {ran:?}");
    }
}
