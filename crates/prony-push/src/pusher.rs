//! The queue of one endpoint, and the thread that empties it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use prony_model::RunResult;

use crate::clock::monotonic;
use crate::endpoint::{Endpoint, Labels, Protocol};
use crate::exchange::{Exchange, Failure};
use crate::exponential::HistogramForm;
use crate::figures::moments;
use crate::{otlp, remote_write};

/// Results that wait for an endpoint that is slower than they come.
pub const QUEUE_MAX: usize = 8;
/// How long one push may take. A receiver that needs longer would fall behind anyway.
const PUSH: Duration = Duration::from_secs(2);
/// Between two attempts to push the final values.
const RETRY: Duration = Duration::from_millis(250);

/// What became of the pushes to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The endpoint, without secrets.
    pub endpoint: String,
    /// How it was sent.
    pub protocol: Protocol,
    /// Pushes that arrived.
    pub arrived: u64,
    /// Pushes that did not: refused, or without an answer in time.
    pub failed: u64,
    /// Those that were not tried, because the queue was full, or the run over.
    pub dropped: u64,
    /// Why the last one that failed did.
    pub last_failure: Option<String>,
    /// Whether the final values arrived.
    pub is_complete: bool,
}

/// Pushes results to one endpoint, on a thread of its own.
pub struct Pusher {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    queue: VecDeque<Arc<RunResult>>,
    delivery: Delivery,
    /// The first failure, until somebody was warned.
    warning: Option<String>,
    /// When the final values have to have arrived, once they are in the queue.
    deadline: Option<Duration>,
    /// Whether the thread has taken a push and not yet counted it.
    is_pushing: bool,
    is_over: bool,
}

impl Pusher {
    /// Starts the thread. Every push has `labels`.
    pub fn start(endpoint: Endpoint, labels: Labels, form: HistogramForm) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(&endpoint));
        let pushed = Arc::clone(&shared);
        thread::Builder::new().name("push".to_owned()).spawn(move || {
            let mut writer = Writer { protocol: endpoint.protocol, labels, form, last_ms: 0 };
            pushed.run(&Exchange::new(endpoint), &mut writer);
        })?;
        Ok(Self { shared })
    }

    /// Queues `result`. Never waits for the endpoint: where the queue is full, the oldest is dropped.
    pub fn push(&self, result: Arc<RunResult>) {
        let mut state = self.shared.lock();
        if state.queue.len() == QUEUE_MAX {
            state.queue.pop_front();
            state.delivery.dropped += 1;
            state.warning_once("the receiver is slower than the pushes come");
        }
        state.queue.push_back(result);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// The first failure, once.
    pub fn take_warning(&self) -> Option<String> {
        let mut state = self.shared.lock();
        // An empty text stays, so that no second one comes.
        state.warning.as_mut().map(std::mem::take).filter(|warning| !warning.is_empty())
    }

    /// Pushes the final values, tries again until they arrive, for as long as `wait` at most, and returns what became of
    /// all pushes. What still waits is dropped: the final values have all of its counts.
    pub fn finish(self, result: Arc<RunResult>, wait: Duration) -> Delivery {
        let mut state = self.shared.lock();
        state.delivery.dropped += state.queue.len() as u64;
        state.queue.clear();
        state.queue.push_back(result);
        state.deadline = Some(monotonic() + wait);
        self.shared.changed.notify_all();
        let over = self.shared.changed.wait_timeout_while(state, wait, |state| !state.is_over);
        let (mut state, _) = over.unwrap_or_else(PoisonError::into_inner);
        if !state.is_over {
            // The thread is in the middle of a push, of the final values or of one before, or had no core yet to take one.
            // It ends with the process.
            state.delivery.failed += u64::from(state.is_pushing);
            state.delivery.dropped += state.queue.len() as u64;
            state.delivery.last_failure.get_or_insert_with(|| "no answer in time".to_owned());
        }
        state.delivery.clone()
    }
}

impl State {
    fn warning_once(&mut self, why: &str) {
        let delivery = &self.delivery;
        self.warning.get_or_insert_with(|| {
            format!("{} to {} failed ({why}); the run goes on", delivery.protocol.name(), delivery.endpoint)
        });
    }

    fn failed(&mut self, failure: Failure) {
        self.warning_once(&failure.why);
        self.delivery.failed += 1;
        self.delivery.last_failure = Some(failure.why);
    }
}

impl Shared {
    fn new(endpoint: &Endpoint) -> Self {
        let delivery = Delivery {
            endpoint: endpoint.shown().to_owned(),
            protocol: endpoint.protocol,
            arrived: 0,
            failed: 0,
            dropped: 0,
            last_failure: None,
            is_complete: false,
        };
        let state = State {
            queue: VecDeque::with_capacity(QUEUE_MAX),
            delivery,
            warning: None,
            deadline: None,
            is_pushing: false,
            is_over: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Pushes what comes until the final values were pushed.
    fn run(&self, exchange: &Exchange, writer: &mut Writer) {
        loop {
            let state = self.lock();
            let waited = self.changed.wait_while(state, |state| state.queue.is_empty());
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            let Some(result) = state.queue.pop_front() else { continue };
            state.is_pushing = true;
            let deadline = state.deadline;
            drop(state);
            let body = writer.body(&result);
            drop(result);
            let outcome = match deadline {
                None => exchange.send(&body, PUSH),
                Some(deadline) => send_until(exchange, &body, deadline),
            };
            let mut state = self.lock();
            state.is_pushing = false;
            let has_arrived = outcome.is_ok();
            match outcome {
                Ok(()) => state.delivery.arrived += 1,
                Err(failure) => state.failed(failure),
            }
            if deadline.is_some() {
                state.delivery.is_complete = has_arrived;
                state.is_over = true;
                self.changed.notify_all();
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends `body` until it arrives, is refused for good, or `deadline` has come.
fn send_until(exchange: &Exchange, body: &[u8], deadline: Duration) -> Result<(), Failure> {
    loop {
        let left = deadline.saturating_sub(monotonic());
        let outcome = exchange.send(body, left.clamp(RETRY, PUSH));
        let is_passing = outcome.as_ref().is_err_and(|failure| failure.is_passing);
        if !is_passing || monotonic() + RETRY >= deadline {
            return outcome;
        }
        thread::sleep(RETRY);
    }
}

/// Writes bodies.
struct Writer {
    protocol: Protocol,
    labels: Labels,
    form: HistogramForm,
    /// Of the last body, milliseconds since 1970: receivers take each moment once.
    last_ms: u64,
}

impl Writer {
    fn body(&mut self, result: &RunResult) -> Vec<u8> {
        let moment = u64::try_from(moments(result).1.as_millis()).unwrap_or(u64::MAX);
        self.last_ms = moment.max(self.last_ms + 1);
        match self.protocol {
            Protocol::RemoteWrite => remote_write::body(result, &self.labels, self.form, self.last_ms),
            Protocol::Otlp => otlp::body(result, &self.labels, self.form, self.last_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a busy machine, a thread may get its first core after the run is over.
    #[test]
    fn a_thread_that_never_ran_has_dropped_all() {
        let endpoint = Endpoint::new(Protocol::Otlp, "http://127.0.0.1:9/", Vec::new()).expect("an endpoint");
        let pusher = Pusher { shared: Arc::new(Shared::new(&endpoint)) };
        let stored = prony_model::from_json(include_str!("../../prony/tests/it/stored.json"))
            .expect("a stored result");
        let pushed = Arc::new(stored);
        let pushes = QUEUE_MAX as u64 + 3;
        for _ in 0..pushes {
            pusher.push(Arc::clone(&pushed));
        }
        let delivery = pusher.finish(pushed, Duration::from_millis(1));
        assert_eq!((delivery.arrived, delivery.failed, delivery.dropped), (0, 0, pushes + 1), "{delivery:?}");
        assert_eq!(delivery.last_failure.as_deref(), Some("no answer in time"));
    }
}
