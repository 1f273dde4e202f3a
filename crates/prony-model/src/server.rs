//! What the server used while it was measured: its CPU time, memory, files and queues, and what that comes to for
//! each request.
//!
//! Known where the server runs on the client's machine, or an agent on the server's host measures it. Every figure is of the measured part, every count a
//! difference between its two ends; `None` where the system does not say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Environment, Interval, MachineUse};

/// What the server used during the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerUse {
    /// The agent on the server's host that measured it; absent where the server is on the client's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How its processes were found.
    pub found_by: ServerFoundBy,
    /// CPUs that it may run on.
    pub cpus: u32,
    /// The time between the first sample and the last: the measured part, seconds.
    pub wall_s: f64,
    /// Requests that were answered in that time, with whatever status.
    pub requests: u64,
    /// The server's own processes, its children among them.
    pub own: ProcessesUse,
    /// Processes of this machine that the server talks to, one line for each program, the busiest first.
    #[serde(default)]
    pub dependants: Vec<Dependant>,
    /// CPU time of the server's own processes for each request, microseconds.
    pub cpu_per_request_us: Option<ServerFigure>,
    /// Requests per second of the server's CPU time.
    pub requests_per_cpu_s: Option<ServerFigure>,
    /// CPU time of the server and of its dependants for each request, microseconds; absent without dependants.
    #[serde(default)]
    pub cpu_with_dependants_per_request_us: Option<ServerFigure>,
    /// Instructions for each request, in user mode and in the kernel.
    #[serde(default)]
    pub instructions_per_request: Option<ServerFigure>,
    /// How fast its memory grew, bytes per hour; absent where the run is too short to tell.
    #[serde(default)]
    pub memory_growth_bytes_per_h: Option<MemoryGrowth>,
    /// Connections that waited to be accepted; absent where the listening socket is not visible.
    #[serde(default)]
    pub listener: Option<ListenerUse>,
    /// What its control group counted, where it has one of its own.
    #[serde(default)]
    pub cgroup: Option<CgroupUse>,
    /// Hardware counters.
    #[serde(default)]
    pub counters: CounterUse,
    /// The ten sections of the measured part that intervals come from; fewer where the run is too short.
    #[serde(default)]
    pub sections: Vec<ServerSection>,
    /// What sampling cost.
    #[serde(default)]
    pub sampling: ServerSampling,
    /// What is not known, and why: a permission that is missing, a process that ended.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What is known of the server's processes beforehand; where nothing is, they are found from the listening socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerHint {
    /// Numbers of processes; their children belong to them.
    pub pids: Vec<u32>,
    /// A control group, as a path in the file system or in the tree of groups.
    pub cgroup: Option<PathBuf>,
}

/// What an agent on the server's host found out. The requests in `server` are unknown there: a merge adds them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerObservation {
    /// What the server used.
    pub server: ServerUse,
    /// From the planned beginning of the measured part until the first sample, nanoseconds, by the host's clock.
    pub first_sample_ns: u64,
    /// The host.
    pub environment: Environment,
    /// What happened on the host during the measured part.
    pub machine: MachineUse,
}

/// How the server's processes were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ServerFoundBy {
    /// They hold the listening socket.
    #[default]
    ListeningSocket,
    /// Their process numbers were given.
    Pid,
    /// They are in the control group that was given.
    Cgroup,
}

/// What a set of processes used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessesUse {
    /// The program's name, as the kernel has it.
    pub name: String,
    /// Processes at the end of the measured part, or the most at one moment where some ended.
    pub processes: u32,
    /// Processes that ended within the measured part.
    #[serde(default)]
    pub ended: u32,
    /// CPU time, seconds: to the nanosecond, children that ended included.
    pub cpu_s: f64,
    /// The part of it in user mode; the split is as coarse as the kernel's tick.
    pub user_s: Option<f64>,
    /// The part of it in the kernel.
    pub system_s: Option<f64>,
    /// Time that their threads were ready and waited for a CPU, all threads together, seconds.
    pub run_queue_wait_s: Option<f64>,
    /// Times that a thread gave its CPU up to wait for something.
    pub voluntary_switches: Option<u64>,
    /// Times that a thread lost its CPU to another.
    pub involuntary_switches: Option<u64>,
    /// Page faults without a disk.
    pub minor_faults: Option<u64>,
    /// Page faults that read from a disk.
    pub major_faults: Option<u64>,
    /// Bytes read from disks.
    pub read_bytes: Option<u64>,
    /// Bytes written to disks.
    pub written_bytes: Option<u64>,
    /// Resident memory at the beginning, bytes. Memory that processes share counts in each of them.
    pub memory_start_bytes: Option<u64>,
    /// At the end.
    pub memory_end_bytes: Option<u64>,
    /// The greatest since the processes began, as the kernel keeps it for each of them.
    pub memory_peak_bytes: Option<u64>,
    /// Most threads at one moment.
    pub threads: u32,
    /// Most open descriptors at one moment.
    pub descriptors: Option<u64>,
    /// CPU time of the busiest thread as a share of one core over the measured part, 0..1.
    pub busiest_thread_share: Option<f64>,
    /// Each process, the busiest first; 16 at most.
    #[serde(default)]
    pub each: Vec<ServerProcess>,
    /// Each thread, the busiest first; 32 at most.
    #[serde(default)]
    pub busiest_threads: Vec<ServerThread>,
}

/// One process of the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// CPU time, seconds.
    pub cpu_s: f64,
    /// Resident memory at the end, bytes.
    pub memory_bytes: Option<u64>,
    /// Its threads at the end.
    pub threads: u32,
    /// It ended within the measured part.
    #[serde(default)]
    pub ended: bool,
}

/// One thread of the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerThread {
    /// The number of its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// CPU time, seconds.
    pub cpu_s: f64,
    /// That as a share of one core over the measured part, 0..1.
    pub cpu_share: f64,
    /// Time that it was ready and waited for a CPU, seconds.
    pub run_queue_wait_s: Option<f64>,
}

/// A program of this machine that the server talks to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Dependant {
    /// Where the server reaches it: `127.0.0.1:5432`, or the path of a Unix socket.
    pub address: String,
    /// It speaks the target's own protocol for it: the target is a proxy, and this is the server behind it.
    pub is_backend: bool,
    /// What its processes used.
    pub processes: ProcessesUse,
}

/// A figure over the measured part, with its interval over the sections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerFigure {
    /// Over the whole measured part.
    pub value: f64,
    /// 95 % interval; null where there are no ten sections.
    pub interval: Option<Interval>,
    /// Requests that it rests on.
    pub requests: u64,
}

/// How the server's memory grew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryGrowth {
    /// Bytes per hour at this load.
    pub value: f64,
    /// 95 % interval.
    pub interval: Option<Interval>,
    /// Samples of the memory that it rests on.
    pub samples: u64,
    /// Bytes for each request.
    pub bytes_per_request: f64,
    /// It grew all along, by more than chance and by more than a server that settles.
    pub is_leak: bool,
}

/// The queue of connections that the server had not accepted yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListenerUse {
    /// Most that waited at one moment of looking.
    pub waiting_max: u32,
    /// So many may wait.
    pub backlog: u32,
    /// Moments of looking.
    pub samples: u64,
}

/// What the server's control group counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupUse {
    /// Its path, as in /proc/PID/cgroup.
    pub path: String,
    /// CPU time, seconds.
    pub cpu_s: Option<f64>,
    /// In user mode.
    pub user_s: Option<f64>,
    /// In the kernel.
    pub system_s: Option<f64>,
    /// Times that its CPU quota ran out.
    pub throttled: Option<u64>,
    /// For how long, seconds.
    pub throttled_s: Option<f64>,
    /// Greatest memory, page cache included, since the group began, bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Memory at the end, bytes.
    pub memory_end_bytes: Option<u64>,
    /// Bytes read from disks.
    pub read_bytes: Option<u64>,
    /// Bytes written to disks.
    pub written_bytes: Option<u64>,
}

/// The server in the CPU's own counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CounterUse {
    /// Instructions.
    pub instructions: Option<u64>,
    /// Cycles.
    pub cycles: Option<u64>,
    /// Why there are none.
    pub absent_because: Option<String>,
}

/// One section of the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerSection {
    /// From the beginning of the measured part, seconds.
    pub start_s: f64,
    /// Its length, seconds.
    pub wall_s: f64,
    /// Requests that were answered in it; between two slices, by the time.
    pub requests: f64,
    /// CPU time of the server's own processes, seconds.
    pub cpu_s: f64,
    /// CPU time of its dependants, seconds.
    pub dependants_cpu_s: f64,
    /// Time that its threads waited for a CPU, seconds.
    pub run_queue_wait_s: Option<f64>,
    /// Greatest share of one core that a thread used in it, 0..1.
    pub busiest_thread_share: Option<f64>,
    /// Instructions.
    pub instructions: Option<u64>,
    /// Resident memory at its end, bytes.
    pub memory_bytes: Option<u64>,
}

/// What sampling the server cost the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerSampling {
    /// Samples of everything.
    pub samples: u64,
    /// The time between two of them at the end, milliseconds: it grows with the number of threads.
    pub interval_ms: f64,
    /// CPU time of the collector's thread for it, seconds.
    pub cpu_s: f64,
    /// That as a share of one core, 0..1.
    pub cpu_share: f64,
}
