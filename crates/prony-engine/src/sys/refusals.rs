//! Calls into the kernel that it refuses for now: how often in a row they may fail before that ends the run.

use std::io;
use std::time::Duration;

/// Refusals in a row that pass.
const REFUSALS_MAX: u32 = 1_000;
/// Pause after a refusal for want of memory, which takes time to become free: all of them take a second.
const MEMORY_PAUSE: Duration = Duration::from_millis(1);

/// Counts refusals in a row.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    in_a_row: u32,
}

impl Refusals {
    /// A call succeeded.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.in_a_row = 0;
    }

    /// A call failed with `error`. Returns it unless it may pass: a signal came, the completion queue must be emptied
    /// first, or the kernel has no memory now.
    #[cold]
    pub(super) fn note(&mut self, error: io::Error) -> io::Result<()> {
        let pause = match error.raw_os_error() {
            Some(libc::EINTR | libc::EBUSY) => None,
            Some(libc::EAGAIN | libc::ENOMEM) => Some(MEMORY_PAUSE),
            _ => return Err(error),
        };
        self.in_a_row += 1;
        if self.in_a_row > REFUSALS_MAX {
            return Err(error);
        }
        if let Some(pause) = pause {
            std::thread::sleep(pause);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_passes_unless_it_comes_again_and_again() {
        let error = io::Error::from_raw_os_error;
        for code in [libc::EINTR, libc::EBUSY] {
            let mut refusals = Refusals::default();
            for round in 0..3 {
                for _ in 0..REFUSALS_MAX {
                    assert!(refusals.note(error(code)).is_ok(), "round {round}");
                }
                refusals.reset();
            }
            let passed = (0..2 * REFUSALS_MAX).take_while(|_| refusals.note(error(code)).is_ok()).count();
            assert_eq!(passed, REFUSALS_MAX as usize);
        }
    }

    #[test]
    fn want_of_memory_passes_and_other_errors_do_not() {
        let mut refusals = Refusals { in_a_row: REFUSALS_MAX - 2 };
        assert!(refusals.note(io::Error::from_raw_os_error(libc::EAGAIN)).is_ok(), "it ended runs");
        assert!(
            refusals.note(io::Error::from_raw_os_error(libc::ENOMEM)).is_ok(),
            "a full queue spun for ever"
        );
        let last = refusals.note(io::Error::from_raw_os_error(libc::ENOMEM)).expect_err("it is bounded");
        assert_eq!(last.raw_os_error(), Some(libc::ENOMEM));
        let other = Refusals::default().note(io::Error::from_raw_os_error(libc::EBADF));
        assert!(other.is_err());
    }
}
