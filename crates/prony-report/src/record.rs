//! What is needed to make a run again, or to see why another one can't be compared with it.

use prony_model::{Environment, RunResult};

use crate::facts;
use crate::number::plural;
use crate::number::{bytes, count};
use crate::server;

/// Each thing that is known, by name; what the system did not say is absent.
pub(crate) fn rows(result: &RunResult) -> Vec<(&'static str, String)> {
    let mut rows = own(result);
    rows.extend(server::rows(result));
    rows.extend(machine(&result.environment));
    rows
}

/// What is of the run itself, neither of the server nor of the machine.
pub(crate) fn own(result: &RunResult) -> Vec<(&'static str, String)> {
    let mut rows = vec![("started", result.timing.started_at.clone())];
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    add("target", result.target_commit.clone());
    add("addresses", (!result.addresses.is_empty()).then(|| result.addresses.join(", ")));
    add("sent", facts::traffic(result));
    add("prony", prony(&result.environment));
    add("driver", Some(because(&result.driver.name, &result.driver.reason)));
    let kernel_clock = &result.kernel_clock;
    let stamps = if kernel_clock.arrivals { "arrivals" } else { "none" };
    add(
        "kernel's time stamps",
        (!kernel_clock.reason.is_empty()).then(|| because(stamps, &kernel_clock.reason)),
    );
    rows
}

/// Version and commit of the client.
pub(crate) fn prony(machine: &Environment) -> Option<String> {
    let prony = match &machine.prony_commit {
        Some(commit) => format!("{} ({commit})", machine.prony_version),
        None => machine.prony_version.clone(),
    };
    Some(prony).filter(|prony| !prony.is_empty())
}

/// The client's machine: each thing that is known, by name.
pub(crate) fn machine(machine: &Environment) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    add("machine", Some(machine.fingerprint()));
    add("hardware", machine.hardware.clone());
    add("virtualisation", machine.virtualisation.clone());
    add("container", machine.container.clone());
    add("CPU", machine.cpu_model.clone());
    add("CPUs", Some(cpus(machine)));
    add("governor", machine.governor.clone());
    add("clock source", machine.clock_source.clone());
    add("memory", memory(machine));
    add("huge pages", machine.transparent_hugepages.clone());
    let kernel = format!("{} {}", machine.kernel, machine.architecture);
    add("kernel", Some(kernel).filter(|kernel| kernel != " "));
    add("limits", limits(machine));
    add("congestion control", machine.congestion_control.clone());
    add("boot", machine.boot_id.clone());
    add("load average", load_average(machine));
    rows
}

fn because(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}

fn cpus(machine: &Environment) -> String {
    let mut parts = vec![format!("{} for prony", machine.cpus)];
    parts.extend(machine.cpus_online.map(|online| format!("{online} online")));
    parts.extend(machine.cores.map(|cores| plural(cores.into(), "core")));
    parts.extend(machine.cpu_quota.map(|quota| format!("the control group has {quota}")));
    parts.extend(machine.cpu_set.as_ref().map(|set| format!("bound to {set}")));
    parts.join(", ")
}

fn memory(machine: &Environment) -> Option<String> {
    let size = |number: u64| bytes(number as f64);
    let limit = machine.memory_limit_bytes.map(|limit| format!("the control group has {}", size(limit)));
    let parts: Vec<String> = machine.memory_bytes.map(size).into_iter().chain(limit).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn limits(machine: &Environment) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(machine.open_files_limit.map(|limit| format!("open files {}", count(limit))));
    parts.extend(machine.port_range.map(|(first, last)| format!("local ports {first} to {last}")));
    parts.extend(machine.listen_backlog_limit.map(|limit| format!("somaxconn {limit}")));
    parts.extend(machine.syn_backlog_limit.map(|limit| format!("tcp_max_syn_backlog {limit}")));
    parts.extend(machine.time_wait_reuse.map(|setting| format!("tcp_tw_reuse {setting}")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn load_average(machine: &Environment) -> Option<String> {
    let shown = |value: Option<f64>, when: &str| value.map(|value| format!("{value} {when}"));
    let parts = [shown(machine.load_average_before, "before"), shown(machine.load_average_after, "after")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
