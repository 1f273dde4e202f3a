//! Servers whose behaviour is known, and a load for each.

use std::net::SocketAddr;
use std::time::Duration;

use prony_model::{Arrivals, End, Load, Rate, RequestPlan, RunPlan, Target, Version};
use prony_targets::truth::{Config, Delay};

use crate::cli_error::CliError;

/// Streams of a connection over HTTP/2.
const STREAMS: u32 = 5;

/// A server and its load.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) name: String,
    pub(super) config: Config,
    load: Load,
    end: End,
    seed: u64,
}

/// All trials, each of them over HTTP/1.1 and over HTTP/2; those with a length take `duration`.
pub(super) fn trials(duration: Duration, seed: u64) -> Vec<Trial> {
    let ms = Duration::from_millis;
    let kinds = [
        (
            "errors and resets",
            Config { error_share: 0.2, reset_share: 0.1, ..Config::default() },
            Load::Closed { connections: 5 },
            End::Requests(2000),
        ),
        (
            "two delays",
            Config {
                delay: Delay::Bimodal { a: Duration::from_micros(500), b: ms(8), p: 0.1 },
                ..Config::default()
            },
            Load::Closed { connections: 4 },
            End::Duration(duration),
        ),
        (
            // Requests that are due while nothing is answered: those that wait for a response leave them out.
            "a stall each second",
            Config {
                delay: Delay::Freeze { base: ms(1), every: ms(1000), stall: ms(200) },
                ..Config::default()
            },
            open(500, Arrivals::Constant, 200),
            End::Duration(duration),
        ),
        (
            "random arrivals",
            Config { delay: Delay::Exponential { mean: ms(2) }, ..Config::default() },
            open(1000, Arrivals::Poisson, 100),
            End::Duration(duration),
        ),
    ];
    let over = [("HTTP/1.1", false), ("HTTP/2", true)];
    over.into_iter()
        .flat_map(|(version, http2)| {
            kinds.clone().map(|(name, config, load, end)| Trial {
                name: format!("{name}, {version}"),
                config: Config { http2, seed, ..config },
                load,
                end,
                seed,
            })
        })
        .collect()
}

fn open(rate_per_s: u32, arrivals: Arrivals, max_connections: u32) -> Load {
    let rate_per_s = Rate::per_second(rate_per_s.into()).expect("invariant: it is positive");
    Load::Open { rate_per_s, arrivals, max_connections }
}

impl Trial {
    /// The load of the server at `address`.
    pub(super) fn plan(&self, address: SocketAddr) -> Result<RunPlan, CliError> {
        let (version, pipeline) =
            if self.config.http2 { (Version::Http2, STREAMS) } else { (Version::Http11, 1) };
        let target = Target::parse(&format!("http://{address}/"))?;
        let plan = RunPlan {
            request: RequestPlan { version, pipeline, ..RequestPlan::get() },
            // Every request that the server sees is to be one that the client reports.
            warmup: Duration::ZERO,
            samples: true,
            ..RunPlan::new(target, self.load, self.end, self.seed)
        };
        plan.check()?;
        Ok(plan)
    }
}
