//! Who used the cores of the client's machine.

use crate::RunResult;

/// A tick, in which the kernel counts what CPUs do: what is known of a CPU is so exact at each end, seconds.
const TICK_S: f64 = 0.01;

/// Cores in use on average over the measured part; one core is one CPU fully used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CoreUse {
    /// By the client's worker threads.
    pub client: f64,
    /// By the server, with what it depends on; 0 where it is on another machine.
    pub server: f64,
    /// By other programs and the kernel, and what the hypervisor took: at most, as exactly as the kernel counts.
    pub others: f64,
}

impl CoreUse {
    /// The part of a worker thread's waiting for a CPU that others caused (0..1): a thread waits for the thread that is running,
    /// so each has a part in it by the cores that it used. `threads` is the number of worker threads, which make each
    /// other wait, too.
    pub fn share_of_others(&self, threads: u32) -> f64 {
        let siblings = self.client * (1.0 - 1.0 / f64::from(threads.max(1)));
        let rivals = self.others + self.server + siblings;
        if rivals > 0.0 { self.others / rivals } else { 1.0 }
    }
}

impl RunResult {
    /// Who used the cores of the client's machine. `None` where the kernel doesn't say; where the client may use only
    /// some of them, since it doesn't say who used those; and where the server is on this machine and was not found,
    /// since its use can't be separated from that of others then.
    pub fn core_use(&self) -> Option<CoreUse> {
        let machine = &self.environment;
        let cpus = f64::from(machine.cpus_online.filter(|online| *online == machine.cpus)?);
        let server = match &self.server {
            Some(used) if used.agent.is_none() => {
                let dependants: f64 = used.dependants.iter().map(|one| one.processes.cpu_s).sum();
                (used.own.cpu_s + dependants) / used.wall_s.max(1e-9)
            }
            None if self.is_target_here() => return None,
            _ => 0.0,
        };
        let client = self.client.cpu_s / self.timing.measured_s.max(1e-9);
        let stolen = self.machine.steal_share.unwrap_or_default() * cpus;
        let resolution = 2.0 * TICK_S / self.timing.measured_s.max(TICK_S) * cpus;
        let others = (self.machine.busy_share? * cpus - client - server).max(0.0) + resolution + stolen;
        Some(CoreUse { client, server, others })
    }

    /// Whether the target is on this machine: each of its addresses is a loopback one, or it is a Unix socket.
    pub fn is_target_here(&self) -> bool {
        let loopback = |address: &String| {
            let address = address.parse::<std::net::SocketAddr>();
            address.is_ok_and(|address| address.ip().to_canonical().is_loopback())
        };
        self.plan.target.unix.is_some() || (!self.addresses.is_empty() && self.addresses.iter().all(loopback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_a_worker_wait() {
        let check = |client: f64, server: f64, others: f64, threads: u32, expected: f64| {
            let share = CoreUse { client, server, others }.share_of_others(threads);
            assert!((share - expected).abs() < 1e-9, "{share}, not {expected}");
        };
        check(0.9, 0.9, 0.1, 1, 0.1);
        check(0.9, 0.0, 0.1, 1, 1.0);
        check(0.9, 0.0, 0.0, 1, 1.0);
        check(1.0, 0.25, 0.25, 2, 0.25);
    }
}
