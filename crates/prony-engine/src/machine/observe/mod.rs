//! What the machine did while the run was on, beside the client: the kernel's own counts, read before and after
//! the measured part on the collector's thread, never on a worker's.
//!
//! A count that the system doesn't have stays `None`: nothing is made up for it.

pub(crate) mod cgroup;
mod cpu;
mod frequency;
mod network;

use std::fs::read_to_string;
use std::path::PathBuf;

use prony_model::MachineUse;

use crate::clock::Nanos;
use crate::machine::environment::clock_source;
use crate::record::collect::Window;
use cpu::CpuTimes;
use frequency::Frequencies;
use network::TcpCounts;

/// How often the CPU's frequency is read.
const POLL_EVERY: Nanos = 1_000_000_000;

/// Watches the machine during one run.
pub(crate) struct Observer {
    window: Window,
    /// Files that count how often the quota of our control group ran out.
    quotas: Vec<PathBuf>,
    first: Reading,
    /// Whether `first` is of the beginning of the measured part.
    begun: bool,
    last: Option<Reading>,
    frequencies: Frequencies,
    next_poll: Nanos,
}

/// Everything that is read at one moment.
#[derive(Debug, Clone, Default)]
struct Reading {
    at: Nanos,
    cpu: Option<CpuTimes>,
    /// Time in which some task waited for a CPU, since boot.
    pressure: Option<Nanos>,
    /// Time in which some task waited for a disk, since boot.
    io_pressure: Option<Nanos>,
    tcp: TcpCounts,
    softnet_dropped: Option<u64>,
    throttled: Option<u64>,
    clock_source: Option<String>,
}

impl Observer {
    /// Begins before the load of `window`, at `now`.
    pub(crate) fn new(window: Window, now: Nanos) -> Self {
        let quotas = cgroup::quota_files();
        Self {
            first: Reading::take(now, &quotas),
            // Where there is no warm-up, what connecting does to the machine belongs to the measured part.
            begun: window.measure_from <= window.start,
            window,
            quotas,
            last: None,
            frequencies: Frequencies::new(),
            next_poll: window.measure_from + POLL_EVERY,
        }
    }

    /// Reads what is due at `now`; cheap when nothing is.
    pub(crate) fn poll(&mut self, now: Nanos) {
        if !self.begun && now >= self.window.measure_from {
            self.begun = true;
            self.first = Reading::take(now, &self.quotas);
        }
        if self.last.is_some() {
            return;
        }
        if now >= self.next_poll {
            self.next_poll = now + POLL_EVERY;
            self.frequencies.poll();
        }
        if now >= self.window.measure_to {
            self.last = Some(Reading::take(now, &self.quotas));
        }
    }

    /// What happened between the beginning of the measured part and its end, which is `now` if it was not before.
    pub(crate) fn until(&self, now: Nanos) -> MachineUse {
        let last = self.last.clone().unwrap_or_else(|| Reading::take(now, &self.quotas));
        MachineUse { frequency_drift: self.frequencies.drift(), ..between(&self.first, &last) }
    }
}

impl Reading {
    fn take(now: Nanos, quotas: &[PathBuf]) -> Self {
        let text = |path: &str| read_to_string(path).ok();
        Self {
            at: now,
            cpu: text("/proc/stat").as_deref().and_then(CpuTimes::parse),
            pressure: text("/proc/pressure/cpu").as_deref().and_then(cpu::pressure),
            io_pressure: text("/proc/pressure/io").as_deref().and_then(cpu::pressure),
            tcp: TcpCounts::parse(
                &text("/proc/net/snmp").unwrap_or_default(),
                &text("/proc/net/netstat").unwrap_or_default(),
            ),
            softnet_dropped: text("/proc/net/softnet_stat").as_deref().and_then(network::softnet_dropped),
            throttled: cgroup::throttled(quotas),
            clock_source: clock_source(),
        }
    }
}

/// What changed from `first` to `last`.
fn between(first: &Reading, last: &Reading) -> MachineUse {
    let grown = |first: Option<u64>, last: Option<u64>| Some(last?.saturating_sub(first?));
    let cpu = first.cpu.as_ref().zip(last.cpu.as_ref());
    let shares = cpu.and_then(|(first, last)| last.shares_since(first));
    let wall = last.at.saturating_sub(first.at);
    // Both clocks are read one after the other: a share of a little over 1 is 1.
    let share = |pressed: Option<Nanos>| {
        pressed.filter(|_| wall > 0).map(|pressed| (pressed as f64 / wall as f64).min(1.0))
    };
    MachineUse {
        steal_share: shares.map(|shares| shares.steal),
        softirq_share: shares.map(|shares| shares.softirq),
        busy_share: cpu.and_then(|(first, last)| last.busy_since(first)),
        pressure_share: share(grown(first.pressure, last.pressure)),
        io_pressure_share: share(grown(first.io_pressure, last.io_pressure)),
        throttled: grown(first.throttled, last.throttled),
        retransmitted: grown(first.tcp.retransmitted, last.tcp.retransmitted),
        segments_sent: grown(first.tcp.segments_sent, last.tcp.segments_sent),
        syn_retransmitted: grown(first.tcp.syn_retransmitted, last.tcp.syn_retransmitted),
        listen_overflows: grown(first.tcp.listen_overflows, last.tcp.listen_overflows),
        listen_drops: grown(first.tcp.listen_drops, last.tcp.listen_drops),
        softnet_dropped: grown(first.softnet_dropped, last.softnet_dropped),
        frequency_drift: None,
        clock_source_became: last.clock_source.clone().filter(|_| first.clock_source != last.clock_source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed() {
        let reading = |at, source: &str, count: u64| Reading {
            at,
            cpu: CpuTimes::parse(&format!("cpu  {count}0 0 0 900 0 0 {count} {count} 0 0\n")),
            pressure: Some(at / 4),
            io_pressure: Some(at / 2),
            tcp: TcpCounts {
                segments_sent: Some(count * 10),
                listen_drops: Some(count),
                ..TcpCounts::default()
            },
            softnet_dropped: None,
            throttled: Some(count),
            clock_source: Some(source.to_owned()),
        };
        let change = between(&reading(1_000_000_000, "tsc", 10), &reading(3_000_000_000, "hpet", 20));
        let expected = MachineUse {
            steal_share: Some(10.0 / 120.0),
            softirq_share: Some(10.0 / 120.0),
            busy_share: Some(110.0 / 120.0),
            pressure_share: Some(0.25),
            io_pressure_share: Some(0.5),
            throttled: Some(10),
            segments_sent: Some(100),
            listen_drops: Some(10),
            clock_source_became: Some("hpet".to_owned()),
            ..MachineUse::default()
        };
        assert_eq!(change, expected);
        assert_eq!(between(&Reading::default(), &Reading::default()), MachineUse::default());
    }

    #[test]
    fn this_machine_can_be_read() {
        let window = Window { start: 0, measure_from: 0, measure_to: 10 };
        let mut observer = Observer::new(window, 1);
        observer.poll(20);
        let change = observer.until(30);
        // Every Linux has these, in every network namespace.
        assert!(change.retransmitted.is_some() && change.segments_sent.is_some(), "{change:?}");
        assert!(change.syn_retransmitted.is_some() && change.listen_drops.is_some(), "{change:?}");
        assert_eq!(change.clock_source_became, None);
    }
}
