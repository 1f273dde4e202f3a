//! `bottleneck`: a server with a known limit, to check what a measurement reports about the limit.
//!
//! Every request burns CPU time, holds a lock that all workers share, or both. With [`Config::busy`] below
//! [`Config::workers`] only some of the workers take connections and the others stay idle.
//!
//! | settings | what limits it |
//! |---|---|
//! | `burn`, `busy` = `workers` >= cores | the CPU: all cores |
//! | `burn`, `busy` = 1 | the CPU of one thread; the others are idle |
//! | `hold` | waiting: requests pass through the lock one at a time, and the CPU is idle |

use std::convert::Infallible;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::StartError;
use crate::clock::{monotonic_ns, to_ns, wake_exactly};
use crate::counters::Counters;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::service::{self, Options, Owed, Request, Service, Then, Worker};
use crate::stop::Stop;
use crate::tls::Tls;

/// How long a head may take to come, before it is answered 408.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Steps of arithmetic between two readings of the CPU clock: about 2 µs, so that a reading, which is a system
/// call, costs little and the burn overshoots by little.
const STEPS_PER_READING: u64 = 4_000;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads. Default 1.
    pub workers: usize,
    /// How many of the threads take connections. Default all.
    pub busy: Option<usize>,
    /// CPU time that each request burns. Default none.
    pub burn: Duration,
    /// How long each request sleeps while it holds the lock that all workers share. Default none.
    pub hold: Duration,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            busy: None,
            burn: Duration::ZERO,
            hold: Duration::ZERO,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server.
pub fn start(config: Config) -> Result<Running, StartError> {
    let Config { listen: address, workers, allow_remote, burn, hold, .. } = config;
    service::check(workers, HEAD_TIMEOUT)?;
    let busy = config.busy.unwrap_or(workers);
    if !(1..=workers).contains(&busy) {
        return Err(StartError::Setting {
            setting: "busy",
            reason: "choose from 1 to the number of workers",
        });
    }
    let options = listen::Options { address, backlog: DEFAULT_BACKLOG, allow_remote, tls: config.tls };
    let (listeners, local_addr) = listen::many(&options, busy)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let lock = Arc::new(Mutex::new(()));
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    for listener in listeners {
        let service = Bottleneck { burn, hold, lock: Arc::clone(&lock), stop: Arc::clone(&stop) };
        let options = Options { keep_alive: true, head_timeout: HEAD_TIMEOUT, leave_with_client: false };
        let worker = Worker::new(service, options, listener, None, Arc::clone(&counters), Arc::clone(&stop))?;
        running.spawn("busy", move || {
            wake_exactly();
            worker.run();
        })?;
    }
    for _ in busy..workers {
        let stop = Arc::clone(&stop);
        running.spawn("idle", move || {
            stop.comes_before(u64::MAX);
        })?;
    }
    Ok(running)
}

/// What one worker does with a request.
#[derive(Debug)]
struct Bottleneck {
    burn: Duration,
    hold: Duration,
    lock: Arc<Mutex<()>>,
    stop: Arc<Stop>,
}

impl Service for Bottleneck {
    type Outcome = Infallible;
    type Stream = Infallible;

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Infallible> {
        burn(self.burn);
        if !self.hold.is_zero() {
            let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.stop.sleep_until(monotonic_ns().saturating_add(nanos(self.hold)));
        }
        request.owed.reply("200 OK", b"done\n").write(out);
        Then::Next
    }

    fn conclude(&mut self, outcome: Infallible, _owed: Owed, _out: &mut Vec<u8>) {
        match outcome {}
    }
}

/// Uses `time` of this thread's CPU time, as the kernel counts it.
fn burn(time: Duration) {
    if time.is_zero() {
        return;
    }
    let until_ns = thread_cpu_ns().saturating_add(nanos(time));
    while thread_cpu_ns() < until_ns {
        for step in 0..STEPS_PER_READING {
            black_box(step);
        }
    }
}

fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burn_uses_the_cpu_time_that_was_asked_for() {
        let before_ns = thread_cpu_ns();
        burn(Duration::from_millis(5));
        let used_ns = thread_cpu_ns() - before_ns;
        // CPU time of this thread alone: how busy the machine is makes no difference.
        assert!((5_000_000..6_000_000).contains(&used_ns), "{used_ns}");
        let before_ns = thread_cpu_ns();
        burn(Duration::ZERO);
        assert!(thread_cpu_ns() - before_ns < 1_000_000);
    }
}
