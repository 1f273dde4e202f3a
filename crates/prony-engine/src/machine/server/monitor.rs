//! What is read when: at the ends of the measured part, and in between as often as the cost of it allows.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{ServerFoundBy, ServerSampling, ServerUse};

use super::answers::Answers;
use super::cgroup::Cgroup;
use super::counters::Counters;
use super::dependants::{self, Watched};
use super::figures::{self, Sample};
use super::found::Found;
use super::group::{self, Group, PROCESSES_MAX, Parents, parents};
use super::queue::Queue;
use crate::clock::{self, Nanos};
use crate::record::collect::Window;
use crate::sys;

/// Samples may use one part in so many of a core, and so may the search for children: 0.5 % together.
const COST_ONE_IN: u64 = 400;
/// Times between two samples: a fiftieth of the measured part, within these bounds.
const INTERVAL_MIN: Nanos = 50_000_000;
const INTERVAL_MAX: Nanos = 1_000_000_000;
const SAMPLES_PLANNED: u64 = 50;
/// Samples that are kept; when there are more, every other one is dropped and the interval doubled.
const SAMPLES_MAX: usize = 400;
/// How long before the measured part the server's processes are looked for again: those that the warm-up started.
const REFRESH_BEFORE: Nanos = 100_000_000;
/// New children are looked for this often at most.
const CHILDREN_EVERY: Nanos = 1_000_000_000;

/// One server, from before the load to its end.
pub(super) struct Monitor {
    window: Window,
    found_by: ServerFoundBy,
    own: Group,
    own_start_bytes: u64,
    dependants: Vec<Watched>,
    /// CPU time that each process of the machine had used when the measured part began.
    earlier: BTreeMap<u32, Nanos>,
    /// When the measured part began, in ticks since boot.
    begun_ticks: Option<u64>,
    queue: Option<Queue>,
    cgroup: Option<Cgroup>,
    counters: Counters,
    is_refreshed: bool,
    ended: bool,
    samples: Vec<Sample>,
    /// Absent where others count them.
    answers: Option<Answers>,
    interval: Nanos,
    next: Nanos,
    next_children: Nanos,
    /// As in /proc/loadavg: changes when a process or a thread starts.
    newest_pid: Option<u32>,
    sampled: u64,
    /// CPU time that all of it took, and the samples alone.
    cost: Nanos,
    samples_cost: Nanos,
}

impl Monitor {
    /// Of what was found, before the load.
    pub(super) fn new(found: Found) -> Self {
        let Found { by, group, listeners, is_unix, cgroup } = found;
        let queue = listeners.and_then(|listeners| Queue::new(listeners, is_unix));
        Self {
            window: Window { start: clock::NEVER, measure_from: clock::NEVER, measure_to: clock::NEVER },
            found_by: by,
            own: group,
            own_start_bytes: 0,
            dependants: Vec::new(),
            earlier: BTreeMap::new(),
            begun_ticks: None,
            queue,
            cgroup,
            counters: Counters::new(&BTreeSet::new()),
            is_refreshed: false,
            ended: false,
            samples: Vec::new(),
            answers: None,
            interval: INTERVAL_MIN,
            next: clock::NEVER,
            next_children: clock::NEVER,
            newest_pid: None,
            sampled: 0,
            cost: 0,
            samples_cost: 0,
        }
    }

    /// The load will have this window; `answers` is what counts them, unless others do.
    pub(super) fn start(&mut self, window: Window, answers: Option<Answers>) {
        self.window = window;
        self.answers = answers;
        // A run that ends with a number of requests may be short.
        if window.measure_to != clock::NEVER {
            let measured = window.measure_to.saturating_sub(window.measure_from);
            self.interval = (measured / SAMPLES_PLANNED).clamp(INTERVAL_MIN, INTERVAL_MAX);
        }
        self.next = window.measure_from + self.interval;
        self.next_children = window.measure_from + CHILDREN_EVERY;
    }

    /// So many answers came between two moments of the measured part.
    pub(super) fn count(&mut self, start: Nanos, end: Nanos, answers: u64) {
        if let Some(counted) = &mut self.answers {
            counted.add(start, end, answers);
        }
    }

    /// The first sample.
    pub(super) fn first_sample(&self) -> Option<Nanos> {
        Some(self.samples.first()?.at)
    }

    /// Whether the last sample was taken.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads what is due at `now`.
    pub(super) fn poll(&mut self, now: Nanos) {
        if self.ended {
            return;
        }
        if !self.is_refreshed && now.saturating_add(REFRESH_BEFORE) >= self.window.measure_from {
            self.refresh(&parents());
        }
        if self.begun_ticks.is_none() {
            if now >= self.window.measure_from {
                self.begin();
            }
        } else if now >= self.window.measure_to {
            self.end();
        } else if now >= self.next {
            if now >= self.next_children {
                self.find_children(now);
            }
            let before = clock::thread_cpu();
            self.sample();
            self.pace(clock::thread_cpu() - before);
            self.next = now + self.interval;
        }
    }

    /// Finds out again who belongs to the server, and whom it talks to.
    pub(super) fn refresh(&mut self, parents: &Parents) {
        self.is_refreshed = true;
        self.own.adopt(parents, None, &BTreeMap::new());
        dependants::find(&mut self.own, &mut self.dependants, parents, None, &BTreeMap::new());
        let tids = self.own.members.values().flat_map(|process| process.each_thread.keys().copied());
        self.counters = Counters::new(&tids.collect());
        if self.cgroup.is_none() {
            self.cgroup = self.own.pids().first().and_then(|pid| Cgroup::own(*pid, &self.own.pids()));
        }
        let others = parents.keys().filter(|pid| !self.own.members.contains_key(*pid));
        self.earlier = others.filter_map(|pid| Some((*pid, sys::process_cpu_ns(*pid)?))).collect();
    }

    /// The first sample.
    pub(super) fn begin(&mut self) {
        self.begun_ticks = Some(clock::since_boot() / group::TICK_NS);
        self.newest_pid = newest_pid();
        for watched in &mut self.dependants {
            watched.group.begin();
            watched.start_bytes = watched.group.resident_bytes();
        }
        self.counters.begin();
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.begin();
        }
        self.own.begin();
        self.own_start_bytes = self.own.resident_bytes();
        self.sample();
    }

    /// The last sample, and what only the end needs.
    fn end(&mut self) {
        self.ended = true;
        self.sample();
        // Threads of dependants are read at the ends only.
        self.dependants.iter_mut().for_each(|watched| watched.group.poll(true));
        let parents = parents();
        self.own.adopt(&parents, self.begun_ticks, &self.earlier);
        dependants::find(&mut self.own, &mut self.dependants, &parents, self.begun_ticks, &self.earlier);
        self.own.finish();
        self.dependants.iter_mut().for_each(|watched| watched.group.finish());
        // With those that were found only now.
        let dependants_cpu = self.dependants.iter().map(|watched| watched.group.cpu()).sum();
        if let Some(last) = self.samples.last_mut() {
            (last.cpu, last.dependants_cpu) = (self.own.cpu(), dependants_cpu);
        }
    }

    fn sample(&mut self) {
        let before = clock::now();
        self.own.poll(true);
        self.dependants.iter_mut().for_each(|watched| watched.group.poll(false));
        let at = before + (clock::now() - before) / 2;
        self.samples.push(Sample {
            at,
            cpu: self.own.cpu(),
            dependants_cpu: self.dependants.iter().map(|watched| watched.group.cpu()).sum(),
            waited: self.own.waited(),
            threads: self.own.thread_times(),
            instructions: self.counters.instructions(),
            resident_bytes: self.own.resident_bytes(),
        });
        self.sampled += 1;
        if let Some(queue) = &mut self.queue {
            queue.poll();
        }
        if self.samples.len() > SAMPLES_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval *= 2;
        }
    }

    /// Makes the interval so long that samples stay within half of the share of a core; the search for children has the
    /// other half.
    fn pace(&mut self, cost: Nanos) {
        self.cost += cost;
        self.samples_cost += cost;
        let mean = self.samples_cost / self.sampled.max(1);
        self.interval = self.interval.max(mean * COST_ONE_IN);
    }

    /// Processes that were started since the last time: a scan of all, so only when there are any.
    fn find_children(&mut self, now: Nanos) {
        let newest = newest_pid();
        let before = clock::thread_cpu();
        if newest.is_none() || newest != self.newest_pid {
            let parents = parents();
            self.own.adopt(&parents, self.begun_ticks, &self.earlier);
            for watched in &mut self.dependants {
                watched.group.adopt(&parents, self.begun_ticks, &self.earlier);
            }
            // A server that connects for each request may have had no connection at either end of the run.
            if self.dependants.is_empty() {
                let Self { own, dependants, begun_ticks, earlier, .. } = self;
                dependants::find(own, dependants, &parents, *begun_ticks, earlier);
            }
        }
        self.newest_pid = newest;
        let cost = clock::thread_cpu() - before;
        self.cost += cost;
        self.next_children = now + CHILDREN_EVERY.max(cost * COST_ONE_IN);
    }

    /// What the server used.
    pub(super) fn finish(mut self) -> Result<ServerUse, String> {
        if self.begun_ticks.is_none() {
            return Err("the run ended before its measured part".to_owned());
        }
        if !self.ended {
            self.end();
        }
        self.so_far()
    }

    /// What the server has used up to the last sample.
    pub(super) fn so_far(&self) -> Result<ServerUse, String> {
        let [first, .., last] = self.samples.as_slice() else {
            return Err("there are no two samples of it yet".to_owned());
        };
        let wall = last.at.saturating_sub(first.at);
        let mut found = ServerUse {
            found_by: self.found_by,
            cpus: self.own.cpus().unwrap_or(0),
            wall_s: group::seconds(wall),
            own: self.own.summary(wall, self.own_start_bytes),
            dependants: self
                .dependants
                .iter()
                .map(|watched| dependants::summary(watched, self.own.name(), wall))
                .collect(),
            listener: self.queue.as_ref().map(|queue| queue.seen).filter(|seen| seen.samples > 0),
            cgroup: self.cgroup.as_ref().map(Cgroup::summary),
            counters: self.counters.summary(self.own.cpu()),
            sampling: ServerSampling {
                samples: self.sampled,
                interval_ms: self.interval as f64 / 1e6,
                cpu_s: group::seconds(self.cost),
                cpu_share: self.cost as f64 / wall.max(1) as f64,
            },
            notes: self.notes(),
            ..ServerUse::default()
        };
        found.dependants.sort_by(|one, other| other.processes.cpu_s.total_cmp(&one.processes.cpu_s));
        figures::add(&mut found, &self.samples);
        if let Some(answers) = &self.answers {
            prony_summary::add_requests(&mut found, &|at_s| answers.until(first.at + group::nanos(at_s)));
        }
        Ok(found)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let living = || self.own.members.values().filter(|process| !process.ended);
        if self.own.is_over() {
            notes
                .push("the server ended during the run: its numbers are those of the last sample".to_owned());
        } else if living().any(|process| process.last_details().descriptors.is_none()) {
            notes.push(
                "descriptors, disk bytes and what the server talks to are visible to its own user and to root only \
                 (CAP_SYS_PTRACE)"
                    .to_owned(),
            );
        }
        if self.own.left_out > 0 {
            notes.push(format!("{} processes beyond {PROCESSES_MAX} were not measured", self.own.left_out));
        }
        notes.extend(self.cgroup.as_ref().and_then(Cgroup::shortcoming));
        notes
    }
}

/// The number that the newest process or thread of this machine got: the last word of /proc/loadavg.
fn newest_pid() -> Option<u32> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().last()?.parse().ok()
}
