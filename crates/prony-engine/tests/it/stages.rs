//! Stages: what is due follows from them alone, and each has the requests that were due in it.

use std::time::Duration;

use prony_model::{Arrivals, End, FindingCode, Load, Rate, RunPlan, Stages};

use crate::plans::{open, plan, run};
use crate::server::{Server, ok};

fn staged(url: &str, text: &str, highest: f64) -> RunPlan {
    let stages = Stages::parse(text).expect("stages");
    RunPlan {
        load: open(highest, 50),
        end: End::Duration(stages.duration()),
        stages: Some(stages),
        ..plan(url)
    }
}

on_both_drivers! {
    fn each_stage_has_the_requests_of_its_integral(driver) {
        for threads in [1, 3] {
            let server = Server::answering(&ok("hello"));
            let plan = staged(server.url(), "200/s:300ms,0:100ms,up=200..600/s:300ms", 600.0);
            let plan = RunPlan { threads, warmup: Duration::from_millis(100), ..plan };
            let result = run(driver, plan);
            let stages: Vec<_> = result.stages.iter().map(|stage| (stage.name.as_str(), stage.requests.intended)).collect();
            assert_eq!(stages, [("1", 60), ("2", 0), ("up", 120)], "{threads} threads");
            assert_eq!(result.requests.intended, 180);
            assert_eq!(server.requests(), result.requests.sent + 20, "the warm-up is at the first rate");
            let done: u64 = result.stages.iter().map(|stage| stage.requests.done).sum();
            assert_eq!(done, result.requests.done);
            let counts: u64 = result.stages.iter().map(|stage| stage.response.count).sum();
            assert_eq!(counts, result.latency.response.count);
            let answered: u64 = result.stages.iter().map(|stage| stage.requests.answered).sum();
            assert_eq!(answered, result.requests.answered);
            assert!(result.clean.is_none(), "what is left of a ramp would not be the ramp");
            assert!((result.rate.asked_per_s.expect("a rate") - 180.0 / 0.7).abs() < 1e-6);
            let changed = [FindingCode::NotSteady, FindingCode::WarmUp, FindingCode::OutlierSlices];
            assert!(!result.findings.iter().any(|finding| changed.contains(&finding.code)), "{:#?}", result.findings);
        }
    }

    fn bursts_follow_from_the_seed(driver) {
        let due = |seed: u64, threads: u32| {
            let server = Server::answering(&ok("hello"));
            let arrivals = Arrivals::Bursty { factor: 4.0, mean: Duration::from_millis(50) };
            let rate_per_s = Rate::per_second(400.0).expect("a rate");
            let load = Load::Open { rate_per_s, arrivals, max_connections: 50 };
            let end = End::Duration(Duration::from_millis(600));
            run(driver, RunPlan { load, end, seed, threads, ..plan(server.url()) }).requests.intended
        };
        let counts = [due(1, 2), due(1, 2), due(2, 2)];
        assert_eq!(counts[0], counts[1]);
        assert_ne!(counts[0], counts[2], "these two seeds differ");
    }
}
