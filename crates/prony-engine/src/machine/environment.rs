//! The record of the machine that a result carries, read from /proc and /sys before and after a run.
//!
//! The files are parsed by functions of their texts, which tests give them; only [`file`] reads.

mod cgroup;
pub(crate) mod link;
mod machine;

use std::fs::read_to_string;

use prony_model::Environment;
use rustix::process::{Resource, getrlimit};
use rustix::system::uname;

use machine::{chosen, value};

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The text of a file, if it is there and can be read.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is known before the run. The commit is the caller's to add.
pub fn before() -> Environment {
    let system = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let kernel = format!("{} {} {}", text(system.sysname()), text(system.release()), text(system.version()));
    let own = Environment {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel,
        architecture: text(system.machine()),
        cpus: std::thread::available_parallelism()
            .map_or(0, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        open_files_limit: getrlimit(Resource::Nofile).current,
        ..Environment::default()
    };
    from_files(own, &file)
}

/// `own` with everything that stands in files.
fn from_files(own: Environment, read: Read<'_>) -> Environment {
    let limits = cgroup::limits(read);
    let number = |path: &str| line(read, path)?.parse().ok();
    Environment {
        cpu_model: field(read, "/proc/cpuinfo", "model name"),
        governor: line(read, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source: line(read, CLOCK_SOURCE),
        memory_bytes: field(read, "/proc/meminfo", "MemTotal").as_deref().and_then(kibibytes),
        port_range: line(read, PORT_RANGE).as_deref().and_then(two_ports),
        congestion_control: line(read, CONGESTION_CONTROL),
        load_average_before: line(read, LOAD_AVERAGE).as_deref().and_then(first_number),
        cpus_online: machine::cpus_online(read),
        cores: machine::cores(read),
        cpu_quota: limits.cpu_quota,
        cpu_set: limits.cpu_set,
        memory_limit_bytes: limits.memory_bytes,
        virtualisation: machine::virtualisation(read),
        container: machine::container(read),
        hardware: machine::hardware(read),
        boot_id: line(read, "/proc/sys/kernel/random/boot_id"),
        transparent_hugepages: line(read, "/sys/kernel/mm/transparent_hugepage/enabled")
            .as_deref()
            .and_then(chosen)
            .map(str::to_owned),
        listen_backlog_limit: number("/proc/sys/net/core/somaxconn"),
        syn_backlog_limit: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        time_wait_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        ..own
    }
}

const LOAD_AVERAGE: &str = "/proc/loadavg";
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The load average over a minute.
pub fn load_average() -> Option<f64> {
    line(&file, LOAD_AVERAGE).as_deref().and_then(first_number)
}

/// Whether the system's congestion control may put time between the packets of a client (as BBR does, with a
/// timer for each), which would be part of every latency.
pub(crate) fn paces() -> bool {
    line(&file, CONGESTION_CONTROL).is_some_and(|name| !["reno", "cubic"].contains(&name.as_str()))
}

/// What the kernel's clocks are made of now: `tsc`, `kvm-clock`, …
pub(crate) fn clock_source() -> Option<String> {
    line(&file, CLOCK_SOURCE)
}

/// The range of local ports that `connect` chooses from.
pub(crate) fn port_range() -> Option<(u16, u16)> {
    line(&file, PORT_RANGE).as_deref().and_then(two_ports)
}

/// Greatest memory that this process had, bytes.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    field(&file, "/proc/self/status", "VmHWM").as_deref().and_then(kibibytes)
}

/// Nanoseconds that thread `tid` has waited for a core (second field of schedstat, Documentation/scheduler/
/// sched-stats.rst).
pub(crate) fn run_queue_wait_ns(tid: i32) -> Option<u64> {
    line(&file, &format!("/proc/self/task/{tid}/schedstat"))?.split(' ').nth(1)?.parse().ok()
}

fn file(path: &str) -> Option<String> {
    read_to_string(path).ok()
}

/// The only line of a file.
fn line(read: Read<'_>, path: &str) -> Option<String> {
    read(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of the first line `name : value` of a file.
fn field(read: Read<'_>, path: &str, name: &str) -> Option<String> {
    value(&read(path)?, name).map(str::to_owned)
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn two_ports(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn first_number(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system that has `files` and no others.
    pub(super) fn system<'a>(files: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn a_machine_with_every_file() {
        let files = [
            (
                "/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: A CPU @ 2GHz\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu\n",
            ),
            ("/proc/meminfo", "MemTotal:        4024136 kB\nMemFree:  1 kB\n"),
            ("/proc/loadavg", "0.42 0.15 0.17 1/139 4125\n"),
            ("/proc/sys/kernel/random/boot_id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427\n"),
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
            ("/proc/sys/net/core/somaxconn", "4096\n"),
            ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "2048\n"),
            ("/proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ];
        let expected = Environment {
            cpu_model: Some("A CPU @ 2GHz".to_owned()),
            governor: Some("performance".to_owned()),
            clock_source: Some("tsc".to_owned()),
            memory_bytes: Some(4_024_136 * 1024),
            port_range: Some((32_768, 60_999)),
            congestion_control: Some("cubic".to_owned()),
            load_average_before: Some(0.42),
            cpus_online: Some(2),
            cores: Some(1),
            virtualisation: Some("none".to_owned()),
            boot_id: Some("1b4e28ba-2fa1-11d2-883f-0016d3cca427".to_owned()),
            transparent_hugepages: Some("madvise".to_owned()),
            listen_backlog_limit: Some(4096),
            syn_backlog_limit: Some(2048),
            time_wait_reuse: Some(2),
            ..Environment::default()
        };
        assert_eq!(from_files(Environment::default(), &system(&files)), expected);
    }

    #[test]
    fn a_machine_without_files() {
        assert_eq!(from_files(Environment::default(), &system(&[])), Environment::default());
    }

    #[test]
    fn this_machine() {
        let environment = before();
        assert!(environment.kernel.starts_with("Linux ") && environment.cpus > 0, "{environment:?}");
        assert_eq!(environment.fingerprint(), before().fingerprint());
    }
}
