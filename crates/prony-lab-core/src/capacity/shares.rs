//! What each user may have of something there is only so much of.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::CapacityError;

/// Counts what users have, all together and each. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shares {
    taken: Arc<Mutex<Taken>>,
    all_max: u32,
    user_max: u32,
}

#[derive(Debug, Default)]
struct Taken {
    all: u32,
    of: HashMap<String, u32>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    user: String,
}

impl Shares {
    /// So many of all users together, and of each.
    pub fn new(all_max: u32, user_max: u32) -> Self {
        Self { taken: Arc::default(), all_max, user_max }
    }

    /// One more for `user`, if there is one.
    pub fn take(&self, user: &str) -> Option<Share> {
        let mut taken = self.taken();
        if taken.all >= self.all_max || taken.of.get(user).is_some_and(|count| *count >= self.user_max) {
            return None;
        }
        taken.all += 1;
        *taken.of.entry(user.to_owned()).or_default() += 1;
        drop(taken);
        Some(Share { shares: self.clone(), user: user.to_owned() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.all -= 1;
        if let Some(count) = taken.of.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                taken.of.remove(&self.user);
            }
        }
    }
}

/// Pages of one user that are drawn at once: more only wait for one another, and everybody else for them.
const AT_ONCE: usize = 16;
/// Requests of one user that wait for their turn.
const WAITING_MAX: usize = 512;

/// Whose turn it is: each user has a queue of their own, so that nobody waits for another's. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    users: Arc<Mutex<HashMap<String, Arc<Queue>>>>,
}

#[derive(Debug)]
struct Queue {
    free: Arc<Semaphore>,
    /// Those who wait and those whose turn it is.
    there: AtomicUsize,
}

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _place: Place,
    _permit: OwnedSemaphorePermit,
}

/// A place in a queue.
#[derive(Debug)]
struct Place {
    turns: Turns,
    queue: Arc<Queue>,
    user: String,
}

impl Turns {
    /// Waits for the turn of `user`.
    pub async fn wait(&self, user: &str) -> Result<Turn, CapacityError> {
        let place = self.place(user)?;
        let permit = Arc::clone(&place.queue.free).acquire_owned().await.map_err(|_| CapacityError::Busy)?;
        Ok(Turn { _place: place, _permit: permit })
    }

    fn place(&self, user: &str) -> Result<Place, CapacityError> {
        let mut users = self.users();
        let queue = users.entry(user.to_owned()).or_insert_with(|| {
            Arc::new(Queue { free: Arc::new(Semaphore::new(AT_ONCE)), there: AtomicUsize::new(0) })
        });
        if queue.there.load(Ordering::Relaxed) >= AT_ONCE + WAITING_MAX {
            return Err(CapacityError::Busy);
        }
        queue.there.fetch_add(1, Ordering::Relaxed);
        Ok(Place { turns: self.clone(), queue: Arc::clone(queue), user: user.to_owned() })
    }

    fn users(&self) -> MutexGuard<'_, HashMap<String, Arc<Queue>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut users = self.turns.users();
        if self.queue.there.fetch_sub(1, Ordering::Relaxed) == 1 {
            users.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_everything() {
        let shares = Shares::new(5, 2);
        let first = shares.take("ada").expect("room");
        let second = shares.take("ada").expect("room");
        assert!(shares.take("ada").is_none(), "two of one user");
        let others: Vec<_> = ["ben", "cleo", "dora"].iter().map(|user| shares.take(user)).collect();
        assert!(others.iter().all(Option::is_some));
        assert!(shares.take("eve").is_none(), "five in all");
        drop((first, second, others));
        let taken = shares.taken();
        assert_eq!((taken.all, taken.of.len()), (0, 0));
    }

    #[test]
    fn a_flood_of_one_user_holds_up_nobody_else() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a thread");
        runtime.block_on(async {
            let turns = Turns::default();
            let mut running = Vec::new();
            for _ in 0..AT_ONCE {
                running.push(turns.wait("ada").await.expect("her turn"));
            }
            let waiting: Vec<_> = (0..WAITING_MAX).map(|_| turns.place("ada").expect("a place")).collect();
            assert!(turns.place("ada").is_err(), "there are too many of hers");
            let other = turns.wait("ben").await.expect("his turn");
            drop((running, waiting, other));
            assert!(turns.users().is_empty());
        });
    }
}
