//! Which settings are measured.

use prony_model::{Rate, Version};

use crate::args::CalibrateArgs;

/// From one request at a time to more than keeps a thread busy. Up to 16 the rate depends on the number, so that
/// the steps are small.
const KEEP_ALIVE: [u32; 7] = [1, 2, 4, 8, 16, 64, 256];
/// Connections that carry one request each: most of the time is connecting.
const FRESH: [u32; 4] = [1, 4, 16, 64];
/// Longer answers, and several threads.
const FEW: [u32; 3] = [1, 16, 64];
/// The length of the null server's answer by default.
const SHORT_BYTES: u64 = 12;
/// An answer of several segments.
const LONG_BYTES: u64 = 16 * 1024;
/// So little load that no request meets another, and enough of it for a p99 in two seconds.
const FLOOR_PER_S: f64 = 1_000.0;
/// Connections at most for the floor: an answer takes far less than 16 ms.
const FLOOR_CONNECTIONS: u32 = 16;
/// The null server needs CPUs, too: with fewer, several client threads would only take them from it.
const CPUS_FOR_MORE_THREADS: u32 = 4;
/// More threads are a matter of `--threads`.
const THREADS_MAX: u32 = 8;

/// One load on the null server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub(super) connections: u32,
    pub(super) threads: u32,
    pub(super) keep_alive: bool,
    pub(super) version: Version,
    pub(super) pipeline: u32,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    /// In an open loop.
    pub(super) asked_per_s: Option<Rate>,
}

/// The plainest of all.
const PLAIN: Step = Step {
    connections: 1,
    threads: 1,
    keep_alive: true,
    version: Version::Http11,
    pipeline: 1,
    request_bytes: 0,
    response_bytes: SHORT_BYTES,
    asked_per_s: None,
};

/// What `args` ask for on a machine with `cpus` CPUs: the setting that they describe with its floors, or the usual
/// settings where they describe none.
pub(super) fn steps(args: &CalibrateArgs, cpus: u32) -> Vec<Step> {
    let typed = Step {
        threads: args.threads.unwrap_or(PLAIN.threads),
        keep_alive: !args.connection.no_keepalive,
        version: if args.connection.http10 { Version::Http10 } else { Version::Http11 },
        pipeline: args.connection.pipeline.unwrap_or(PLAIN.pipeline),
        request_bytes: args.request_bytes.unwrap_or(PLAIN.request_bytes),
        response_bytes: args.response_bytes.unwrap_or(PLAIN.response_bytes),
        ..PLAIN
    };
    if typed == PLAIN && args.connections.is_empty() {
        return usual(args.target.is_some(), cpus);
    }
    let connections = if args.connections.is_empty() { &KEEP_ALIVE[..] } else { &args.connections };
    let enough = |connections: &&u32| !args.connections.is_empty() || **connections >= typed.threads;
    let mut steps = with(typed, connections.iter().filter(enough));
    let alone = Step { threads: 1, pipeline: 1, ..typed };
    if !steps.contains(&alone) {
        steps.push(alone);
    }
    steps.push(floor(alone));
    steps
}

/// The usual settings. The length of the answers of a server elsewhere is its own affair.
fn usual(elsewhere: bool, cpus: u32) -> Vec<Step> {
    let fresh = Step { keep_alive: false, ..PLAIN };
    let mut steps = with(PLAIN, &KEEP_ALIVE);
    steps.push(floor(PLAIN));
    steps.extend(with(fresh, &FRESH));
    steps.push(floor(fresh));
    if !elsewhere {
        steps.extend(with(Step { response_bytes: LONG_BYTES, ..PLAIN }, &FEW));
    }
    if cpus >= CPUS_FOR_MORE_THREADS {
        let threads = (cpus / 2).min(THREADS_MAX);
        steps.extend(with(Step { threads, ..PLAIN }, &FEW[1..]));
    }
    steps
}

fn with<'a>(step: Step, connections: impl IntoIterator<Item = &'a u32>) -> Vec<Step> {
    connections.into_iter().map(|connections| Step { connections: *connections, ..step }).collect()
}

fn floor(step: Step) -> Step {
    let asked_per_s = Rate::per_second(FLOOR_PER_S);
    Step { connections: FLOOR_CONNECTIONS, asked_per_s, ..step }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections of the closed loops, and how many open loops there are.
    fn check(args: &CalibrateArgs, cpus: u32, closed: &[u32], open: usize) {
        let steps = steps(args, cpus);
        let (floors, loops): (Vec<Step>, Vec<Step>) =
            steps.into_iter().partition(|step| step.asked_per_s.is_some());
        assert_eq!(loops.iter().map(|step| step.connections).collect::<Vec<_>>(), closed, "{args:?}");
        assert_eq!(floors.len(), open, "{args:?}");
    }

    #[test]
    fn the_usual_settings() {
        let usual = CalibrateArgs::default();
        check(&usual, 2, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64, 1, 16, 64], 2);
        check(&usual, 4, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64, 1, 16, 64, 16, 64], 2);
        let elsewhere = CalibrateArgs { target: Some("http://10.0.0.7/".to_owned()), ..usual };
        check(&elsewhere, 2, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64], 2);
    }

    #[test]
    fn more_threads_than_the_machine_has_to_spare_are_not_usual() {
        let threads = |cpus| steps(&CalibrateArgs::default(), cpus).iter().map(|step| step.threads).max();
        assert_eq!([2, 4, 12, 64].map(threads), [Some(1), Some(2), Some(6), Some(8)]);
    }

    #[test]
    fn what_is_typed_is_measured_with_its_floors() {
        let connections = |connections: &[u32]| CalibrateArgs {
            connections: connections.to_vec(),
            ..CalibrateArgs::default()
        };
        check(&connections(&[50]), 2, &[50, 1], 1);
        check(&connections(&[1, 50]), 2, &[1, 50], 1);
        let threads = CalibrateArgs { threads: Some(4), ..CalibrateArgs::default() };
        check(&threads, 2, &[4, 8, 16, 64, 256, 1], 1);
        let mut fresh = connections(&[8]);
        fresh.connection.no_keepalive = true;
        assert!(steps(&fresh, 2).iter().all(|step| !step.keep_alive));
    }
}
