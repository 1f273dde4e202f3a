//! A load that an idle machine carries with ease is not doubted.

use std::fs;
use std::thread;
use std::time::Duration;

use prony_model::{RunPlan, Verdict};

use crate::plans::{for_ms, open, plan, run};
use crate::server::{Server, ok};

/// Runs that may be disturbed by the machine, one after the other: a cloud's machine stops now and then.
const TRIES: usize = 8;
/// With more than this share of the CPUs taken by others the machine is not idle, and nothing is known.
const OTHERS_MAX: f64 = 0.05;

/// CPU time of the machine, and how much of it others took: other processes, the kernel's own work, the hypervisor.
fn cpu_time() -> [u64; 2] {
    let numbers =
        |text: &str| text.split_whitespace().map_while(|word| word.parse().ok()).collect::<Vec<u64>>();
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    let stat = fs::read_to_string("/proc/stat").expect("Linux has it");
    let all =
        numbers(stat.lines().next().and_then(|line| line.strip_prefix("cpu")).expect("all CPUs come first"));
    let total: u64 = all.iter().take(8).sum();
    // proc_pid_stat(5): of what follows the name, the 12th and 13th are user and system time.
    let own = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let own = own.rsplit(')').next().expect("a name").split_whitespace().skip(11).take(2);
    let own: u64 = own.map(|word| word.parse::<u64>().expect("a number")).sum();
    [total, total - all[3] - all[4] - own]
}

on_both_drivers! {
    fn an_easy_load_is_valid(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(20));
                if !peer.answer(&ok("hello")) {
                    return;
                }
            }
        });
        let mut doubts = Vec::new();
        let before = cpu_time();
        for _ in 0..TRIES {
            let result = run(driver, RunPlan { load: open(100.0, 8), end: for_ms(2000), ..plan(server.url()) });
            assert_eq!(result.requests.failed, 0, "{:?}", result.errors);
            if result.verdict == Verdict::Valid {
                return;
            }
            doubts.push(result.findings);
        }
        let after = cpu_time();
        let others = (after[1] - before[1]) as f64 / (after[0] - before[0]) as f64;
        if others > OTHERS_MAX {
            let why = format!("the machine is not idle: others took {:.0} % of its CPUs", others * 100.0);
            return prony_testing::skip("healthy::an_easy_load_is_valid", &why);
        }
        panic!("each of {TRIES} runs was doubted: {doubts:#?}");
    }
}
