//! Threads that do something again and again beside the pages, until the lab ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the end of a lab waits for what a thread is in the middle of. What takes longer is a stranger's server that
/// doesn't answer; it ends with the process, and is done again.
const PATIENCE: Duration = Duration::from_secs(2);

/// How far a thread gives way to others (nice(2)): it gets a third of what they get.
const NICE: i32 = 5;

/// A thread that does its work, waits as long as that returns, and does it again. Dropping it ends it.
pub struct Background {
    stop: Arc<Stop>,
    /// Says nothing; it breaks off when the thread has ended.
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Background {
    /// Starts it, to give way to pages and measurements: nobody waits for what it does.
    pub fn start_aside(
        name: &str,
        mut work: impl FnMut() -> Duration + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut is_aside = false;
        Self::start(name, move || {
            if !is_aside {
                is_aside = true;
                // Of this thread alone; where it is refused, all is as without.
                let _ = rustix::process::setpriority_process(None, NICE);
            }
            work()
        })
    }

    /// Starts it.
    pub fn start(name: &str, mut work: impl FnMut() -> Duration + Send + 'static) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let mine = Arc::clone(&stop);
        let (alive, ended) = sync_channel::<()>(1);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _alive = alive;
            while !mine.waits(Duration::ZERO) {
                let pause = work();
                if mine.waits(pause) {
                    return;
                }
            }
        })?;
        Ok(Self { stop, ended, thread: Some(thread) })
    }

    /// Has it end with what it is doing, without waiting for that.
    pub fn finish(&self) {
        *self.stop.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.finish();
        let has_ended = self.ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected);
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            // It panics only by a fault of ours, which was reported on stderr.
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Waits for `pause`, or until it is to end; true if it is.
    fn waits(&self, pause: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.changed.wait_timeout_while(is_set, pause, |is_set| !*is_set);
        *result.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_works_until_it_is_dropped() {
        let count = Arc::new(AtomicU32::new(0));
        let (done, worked) = sync_channel(8);
        let mine = Arc::clone(&count);
        let background = Background::start("test", move || {
            done.send(mine.fetch_add(1, Ordering::Relaxed)).expect("the test listens");
            if mine.load(Ordering::Relaxed) < 3 { Duration::ZERO } else { Duration::from_hours(1) }
        })
        .expect("a thread");
        assert_eq!(worked.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        // Not after an hour.
        drop(background);
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}
