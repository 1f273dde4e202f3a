//! A server that is measured on its own host, while clients on other machines load it.

use std::thread;
use std::time::Duration;

use prony_model::{Problem, RunPlan, ServerHint, ServerObservation};

use super::found::Found;
use super::group::parents;
use super::monitor::Monitor;
use crate::clock::{self, Nanos, span};
use crate::machine::environment;
use crate::machine::observe::Observer;
use crate::resolve::local;
use crate::run::window;
use crate::{Control, RunError};

/// How often what is due is looked for.
const POLL_EVERY: Nanos = 20_000_000;

/// Whether the server of `plan` is on this machine and can be measured. Nothing is sent to it.
///
/// # Errors
/// Why it can't.
pub fn find_server(plan: &RunPlan) -> Result<(), RunError> {
    find(plan).map(drop)
}

/// Measures the server of `plan`, which others load from `start_at` of this machine's CLOCK_MONOTONIC on, until the end of
/// the measured part or until `control` says so. Blocks the calling thread and sends nothing to the server.
///
/// # Errors
/// Why nothing was measured: as [`find_server`], or an end before the measured part.
pub fn observe_server(
    plan: &RunPlan,
    start_at: Duration,
    control: &Control,
) -> Result<ServerObservation, RunError> {
    let mut monitor = Monitor::new(find(plan)?);
    let mut environment = environment::before();
    let window = window(plan, span(start_at));
    let mut observer = Observer::new(window, clock::now());
    monitor.start(window, None);
    while !monitor.has_ended() && !control.is_stopped() {
        let now = clock::now();
        monitor.poll(now);
        observer.poll(now);
        let next = [window.measure_from, window.measure_to].into_iter().filter(|edge| *edge > now).min();
        let wait = next.map_or(POLL_EVERY, |edge| (edge - now).min(POLL_EVERY));
        thread::sleep(Duration::from_nanos(wait));
    }
    environment.load_average_after = environment::load_average();
    let machine = observer.until(clock::now());
    let first_sample_ns = monitor.first_sample().map_or(0, |first| first.saturating_sub(window.measure_from));
    let server = monitor.finish().map_err(|why| {
        let advice = "let the measured part begin: a longer --duration, or more requests";
        RunError::Server(Box::new(Problem::new(why, advice)))
    })?;
    Ok(ServerObservation { server, first_sample_ns, environment, machine })
}

fn find(plan: &RunPlan) -> Result<Found, RunError> {
    let refused = |problem| RunError::Server(Box::new(problem));
    let (addresses, here) = local(plan)?;
    if !here {
        let names: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        return Err(refused(Problem::new(
            format!("{} is on another machine ({})", plan.target.url, names.join(", ")),
            "start the agent for the server on the host that has this address",
        )));
    }
    Found::new(plan, Some(addresses), &ServerHint::default(), &parents()).map_err(refused)
}
