//! Runs that are ended by hand.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{FindingCode, Load, Outcome, Phase, RunCounts, RunEvent, RunPlan, Timeouts};

use crate::plans::{closed, finding, for_ms, open, plan, requests, run_with};
use crate::server::{Server, ok};

/// Answers the first `good` requests; the next one stops the run and is answered like them, or never.
fn server(good: u64, control: &Control, hangs: bool) -> Server {
    let control = control.clone();
    Server::start(move |peer| {
        while let Some(request) = peer.request() {
            if request.number >= good {
                control.stop();
                if hangs {
                    return peer.hold();
                }
            }
            peer.answer(&ok("hello"));
        }
    })
}

const LOADS: [fn() -> Load; 2] = [|| closed(3), || open(500.0, 3)];

on_both_drivers! {
    fn with_what_was_measured_until_then(driver) {
        for load in LOADS {
            let control = Control::default();
            let server = server(20, &control, false);
            let plan = RunPlan { load: load(), end: for_ms(60_000), ..plan(server.url()) };
            let result = run_with(driver, plan, &control, &mut |_| {});
            assert!(result.timing.interrupted);
            assert!(result.requests.done > 20, "{:?}", result.requests);
            assert_eq!(result.requests.sent, server.requests());
            assert!(result.timing.measured_s < 30.0, "{:?}", result.timing);
            finding(&result, FindingCode::Interrupted);
        }
    }

    fn before_the_first_answer_and_while_everything_hangs(driver) {
        for load in LOADS {
            let control = Control::default();
            let server = server(2, &control, true);
            let timeouts = Timeouts { drain: Duration::from_millis(120), ..Timeouts::default() };
            let plan = RunPlan { load: load(), end: for_ms(60_000), timeouts, ..plan(server.url()) };
            let result = run_with(driver, plan, &control, &mut |_| {});
            assert!(result.timing.interrupted);
            assert!(result.requests.done <= 2, "{:?}", result.requests);
            assert!(result.requests.censored >= 1, "{:?}", result.requests);
            // Waiting for the rest is no part of the measured time.
            assert!(result.timing.drain_s >= 0.12, "{:?}", result.timing);
            finding(&result, FindingCode::Interrupted);
        }
    }

    fn of_a_count(driver) {
        let control = Control::default();
        let server = server(20, &control, true);
        let timeouts = Timeouts { drain: Duration::from_millis(120), ..Timeouts::default() };
        let plan =
            RunPlan { load: closed(2), end: requests(1_000_000), timeouts, ..plan(server.url()) };
        let result = run_with(driver, plan, &control, &mut |_| {});
        assert!(result.timing.interrupted);
        assert_eq!([result.requests.done, result.requests.intended], [20, server.requests()]);
        assert!(result.timing.drain_s >= 0.12, "{:?}", result.timing);
    }

    fn before_it_began(driver) {
        for load in LOADS {
            let server = Server::answering(&ok("hello"));
            let control = Control::default();
            control.stop();
            let plan = RunPlan { load: load(), end: for_ms(60_000), ..plan(server.url()) };
            let result = run_with(driver, plan, &control, &mut |_| {});
            assert!(result.timing.interrupted);
            assert_eq!([result.requests.sent, server.requests()], [0; 2]);
        }
    }

    fn in_the_warm_up(driver) {
        for load in LOADS {
            let control = Control::default();
            let server = server(20, &control, false);
            let warmup = Duration::from_mins(1);
            let plan = RunPlan { load: load(), end: for_ms(60_000), warmup, ..plan(server.url()) };
            let result = run_with(driver, plan, &control, &mut |_| {});
            assert!(result.timing.interrupted);
            assert_eq!(result.requests.intended, 0);
            assert!(server.requests() > 20);
            assert!(result.timing.warmup_s < 30.0 && result.timing.measured_s == 0.0, "{:?}", result.timing);
        }
    }

    fn in_the_drain_is_no_interruption(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let control = Control::default();
        let timeouts = Timeouts { drain: Duration::from_millis(150), ..Timeouts::default() };
        let plan = RunPlan { load: closed(2), end: for_ms(100), timeouts, ..plan(server.url()) };
        let result = run_with(driver, plan, &control, &mut |event| {
            if event == RunEvent::Phase(Phase::Drain) {
                control.stop();
            }
        });
        assert!(control.is_stopped());
        assert!(!result.timing.interrupted, "the measured part was whole");
        assert!((result.timing.measured_s - 0.1).abs() < 1e-9, "{:?}", result.timing);
    }

    fn not_at_all_and_the_phases_come_in_order(driver) {
        let server = Server::answering(&ok("hello"));
        let warmup = Duration::from_millis(120);
        let plan =
            RunPlan { load: closed(3), threads: 3, end: for_ms(350), warmup, ..plan(server.url()) };
        let (mut seen, mut done) = (Vec::new(), 0);
        let mut elapsed = Duration::ZERO;
        let result = run_with(driver, plan, &Control::default(), &mut |event| match event {
            RunEvent::Starting { addresses, .. } => assert_eq!(addresses, [server.address().to_string()]),
            RunEvent::Phase(phase) => {
                seen.push(phase);
                elapsed = Duration::ZERO;
            }
            RunEvent::Progress(progress) => {
                assert!(progress.done >= done && progress.failed == 0, "{progress:?}");
                done = progress.done;
                // Since the start of the phase that was reported last.
                assert!(progress.elapsed >= elapsed, "{progress:?} {elapsed:?}");
                elapsed = progress.elapsed;
            }
            RunEvent::Slice(_)
            | RunEvent::Counts(_)
            | RunEvent::Samples(_)
            | RunEvent::SamplesLost(_)
            | RunEvent::SoFar(_) => {}
        });
        assert!(seen.starts_with(&[Phase::Warmup, Phase::Measure]), "{seen:?}");
        assert!(!result.timing.interrupted);
        assert!(done > 0);
    }
}

on_both_drivers! {
    // What is counted while the run is on is what its result has in the end, and a reason to end it is kept.
    fn because_of_what_was_counted(driver) {
        let control = Control::default();
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                peer.answer(&ok("hello"));
            }
        });
        let plan = RunPlan { load: closed(3), end: for_ms(60_000), ..plan(server.url()) };
        let mut last = RunCounts::default();
        let result = run_with(driver, plan, &control, &mut |event| {
            if let RunEvent::Counts(counts) = event {
                let grown = last.outcomes.iter().zip(&counts.outcomes).all(|(before, now)| before <= now);
                assert!(grown, "{last:?} {counts:?}");
                last = *counts;
                if counts.outcomes.iter().sum::<u64>() >= 50 {
                    control.stop_because(|| "enough was counted".to_owned());
                }
            }
        });
        assert!(result.timing.interrupted && result.requests.done >= 50, "{:?}", result.requests);
        assert_eq!(result.timing.ended_early_because.as_deref(), Some("enough was counted"));
        let found = finding(&result, FindingCode::Interrupted);
        assert!(found.message.contains("enough was counted"), "{found:?}");
        for summary in &result.outcomes {
            let outcome = Outcome::all().find(|outcome| outcome.name() == summary.outcome).expect("a name");
            assert_eq!(last.outcomes[outcome.index()], summary.count, "{}", summary.outcome);
        }
        assert_eq!(last.outcomes.iter().sum::<u64>(), result.requests.done + result.requests.failed);
        let response = &result.latency.response;
        assert_eq!(last.response_ms, response.min_ms.zip(response.max_ms));
    }
}
