//! Findings on a machine that is busy with something else.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use prony_model::{FindingCode, RunPlan, Severity, Verdict};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::alone::alone;
use crate::descriptors::{path, test};
use crate::plans::{closed, finding, for_ms, open, plan, run};
use crate::server::{Server, ok};

/// From now on this thread, and what it starts, runs on one CPU.
fn stay_on_one_cpu() {
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("it runs somewhere");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("it may run there already");
}

on_both_drivers! {
    fn a_client_that_shares_its_cpu(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, "", |_| {
            stay_on_one_cpu();
            let over = Arc::new(AtomicBool::new(false));
            let ended = Arc::clone(&over);
            let burner = thread::spawn(move || while !ended.load(Ordering::Relaxed) {});
            let server = Server::answering(&ok("hello"));
            let result = run(driver, RunPlan { load: closed(8), end: for_ms(1200), ..plan(server.url()) });
            over.store(true, Ordering::Relaxed);
            burner.join().expect("no panic");
            // Which of them it is depends on how the kernel shares the CPU out, and on what it counts.
            let signs = [FindingCode::RunQueueWait, FindingCode::ClientCpu, FindingCode::Contention];
            let found: Vec<_> = result.findings.iter().filter(|found| signs.contains(&found.code)).collect();
            assert!(found.iter().any(|found| found.severity >= Severity::Warning), "{:#?}", result.findings);
            assert_ne!(result.verdict, Verdict::Valid);
            if let Some(share) = result.machine.pressure_share {
                assert!(share > 0.2, "{:?}", result.machine);
                let contention = found.iter().find(|found| found.code == FindingCode::Contention);
                assert!(contention.is_some_and(|found| found.message.contains("client and server share")), "{found:?}");
            }
        });
    }

    fn a_client_that_is_stopped_again_and_again(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, "", |_| {
            let script = format!(
                "for stop in $(seq 10); do sleep 0.05; kill -STOP {0}; sleep 0.05; kill -CONT {0}; done",
                std::process::id()
            );
            let mut stopper = Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
            let server = Server::answering(&ok("hello"));
            let result = run(driver, RunPlan { load: open(1000.0, 8), end: for_ms(1300), ..plan(server.url()) });
            assert!(stopper.wait().expect("a child").success());
            // Half of the requests of a second were due while the client could not run.
            let lag = finding(&result, FindingCode::SendLag);
            assert!(lag.severity >= Severity::Warning, "{lag:?}");
            assert_ne!(result.verdict, Verdict::Valid);
        });
    }
}
