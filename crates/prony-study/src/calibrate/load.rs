//! The load of a setting.

use std::time::Duration;

use prony_model::{Arrivals, Body, DriverChoice, End, Load, PlanError, RequestPlan, RunPlan, Target};

use super::grid::CalibrationStep;

/// Enough to open the connections and to fill the caches.
const WARMUP: Duration = Duration::from_millis(300);
/// The warm-up between two loads of one server: enough to open the connections again.
pub const CALIBRATION_PAUSE: Duration = Duration::from_millis(50);

/// The load of `step` on `target`.
pub fn calibration_load(
    step: &CalibrationStep,
    target: &Target,
    duration: Duration,
    driver: DriverChoice,
    seed: u64,
) -> Result<RunPlan, PlanError> {
    let connections = step.connections;
    let bytes = usize::try_from(step.request_bytes).unwrap_or(usize::MAX);
    let load = match step.asked_per_s {
        None => Load::Closed { connections },
        Some(rate_per_s) => {
            Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections: connections }
        }
    };
    let plan = RunPlan {
        request: RequestPlan {
            method: if bytes == 0 { "GET" } else { "POST" }.to_owned(),
            body: Body { bytes: vec![b'x'; bytes] },
            version: step.version,
            keep_alive: step.keep_alive,
            pipeline: step.pipeline,
            ..RequestPlan::get()
        },
        warmup: WARMUP,
        threads: step.threads,
        driver,
        ..RunPlan::new(target.clone(), load, End::Duration(duration), seed)
    };
    plan.check()?;
    Ok(plan)
}
