//! Commands of builds: what they write, how they end, and what becomes of those that break their limits.

use std::time::Duration;

use prony_supervisor::{Cancel, Ended, StopReason};

use super::Bench;

#[test]
fn what_a_command_writes_comes_in_order_and_its_end_is_reported() {
    let bench = Bench::new("order");
    let (ran, output) = bench.sh("for n in 1 2 3; do echo out $n; echo err $n >&2; done; exit 3");
    assert_eq!((ran.ended, output.as_str()), (Ended::Code(3), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"));
    assert_eq!(ran.output_bytes, output.len() as u64);
    assert_eq!(bench.sh("kill -USR1 $$").0.ended, Ended::Signal(10));
    let mut order = bench.order("");
    order.words = vec!["/no/such/program".into()];
    let (ran, output) = bench.run(&order);
    assert!(ran.ended == Ended::Code(127) && output.contains("/no/such/program"), "{ran:?} {output}");
}

#[test]
fn a_command_gets_nothing_that_is_not_meant_for_it() {
    let bench = Bench::new("environment");
    let (ran, output) =
        bench.sh("cat; env | cut -d= -f1 | sort; ls /proc/self/fd | grep -x .; tty; ulimit -c");
    assert_eq!(ran.ended, Ended::Code(0));
    // PWD is the shell's own.
    let own = "CI\nHOME\nLANG\nPATH\nPRONY_COMMIT\nPWD\nTERM\nTMPDIR\n";
    // stdin, stdout, stderr, and the folder that `ls` reads. What has two digits is from the test runner.
    assert_eq!(output, format!("{own}0\n1\n2\n3\nnot a tty\n0\n"));
}

#[test]
fn pieces_come_while_the_command_runs() {
    let bench = Bench::new("pieces");
    let gate = bench.room.path().join("gate");
    let order = bench.order("echo first; while [ ! -e gate ]; do sleep 0.02; done; echo second");
    let mut pieces = Vec::new();
    let ran = bench.starter.run(&order, &Cancel::default(), &mut |piece| {
        pieces.push(String::from_utf8_lossy(piece).into_owned());
        std::fs::write(&gate, "").expect("room");
    });
    assert_eq!(ran.expect("the binary was built").ended, Ended::Code(0));
    assert_eq!(pieces, ["first\n", "second\n"]);
}

#[test]
fn a_flood_is_cut_and_stopped() {
    let mut bench = Bench::new("flood");
    bench.bounds.output_bytes = 100_000;
    let (ran, output) = bench.sh("trap '' TERM; yes");
    assert_eq!((ran.ended, output.len()), (Ended::Stopped(StopReason::Output), 100_000));
    let (ran, output) = bench.sh("head -c 100000 /dev/zero");
    assert_eq!((ran.ended, output.len()), (Ended::Code(0), 100_000));
    assert_eq!(bench.sh("head -c 100001 /dev/zero").0.ended, Ended::Stopped(StopReason::Output));
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn what_never_ends_is_stopped_even_if_it_does_not_listen() {
    let mut bench = Bench::new("endless");
    bench.bounds.time = Duration::from_millis(300);
    bench.bounds.grace = Duration::from_millis(200);
    let (ran, output) =
        bench.sh("trap '' TERM; (trap '' TERM; setsid sh -c 'while :; do sleep 1000; done' &); echo on; while :; do sleep 0.05; done");
    assert_eq!((ran.ended, output.as_str()), (Ended::Stopped(StopReason::Time), "on\n"));
    assert!(ran.took >= Duration::from_millis(500), "{ran:?}");
    assert_eq!(bench.left(), [""; 0]);
    // Its children hear it, too, and have time.
    bench.bounds.grace = Duration::from_mins(1);
    let (ran, output) = bench.sh("trap : TERM; setsid sh -c 'trap \"echo saved; exit\" TERM; while :; do sleep 0.05; done' & wait; wait");
    assert_eq!(ran.ended, Ended::Stopped(StopReason::Time));
    assert!(output.ends_with("saved\n"), "{output}");
}

/// While it is given time to end, it still may not break its limits.
#[test]
fn who_is_asked_to_stop_keeps_the_limits() {
    let mut bench = Bench::new("grace");
    bench.bounds.time = Duration::from_millis(200);
    bench.bounds.output_bytes = 10_000;
    let (ran, output) = bench.sh("trap 'yes' TERM; while :; do sleep 0.02; done");
    assert_eq!((ran.ended, output.len()), (Ended::Stopped(StopReason::Time), 10_000));
    assert!(ran.took < bench.bounds.grace, "{ran:?}");
}

#[test]
fn a_command_can_be_called_off_from_another_thread() {
    let bench = Bench::new("cancel");
    let cancel = Cancel::default();
    let order = bench.order("setsid sleep 1000 & echo on; exec sleep 1000");
    // The sink is called on this thread, so the order comes from another.
    let (sender, receiver) = std::sync::mpsc::sync_channel::<()>(1);
    let caller = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            receiver.recv().expect("it writes something");
            cancel.cancel();
        }
    });
    let ran = bench.starter.run(&order, &cancel, &mut |_| {
        let _ = sender.try_send(());
    });
    caller.join().expect("it has no reason to panic");
    assert_eq!(ran.expect("the binary was built").ended, Ended::Stopped(StopReason::Cancelled));
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn too_much_memory_ends_a_command() {
    let mut bench = Bench::new("memory");
    bench.bounds.memory_bytes = 64 << 20;
    // `tail` keeps a line that has no end; it waits when it has it all.
    let (ran, _) = bench.sh("{ head -c 120000000 /dev/zero; sleep 1000; } | tail -n 1");
    assert_eq!(ran.ended, Ended::Stopped(StopReason::Memory));
    assert!(ran.peak_memory_bytes > 64 << 20, "{ran:?}");
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn too_many_processes_end_a_command() {
    let mut bench = Bench::new("processes");
    bench.bounds.processes = 20;
    // More than they need all together: on a slow machine many are there before anybody counts them.
    bench.bounds.memory_bytes = 4 << 30;
    // Each starts another two, in sessions of their own: 511 in the end, for one that nobody stops never ends.
    let bomb = "echo 'for n in 1 2; do [ $1 -gt 0 ] && setsid sh ./bomb $(($1 - 1)) & done; sleep 1000' >bomb; sh ./bomb 8";
    let (ran, _) = bench.sh(bomb);
    assert_eq!(ran.ended, Ended::Stopped(StopReason::Processes));
    assert!(ran.peak_processes > 20, "{ran:?}");
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn too_much_on_the_disk_ends_a_command() {
    let mut bench = Bench::new("disk");
    bench.bounds.disk_bytes = 10 << 20;
    let (ran, _) =
        bench.sh("n=0; while :; do head -c 1000000 /dev/zero >tmp/$n; n=$((n + 1)); sleep 0.01; done");
    assert_eq!(ran.ended, Ended::Stopped(StopReason::Disk));
    // A single file doesn't even become so long.
    let bench = Bench { bounds: bench.bounds, ..Bench::new("file") };
    let (ran, _) = bench.sh("head -c 20000000 /dev/zero >tmp/file");
    assert!(matches!(ran.ended, Ended::Code(153) | Ended::Stopped(StopReason::Disk)), "{ran:?}");
    let length = std::fs::metadata(bench.room.path().join("tmp/file")).expect("there").len();
    assert!(length <= 10 << 20, "{length}");
}

#[test]
fn what_a_command_leaves_behind_does_not_hold_it_up() {
    let bench = Bench::new("left");
    let (ran, output) = bench.sh("setsid sh -c 'trap \"\" TERM; sleep 1000' & (sleep 1000 &); echo done");
    assert_eq!((ran.ended, output.as_str()), (Ended::Code(0), "done\n"));
    assert!(ran.took < Duration::from_mins(1), "{ran:?}");
    assert_eq!(bench.left(), [""; 0]);
}
