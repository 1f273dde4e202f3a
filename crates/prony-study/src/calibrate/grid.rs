//! Which settings are measured.

use prony_model::{Rate, Version};

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
pub struct CalibrationStep {
    /// Connections; in an open loop, connections at most.
    pub connections: u32,
    /// Worker threads of the client.
    pub threads: u32,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// Protocol version.
    pub version: Version,
    /// Requests in flight on a connection.
    pub pipeline: u32,
    /// Length of the request's body.
    pub request_bytes: u64,
    /// Length of the response's body.
    pub response_bytes: u64,
    /// In an open loop.
    pub asked_per_s: Option<Rate>,
}

/// Which settings are asked for; `None`, or an empty list, where nothing was given.
#[derive(Debug, Clone, Default)]
pub struct CalibrationOptions {
    /// Connections, a setting each.
    pub connections: Vec<u32>,
    /// Worker threads.
    pub threads: Option<u32>,
    /// A new connection for each request.
    pub no_keepalive: bool,
    /// Speak HTTP/1.0.
    pub http10: bool,
    /// Requests in flight on a connection.
    pub pipeline: Option<u32>,
    /// Length of the request's body.
    pub request_bytes: Option<u64>,
    /// Length of the response's body.
    pub response_bytes: Option<u64>,
    /// Whether the null server runs on another machine.
    pub is_elsewhere: bool,
}

/// The plainest of all.
const PLAIN: CalibrationStep = CalibrationStep {
    connections: 1,
    threads: 1,
    keep_alive: true,
    version: Version::Http11,
    pipeline: 1,
    request_bytes: 0,
    response_bytes: SHORT_BYTES,
    asked_per_s: None,
};

/// What `options` ask for on a machine with `cpus` CPUs: the setting that they describe with its floors, or the usual
/// settings where they describe none.
pub fn calibration_steps(options: &CalibrationOptions, cpus: u32) -> Vec<CalibrationStep> {
    let typed = CalibrationStep {
        threads: options.threads.unwrap_or(PLAIN.threads),
        keep_alive: !options.no_keepalive,
        version: if options.http10 { Version::Http10 } else { Version::Http11 },
        pipeline: options.pipeline.unwrap_or(PLAIN.pipeline),
        request_bytes: options.request_bytes.unwrap_or(PLAIN.request_bytes),
        response_bytes: options.response_bytes.unwrap_or(PLAIN.response_bytes),
        ..PLAIN
    };
    if typed == PLAIN && options.connections.is_empty() {
        return usual(options.is_elsewhere, cpus);
    }
    let connections = if options.connections.is_empty() { &KEEP_ALIVE[..] } else { &options.connections };
    let enough = |connections: &&u32| !options.connections.is_empty() || **connections >= typed.threads;
    let mut steps = with(typed, connections.iter().filter(enough));
    let alone = CalibrationStep { threads: 1, pipeline: 1, ..typed };
    if !steps.contains(&alone) {
        steps.push(alone);
    }
    steps.push(floor(alone));
    steps
}

/// The usual settings. The length of the answers of a server elsewhere is its own affair.
fn usual(elsewhere: bool, cpus: u32) -> Vec<CalibrationStep> {
    let fresh = CalibrationStep { keep_alive: false, ..PLAIN };
    let mut steps = with(PLAIN, &KEEP_ALIVE);
    steps.push(floor(PLAIN));
    steps.extend(with(fresh, &FRESH));
    steps.push(floor(fresh));
    if !elsewhere {
        steps.extend(with(CalibrationStep { response_bytes: LONG_BYTES, ..PLAIN }, &FEW));
    }
    if cpus >= CPUS_FOR_MORE_THREADS {
        let threads = (cpus / 2).min(THREADS_MAX);
        steps.extend(with(CalibrationStep { threads, ..PLAIN }, &FEW[1..]));
    }
    steps
}

fn with<'a>(step: CalibrationStep, connections: impl IntoIterator<Item = &'a u32>) -> Vec<CalibrationStep> {
    connections.into_iter().map(|connections| CalibrationStep { connections: *connections, ..step }).collect()
}

fn floor(step: CalibrationStep) -> CalibrationStep {
    let asked_per_s = Rate::per_second(FLOOR_PER_S);
    CalibrationStep { connections: FLOOR_CONNECTIONS, asked_per_s, ..step }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections of the closed loops, and how many open loops there are.
    fn check(options: &CalibrationOptions, cpus: u32, closed: &[u32], open: usize) {
        let steps = calibration_steps(options, cpus);
        let (floors, loops): (Vec<CalibrationStep>, Vec<CalibrationStep>) =
            steps.into_iter().partition(|step| step.asked_per_s.is_some());
        assert_eq!(loops.iter().map(|step| step.connections).collect::<Vec<_>>(), closed, "{options:?}");
        assert_eq!(floors.len(), open, "{options:?}");
    }

    #[test]
    fn the_usual_settings() {
        let usual = CalibrationOptions::default();
        check(&usual, 2, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64, 1, 16, 64], 2);
        check(&usual, 4, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64, 1, 16, 64, 16, 64], 2);
        let elsewhere = CalibrationOptions { is_elsewhere: true, ..usual };
        check(&elsewhere, 2, &[1, 2, 4, 8, 16, 64, 256, 1, 4, 16, 64], 2);
    }

    #[test]
    fn more_threads_than_the_machine_has_to_spare_are_not_usual() {
        let threads = |cpus| {
            calibration_steps(&CalibrationOptions::default(), cpus).iter().map(|step| step.threads).max()
        };
        assert_eq!([2, 4, 12, 64].map(threads), [Some(1), Some(2), Some(6), Some(8)]);
    }

    #[test]
    fn what_is_typed_is_measured_with_its_floors() {
        let connections = |connections: &[u32]| CalibrationOptions {
            connections: connections.to_vec(),
            ..CalibrationOptions::default()
        };
        check(&connections(&[50]), 2, &[50, 1], 1);
        check(&connections(&[1, 50]), 2, &[1, 50], 1);
        let threads = CalibrationOptions { threads: Some(4), ..CalibrationOptions::default() };
        check(&threads, 2, &[4, 8, 16, 64, 256, 1], 1);
        let mut fresh = connections(&[8]);
        fresh.no_keepalive = true;
        assert!(calibration_steps(&fresh, 2).iter().all(|step| !step.keep_alive));
    }
}
