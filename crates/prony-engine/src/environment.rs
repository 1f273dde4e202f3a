//! The record of the machine that a result carries, read from /proc and /sys before and after a run.

use std::fs::read_to_string;

use prony_model::Environment;
use rustix::process::{Resource, getrlimit};
use rustix::system::uname;

const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// What can be said before the run. Version and commit are the caller's to add.
pub fn before() -> Environment {
    let system = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Environment {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        prony_commit: None,
        kernel: format!("{} {} {}", text(system.sysname()), text(system.release()), text(system.version())),
        architecture: text(system.machine()),
        cpu_model: field("/proc/cpuinfo", "model name"),
        cpus: std::thread::available_parallelism()
            .map_or(0, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        memory_bytes: field("/proc/meminfo", "MemTotal").as_deref().and_then(kibibytes),
        open_files_limit: getrlimit(Resource::Nofile).current,
        port_range: port_range(),
        congestion_control: line(CONGESTION_CONTROL),
        load_average_before: load_average(),
        load_average_after: None,
    }
}

/// The load average over a minute.
pub fn load_average() -> Option<f64> {
    line("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

/// Whether the system's congestion control may put time between the packets of a client (as BBR does, with a
/// timer for each), which would be part of every latency.
pub(crate) fn paces() -> bool {
    line(CONGESTION_CONTROL).is_some_and(|name| !["reno", "cubic"].contains(&name.as_str()))
}

/// The range of local ports that `connect` chooses from.
pub(crate) fn port_range() -> Option<(u16, u16)> {
    let text = line("/proc/sys/net/ipv4/ip_local_port_range")?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Greatest memory that this process had, bytes.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    field("/proc/self/status", "VmHWM").as_deref().and_then(kibibytes)
}

/// Nanoseconds that thread `tid` has waited for a core (second field of schedstat, Documentation/scheduler/
/// sched-stats.rst).
pub(crate) fn run_queue_wait_ns(tid: i32) -> Option<u64> {
    line(&format!("/proc/self/task/{tid}/schedstat"))?.split(' ').nth(1)?.parse().ok()
}

fn line(path: &str) -> Option<String> {
    read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of the first line `name : value`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|value| value * 1024)
}
