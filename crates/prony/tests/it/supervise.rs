//! `prony supervise`: nothing is left of a command, however it and those around it end.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::command;
use crate::folder::Folder;
use crate::processes::{await_end, is_alive, named, pipe};

/// A guardian with a shell.
struct Kept {
    guardian: Child,
    orders: ChildStdin,
    report: BufReader<ChildStdout>,
    folder: Folder,
}

impl Kept {
    /// `script` names its processes in `$PIPE`; `flags` are those of the guardian.
    fn start(name: &str, flags: &[&str], script: &str) -> Self {
        Self::of(name, flags, &["sh", "-c", script])
    }

    fn of(name: &str, flags: &[&str], words: &[&str]) -> Self {
        let folder = Folder::new(name);
        let pipe = pipe(&folder.0);
        let log = File::options().create_new(true).append(true).read(true).open(folder.0.join("log"));
        let mut guardian = command()
            .arg("supervise")
            .args(flags)
            .arg("--")
            .args(words)
            .env("PIPE", pipe)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.expect("a log"))
            .spawn()
            .expect("the binary was built");
        let orders = guardian.stdin.take().expect("it is piped");
        let report = BufReader::new(guardian.stdout.take().expect("it is piped"));
        Self { guardian, orders, report, folder }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).expect("a log")
    }

    /// The first processes that the script names, when it has.
    fn processes<const NUMBER: usize>(&self) -> [Pid; NUMBER] {
        named(&self.folder.0.join("pipe"))
    }

    /// What it reports.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.report.read_line(&mut line).expect("text");
        line
    }
}

/// In the same group, in a session of its own, and with a parent that is gone.
const DESCENDANTS: &str = "exec 3>$PIPE; sleep 1000 & echo $! >&3; setsid sleep 1001 & echo $! >&3; (setsid sleep 1002 & echo $! >&3); echo $$ >&3; ";

#[test]
fn everything_dies_with_whoever_gave_the_orders() {
    let mut kept = Kept::start("keep-orphaned", &[], &format!("trap '' TERM; {DESCENDANTS} wait"));
    let processes = kept.processes::<4>();
    assert!(processes.iter().all(|process| is_alive(*process)), "{processes:?}");
    drop(kept.orders);
    assert!(kept.guardian.wait().expect("it ends").success());
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[test]
fn an_order_to_stop_lets_the_command_end_in_its_own_way() {
    let script = format!("trap 'exit 3' USR1; {DESCENDANTS} while :; do sleep 0.02; done");
    let mut kept = Kept::start("keep-stopped", &["--signal", "10", "--grace-ms", "600000"], &script);
    let processes = kept.processes::<4>();
    kept.orders.write_all(b"s").expect("it listens");
    assert_eq!(kept.line(), "ended code 3\n");
    assert!(kept.guardian.wait().expect("it ends").success());
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

/// Also what is in a session of its own hears that it is to stop, and has time for it.
#[test]
fn all_that_descends_can_be_asked_to_stop() {
    let child = "trap 'echo child went; exit 0' TERM; echo $$ >&3; while :; do sleep 0.02; done";
    let script = format!(
        "exec 3>$PIPE; setsid sh -c \"{child}\" & trap : TERM; echo $$ >&3; wait; wait; echo parent went"
    );
    let script = script.replace("$$ >&3; while", "\\$\\$ >&3; while");
    let mut kept = Kept::start("keep-tree", &["--tree", "--grace-ms", "600000"], &script);
    let processes = kept.processes::<2>();
    let session = |process| rustix::process::getsid(Some(process)).expect("it lives");
    let guardian = Pid::from_child(&kept.guardian);
    assert_eq!(session(guardian), guardian, "the guardian has a session of its own");
    kept.orders.write_all(b"s").expect("it listens");
    assert_eq!(kept.line(), "ended code 0\n");
    assert!(kept.guardian.wait().expect("it ends").success());
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
    // The shell may complain of its `sleep`, which was asked, too.
    let log = kept.log();
    assert!(log.ends_with("child went\nparent went\n"), "{log}");
}

/// Each in a session of its own, so that no signal reaches them all at once.
#[test]
fn what_multiplies_is_killed_to_the_last() {
    let script = r#"exec 3>$PIPE; echo 'for n in 1 2; do [ $1 -gt 0 ] && setsid sh "$0" $(($1 - 1)) & done; [ $1 = 0 ] && echo $$ >&3; sleep 1000' >bomb; sh ./bomb 9 "#;
    let mut kept = Kept::start("keep-bomb", &["--tree"], &format!("cd $(dirname $PIPE); {script}"));
    let first = kept.processes::<1>();
    drop(kept.orders);
    assert!(kept.guardian.wait().expect("it ends").success());
    let folder = kept.folder.0.to_string_lossy().into_owned();
    let is_left = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.to_string_lossy() == folder)
    };
    let left: Vec<_> = fs::read_dir("/proc").expect("it is there").flatten().filter(is_left).collect();
    assert!(left.is_empty() && !is_alive(first[0]), "{left:?}");
}

#[test]
fn a_command_that_does_not_stop_is_killed() {
    let script = "exec 3>$PIPE; trap '' TERM; echo $$ >&3; while :; do sleep 0.02; done";
    let mut kept = Kept::start("keep-killed", &["--grace-ms", "50"], script);
    let processes = kept.processes::<1>();
    kept.orders.write_all(b"s").expect("it listens");
    assert!(kept.guardian.wait().expect("it ends").success());
    assert!(!is_alive(processes[0]));
    assert_eq!(kept.line(), "", "it did not end by itself");
}

#[test]
fn what_a_command_leaves_behind_dies_with_it() {
    let mut kept = Kept::start("keep-left", &[], &format!("{DESCENDANTS} exit 7"));
    let processes = kept.processes::<4>();
    assert_eq!(kept.line(), "ended code 7\n");
    assert!(kept.guardian.wait().expect("it ends").success());
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[test]
fn ends_by_signals_and_programs_that_are_not_there() {
    let mut kept = Kept::start("keep-signal", &[], "kill -9 $$");
    assert_eq!(kept.line(), "ended signal 9\n");
    let mut kept = Kept::of("keep-missing", &[], &["/no/such/program", "--flag"]);
    assert_eq!(kept.line(), "ended code 127\n");
    let log = kept.log();
    assert!(log.starts_with("error: `/no/such/program` can't be started (No such file"), "{log}");
    let mut rest = String::new();
    kept.report.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
}

/// What was open in the process that started Prony, a lock or a key, is for no command. Without the guardian a shell would pass
/// it on.
#[test]
fn a_command_inherits_no_descriptor_but_its_own() {
    let folder = Folder::new("keep-descriptors");
    fs::write(folder.0.join("secret"), "of somebody").expect("room");
    let leak = "exec 3<secret 9<secret 77<secret; \"$0\" \"$@\"";
    let open = "for fd in 3 9 77; do [ -e /proc/self/fd/$fd ] && echo $fd; done; true";
    let run = |words: &[&str]| {
        let mut child = std::process::Command::new("bash")
            .args(["-c", leak])
            .args(words)
            .current_dir(&folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bash; ./test is written for it");
        // A guardian takes the end of its orders for an order.
        let orders = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(orders);
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    };
    let script = format!("({open}) >&2");
    assert_eq!(run(&["sh", "-c", &script]), "3\n9\n77\n", "this test leaks nothing");
    for flags in [&[][..], &["--tree"][..]] {
        let prony = [env!("CARGO_BIN_EXE_prony"), "supervise"];
        let guarded = [&prony, flags, &["--", "sh", "-c", &script]].concat();
        assert_eq!(run(&guarded), "ended code 0\n", "{flags:?}");
    }
}

/// As `killall -9 prony` would.
#[test]
fn the_command_dies_with_a_guardian_that_is_killed() {
    let mut kept =
        Kept::start("keep-guardian", &[], "exec 3>$PIPE; echo $$ >&3; while :; do sleep 0.02; done");
    let processes = kept.processes::<1>();
    kill_process(Pid::from_child(&kept.guardian), Signal::KILL).expect("it lives");
    kept.guardian.wait().expect("it ends");
    await_end(processes[0]);
}
