//! What is on its way to clients that download it: all of it together has only so much memory, however many they are and
//! however slowly they read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::CapacityError;

/// Memory of all downloads together. One that needs more has all of it for itself.
const MEMORY_KIB: u32 = 48 << 10;
/// How long one waits for the others: as long as a client may take nothing of a response, and some more.
const PATIENCE: Duration = Duration::from_mins(1);

/// The memory of downloads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Downloads {
    free: Arc<Semaphore>,
}

/// Memory that was given out, until it is dropped.
#[derive(Debug)]
pub struct Reservation {
    _permit: OwnedSemaphorePermit,
}

impl Downloads {
    /// Waits until there is room for `bytes`.
    pub async fn reserve(&self, bytes: u64) -> Result<Reservation, CapacityError> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).clamp(1, MEMORY_KIB);
        let room = tokio::time::timeout(PATIENCE, Arc::clone(&self.free).acquire_many_owned(kib)).await;
        match room {
            Ok(Ok(permit)) => Ok(Reservation { _permit: permit }),
            _ => Err(CapacityError::Busy),
        }
    }
}

impl Default for Downloads {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(MEMORY_KIB as usize)) }
    }
}

impl Reservation {
    /// `bytes` that take this room until they are sent.
    pub fn filled(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Filled { bytes, _reservation: self })
    }
}

/// Bytes that hold their room.
struct Filled {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back_when_what_filled_it_is_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a thread");
        runtime.block_on(async {
            let downloads = Downloads::default();
            let reservation = downloads.reserve(10 << 20).await.expect("room");
            let free = |downloads: &Downloads| downloads.free.available_permits();
            assert_eq!(free(&downloads), (MEMORY_KIB as usize) - (10 << 10));
            let sent = reservation.filled(vec![1; 10 << 20]);
            let part = sent.slice(..10);
            drop(sent);
            assert_eq!(free(&downloads), (MEMORY_KIB as usize) - (10 << 10), "some of it is still there");
            drop(part);
            let all = downloads.reserve(u64::MAX).await.expect("all there is");
            assert_eq!(free(&downloads), 0);
            drop(all);
            assert_eq!(free(&downloads), MEMORY_KIB as usize);
        });
    }
}
