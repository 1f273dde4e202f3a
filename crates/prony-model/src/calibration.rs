//! What a client can do: the rates it gets from a server that does nothing, and the least that it can see.
//! `prony calibrate` measures it, it is kept for each machine, and every run is compared with it.
//!
//! docs/calibration.md explains the rules: `compare` says which of the calibrated settings a run is compared
//! with, `evaluate` what follows for the run.

mod compare;
mod format;
mod evaluate;

use serde::{Deserialize, Serialize};

use crate::{Environment, Rate, Version};

pub use evaluate::evaluate;
pub use format::{CALIBRATION_FORMAT, CALIBRATION_VERSION, CalibrationError};

/// Share of the time from which a thread counts as never idle: what is left goes to the kernel's switching
/// between threads. Of two threads on a core each that wait for nothing, the busier one is seen at 0.92 to 1.
const SATURATED_SHARE: f64 = 0.90;

/// What one machine can do as a client, in several settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Always `prony.calibration`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// The machine: [`Environment::fingerprint`].
    pub fingerprint: String,
    /// The machine, in full, when it was last calibrated.
    pub environment: Environment,
    /// One for each setting that was measured; the latest of each.
    pub points: Vec<CalibrationPoint>,
    /// How much two loads of the same server differ here, by their length; empty where that was not measured.
    #[serde(default)]
    pub noise: Vec<CalibrationNoise>,
}

/// How much two loads of the null server that follow each other differ, of which nothing is another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationNoise {
    /// Length of each load, seconds.
    pub block_s: f64,
    /// When, RFC 3339 in UTC.
    pub measured_at: String,
    /// Pairs of loads.
    pub pairs: u32,
    /// Standard deviation of ln(second/first) of the rate.
    pub rate_deviation: f64,
    /// The same of the median response time; null where it was withheld.
    pub p50_deviation: Option<f64>,
}

/// What was measured in one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationPoint {
    /// The load.
    pub setting: CalibrationSetting,
    /// When, RFC 3339 in UTC.
    pub measured_at: String,
    /// For how long, seconds.
    pub measured_s: f64,
    /// The prony that measured it.
    pub prony_version: String,
    /// Responses per second.
    pub rate_per_s: f64,
    /// Share of a core that the busiest worker thread of the client used (0..1).
    pub client_cpu_share: f64,
    /// The same of the null server's threads; null where it is not on this machine.
    pub server_cpu_share: Option<f64>,
    /// Median of the response time, milliseconds.
    pub p50_ms: Option<f64>,
    /// Its p99; null where it is withheld.
    pub p99_ms: Option<f64>,
    /// What makes this doubtful, where it was kept all the same.
    #[serde(default)]
    pub doubt: Option<String>,
}

/// How the null server was loaded: what a run must be like to be compared with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationSetting {
    /// Connections, or the most connections of an open loop.
    pub connections: u32,
    /// Worker threads.
    pub threads: u32,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// HTTP's version.
    pub version: Version,
    /// Requests in flight on one connection.
    pub pipeline: u32,
    /// Length of the request's body.
    pub request_bytes: u64,
    /// Length of the response's body.
    pub response_bytes: u64,
    /// `io_uring` or `epoll`.
    pub driver: String,
    /// The rate of an open loop; null for a closed loop.
    pub asked_per_s: Option<Rate>,
    /// The host of a null server elsewhere; null for one on this machine.
    pub host: Option<String>,
}

/// What kept the rate of a closed loop from being higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationLimit {
    /// Nothing: an open loop asked for no more.
    TargetRate,
    /// The client had no time left.
    Client,
    /// The null server had no time left, and the client had.
    Server,
    /// Both had time left: each connection waits for the way there and back.
    RoundTrip,
    /// Not the client; what else is not known of a server elsewhere.
    NotClient,
}

impl Calibration {
    /// Settings that are kept: more than any grid has, and a file that is read in no time.
    pub const POINTS_MAX: usize = 256;

    /// A machine of which nothing is known yet.
    pub fn new(environment: Environment) -> Self {
        Self {
            format: CALIBRATION_FORMAT.to_owned(),
            version: CALIBRATION_VERSION,
            fingerprint: environment.fingerprint(),
            environment,
            points: Vec::new(),
            noise: Vec::new(),
        }
    }

    /// Adds what was measured, in the place of what was known of the same setting. Beyond
    /// [`Self::POINTS_MAX`] the oldest is forgotten.
    pub fn keep(&mut self, point: CalibrationPoint) {
        self.points.retain(|known| known.setting != point.setting);
        self.points.push(point);
        // Of one format and in one time zone, moments are ordered as texts.
        self.points.sort_by(|a, b| a.measured_at.cmp(&b.measured_at));
        let surplus = self.points.len().saturating_sub(Self::POINTS_MAX);
        self.points.drain(..surplus);
    }
}

impl CalibrationPoint {
    /// What kept the rate from being higher, by who had no time left.
    pub fn limit(&self) -> CalibrationLimit {
        let server = self.server_cpu_share.unwrap_or_default();
        if self.setting.asked_per_s.is_some() {
            CalibrationLimit::TargetRate
        } else if self.client_cpu_share >= SATURATED_SHARE && self.client_cpu_share >= server {
            CalibrationLimit::Client
        } else if server >= SATURATED_SHARE {
            CalibrationLimit::Server
        } else if self.server_cpu_share.is_some() {
            CalibrationLimit::RoundTrip
        } else {
            CalibrationLimit::NotClient
        }
    }

    /// Whether [`Self::capacity_per_s`] is more than what was seen.
    pub fn is_estimate(&self) -> bool {
        self.limit() == CalibrationLimit::Server && self.client_cpu_share > 0.0 && self.client_cpu_share < 1.0
    }

    /// What the client could do in this setting, responses per second. Where the null server was the limit, the
    /// client would get more from a quicker one: the rate by its share of a core is an estimate of it, on the low
    /// side, for a busier client handles more answers with each call into the kernel. Everywhere else it is
    /// what was seen.
    pub fn capacity_per_s(&self) -> f64 {
        if self.is_estimate() { self.rate_per_s / self.client_cpu_share } else { self.rate_per_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(client: f64, server: Option<f64>, limit: CalibrationLimit, capacity_per_s: f64) {
        let mut point = fixtures::closed(16, 100_000.0);
        point.client_cpu_share = client;
        point.server_cpu_share = server;
        assert_eq!(point.limit(), limit, "{client} {server:?}");
        assert!((point.capacity_per_s() - capacity_per_s).abs() < 1e-6, "{client} {server:?}");
    }

    #[test]
    fn the_limit_is_who_had_no_time_left() {
        check(0.99, Some(0.80), CalibrationLimit::Client, 100_000.0);
        check(0.50, Some(0.97), CalibrationLimit::Server, 200_000.0);
        check(0.95, Some(0.99), CalibrationLimit::Server, 100_000.0 / 0.95);
        check(0.35, Some(0.40), CalibrationLimit::RoundTrip, 100_000.0);
        check(0.50, None, CalibrationLimit::NotClient, 100_000.0);
        check(0.95, None, CalibrationLimit::Client, 100_000.0);
        check(0.0, Some(1.0), CalibrationLimit::Server, 100_000.0);
    }

    #[test]
    fn an_open_loop_says_nothing_of_limits() {
        let point = fixtures::open(1_000.0, 0.05, 0.08);
        assert_eq!(point.limit(), CalibrationLimit::TargetRate);
        assert!(!point.is_estimate());
    }

    #[test]
    fn a_setting_is_known_once() {
        let mut calibration = fixtures::calibration([]);
        calibration.keep(fixtures::closed(16, 100_000.0));
        calibration.keep(fixtures::closed(64, 150_000.0));
        calibration.keep(fixtures::closed(16, 90_000.0));
        let rates: Vec<f64> = calibration.points.iter().map(|point| point.rate_per_s).collect();
        assert_eq!(rates, [150_000.0, 90_000.0]);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut calibration = fixtures::calibration([]);
        let most = u32::try_from(Calibration::POINTS_MAX).expect("a small number");
        for connections in 1..=most + 1 {
            let mut point = fixtures::closed(connections, 1.0);
            point.measured_at = format!("2026-01-01T00:{:02}:{:02}Z", connections / 60, connections % 60);
            calibration.keep(point);
        }
        assert_eq!(calibration.points.len(), Calibration::POINTS_MAX);
        assert_eq!(calibration.points[0].setting.connections, 2);
    }
}

#[cfg(test)]
mod fixtures;
