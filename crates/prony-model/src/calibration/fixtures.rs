//! Constructed calibrations.

use super::{Calibration, CalibrationPoint, CalibrationSetting};
use crate::{Environment, Rate, Version};

/// One thread, keep-alive, short bodies, io_uring; the client was the limit.
pub(super) fn closed(connections: u32, rate_per_s: f64) -> CalibrationPoint {
    CalibrationPoint {
        setting: CalibrationSetting {
            connections,
            threads: 1,
            keep_alive: true,
            version: Version::Http11,
            pipeline: 1,
            request_bytes: 0,
            response_bytes: 12,
            driver: "io_uring".to_owned(),
            asked_per_s: None,
            host: None,
        },
        measured_at: "2026-01-02T01:04:05Z".to_owned(),
        measured_s: 2.0,
        prony_version: "0.1.0".to_owned(),
        rate_per_s,
        client_cpu_share: 0.99,
        server_cpu_share: Some(0.8),
        p50_ms: Some(f64::from(connections) / rate_per_s * 1e3),
        p99_ms: None,
        doubt: None,
    }
}

/// An open loop with little load, whose median and p99 are the floor.
pub(super) fn open(asked_per_s: f64, p50_ms: f64, p99_ms: f64) -> CalibrationPoint {
    let mut point = closed(16, asked_per_s);
    point.setting.asked_per_s = Rate::per_second(asked_per_s);
    (point.client_cpu_share, point.server_cpu_share) = (0.05, Some(0.04));
    (point.p50_ms, point.p99_ms) = (Some(p50_ms), Some(p99_ms));
    point
}

pub(super) fn calibration(points: impl IntoIterator<Item = CalibrationPoint>) -> Calibration {
    Calibration { points: points.into_iter().collect(), ..Calibration::new(Environment::default()) }
}
