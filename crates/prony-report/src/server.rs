//! What the server used, in words, whatever it is drawn as.

use prony_model::{Interval, ProcessesUse, RunResult, ServerFigure, ServerFoundBy, ServerUse};

use crate::clean;
use crate::number::{bytes, count, plural, rate, rough_percent, significant};

/// The CPU time of the server's own processes as a share of a core; nothing where it was not measured.
pub(crate) fn cores(result: &RunResult) -> Option<String> {
    let server = result.server.as_ref().filter(|server| server.wall_s > 0.0)?;
    Some(rough_percent(server.own.cpu_s / server.wall_s))
}

/// What the server used: the first part is the figure that matters; nothing where it was not measured.
pub(crate) fn parts(result: &RunResult) -> Option<Vec<String>> {
    let server = result.server.as_ref()?;
    let mut parts = Vec::new();
    match server.cpu_per_request_us {
        Some(figure) => parts.push(format!("{} (n = {})", per_request(&figure), count(figure.requests))),
        None => parts.push("no CPU time per request".to_owned()),
    }
    if let Some(figure) = server.requests_per_cpu_s {
        parts.push(format!("{} requests per CPU-second", rate(figure.value)));
    }
    parts.push(processes(&server.own, server));
    parts.extend(server.agent.as_ref().map(|agent| format!("measured by the agent {}", clean(agent))));
    Some(parts)
}

/// A line for each program that the server talks to, its name first.
pub(crate) fn dependants(result: &RunResult) -> Vec<String> {
    let Some(server) = &result.server else { return Vec::new() };
    let lines = server.dependants.iter().map(|dependant| {
        let role = if dependant.is_backend { "behind the proxy" } else { "beside" };
        let each = (server.requests > 0).then(|| {
            format!(
                ", {} CPU per request",
                microseconds(dependant.processes.cpu_s * 1e6 / server.requests as f64)
            )
        });
        format!(
            "{role}: {}{} ({})",
            processes(&dependant.processes, server),
            each.unwrap_or_default(),
            dependant.address
        )
    });
    lines.collect()
}

/// Everything, a row each, for reports that have the room.
pub(crate) fn rows(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(server) = &result.server else {
        let why = result.server_unknown_because.iter().filter(|why| !why.is_empty());
        return why.map(|why| ("server", format!("not measured: {why}"))).collect();
    };
    let mut rows = Vec::new();
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    let own = &server.own;
    let figure = |figure: Option<ServerFigure>, unit: &str| {
        figure.map(|figure| format!("{}{unit}{}", rate(figure.value), range(figure.interval)))
    };
    let agent = server.agent.as_ref();
    let agent = agent.map_or_else(String::new, |agent| format!(", measured by the agent {}", clean(agent)));
    let found = found_by(server.found_by);
    add("server", Some(format!("{}, found by {found}{agent}", processes(own, server))));
    add("server's requests per CPU-second", figure(server.requests_per_cpu_s, ""));
    add(
        "server's CPU with what it talks to",
        figure(server.cpu_with_dependants_per_request_us, " \u{b5}s per request"),
    );
    add("server's instructions", figure(server.instructions_per_request, " per request"));
    add("server's counters", server.counters.absent_because.clone());
    add("server's CPU time", own.user_s.zip(own.system_s).map(|(user, system)| split(user, system)));
    add(
        "server's threads",
        own.busiest_thread_share.map(|share| {
            format!("{}, the busiest at {} of a core", count(own.threads.into()), rough_percent(share))
        }),
    );
    add("server's wait for a core", own.run_queue_wait_s.map(|wait| format!("{} s", significant(wait))));
    add(
        "server's context switches",
        own.voluntary_switches
            .zip(own.involuntary_switches)
            .map(|(own, lost)| format!("{} to wait, {} for others", count(own), count(lost))),
    );
    add(
        "server's memory",
        own.memory_start_bytes.zip(own.memory_end_bytes).map(|(first, last)| {
            let peak = own
                .memory_peak_bytes
                .map_or_else(String::new, |peak| format!(", peak {}", bytes(peak as f64)));
            format!("{} at the beginning, {} at the end{peak}", bytes(first as f64), bytes(last as f64))
        }),
    );
    add(
        "server's page faults",
        own.minor_faults
            .zip(own.major_faults)
            .map(|(minor, major)| format!("{} and {} from a disk", count(minor), count(major))),
    );
    add("server's descriptors", own.descriptors.map(count));
    add(
        "server's disk",
        own.read_bytes
            .zip(own.written_bytes)
            .map(|(read, written)| format!("{} read, {} written", bytes(read as f64), bytes(written as f64))),
    );
    add(
        "server's listen queue",
        server.listener.map(|queue| {
            format!(
                "at most {} of {} in {}",
                count(queue.waiting_max.into()),
                count(queue.backlog.into()),
                plural(queue.samples, "sample")
            )
        }),
    );
    add("server's control group", server.cgroup.as_ref().map(|group| group.path.clone()));
    let sampling = server.sampling;
    add(
        "server's sampling",
        Some(format!(
            "{} every {:.0} ms, {} of a core",
            plural(sampling.samples, "sample"),
            sampling.interval_ms,
            rough_percent(sampling.cpu_share)
        )),
    );
    for note in &server.notes {
        add("server's gaps", Some(note.clone()));
    }
    rows
}

/// `rudy[4711]: 1.42 of 2 cores, 18 MiB peak`
fn processes(used: &ProcessesUse, server: &ServerUse) -> String {
    let name = match used.each.as_slice() {
        [only] => format!("{}[{}]", used.name, only.pid),
        _ => format!("{}: {}", used.name, several(used.processes.into())),
    };
    let cores = if server.wall_s > 0.0 { used.cpu_s / server.wall_s } else { 0.0 };
    let memory = used.memory_peak_bytes.or(used.memory_end_bytes);
    let memory = memory.map_or_else(String::new, |peak| format!(", {} peak", bytes(peak as f64)));
    let separator = if used.each.len() == 1 { ":" } else { "," };
    format!("{name}{separator} {} of {}{memory}", significant(cores), plural(server.cpus.into(), "core"))
}

/// The plural of `process` is not made by adding an s.
fn several(processes: u64) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{} processes", count(processes)) }
}

/// `71.3 µs CPU per request ± 1.2 %`
fn per_request(figure: &ServerFigure) -> String {
    let precision = figure.interval.filter(|_| figure.value > 0.0).map_or_else(String::new, |interval| {
        let half = (interval.high - interval.low) / 2.0 / figure.value;
        format!(" \u{b1} {}", rough_percent(half))
    });
    format!("{} CPU per request{precision}", microseconds(figure.value))
}

fn microseconds(value: f64) -> String {
    match value {
        value if value >= 9_995.0 => format!("{} ms", significant(value / 1e3)),
        value => format!("{} \u{b5}s", significant(value)),
    }
}

fn range(interval: Option<Interval>) -> String {
    interval
        .map_or_else(String::new, |interval| format!(" [{}, {}]", rate(interval.low), rate(interval.high)))
}

fn split(user: f64, system: f64) -> String {
    format!("{} s in user mode, {} s in the kernel", significant(user), significant(system))
}

fn found_by(found: ServerFoundBy) -> &'static str {
    match found {
        ServerFoundBy::ListeningSocket => "its listening socket",
        ServerFoundBy::Pid => "--target-pid",
        ServerFoundBy::Cgroup => "--target-cgroup",
    }
}
