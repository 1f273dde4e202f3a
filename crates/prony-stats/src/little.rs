//! Little's law, L = λW, as an audit: three numbers that a run measures separately must agree.
//!
//! Source: Little, Operations Research 9 (1961); it holds for any system whatever its distribution, so a
//! disagreement is a fault of the measurement.

use std::time::Duration;

/// The share by which both sides may differ before it is a finding, beside what [`little_edges`] account for.
pub const LITTLE_TOLERANCE: f64 = 0.02;

/// Requests in flight by which both sides may differ because of those that were in flight at the start or at the end
/// of a run: the integral holds a part of each, the mean all of it or nothing. With `concurrency` of them at most, none
/// longer than `longest`, that is at most `concurrency` · `longest` of the time that went by.
pub fn little_edges(concurrency: u64, longest: Duration, elapsed: Duration) -> f64 {
    if elapsed.is_zero() {
        return 0.0;
    }
    concurrency as f64 * longest.as_secs_f64() / elapsed.as_secs_f64()
}

/// Both sides of the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LittleAudit {
    /// Mean number of requests in flight, by watching it: ∫N dt/T.
    pub in_flight: f64,
    /// The same by the law: completions per second times their mean time.
    pub rate_times_mean: f64,
}

impl LittleAudit {
    /// Compares what was in flight with what the rate and the mean imply; `None` for a run without
    /// duration or without a completed request.
    ///
    /// `in_flight_nanos` is ∫N dt: the number in flight times nanoseconds, added up at every change of
    /// it. `mean` is the mean from send to completion (service time) if N counts what was sent, and from
    /// the intended send (response time) if N counts what was due.
    pub fn new(in_flight_nanos: u128, elapsed: Duration, completed: u64, mean: Duration) -> Option<Self> {
        if elapsed.is_zero() || completed == 0 {
            return None;
        }
        let seconds = elapsed.as_secs_f64();
        let in_flight = in_flight_nanos as f64 / 1e9 / seconds;
        Some(Self { in_flight, rate_times_mean: completed as f64 / seconds * mean.as_secs_f64() })
    }

    /// Whether they differ by more than [`LITTLE_TOLERANCE`] and [`little_edges`] allow.
    pub fn is_suspect(self, edges: f64) -> bool {
        let greater = self.in_flight.max(self.rate_times_mean);
        (self.in_flight - self.rate_times_mean).abs() > greater * LITTLE_TOLERANCE + edges
    }
}

/// A rate and a mean that can't both be true.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("impossible by Little: {in_flight:.0} requests in flight > {connections} connections")]
pub struct Impossible {
    /// Requests in flight that rate and mean imply.
    pub in_flight: f64,
    /// Connections there were to hold them, one each.
    pub connections: u64,
}

/// Checks a reported rate and mean service time against the connections that carried them, one request
/// at a time each: refuses X·W > connections, with [`LITTLE_TOLERANCE`] for the edges of the run.
///
/// The mean must be that of service times: response times count waiting before a connection was free.
pub fn check_possible(
    per_second: f64,
    mean: Duration,
    connections: u64,
    edges: f64,
) -> Result<(), Impossible> {
    let in_flight = per_second * mean.as_secs_f64();
    if in_flight > connections as f64 * (1.0 + LITTLE_TOLERANCE) + edges {
        return Err(Impossible { in_flight, connections });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_holds_or_not() {
        let check = |in_flight_nanos: u128, mean_ms: u64, edges: f64, is_suspect: bool| {
            let mean = Duration::from_millis(mean_ms);
            let audit = LittleAudit::new(in_flight_nanos, Duration::from_secs(10), 1000, mean).unwrap();
            assert_eq!(audit.is_suspect(edges), is_suspect, "{audit:?}");
        };
        // 1000 requests of 50 ms each in 10 s: 5 in flight.
        check(50_000_000_000, 50, 0.0, false);
        check(49_500_000_000, 50, 0.0, false);
        check(48_500_000_000, 50, 0.0, true);
        check(48_500_000_000, 50, 0.06, false);
        check(50_000_000_000, 40, 0.0, true);
        check(0, 50, 0.1, true);
        assert_eq!(LittleAudit::new(1, Duration::ZERO, 1, Duration::ZERO), None);
        assert_eq!(LittleAudit::new(1, Duration::from_secs(1), 0, Duration::ZERO), None);
    }

    /// A server that answers in 1 ms and holds all 16 connections up at the end of the run, over its edge: the integral
    /// has the part within, the mean of those that ended has nothing of it.
    #[test]
    fn a_stall_across_the_end_is_no_fault_of_the_measurement() {
        let (elapsed, stall) = (Duration::from_secs(2), Duration::from_millis(150));
        let (quick, within_stall) = (16 * 1850, 16 * 100_000_000_u128);
        let audit =
            LittleAudit::new(16 * 1_850_000_000 + within_stall, elapsed, quick, Duration::from_millis(1))
                .unwrap();
        assert!(audit.is_suspect(0.0), "{audit:?}");
        assert!(!audit.is_suspect(little_edges(16, stall, elapsed)), "{audit:?}");
    }

    /// A write-up's wrk output: 938 requests a second of 16 s each over 400 connections.
    #[test]
    fn more_requests_than_connections_are_impossible() {
        let error = check_possible(938.0, Duration::from_secs(16), 400, 0.0).unwrap_err();
        assert_eq!(error.to_string(), "impossible by Little: 15008 requests in flight > 400 connections");
        assert_eq!(check_possible(1000.0, Duration::from_millis(101), 100, 0.0), Ok(()));
    }
}
