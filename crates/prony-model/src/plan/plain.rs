//! The plainest request and load: a plan made in code names only where it differs from them.

use std::time::Duration;

use super::{Body, Checks, DriverChoice, End, KernelClock, Load, RequestPlan, RunPlan, Timeouts, Version};
use crate::Target;

impl RequestPlan {
    /// A GET by HTTP/1.1, one at a time on a connection that is kept.
    pub fn get() -> Self {
        Self {
            method: "GET".to_owned(),
            headers: Vec::new(),
            verbatim: false,
            body: Body::default(),
            version: Version::Http11,
            keep_alive: true,
            pipeline: 1,
        }
    }
}

impl RunPlan {
    /// This `load` of GETs on `target` by one thread, without a warm-up.
    pub fn new(target: Target, load: Load, end: End, seed: u64) -> Self {
        Self {
            target,
            request: RequestPlan::get(),
            scenario: None,
            load,
            stages: None,
            recorded: None,
            replay: None,
            end,
            warmup: Duration::ZERO,
            threads: 1,
            share: None,
            timeouts: Timeouts::default(),
            checks: Checks::default(),
            sources: Vec::new(),
            driver: DriverChoice::Auto,
            kernel_clock: KernelClock::Auto,
            samples: false,
            events: false,
            retries: None,
            trace: None,
            seed,
        }
    }
}
