//! Which of the calibrated settings a run is compared with: the rules of docs/calibration.md.

use super::{Calibration, CalibrationPoint, CalibrationSetting};
use crate::{Load, RunResult};

/// How far connections and body lengths may differ, as a factor: beyond it, one says too little of the other.
const REACH: f64 = 4.0;
/// Bodies up to this are alike: such an answer arrives in one or two segments of TCP over loopback and costs
/// hardly more than an empty one.
const SHORT_BODY_BYTES: f64 = 4096.0;

impl CalibrationSetting {
    /// The setting that `result` was measured in; `None` where there is nothing to compare: no answer at all,
    /// or a Unix socket, which is another way than the calibrated one.
    pub fn of_run(result: &RunResult) -> Option<Self> {
        let plan = &result.plan;
        if plan.target.unix.is_some() || result.requests.answered == 0 {
            return None;
        }
        Some(Self {
            connections: plan.own_load().connections(),
            threads: plan.threads,
            keep_alive: plan.request.keep_alive,
            version: plan.request.version,
            pipeline: plan.request.pipeline,
            request_bytes: plan.request.body.bytes.len() as u64,
            response_bytes: mean(result.bytes.body_received, result.requests.answered),
            driver: result.driver.name.clone(),
            asked_per_s: plan.own_load().rate(),
            host: Some(plan.target.host.clone()),
        })
    }

    /// How far bodies are from those of `other`, as the logarithm of a factor; `None` if too far.
    fn body_distance(&self, other: &Self) -> Option<f64> {
        let pairs = [(self.request_bytes, other.request_bytes), (self.response_bytes, other.response_bytes)];
        let mut sum = 0.0;
        for (a, b) in pairs {
            let distance = ratio((a as f64).max(SHORT_BODY_BYTES), (b as f64).max(SHORT_BODY_BYTES));
            if distance > within_reach() {
                return None;
            }
            sum += distance;
        }
        Some(sum)
    }

    /// The same for connections. A run in an open loop opens as many as it needs, so any number will do for it.
    fn connection_distance(&self, run: &Self) -> Option<f64> {
        let distance = ratio(f64::from(self.connections), f64::from(run.connections));
        (distance <= within_reach() || run.asked_per_s.is_some()).then_some(distance)
    }
}

impl Calibration {
    /// What the client can do in the setting that is nearest to that of a run; `None` if none is near.
    pub(super) fn nearest(&self, run: &CalibrationSetting) -> Option<&CalibrationPoint> {
        let distance = |point: &CalibrationPoint| {
            let setting = &point.setting;
            let is_alike = setting.asked_per_s.is_none()
                && setting.threads == run.threads
                && setting.keep_alive == run.keep_alive
                && setting.pipeline == run.pipeline;
            if !is_alike {
                return None;
            }
            Some(setting.body_distance(run)? + setting.connection_distance(run)?)
        };
        self.closest(run, distance)
    }

    /// The least that the client can see: its response time with one request at a time where `run` is a closed
    /// loop, at a low rate where it is an open one, for that includes waking up.
    pub(super) fn floor(&self, run: &CalibrationSetting) -> Option<&CalibrationPoint> {
        let distance = |point: &CalibrationPoint| {
            let setting = &point.setting;
            let is_idle =
                setting.asked_per_s.is_some() || (setting.connections == 1 && setting.pipeline == 1);
            let is_alike = setting.asked_per_s.is_some() == run.asked_per_s.is_some()
                && setting.keep_alive == run.keep_alive;
            (is_idle && is_alike).then(|| setting.body_distance(run)).flatten()
        };
        self.closest(run, distance)
    }

    /// The point with the least distance. Points of the run's own host stand before those of this machine, and
    /// among equally near ones that of the same version of HTTP, then that with fewer connections.
    fn closest(
        &self,
        run: &CalibrationSetting,
        distance: impl Fn(&CalibrationPoint) -> Option<f64>,
    ) -> Option<&CalibrationPoint> {
        let at = |host: Option<&str>| {
            self.points
                .iter()
                .filter(|point| point.setting.host.as_deref() == host && point.setting.driver == run.driver)
                .filter_map(|point| Some((distance(point)?, point)))
                .min_by(|(near, a), (far, b)| {
                    let rank = |point: &CalibrationPoint| {
                        (point.setting.version != run.version, point.setting.connections)
                    };
                    near.total_cmp(far).then_with(|| rank(a).cmp(&rank(b)))
                })
                .map(|(_, point)| point)
        };
        at(run.host.as_deref()).or_else(|| at(None))
    }
}

/// `sum` over `count`, which is not 0, to the nearest: the bytes of a request at either end of the measured part
/// may belong to another count.
fn mean(sum: u64, count: u64) -> u64 {
    (sum + count / 2) / count
}

/// The factor between two positive numbers, as a logarithm of 0 or more.
fn ratio(a: f64, b: f64) -> f64 {
    (a / b).ln().abs()
}

/// [`REACH`] on that scale, with room for rounding.
fn within_reach() -> f64 {
    REACH.ln() + 1e-9
}

/// Whether the response time of a load says something of the server by itself: in a closed loop of several
/// connections it follows from their number.
pub(super) fn shows_latency(load: &Load) -> bool {
    !matches!(load, Load::Closed { connections: 2.. })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{calibration, closed, open};
    use super::*;
    use crate::{Rate, Version};

    /// A run in a closed loop.
    fn run(connections: u32) -> CalibrationSetting {
        CalibrationSetting { host: Some("127.0.0.1".to_owned()), ..closed(connections, 1.0).setting }
    }

    fn grid() -> Calibration {
        let keep_alive = [1, 4, 16, 64].map(|connections| closed(connections, f64::from(connections)));
        let mut fresh = closed(1, 0.5);
        fresh.setting.keep_alive = false;
        let mut long = closed(16, 0.25);
        long.setting.response_bytes = 16 * 1024;
        calibration(keep_alive.into_iter().chain([fresh, long, open(1_000.0, 0.05, 0.08)]))
    }

    fn check(run: &CalibrationSetting, expected_rate: Option<f64>) {
        let calibration = grid();
        assert_eq!(calibration.nearest(run).map(|point| point.rate_per_s), expected_rate, "{run:?}");
    }

    #[test]
    fn connections_are_near_by_their_ratio() {
        check(&run(1), Some(1.0));
        check(&run(3), Some(4.0));
        check(&run(7), Some(4.0));
        check(&run(9), Some(16.0));
        check(&run(50), Some(64.0));
        check(&run(256), Some(64.0));
        check(&run(257), None);
    }

    #[test]
    fn of_two_equally_near_the_one_with_fewer_connections_counts() {
        check(&run(2), Some(1.0));
        check(&run(8), Some(4.0));
    }

    #[test]
    fn an_open_loop_may_open_any_number() {
        let asked_per_s = Rate::per_second(5_000.0);
        check(&CalibrationSetting { asked_per_s, ..run(1000) }, Some(64.0));
    }

    #[test]
    fn bodies_are_near_by_their_ratio() {
        let body = |response_bytes| CalibrationSetting { response_bytes, ..run(16) };
        check(&body(0), Some(16.0));
        check(&body(4_096), Some(16.0));
        check(&body(7_000), Some(16.0));
        check(&body(10_000), Some(0.25));
        check(&body(65_536), Some(0.25));
        check(&body(65_537), None);
        check(&CalibrationSetting { request_bytes: 1 << 20, ..run(16) }, None);
    }

    #[test]
    fn what_must_be_the_same() {
        check(&CalibrationSetting { keep_alive: false, ..run(2) }, Some(0.5));
        check(&CalibrationSetting { threads: 2, ..run(16) }, None);
        check(&CalibrationSetting { pipeline: 8, ..run(16) }, None);
        check(&CalibrationSetting { driver: "epoll".to_owned(), ..run(16) }, None);
        check(&CalibrationSetting { version: Version::Http10, ..run(16) }, Some(16.0));
    }

    #[test]
    fn the_same_version_is_preferred() {
        let mut old = closed(16, 15.0);
        old.setting.version = Version::Http10;
        let calibration = calibration([closed(16, 16.0), old]);
        let rate = |version| {
            calibration.nearest(&CalibrationSetting { version, ..run(16) }).map(|point| point.rate_per_s)
        };
        assert_eq!((rate(Version::Http10), rate(Version::Http11)), (Some(15.0), Some(16.0)));
    }

    #[test]
    fn a_null_server_on_the_runs_host_comes_first() {
        let mut there = closed(16, 10.0);
        there.setting.host = Some("10.0.0.7".to_owned());
        let calibration = calibration([closed(16, 16.0), there]);
        let rate = |host: &str| {
            let run = CalibrationSetting { host: Some(host.to_owned()), ..run(16) };
            calibration.nearest(&run).map(|point| point.rate_per_s)
        };
        assert_eq!((rate("10.0.0.7"), rate("127.0.0.1")), (Some(10.0), Some(16.0)));
    }

    #[test]
    fn the_floor_is_of_the_same_loop() {
        let calibration = grid();
        let floor = |run: &CalibrationSetting| calibration.floor(run).and_then(|point| point.p50_ms);
        assert_eq!(floor(&run(50)), Some(1_000.0), "one connection, one answer a second");
        assert_eq!(floor(&CalibrationSetting { threads: 2, ..run(50) }), Some(1_000.0));
        assert_eq!(floor(&CalibrationSetting { keep_alive: false, ..run(50) }), Some(2_000.0));
        let asked_per_s = Rate::per_second(5_000.0);
        assert_eq!(floor(&CalibrationSetting { asked_per_s, ..run(1000) }), Some(0.05));
        let fresh = CalibrationSetting { asked_per_s, keep_alive: false, ..run(1000) };
        assert_eq!(floor(&fresh), None);
    }
}
