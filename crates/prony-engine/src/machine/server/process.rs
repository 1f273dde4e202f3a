//! One process while it is watched: what it has used since the first poll, as of the last one.

use std::collections::BTreeMap;
use std::fs::{read, read_dir, read_to_string};

use rustix::param::page_size;

use super::holders::descriptors_of;
use super::proc_files::{Stat, Status, disk_bytes, schedstat};
use crate::clock::Nanos;
use crate::sys;

/// Threads of one process that are watched one by one.
const THREADS_MAX: usize = 1024;

/// A process that is watched.
#[derive(Debug)]
pub(super) struct Process {
    pub pid: u32,
    pub name: String,
    started_ticks: u64,
    first: Counts,
    last: Counts,
    /// CPU time of its children that it waited for, ticks, at the first poll and at the last.
    children_ticks: (u64, u64),
    pub resident_bytes: u64,
    pub threads: u32,
    pub each_thread: BTreeMap<u32, Thread>,
    pub ended: bool,
    first_details: Details,
    last_details: Details,
}

/// Counts that every poll reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub cpu: Nanos,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// A thread since the first poll.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Thread {
    first: (Nanos, Nanos),
    last: (Nanos, Nanos),
}

/// Counts that only the first and the last poll read; `None` where that is not allowed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Details {
    pub peak_bytes: Option<u64>,
    pub switches: Option<(u64, u64)>,
    pub disk_bytes: Option<(u64, u64)>,
    pub descriptors: Option<u64>,
    pub cpus: Option<u32>,
}

/// The text of /proc/PID/stat, read.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    Stat::parse(&String::from_utf8_lossy(&read(format!("/proc/{pid}/stat")).ok()?))
}

impl Process {
    /// Begins to watch `pid`. What it used before counts only if it `is_new`: started after the first poll.
    pub(super) fn new(pid: u32, is_new: bool) -> Option<Self> {
        let stat = stat(pid).filter(|stat| !stat.is_over())?;
        let mut process = Self {
            pid,
            name: stat.name.clone(),
            started_ticks: stat.started_ticks,
            first: Counts::default(),
            last: Counts::default(),
            children_ticks: (0, 0),
            resident_bytes: 0,
            threads: 0,
            each_thread: BTreeMap::new(),
            ended: false,
            first_details: Details::default(),
            last_details: Details::default(),
        };
        process.poll();
        if process.ended {
            return None;
        }
        process.poll_threads();
        if is_new {
            process.first_details =
                Details { switches: Some((0, 0)), disk_bytes: Some((0, 0)), ..Details::default() };
            process.each_thread.values_mut().for_each(|thread| thread.first = (0, 0));
        } else {
            process.first = process.last;
            process.children_ticks.0 = process.children_ticks.1;
            process.first_details = process.details();
        }
        Some(process)
    }

    /// Sets the beginning to now.
    pub(super) fn begin(&mut self) {
        self.poll();
        self.each_thread.clear();
        self.poll_threads();
        self.each_thread.values_mut().for_each(|thread| thread.first = thread.last);
        self.first = self.last;
        self.children_ticks.0 = self.children_ticks.1;
        self.first_details = self.details();
    }

    /// Its CPU time had this value at the beginning, seen before it was known to matter.
    pub(super) fn began_with(&mut self, cpu: Nanos) {
        self.first.cpu = cpu;
    }

    /// Reads what has changed. A process that has ended keeps what it last had.
    pub(super) fn poll(&mut self) {
        if self.ended {
            return;
        }
        let cpu = sys::process_cpu_ns(self.pid);
        // Read after the clock: a process that is still the same now was so then.
        let stat = stat(self.pid).filter(|stat| stat.started_ticks == self.started_ticks && !stat.is_over());
        let Some((stat, cpu)) = stat.zip(cpu) else {
            self.ended = true;
            return;
        };
        self.last = Counts {
            cpu: cpu.max(self.last.cpu),
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
        };
        self.children_ticks.1 = stat.children_ticks;
        self.resident_bytes = stat.resident_pages.saturating_mul(page_size() as u64);
        self.threads = stat.threads;
    }

    /// Reads what each thread has used.
    pub(super) fn poll_threads(&mut self) {
        if self.ended {
            return;
        }
        let Ok(entries) = read_dir(format!("/proc/{}/task", self.pid)) else { return };
        let is_first = self.each_thread.is_empty();
        for entry in entries.flatten().take(THREADS_MAX) {
            let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let text = read_to_string(format!("/proc/{}/task/{tid}/schedstat", self.pid));
            let Some(times) = text.ok().as_deref().and_then(schedstat) else { continue };
            if is_first {
                self.each_thread.insert(tid, Thread { first: times, last: times });
            } else if self.each_thread.len() < THREADS_MAX || self.each_thread.contains_key(&tid) {
                self.each_thread.entry(tid).or_default().last = times;
            }
        }
    }

    /// Reads what only the end needs; the times are those of the last poll.
    pub(super) fn finish(&mut self) {
        if !self.ended {
            self.last_details = self.details();
        }
    }

    /// What it used since the beginning.
    pub(super) fn used(&self) -> Counts {
        let (first, last) = (&self.first, &self.last);
        Counts {
            cpu: last.cpu.saturating_sub(first.cpu),
            user_ticks: last.user_ticks.saturating_sub(first.user_ticks),
            system_ticks: last.system_ticks.saturating_sub(first.system_ticks),
            minor_faults: last.minor_faults.saturating_sub(first.minor_faults),
            major_faults: last.major_faults.saturating_sub(first.major_faults),
        }
    }

    /// CPU time of children that it waited for since the beginning, ticks.
    pub(super) fn waited_for_ticks(&self) -> u64 {
        self.children_ticks.1.saturating_sub(self.children_ticks.0)
    }

    /// All that its parent will count of it when it waits for it: its own CPU time and that of its children.
    pub(super) fn whole_life(&self) -> (Nanos, u64) {
        (self.last.cpu, self.children_ticks.1)
    }

    /// Context switches, voluntary and not, since the beginning.
    pub(super) fn switches(&self) -> Option<(u64, u64)> {
        since(self.first_details.switches, self.last_details.switches)
    }

    /// Bytes read and written since the beginning.
    pub(super) fn disk_bytes(&self) -> Option<(u64, u64)> {
        since(self.first_details.disk_bytes, self.last_details.disk_bytes)
    }

    /// As of the last reading of the details.
    pub(super) fn last_details(&self) -> &Details {
        &self.last_details
    }

    fn details(&self) -> Details {
        let text = |name: &str| read_to_string(format!("/proc/{}/{name}", self.pid)).ok();
        let status = text("status").as_deref().map(Status::parse).unwrap_or_default();
        // The switches of /proc/PID/status are those of its first thread.
        let mut switches = Some((0, 0));
        for tid in self.each_thread.keys() {
            let Some(thread) = text(&format!("task/{tid}/status")) else { continue };
            let thread = Status::parse(&thread);
            let both = thread.voluntary_switches.zip(thread.involuntary_switches);
            switches =
                switches.zip(both).map(|((own, lost), (more, more_lost))| (own + more, lost + more_lost));
        }
        Details {
            peak_bytes: status.peak_bytes,
            switches,
            disk_bytes: text("io").as_deref().and_then(disk_bytes),
            descriptors: descriptors_of(self.pid),
            cpus: status.cpus,
        }
    }
}

impl Thread {
    /// CPU time since the beginning.
    pub(super) fn cpu(&self) -> Nanos {
        self.last.0.saturating_sub(self.first.0)
    }

    /// Time that it waited for a CPU since the beginning.
    pub(super) fn waited(&self) -> Nanos {
        self.last.1.saturating_sub(self.first.1)
    }
}

fn since(first: Option<(u64, u64)>, last: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let ((first_of_one, first_of_other), (one, other)) = first.zip(last)?;
    Some((one.saturating_sub(first_of_one), other.saturating_sub(first_of_other)))
}
