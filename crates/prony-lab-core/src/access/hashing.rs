//! The one thread that hashes passwords. However many come with one, 19 MiB and a core are all that hashing takes, and
//! a caller that has gone before its turn takes nothing.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::sync::oneshot;

/// Passwords that wait for their turn: some seconds' worth, which is as long as somebody waits for a page.
const WAITING_MAX: usize = 64;

/// Something to do with a password; it does nothing where nobody waits for its answer any more.
type Job = Box<dyn FnOnce() + Send>;

/// The way to that thread, which ends with it.
#[derive(Debug)]
pub struct Hashing {
    jobs: SyncSender<Job>,
}

/// Too many wait already.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

impl Hashing {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, waiting) = sync_channel(WAITING_MAX);
        std::thread::Builder::new().name("lab-passwords".to_owned()).spawn(move || work(&waiting))?;
        Ok(Self { jobs })
    }

    /// Hands `work` over. A caller that drops what this returns has hung up.
    pub fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, Busy> {
        let (done, answer) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !done.is_closed() {
                // The caller may have gone meanwhile.
                let _ = done.send(work());
            }
        });
        self.jobs.try_send(job).map_err(|_| Busy)?;
        Ok(answer)
    }
}

fn work(waiting: &Receiver<Job>) {
    while let Ok(job) = waiting.recv() {
        job();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn who_hung_up_is_not_hashed_and_the_queue_is_bounded() {
        let hashing = Hashing::start().expect("a thread");
        let (go, wait) = sync_channel::<()>(0);
        let first = hashing.submit(move || wait.recv()).expect("room");
        // What is begun has left the queue.
        while hashing.jobs.try_send(Box::new(|| {})).is_err() {}
        let done = Arc::new(AtomicUsize::new(0));
        let mut refused = 0;
        for _ in 0..300 {
            let done = Arc::clone(&done);
            match hashing.submit(move || done.fetch_add(1, Ordering::Relaxed)) {
                Ok(answer) => drop(answer),
                Err(Busy) => refused += 1,
            }
        }
        assert!(refused >= 300 - WAITING_MAX, "{refused}");
        go.send(()).expect("it waits");
        first.blocking_recv().expect("done").expect("it was let go");
        let mut last = hashing.submit(|| ());
        while last.is_err() {
            last = hashing.submit(|| ());
        }
        last.expect("room").blocking_recv().expect("done");
        assert_eq!(done.load(Ordering::Relaxed), 0, "nobody waited for these");
    }
}
