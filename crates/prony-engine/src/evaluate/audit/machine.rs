//! Signals that the machine itself, or something else that runs on it, made a number.

use prony_model::words::{percent, plural, times};
use prony_model::{CleanParts, CutReason, Finding, FindingCode, MachineUse, Severity};

use super::{Facts, graded};

/// Share of the CPU time that a hypervisor may give to others: warn, invalid.
const STEAL_SHARE: (f64, f64) = (0.01, 0.05);
/// Share of the time in which some task may wait for a CPU: note, warn.
const PRESSURE_SHARE: (f64, f64) = (0.05, 0.20);
/// Distance of the CPU's frequency from its mean: note, warn. A turbo that comes and goes moves it by more.
const FREQUENCY_DRIFT: (f64, f64) = (0.03, 0.10);
/// Clock sources that are read through a system call and a device, which takes a microsecond and more where tsc
/// takes 20 ns (arch/x86/kernel/hpet.c, drivers/clocksource/acpi_pm.c), or that only count ticks.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// What is known of the machine.
#[derive(Debug, Clone, Copy)]
struct Machine<'a> {
    used: &'a MachineUse,
    /// The clock source before the run.
    clock_source: Option<&'a str>,
    threads: u32,
    /// Whether the target is on it.
    here: bool,
    /// The clean parts of the run.
    clean: Option<&'a CleanParts>,
}

/// All findings of this kind.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let environment = &facts.result.environment;
    let machine = Machine {
        used: &facts.result.machine,
        clock_source: environment.clock_source.as_deref(),
        threads: facts.plan().threads,
        here: facts.here,
        clean: facts.result.clean.as_ref(),
    };
    machine.findings()
}

impl Machine<'_> {
    fn findings(&self) -> Vec<Finding> {
        let found = [
            self.clean_parts(),
            self.steal(),
            self.contention(),
            self.throttled(),
            self.frequency(),
            self.softnet_drops(),
            self.clock_source(),
        ];
        found.into_iter().flatten().collect()
    }

    /// Some of the time was cut.
    fn clean_parts(&self) -> Option<Finding> {
        let clean = self.clean.filter(|clean| clean.clean_slices < clean.slices)?;
        let cut = clean.slices - clean.clean_slices;
        let worst = clean.cut.iter().filter(|(reason, _)| **reason != CutReason::Aftermath);
        let because =
            worst.max_by_key(|(_, slices)| **slices).map_or(CutReason::Steal, |(reason, _)| *reason);
        let evidence = [
            ("clean", clean.share, "share"),
            ("slices", clean.slices as f64, "count"),
            ("slices_cut", cut as f64, "count"),
        ];
        let message = if clean.is_used() {
            format!(
                "figures come from {} of the measured time: in the rest {}, or work from then was still waiting",
                percent(clean.share),
                because.describe()
            )
        } else {
            format!(
                "only {} of the measured time was clean, because {}: figures come from all of it",
                percent(clean.share),
                because.describe()
            )
        };
        let advice = "nothing, if that is enough; a longer --duration gives more clean time";
        Some(Finding::new(FindingCode::CleanParts, Severity::Note, &evidence, message, advice))
    }

    /// Whether the figures come from clean parts only.
    fn is_cut(&self) -> bool {
        self.clean.is_some_and(CleanParts::is_used)
    }

    /// The hypervisor gave CPU time to others.
    fn steal(&self) -> Option<Finding> {
        if self.is_cut() {
            return None;
        }
        let share = self.used.steal_share?;
        let severity = graded(share, STEAL_SHARE.0, STEAL_SHARE.1)?;
        Some(Finding::new(
            FindingCode::Steal,
            severity,
            &[("steal", share, "share")],
            format!(
                "the hypervisor gave {} of this machine's CPU time to others: everything here was paused meanwhile",
                percent(share)
            ),
            "run it at another time or on another machine, and compare only runs that alternate",
        ))
    }

    /// Tasks waited for a CPU.
    fn contention(&self) -> Option<Finding> {
        let share = self.used.pressure_share?;
        // One step lower than `graded`: waiting for a CPU is usual, and only much of it spoils a run.
        let severity = match graded(share, PRESSURE_SHARE.0, PRESSURE_SHARE.1)? {
            Severity::Invalid => Severity::Warning,
            Severity::Warning | Severity::Note => Severity::Note,
        };
        let (who, advice) = if self.here {
            (
                "client and server share this machine",
                "put the server on another machine, or each on CPUs of its own: start the server under \
                 `taskset -c 0` and prony under `taskset -c 1`",
            )
        } else {
            (
                "something else runs on the client's machine",
                if self.threads > 1 {
                    "stop what else runs there, or use fewer --threads than CPUs"
                } else {
                    "stop what else runs there"
                },
            )
        };
        let message = format!("CPU pressure: tasks waited for a CPU {} of the time: {who}", percent(share));
        Some(Finding::new(
            FindingCode::Contention,
            severity,
            &[("pressure", share, "share")],
            message,
            advice,
        ))
    }

    /// The control group's CPU quota ran out.
    fn throttled(&self) -> Option<Finding> {
        let throttled = self.used.throttled.filter(|throttled| *throttled > 0 && !self.is_cut())?;
        let advice = if self.threads > 1 {
            "give the container more CPU (docker: --cpus, Kubernetes: limits.cpu), or use fewer --threads"
        } else {
            "give the container more CPU (docker: --cpus, Kubernetes: limits.cpu)"
        };
        Some(Finding::new(
            FindingCode::Throttled,
            Severity::Warning,
            &[("throttled", throttled as f64, "count")],
            format!(
                "the CPU quota of the client's control group ran out {}: all its threads then stood still for up to a \
                 period (100 ms, if nobody changed it)",
                times(throttled)
            ),
            advice,
        ))
    }

    /// The CPU's frequency changed.
    fn frequency(&self) -> Option<Finding> {
        let drift = self.used.frequency_drift.filter(|drift| *drift > FREQUENCY_DRIFT.0)?;
        let severity = if drift > FREQUENCY_DRIFT.1 { Severity::Warning } else { Severity::Note };
        Some(Finding::new(
            FindingCode::Frequency,
            severity,
            &[("drift", drift, "share")],
            format!(
                "the CPU's frequency moved by up to {} from its mean: the same work took another time",
                percent(drift)
            ),
            "use the governor `performance` (`cpupower frequency-set -g performance`), switch turbo off, or give a \
             longer --warmup",
        ))
    }

    /// The network stack dropped packets.
    fn softnet_drops(&self) -> Option<Finding> {
        let dropped = self.used.softnet_dropped.filter(|dropped| *dropped > 0)?;
        Some(Finding::new(
            FindingCode::SoftnetDrops,
            Severity::Warning,
            &[("dropped", dropped as f64, "count")],
            format!(
                "the network stack of this machine dropped {} because a CPU's queue of arrived ones was full: \
                 each costs its connection 200 ms or more",
                plural(dropped, "packet")
            ),
            "offer less load, or let the queue be longer: `sysctl net.core.netdev_max_backlog=10000`",
        ))
    }

    /// The clock is a slow or an unstable one.
    fn clock_source(&self) -> Option<Finding> {
        let before = self.clock_source.unwrap_or("unknown");
        let advice = "use another machine; on a virtual one, ask for a clock source of tsc or kvm-clock \
                      (/sys/devices/system/clocksource/clocksource0/available_clocksource)";
        if let Some(after) = &self.used.clock_source_became {
            return Some(Finding::new(
                FindingCode::ClockSource,
                Severity::Invalid,
                &[],
                format!(
                    "the kernel changed its clock source from {before} to {after} in the run: it found the old one wrong"
                ),
                advice,
            ));
        }
        SLOW_CLOCKS.contains(&before).then(|| {
            Finding::new(
                FindingCode::ClockSource,
                Severity::Warning,
                &[],
                format!("the kernel's clock source is {before}, which takes a microsecond or more to read, several times a request"),
                advice,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Machine<'_> = Machine {
        used: &MachineUse {
            steal_share: Some(0.01),
            softirq_share: Some(0.9),
            busy_share: Some(1.0),
            pressure_share: Some(0.05),
            io_pressure_share: Some(0.05),
            throttled: Some(0),
            retransmitted: None,
            segments_sent: None,
            syn_retransmitted: None,
            listen_overflows: None,
            listen_drops: None,
            softnet_dropped: Some(0),
            frequency_drift: Some(0.03),
            clock_source_became: None,
        },
        clock_source: Some("tsc"),
        threads: 1,
        here: true,
        clean: None,
    };

    /// `change` to a quiet machine makes this finding alone, with these words in message or advice.
    fn check(change: impl FnOnce(&mut MachineUse), code: FindingCode, severity: Severity, words: &[&str]) {
        let mut used = QUIET.used.clone();
        change(&mut used);
        let found = Machine { used: &used, ..QUIET }.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].code, found[0].severity), (code, severity), "{found:?}");
        let text = format!("{} {}", found[0].message, found[0].advice);
        for word in words {
            assert!(text.contains(word), "`{text}` does not say `{word}`");
        }
    }

    #[test]
    fn a_quiet_machine_has_none() {
        assert_eq!(QUIET.findings(), []);
        assert_eq!(Machine { used: &MachineUse::default(), clock_source: None, ..QUIET }.findings(), []);
    }

    #[test]
    fn steal() {
        let steal = |share| move |used: &mut MachineUse| used.steal_share = Some(share);
        check(steal(0.011), FindingCode::Steal, Severity::Warning, &["1.1 %"]);
        check(steal(0.051), FindingCode::Steal, Severity::Invalid, &["5.1 %"]);
    }

    #[test]
    fn what_was_cut_is_not_held_against_what_is_left() {
        let found = |clean_slices, steal| {
            let share = clean_slices as f64 / 100.0;
            let cut = [(CutReason::Aftermath, 60), (CutReason::Steal, 20)].into();
            let clean = CleanParts { share, slices: 100, clean_slices, cut, ..CleanParts::default() };
            let used = MachineUse { steal_share: Some(steal), ..MachineUse::default() };
            let findings = Machine { used: &used, clean: Some(&clean), ..QUIET }.findings();
            findings
                .iter()
                .map(|found| (found.code, found.severity, found.message.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(100, 0.0), []);
        let used = found(82, 0.2);
        assert_eq!((used.len(), used[0].0, used[0].1), (1, FindingCode::CleanParts, Severity::Note));
        assert!(used[0].2.contains("82 %") && used[0].2.contains("hypervisor"), "{used:?}");
        let withheld = found(49, 0.2);
        assert_eq!(
            (withheld.len(), withheld[1].0, withheld[1].1),
            (2, FindingCode::Steal, Severity::Invalid)
        );
    }

    #[test]
    fn contention() {
        let pressure = |share| move |used: &mut MachineUse| used.pressure_share = Some(share);
        check(pressure(0.051), FindingCode::Contention, Severity::Note, &["5.1 %", "taskset"]);
        check(
            pressure(0.21),
            FindingCode::Contention,
            Severity::Warning,
            &["21 %", "client and server share"],
        );
        let used = MachineUse { pressure_share: Some(0.5), ..MachineUse::default() };
        let message = |machine: Machine<'_>| machine.contention().expect("half of the time").message;
        assert!(message(Machine { used: &used, here: false, ..QUIET }).contains("something else runs"));
    }

    #[test]
    fn throttled() {
        let times = |times| move |used: &mut MachineUse| used.throttled = Some(times);
        check(times(1), FindingCode::Throttled, Severity::Warning, &["ran out once"]);
        check(times(1200), FindingCode::Throttled, Severity::Warning, &["1,200 times"]);
        let used = MachineUse { throttled: Some(3), ..MachineUse::default() };
        let advice = Machine { used: &used, threads: 4, ..QUIET }.findings().remove(0).advice;
        assert!(advice.contains("fewer --threads"), "{advice}");
    }

    #[test]
    fn frequency() {
        let drift = |drift| move |used: &mut MachineUse| used.frequency_drift = Some(drift);
        check(drift(0.031), FindingCode::Frequency, Severity::Note, &["3.1 %"]);
        check(drift(0.11), FindingCode::Frequency, Severity::Warning, &["11 %", "performance"]);
    }

    #[test]
    fn softnet_drops() {
        let dropped = |used: &mut MachineUse| used.softnet_dropped = Some(17);
        check(dropped, FindingCode::SoftnetDrops, Severity::Warning, &["17 packets", "netdev_max_backlog"]);
    }

    #[test]
    fn clock_sources() {
        let changed = |used: &mut MachineUse| used.clock_source_became = Some("hpet".to_owned());
        check(changed, FindingCode::ClockSource, Severity::Invalid, &["from tsc to hpet"]);
        for slow in SLOW_CLOCKS {
            let found = Machine { clock_source: Some(slow), ..QUIET }.findings();
            assert_eq!(found.len(), 1, "{slow}");
            assert_eq!((found[0].code, found[0].severity), (FindingCode::ClockSource, Severity::Warning));
        }
        for fast in ["kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"] {
            assert_eq!(Machine { clock_source: Some(fast), ..QUIET }.findings(), [], "{fast}");
        }
    }
}
