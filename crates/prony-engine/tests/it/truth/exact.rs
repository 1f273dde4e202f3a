//! Every reported number is exactly what the single samples of the same run say.

use std::time::Duration;

use prony_model::{ErrorKind, LatencySummary, RunPlan, RunResult, SampleRecord};
use prony_targets::truth::{Config, Delay};

use super::{Measured, Over, measure};
use crate::plans::{closed, for_ms, open, poisson, requests};

/// A bucket's width relative to its values: 2^-10 (prony-stats, HdrHistogram's layout).
const BUCKET: f64 = 1.0 / 1024.0;

/// Holds `reported` against the same moments of the samples.
/// `cut_off`: requests without an answer, which count as slower than all that have one.
fn check(name: &str, reported: &LatencySummary, mut nanos: Vec<u64>, cut_off: u64) {
    nanos.sort_unstable();
    let milliseconds = |nanos: u64| nanos as f64 / 1e6;
    assert_eq!(reported.count, nanos.len() as u64, "{name}");
    assert_eq!(reported.min_ms, nanos.first().copied().map(milliseconds), "{name}");
    assert_eq!(reported.max_ms, nanos.last().copied().map(milliseconds), "{name}");
    let sum: f64 = nanos.iter().map(|nanos| milliseconds(*nanos)).sum();
    if let Some(mean_ms) = reported.mean_ms {
        assert!((mean_ms - sum / nanos.len() as f64).abs() <= 1e-6, "{name}: mean {mean_ms}");
    }
    let mut printed = 0;
    for (quantile, value) in &reported.quantiles_ms {
        let Some(value) = value else { continue };
        let q: f64 = quantile.parse().expect("a number");
        let order_statistic = nanos[rank(q, nanos.len() as u64 + cut_off) - 1];
        let truth = milliseconds(order_statistic);
        assert!(
            (truth..=truth * (1.0 + BUCKET) + 1e-6).contains(value),
            "{name} p{quantile}: {value} ms, and the samples say {truth} ms"
        );
        printed += 1;
    }
    assert!(nanos.len() < 40 || printed > 0, "{name}: nothing was printed of {} samples", nanos.len());
}

/// ⌈q·n⌉, at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is small and positive")]
fn rank(q: f64, count: u64) -> usize {
    // The product of two doubles may lie a hair above the whole number that it stands for.
    ((q * count as f64 - 1e-9).ceil() as usize).max(1)
}

/// Holds every clock and count of `measured` against its samples.
fn check_all(measured: &Measured) {
    let Measured { result, samples, answered_in_slices, .. } = measured;
    let good: Vec<&SampleRecord> =
        samples.iter().filter(|sample| sample.outcome.error_kind().is_none()).collect();
    let of = |value: fn(&SampleRecord) -> u64| good.iter().map(|sample| value(sample)).collect::<Vec<_>>();
    let requests = &result.requests;
    let timed_out =
        requests.failed_by_kind.iter().filter(|(kind, _)| kind.is_censoring()).map(|(_, count)| count);
    let cut_off = requests.censored + requests.never_sent + timed_out.sum::<u64>();
    check("response", &result.latency.response, of(|sample| sample.done_ns - sample.intended_ns), cut_off);
    // What was never sent has no service time.
    let in_vain =
        requests.censored + requests.failed_by_kind.get(&ErrorKind::RequestTimeout).copied().unwrap_or(0);
    check("service", &result.latency.service, of(|sample| sample.done_ns - sample.sent_ns), in_vain);
    check_by_kernel(result, &good, cut_off);
    let all = |value: fn(&SampleRecord) -> u64| samples.iter().map(value).collect::<Vec<_>>();
    check("lag", &result.latency.lag, all(|sample| sample.sent_ns - sample.ready_ns), 0);

    assert_eq!(samples.len() as u64, requests.done + requests.failed);
    assert_eq!(good.len() as u64, requests.done);
    assert_eq!(
        requests.intended,
        requests.done + requests.failed + requests.censored + requests.never_sent,
        "{requests:?}"
    );
    for outcome in &result.outcomes {
        let count = samples.iter().filter(|sample| sample.outcome.name() == outcome.outcome).count();
        assert_eq!(outcome.count, count as u64, "{}", outcome.outcome);
    }
    // What came in the drain is part of no slice's rate.
    assert!(*answered_in_slices <= requests.answered, "{answered_in_slices} {requests:?}");
}

/// Holds the response time by the kernel's clock against the stamps of the good samples: neither our lateness, which
/// lies before `tx_ns`, nor our delay in polling, which lies behind `rx_ns`, may be in it.
fn check_by_kernel(result: &RunResult, good: &[&SampleRecord], cut_off: u64) {
    let used = &result.kernel_clock;
    assert_eq!(result.latency.kernel_response.count, used.responses_stamped);
    if used.discarded > 0 || used.responses_stamped * 100 < used.responses_asked * 99 {
        assert!(result.latency.kernel_response.quantiles_ms.values().all(Option::is_none), "{used:?}");
        return;
    }
    if used.responses_asked == 0 {
        return;
    }
    let stamped = good.iter().filter(|sample| sample.tx_ns != 0 && sample.rx_ns >= sample.tx_ns);
    let times = stamped.map(|sample| sample.ready_ns - sample.intended_ns + sample.rx_ns - sample.tx_ns);
    let asked_share = used.responses_asked as f64 / good.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    let unanswered = (cut_off as f64 * asked_share.min(1.0)).ceil() as u64;
    let without = used.responses_asked - used.responses_stamped + unanswered;
    check("kernel response", &result.latency.kernel_response, times.collect(), without);
}

/// The server of these tests: exponential delays, some errors, some resets.
fn mixed() -> Config {
    let delay = Delay::Exponential { mean: Duration::from_millis(1) };
    Config { delay, error_share: 0.1, reset_share: 0.02, ..Config::default() }
}

over_all! {
    fn closed_loop(driver, over) {
        let measured = measure(driver, over, mixed(), |plan| {
            RunPlan { load: closed(8), threads: 2, end: requests(1500), ..plan }
        });
        assert_eq!(measured.result.requests.intended, 1500);
        assert!(measured.result.requests.failed > 50, "{:?}", measured.result.requests);
        check_all(&measured);
    }

    fn open_loop(driver, over) {
        // Each reset costs a handshake.
        let (rate_per_s, intended) = if over == Over::Tls { (500.0, 300) } else { (2000.0, 1200) };
        let measured = measure(driver, over, mixed(), |plan| {
            RunPlan { load: open(rate_per_s, 100), threads: 2, end: for_ms(600), ..plan }
        });
        assert_eq!(measured.result.requests.intended, intended, "the schedule says how many, not the server");
        check_all(&measured);
    }

    fn few_connections_for_random_arrivals(driver, over) {
        let delay = Delay::CappedPareto {
            scale: Duration::from_micros(200),
            shape: 1.2,
            cap: Duration::from_millis(50),
        };
        let measured = measure(driver, over, Config { delay, ..Config::default() }, |plan| {
            RunPlan { load: poisson(2000.0, 3), end: requests(1500), ..plan }
        });
        check_all(&measured);
        let blocked: Vec<u64> = measured
            .samples
            .iter()
            .filter(|sample| sample.ready_ns > sample.intended_ns)
            .map(|sample| sample.ready_ns - sample.intended_ns)
            .collect();
        check("blocked", &measured.result.latency.blocked, blocked, 0);
    }

    fn one_connection_a_request(driver, over) {
        let measured = measure(driver, over, Config::default(), |plan| {
            let mut plan = RunPlan { load: closed(4), end: requests(300), ..plan };
            // Which excludes several streams.
            (plan.request.keep_alive, plan.request.pipeline) = (false, 1);
            plan
        });
        check_all(&measured);
        let took: Vec<u64> = measured.samples.iter().map(|sample| sample.connect_ns).collect();
        assert!(took.iter().all(|took| *took > 0), "{took:?}");
        if over != Over::Tls {
            check("connect", &measured.result.latency.connect, took, 0);
        }
    }

    fn what_is_recorded_of_an_answer(driver, over) {
        let measured = measure(driver, over, Config { body_bytes: 345, ..Config::default() }, |plan| {
            RunPlan { load: closed(2), end: requests(20), ..plan }
        });
        let outcome = |sample: &SampleRecord| (sample.status, sample.body_bytes, sample.outcome.name());
        assert!(
            measured.samples.iter().all(|sample| outcome(sample) == (200, 345, "2xx".to_owned())),
            "{:?}",
            measured.samples
        );
        let opened = measured.samples.iter().filter(|sample| sample.connect_ns > 0).count();
        assert_eq!(opened, 2, "the first request of each connection has the time that it took to open");
        let first = measured.result.first_response.expect("there was one");
        assert_eq!((first.status, first.body_bytes), (200, 345));
    }
}
