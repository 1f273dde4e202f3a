//! Results while a run is on: what they say is part of what the whole one says.

use std::time::Duration;

use prony_engine::{Control, RunExtras, run_with};
use prony_model::{ErrorKind, FindingCode, Phase, Progress, RunEvent, RunPlan, RunResult};

use crate::plans::{check, closed, for_ms, open, plan};
use crate::server::{Server, ok};

/// Runs `plan` on `driver`; returns the results so far, the progress of the measured part, and the whole result.
fn watched(
    driver: prony_model::DriverChoice,
    plan: RunPlan,
    stop: impl Fn(&RunResult) -> bool,
) -> (Vec<RunResult>, Vec<Progress>, RunResult) {
    let (mut so_far, mut progress, mut measuring) = (Vec::new(), Vec::new(), false);
    let control = Control::default();
    let extras = RunExtras { so_far: Some(Duration::from_millis(100)), ..RunExtras::default() };
    let plan = RunPlan { driver, ..plan };
    let result = run_with(&plan, &extras, &control, &mut |event| match event {
        RunEvent::SoFar(result) => {
            if stop(&result) {
                control.stop();
            }
            so_far.push(*result);
        }
        RunEvent::Phase(phase) => measuring = phase == Phase::Measure,
        RunEvent::Progress(one) if measuring => progress.push(one),
        _ => {}
    });
    (so_far, progress, result.expect("a result"))
}

/// Answers each fourth request with 503.
fn one_in_four_fails() -> Server {
    Server::start(|peer| {
        while let Some(request) = peer.request() {
            let bad = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
            let sent = if request.number % 4 == 3 { peer.answer(bad) } else { peer.answer(&ok("hello")) };
            if !sent {
                return;
            }
        }
    })
}

on_both_drivers! {
    fn it_grows_into_the_whole(driver) {
        for load in [closed(4), open(400.0, 8)] {
            let server = one_in_four_fails();
            let plan = RunPlan { load, end: for_ms(60_000), ..plan(server.url()) };
            let is_enough = |result: &RunResult| result.limiter.is_some() && !result.findings.is_empty();
            let (so_far, progress, whole) = watched(driver, plan, is_enough);
            check(&whole);
            assert!(!so_far.is_empty());
            for result in &so_far {
                let requests = &result.requests;
                assert_eq!(requests.intended, requests.done + requests.failed, "{requests:?}");
                assert!(requests.sent <= requests.intended, "{requests:?}");
                assert_eq!(result.latency.response.count, requests.done);
                assert_eq!(result.latency.service.count, requests.done);
                assert!(!result.timing.interrupted);
                let is_early = result.timing.measured_s < 1.0;
                assert!(!is_early || result.findings.is_empty() && result.limiter.is_none(), "{result:?}");
            }
            for pair in so_far.windows(2) {
                assert!(pair[0].requests.done <= pair[1].requests.done);
                assert!(pair[0].timing.measured_s <= pair[1].timing.measured_s);
            }
            let last = so_far.last().expect("one");
            assert!(last.requests.done <= whole.requests.done);
            assert!(last.latency.response.max_ms <= whole.latency.response.max_ms);
            let failed = |result: &RunResult| result.requests.failed_by_kind[&ErrorKind::Status];
            assert!(failed(last) <= failed(&whole));
            for result in [last, &whole] {
                let found = result.findings.iter().find(|found| found.code == FindingCode::ErrorShare);
                assert!(found.is_some_and(|found| found.message.starts_with('2')), "{:?}", result.findings);
            }
            // What needs a whole run is not made up.
            assert!(!last.findings.iter().any(|found| found.code == FindingCode::Interrupted));
            assert!(last.series.is_empty() && last.histograms.response.data.is_empty());
            assert!(progress.iter().all(|one| one.open <= 8 && one.in_flight <= 8.0), "{progress:?}");
            assert!(progress.iter().any(|one| one.open == 4 || last.plan.load.rate().is_some()));
        }
    }

    fn requests_in_flight_are_no_part_of_it(driver) {
        // Nobody is answered: nothing ends until the timeout, and all is in flight.
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let timeouts = prony_model::Timeouts {
            request: Duration::from_millis(1_500),
            drain: Duration::ZERO,
            ..prony_model::Timeouts::default()
        };
        let plan = RunPlan { load: closed(3), end: for_ms(60_000), timeouts, ..plan(server.url()) };
        let (so_far, progress, whole) = watched(driver, plan, |result| result.requests.failed >= 3);
        assert_eq!(so_far[0].requests.intended, 0, "{:?}", so_far[0].requests);
        assert!(so_far[0].findings.is_empty(), "nothing has ended: {:?}", so_far[0].findings);
        let last = so_far.last().expect("one");
        assert_eq!(last.requests.failed_by_kind.get(&ErrorKind::RequestTimeout), Some(&last.requests.failed));
        assert!(last.findings.iter().any(|found| found.code == FindingCode::NoSuccess), "{:?}", last.findings);
        assert!(progress.iter().any(|one| one.in_flight > 2.5), "{progress:?}");
        check(&whole);
    }
}

#[test]
fn nobody_gets_it_who_did_not_ask() {
    let server = Server::answering(&ok("hello"));
    let plan = RunPlan { load: closed(2), end: for_ms(300), ..plan(server.url()) };
    let mut seen = 0;
    let sink = &mut |event| seen += u32::from(matches!(event, RunEvent::SoFar(_)));
    run_with(&plan, &RunExtras::default(), &Control::default(), sink).expect("a result");
    assert_eq!(seen, 0);
}
