//! Checks URLs on a schedule.
//!
//! One thread knows when which is due, and has each check done by a thread of its own, some at once at most: a server
//! that doesn't answer must not make the others wait. Nothing is made up for: what was missed while the lab was down
//! was not seen. How long it is kept is `prony-lab-store/src/retention.rs`'s affair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::egress::{self, Look};
use prony_lab_model::clock;
use prony_lab_model::{Check, Monitor, MonitorId};
use prony_lab_store::background::Background;
use prony_lab_store::{Store, StoreError, monitors};

/// Checks at once: with the slowest of them 30 s each, 32 keep 200 monitors going once every three minutes.
const AT_ONCE: usize = 32;
/// How exactly the schedule is kept.
const TICK: Duration = Duration::from_millis(250);

/// Starts the checks.
pub fn start(store: Store) -> std::io::Result<Background> {
    let mut schedule = Schedule::new(store);
    Background::start("lab-monitors", move || {
        // An error is the store's; the next turn tries again.
        let _ = schedule.turn(clock::steady());
        TICK
    })
}

struct Schedule {
    store: Store,
    version: u64,
    monitors: Vec<Monitor>,
    /// When each is due, by the clock that never jumps.
    due: HashMap<MonitorId, Duration>,
    running: Running,
}

/// The monitors that are being checked.
type Running = Arc<Mutex<Vec<MonitorId>>>;

impl Schedule {
    fn new(store: Store) -> Self {
        let (monitors, due, running) = (Vec::new(), HashMap::new(), Running::default());
        Self { store, version: 0, monitors, due, running }
    }

    /// Has everything checked that is due `now`.
    fn turn(&mut self, now: Duration) -> Result<(), StoreError> {
        let version = self.store.version();
        if version != self.version {
            self.monitors = self.store.read_blocking(monitors::all)?;
            self.version = version;
            self.due.retain(|id, _| self.monitors.iter().any(|monitor| monitor.id == *id));
        }
        for monitor in &self.monitors {
            let due = self.due.entry(monitor.id).or_insert(now);
            if *due > now {
                continue;
            }
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if running.contains(&monitor.id) || running.len() >= AT_ONCE {
                continue;
            }
            // From when it was due, so that it doesn't drift; from now, where it was missed.
            *due = (*due + monitor.every()).max(now + monitor.every() / 2);
            running.push(monitor.id);
            drop(running);
            self.begin(monitor.clone());
        }
        Ok(())
    }

    fn begin(&self, monitor: Monitor) {
        let (store, running, id) = (self.store.clone(), Arc::clone(&self.running), monitor.id);
        let done = Arc::clone(&running);
        let started = std::thread::Builder::new().name("lab-look".to_owned()).spawn(move || {
            // What could not be kept was not seen.
            let _ = check_once(&store, &monitor)
                .and_then(|check| store.write_blocking(move |tx| monitors::record(tx, &monitor, &check)));
            running.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != id);
        });
        if started.is_err() {
            // The system gives no thread; it is tried again when it is due again.
            done.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != id);
        }
    }
}

/// Checks once.
fn check_once(store: &Store, monitor: &Monitor) -> Result<Check, StoreError> {
    let look = egress::look_of(store, monitor)?;
    let (at, start) = (clock::wall(), clock::steady());
    let Look { client, url, host } = match look {
        Ok(look) => look,
        Err(why) => {
            return Ok(Check { at, is_good: false, status: None, latency_us: None, error: Some(why) });
        }
    };
    let request = client.get(&url);
    let request = match host {
        Some(host) => request.header("host", host),
        None => request,
    };
    let answer = request.call();
    let latency = clock::steady().saturating_sub(start);
    let latency_us = u64::try_from(latency.as_micros()).ok();
    Ok(match answer {
        Ok(answer) => {
            let status = answer.status().as_u16();
            let is_good = monitor.is_good(status);
            Check { at, is_good, status: Some(status), latency_us, error: None }
        }
        Err(error) => {
            Check { at, is_good: false, status: None, latency_us: None, error: Some(egress::words(&error)) }
        }
    })
}

#[cfg(test)]
mod tests;
