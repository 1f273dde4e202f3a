//! Threads that do something again and again beside the pages, until the lab ends.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that does its work, waits as long as that says, and does it again. Dropping it ends it, after the work
/// that it is in the middle of.
pub(crate) struct Background {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Background {
    /// Starts it.
    pub(crate) fn start(
        name: &str,
        mut work: impl FnMut() -> Duration + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let mine = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !mine.waits(Duration::ZERO) {
                let pause = work();
                if mine.waits(pause) {
                    return;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It panics only by a fault of ours, which was told on stderr.
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Waits for `pause`, or until it is to end, which it says.
    fn waits(&self, pause: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, pause, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;

    #[test]
    fn it_works_until_it_is_dropped() {
        let count = Arc::new(AtomicU32::new(0));
        let (done, worked) = channel();
        let mine = Arc::clone(&count);
        let background = Background::start("test", move || {
            done.send(mine.fetch_add(1, Ordering::Relaxed)).expect("the test listens");
            if mine.load(Ordering::Relaxed) < 3 { Duration::ZERO } else { Duration::from_secs(3600) }
        })
        .expect("a thread");
        assert_eq!(worked.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        // Not after an hour.
        drop(background);
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}
