//! The numbers of a run that show what limited it, as shares and cores.

use super::users::{InCompany, Users};
use crate::{LatencySummary, Load, RunResult, ServerUse, SoloRequests};

/// CPU time of all cores of which their use is known well enough, seconds: a hundred ticks.
const BUSY_S_MIN: f64 = 1.0;

/// What the rules look at. A core is one CPU fully used over the measured part.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Answers per second.
    pub rate: f64,
    /// Answers in the measured part.
    pub answers: u64,
    /// Requests that failed as a share of those that ended.
    pub failed_share: f64,
    /// What was asked in an open loop.
    pub asked_rate: Option<f64>,
    /// Sessions per second that were asked for in an open loop, where the load is a scenario.
    pub asked_sessions: Option<f64>,
    /// Requests sent as a share of the intended ones.
    pub sent_share: f64,
    /// Users of a closed loop of sessions.
    pub users: Option<Users>,
    /// Requests that may be in flight at once: connections times pipelining; with users those that are, on average.
    pub in_flight: f64,
    /// Connections opened per request.
    pub opened_per_request: f64,
    /// Mean times, milliseconds.
    pub response_mean_ms: f64,
    pub service_mean_ms: f64,
    pub service_median_ms: f64,
    pub connect_mean_ms: f64,
    pub connect_max_ms: f64,
    /// Mean delay by the client itself: late sending and late reading.
    pub client_delay_ms: f64,
    /// Requests sent one at a time; with users those that were sent while no other was in flight.
    pub solo: Option<SoloRequests>,
    /// CPUs of this machine.
    pub cpus: f64,
    /// Cores in use by anything, and cores that the hypervisor took.
    pub used_cores: Option<f64>,
    pub stolen_cores: f64,
    /// Cores that the client's worker threads used.
    pub client_cores: f64,
    /// The busiest of them.
    pub client: Thread,
    /// The rate as a share of what the client can do, by its calibration.
    pub capacity_share: Option<f64>,
    /// Whether the target is on this machine.
    pub here: bool,
    /// Connection requests that listeners of this machine turned away.
    pub overflows: u64,
    /// Share of the time in which some task waited for a disk.
    pub io_pressure: Option<f64>,
    /// Bits per second as a share of what the link carries.
    pub link_share: Option<f64>,
    /// What the server used.
    pub server: Option<Server>,
}

/// Shares of one core.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Thread {
    /// CPU time.
    pub cpu: f64,
    /// Time ready to run, without a CPU.
    pub wait: f64,
}

/// What the hypervisor took from a thread for each unit of CPU time that it got. The kernel counts it neither as CPU
/// time of the thread nor as waiting.
#[derive(Debug, Clone, Copy)]
struct Stolen(f64);

impl Stolen {
    fn new(used_cores: Option<f64>, stolen_cores: f64) -> Self {
        Self(used_cores.filter(|used| *used > 0.0).map_or(0.0, |used| stolen_cores / used))
    }

    /// A thread of these shares, with what was stolen from it as waiting.
    fn thread(self, cpu: f64, wait: f64) -> Thread {
        Thread { cpu, wait: (wait + cpu * self.0).min((1.0 - cpu).max(0.0)) }
    }
}

impl Thread {
    /// Share of the time in which it had work to do.
    pub(super) fn demand(self) -> f64 {
        self.cpu + self.wait
    }
}

/// What the server used.
#[derive(Debug, Clone, Default)]
pub(super) struct Server {
    /// Cores used by its own processes.
    pub cores: f64,
    /// Cores that its threads were ready to use and did not get.
    pub wait_cores: f64,
    /// CPUs that it may run on.
    pub cpus: f64,
    /// Its threads, the busiest first; not all of them.
    pub busiest: Vec<Thread>,
    /// How many threads it has.
    pub threads: u32,
    /// Share of the time for which its CPU quota was used up.
    pub throttled_share: f64,
    /// Bytes read from and written to disks, per request.
    pub disk_bytes_per_request: f64,
    /// What it depends on, the busiest: name, cores, share of the busiest thread.
    pub dependant: Option<(String, f64, f64)>,
}

impl Server {
    /// The busiest thread.
    pub(super) fn top(&self) -> Thread {
        self.busiest.first().copied().unwrap_or_default()
    }

    /// Cores of the server and of what it depends on.
    pub(super) fn all_cores(&self) -> f64 {
        self.cores + self.dependant.as_ref().map_or(0.0, |(_, cores, _)| *cores)
    }
}

impl Facts {
    /// Of `result`.
    pub(super) fn new(result: &RunResult) -> Self {
        let wall_s = result.timing.measured_s.max(1e-9);
        let cpus = f64::from(result.environment.cpus_online.unwrap_or(result.environment.cpus).max(1));
        let latency = &result.latency;
        let (machine, requests) = (&result.machine, &result.requests);
        let intended = requests.intended.max(1) as f64;
        // Of a shorter time it is too rough to say what was full.
        let used_cores = machine.busy_share.filter(|_| wall_s * cpus >= BUSY_S_MIN).map(|share| share * cpus);
        let stolen_cores = machine.steal_share.unwrap_or_default() * cpus;
        let stolen = Stolen::new(used_cores, stolen_cores);
        let share = |time_s: f64| time_s / wall_s;
        let users = Users::of(result);
        let in_company = users.as_ref().and_then(|_| InCompany::of(result));
        let service_mean_ms =
            in_company.as_ref().map_or_else(|| mean(&latency.service), |company| company.mean_ms);
        let threads = result.client.threads.iter().map(|thread| {
            stolen.thread(share(thread.cpu_s), share(thread.run_queue_wait_s.unwrap_or_default()))
        });
        Self {
            rate: result.rate.answered_per_s,
            answers: requests.answered,
            failed_share: requests.failed as f64 / (requests.done + requests.failed).max(1) as f64,
            asked_rate: result.plan.mean_rate(wall_s).map(|rate| match &result.plan.scenario {
                None => rate,
                // What became due follows from the answers.
                Some(_) => intended / wall_s,
            }),
            asked_sessions: result
                .plan
                .mean_rate(wall_s)
                .filter(|_| result.plan.scenario.is_some() && result.plan.replay.is_none()),
            sent_share: requests.sent as f64 / intended,
            in_flight: match &in_company {
                Some(company) => result.rate.answered_per_s * company.mean_ms / 1e3,
                None => {
                    f64::from(result.plan.own_load().connections())
                        * f64::from(result.in_flight_per_connection())
                }
            },
            opened_per_request: result.connections.opened as f64 / requests.sent.max(1) as f64,
            response_mean_ms: mean(&latency.response),
            service_mean_ms,
            service_median_ms: match &in_company {
                // Steps differ: the median of all of them is no time of a request.
                Some(_) => service_mean_ms,
                None => median(&latency.service).unwrap_or(service_mean_ms),
            },
            connect_mean_ms: mean(&latency.connect),
            connect_max_ms: latency.connect.max_ms.unwrap_or_default(),
            client_delay_ms: mean(&latency.lag) + mean(&latency.arrival),
            solo: match &in_company {
                Some(company) => Some(company.alone),
                None => result.solo.filter(|_| matches!(result.plan.load, Load::Closed { .. })),
            },
            users,
            cpus,
            used_cores,
            stolen_cores,
            client_cores: result.client.cpu_s / wall_s,
            client: threads.max_by(|a, b| a.demand().total_cmp(&b.demand())).unwrap_or_default(),
            capacity_share: result.calibration.as_ref().map(|used| used.share),
            here: match &result.server {
                Some(server) => server.agent.is_none(),
                None => result.is_target_here(),
            },
            overflows: machine
                .listen_overflows
                .unwrap_or_default()
                .max(machine.listen_drops.unwrap_or_default()),
            io_pressure: machine.io_pressure_share,
            link_share: link_share(result),
            server: result.server.as_ref().map(|used| {
                // What is known to be stolen was stolen on the client's machine.
                let stolen = if used.agent.is_none() { stolen } else { Stolen(0.0) };
                server(used, stolen)
            }),
        }
    }

    /// Cores of the client's machine that neither client nor server used: other programs and the hypervisor. `None` where
    /// the use by a server on that machine is not known, and so is theirs.
    pub(super) fn foreign_cores(&self) -> Option<f64> {
        let server = match (&self.server, self.here) {
            (Some(server), true) => server.all_cores(),
            (_, false) => 0.0,
            (None, true) => return None,
        };
        Some((self.used_cores? - self.client_cores - server).max(0.0) + self.stolen_cores)
    }

    /// Requests in flight on average, by Little's law, as a share of those that may be: the others had no connection yet.
    pub(super) fn occupancy(&self) -> f64 {
        self.rate * self.response_mean_ms / 1e3 / self.in_flight.max(1.0)
    }

    /// Whether all cores of this machine were in use, or taken by the hypervisor.
    pub(super) fn is_full(&self) -> bool {
        const FULL_SHARE: f64 = 0.92;
        self.used_cores.is_some_and(|used| used + self.stolen_cores >= FULL_SHARE * self.cpus)
    }
}

fn server(used: &ServerUse, stolen: Stolen) -> Server {
    let wall_s = used.wall_s.max(1e-9);
    let own = &used.own;
    let busiest: Vec<Thread> = own
        .busiest_threads
        .iter()
        .map(|thread| stolen.thread(thread.cpu_share, thread.run_queue_wait_s.unwrap_or_default() / wall_s))
        .collect();
    let disk = own.read_bytes.unwrap_or_default() + own.written_bytes.unwrap_or_default();
    let dependant = used.dependants.first().map(|dependant| {
        let processes = &dependant.processes;
        let name = format!("{} at {}", processes.name, dependant.address);
        (name, processes.cpu_s / wall_s, processes.busiest_thread_share.unwrap_or_default())
    });
    Server {
        cores: own.cpu_s / wall_s,
        wait_cores: own.run_queue_wait_s.unwrap_or_default() / wall_s,
        cpus: f64::from(used.cpus.max(1)),
        busiest,
        threads: own.threads,
        throttled_share: used.cgroup.as_ref().and_then(|group| group.throttled_s).unwrap_or_default()
            / wall_s,
        disk_bytes_per_request: disk as f64 / used.requests.max(1) as f64,
        dependant,
    }
}

/// The busier direction's bits per second as a share of what the link carries.
fn link_share(result: &RunResult) -> Option<f64> {
    let mbit_per_s = f64::from(result.environment.link_mbit_per_s?);
    let bytes = result.bytes.received.max(result.bytes.sent);
    Some(bytes as f64 * 8.0 / result.timing.measured_s.max(1e-9) / (mbit_per_s * 1e6))
}

fn mean(summary: &LatencySummary) -> f64 {
    summary.mean_ms.unwrap_or_default()
}

fn median(summary: &LatencySummary) -> Option<f64> {
    summary.quantiles_ms.get("0.5").copied().flatten()
}
