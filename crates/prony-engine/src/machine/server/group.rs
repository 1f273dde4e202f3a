//! A set of processes that belong together: those that were found, and all that descend from them.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{ProcessesUse, ServerProcess, ServerThread};

use super::holders::processes;
use super::proc_files::Stat;
use super::process::{Process, Thread, stat};
use crate::clock::Nanos;

/// Processes of one group that are watched.
pub(super) const PROCESSES_MAX: usize = 512;
/// Processes and threads that a result lists.
const LISTED_PROCESSES: usize = 16;
const LISTED_THREADS: usize = 32;
/// The kernel reports times of processes in hundredths of a second (USER_HZ, which is fixed for programs).
pub(super) const TICK_NS: Nanos = 10_000_000;

/// Processes that are watched together.
#[derive(Debug)]
pub(super) struct Group {
    name: String,
    /// Where children are looked for; a process that also started this client has others.
    with_children: bool,
    pub members: BTreeMap<u32, Process>,
    most_processes: usize,
    most_threads: u32,
    /// Processes beyond the bound.
    pub left_out: usize,
    cpu_so_far: Nanos,
    /// Descendants that are counted elsewhere.
    excluded: BTreeSet<u32>,
}

/// Every process: its parent, and when it started.
pub(super) type Parents = BTreeMap<u32, Stat>;

/// Reads all of them.
pub(super) fn parents() -> Parents {
    processes().into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

impl Group {
    /// The processes `roots` with all that descend from them; `None` where none of them lives. `begun` and `earlier`
    /// as for [`Self::adopt`].
    pub(super) fn new(
        roots: &[u32],
        parents: &Parents,
        begun: Option<u64>,
        earlier: &BTreeMap<u32, Nanos>,
    ) -> Option<Self> {
        let own_line = ancestors(std::process::id(), parents);
        let with_children = !roots.iter().any(|root| own_line.contains(root));
        let mut group = Self {
            name: String::new(),
            with_children,
            members: BTreeMap::new(),
            most_processes: 0,
            most_threads: 0,
            left_out: 0,
            cpu_so_far: 0,
            excluded: BTreeSet::new(),
        };
        for root in roots {
            group.add_root(*root, parents, begun, earlier);
        }
        group.name = group.members.values().next()?.name.clone();
        group.adopt(parents, begun, earlier);
        Some(group)
    }

    fn add_root(&mut self, pid: u32, parents: &Parents, begun: Option<u64>, earlier: &BTreeMap<u32, Nanos>) {
        let started = parents.get(&pid).map(|stat| stat.started_ticks);
        let is_new = begun.zip(started).is_some_and(|(begun, started)| started >= begun);
        self.add(pid, is_new, earlier.get(&pid).copied());
    }

    /// Leaves out what is counted elsewhere.
    pub(super) fn exclude(&mut self, others: &BTreeSet<u32>) {
        self.members.retain(|pid, _| !others.contains(pid));
        self.excluded.extend(others);
        (self.most_processes, self.most_threads) = (0, 0);
        self.count();
    }

    /// Adds what descends from its members. Who started after `begun`, ticks since boot, counts from its start;
    /// `earlier` has what others had used when the measured part began.
    pub(super) fn adopt(&mut self, parents: &Parents, begun: Option<u64>, earlier: &BTreeMap<u32, Nanos>) {
        if !self.with_children {
            return;
        }
        // A generation at a time; no process is added twice, so this ends.
        loop {
            let is_child = |(pid, stat): &(&u32, &Stat)| {
                !self.members.contains_key(*pid)
                    && !self.excluded.contains(*pid)
                    && self.members.contains_key(&stat.parent)
                    && !stat.is_over()
            };
            let children: Vec<(u32, u64)> =
                parents.iter().filter(is_child).map(|(pid, stat)| (*pid, stat.started_ticks)).collect();
            let known = self.members.len();
            for (pid, started) in children {
                let is_new = begun.is_some_and(|begun| started >= begun);
                self.add(pid, is_new, earlier.get(&pid).copied());
            }
            if self.members.len() == known {
                return;
            }
        }
    }

    /// Adds one process.
    pub(super) fn add(&mut self, pid: u32, is_new: bool, earlier: Option<Nanos>) {
        if self.members.len() >= PROCESSES_MAX {
            self.left_out += 1;
            return;
        }
        if self.members.contains_key(&pid) {
            return;
        }
        if let Some(mut process) = Process::new(pid, is_new) {
            if let Some(earlier) = earlier.filter(|_| !is_new) {
                process.began_with(earlier);
            }
            self.members.insert(pid, process);
            self.count();
        }
    }

    /// Sets the beginning to now.
    pub(super) fn begin(&mut self) {
        self.members.retain(|_, process| {
            process.begin();
            !process.ended
        });
        (self.most_processes, self.most_threads, self.cpu_so_far) = (0, 0, 0);
        self.count();
    }

    /// Reads what every process has used; its threads, too, if `each_thread`.
    pub(super) fn poll(&mut self, each_thread: bool) {
        for process in self.members.values_mut() {
            process.poll();
            if each_thread {
                process.poll_threads();
            }
        }
        self.count();
        self.cpu_so_far = self.cpu_so_far.max(self.sum_cpu());
    }

    /// CPU time since the beginning, of processes that ended as well.
    pub(super) fn cpu(&self) -> Nanos {
        self.cpu_so_far
    }

    fn sum_cpu(&self) -> Nanos {
        let seen: Nanos = self.members.values().map(|process| process.used().cpu).sum();
        // What parents were credited for children that ended, less the children that were seen alive.
        let waited_for: Nanos =
            self.members.values().map(|process| process.waited_for_ticks() * TICK_NS).sum();
        let known: Nanos = self
            .members
            .values()
            .filter(|process| process.ended)
            .map(|process| {
                let (own, children_ticks) = process.whole_life();
                own + children_ticks * TICK_NS
            })
            .sum();
        seen + waited_for.saturating_sub(known)
    }

    /// Time that its threads waited for a CPU since the beginning.
    pub(super) fn waited(&self) -> Option<Nanos> {
        let threads = || self.members.values().flat_map(|process| process.each_thread.values());
        threads().next()?;
        Some(threads().map(Thread::waited).sum())
    }

    /// CPU time of each thread since the beginning.
    pub(super) fn thread_times(&self) -> Vec<(u32, Nanos)> {
        let threads = self.members.values().flat_map(|process| process.each_thread.iter());
        threads.map(|(tid, thread)| (*tid, thread.cpu())).collect()
    }

    pub(super) fn resident_bytes(&self) -> u64 {
        self.living().map(|process| process.resident_bytes).sum()
    }

    /// Whether all of it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.living().next().is_none()
    }

    /// CPUs that it may run on.
    pub(super) fn cpus(&self) -> Option<u32> {
        self.members.values().filter_map(|process| process.last_details().cpus).max()
    }

    pub(super) fn pids(&self) -> BTreeSet<u32> {
        self.members.keys().copied().collect()
    }

    /// Those that run the program of the first one.
    pub(super) fn pids_of_its_program(&self) -> BTreeSet<u32> {
        let own = self.members.values().filter(|process| process.name == self.name);
        own.map(|process| process.pid).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads what only the end needs.
    pub(super) fn finish(&mut self) {
        self.members.values_mut().for_each(Process::finish);
        self.cpu_so_far = self.cpu_so_far.max(self.sum_cpu());
    }

    /// What it used since the beginning, in `wall` time, in which its memory began at `start_bytes`.
    pub(super) fn summary(&self, wall: Nanos, start_bytes: u64) -> ProcessesUse {
        let all = || self.members.values();
        let cpu_s = seconds(self.cpu());
        let (user, system) = all().fold((0, 0), |(user, system), process| {
            let used = process.used();
            (user + used.user_ticks, system + used.system_ticks)
        });
        // The ticks give the share only: the sum is known better.
        let ticks = (user + system > 0).then_some((user + system) as f64);
        let switches = both(all().filter(|process| !process.ended).map(Process::switches));
        let disk = both(all().filter(|process| !process.ended).map(Process::disk_bytes));
        // The kernel counts what is resident in parts, for each CPU, so that its peak may be less than what it says now.
        let peak_of = |process: &Process| {
            process.last_details().peak_bytes.map(|peak| peak.max(process.resident_bytes))
        };
        let peak: Option<u64> = self.living().map(peak_of).sum();
        let descriptors: Option<u64> = self.living().map(|process| process.last_details().descriptors).sum();
        let threads = self.threads(wall);
        ProcessesUse {
            name: self.name.clone(),
            processes: narrow(self.most_processes),
            ended: narrow(all().filter(|process| process.ended).count()),
            cpu_s,
            user_s: ticks.map(|ticks| cpu_s * user as f64 / ticks),
            system_s: ticks.map(|ticks| cpu_s * system as f64 / ticks),
            run_queue_wait_s: self.waited().map(seconds),
            voluntary_switches: switches.map(|(voluntary, _)| voluntary),
            involuntary_switches: switches.map(|(_, involuntary)| involuntary),
            minor_faults: Some(all().map(|process| process.used().minor_faults).sum()),
            major_faults: Some(all().map(|process| process.used().major_faults).sum()),
            read_bytes: disk.map(|(read, _)| read),
            written_bytes: disk.map(|(_, written)| written),
            memory_start_bytes: Some(start_bytes),
            memory_end_bytes: Some(self.resident_bytes()),
            memory_peak_bytes: peak.filter(|_| !self.is_over()),
            threads: self.most_threads,
            descriptors: descriptors.filter(|_| !self.is_over()),
            busiest_thread_share: threads.first().map(|thread| thread.cpu_share),
            each: self.each(),
            busiest_threads: threads,
        }
    }

    fn each(&self) -> Vec<ServerProcess> {
        let mut each: Vec<ServerProcess> = self
            .members
            .values()
            .map(|process| ServerProcess {
                pid: process.pid,
                name: process.name.clone(),
                cpu_s: seconds(process.used().cpu),
                memory_bytes: (!process.ended).then_some(process.resident_bytes),
                threads: process.threads,
                ended: process.ended,
            })
            .collect();
        each.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s));
        each.truncate(LISTED_PROCESSES);
        each
    }

    fn threads(&self, wall: Nanos) -> Vec<ServerThread> {
        let mut threads = Vec::new();
        for process in self.members.values() {
            threads.extend(process.each_thread.iter().map(|(tid, thread)| (process, *tid, *thread)));
        }
        threads.sort_by_key(|(_, _, thread)| std::cmp::Reverse(thread.cpu()));
        threads.truncate(LISTED_THREADS);
        let name = |process: &Process, tid: u32| {
            let own = std::fs::read_to_string(format!("/proc/{}/task/{tid}/comm", process.pid));
            own.map_or_else(|_| process.name.clone(), |name| name.trim_end().to_owned())
        };
        threads
            .into_iter()
            .map(|(process, tid, thread)| ServerThread {
                pid: process.pid,
                tid,
                name: name(process, tid),
                cpu_s: seconds(thread.cpu()),
                cpu_share: (thread.cpu() as f64 / wall.max(1) as f64).min(1.0),
                run_queue_wait_s: Some(seconds(thread.waited())),
            })
            .collect()
    }

    fn living(&self) -> impl Iterator<Item = &Process> {
        self.members.values().filter(|process| !process.ended)
    }

    fn count(&mut self) {
        self.most_processes = self.most_processes.max(self.living().count());
        self.most_threads = self.most_threads.max(self.living().map(|process| process.threads).sum());
    }
}

/// `pid` and all that it descends from.
pub(super) fn ancestors(pid: u32, parents: &Parents) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| line.insert(*pid)) {
        next = parents.get(&pid).map(|stat| stat.parent);
    }
    line
}

/// To the nearest nanosecond; none below 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts to integers saturate")]
pub(super) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}

pub(super) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The sums of both, where all are known and there is one at all.
fn both(pairs: impl Iterator<Item = Option<(u64, u64)>>) -> Option<(u64, u64)> {
    pairs.reduce(|sum, pair| {
        let ((one, other), (more_of_one, more_of_other)) = sum.zip(pair)?;
        Some((one + more_of_one, other + more_of_other))
    })?
}
