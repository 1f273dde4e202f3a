//! The call that hands requests to a ring and waits for completions.
//!
//! Made here and not by the io-uring crate, which forgets a ring's registered number with each of its short-lived
//! submitters and has no absolute timeouts.

use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use io_uring::{EnterFlags, IoUring};

use crate::clock::{self, NEVER, Nanos};

/// IORING_REGISTER_RING_FDS of the kernel's interface.
const REGISTER_RING_FDS: libc::c_uint = 20;
/// IORING_UNREGISTER_RING_FDS.
const UNREGISTER_RING_FDS: libc::c_uint = 21;
/// Asks for any free number.
const ANY: u32 = u32::MAX;

/// `struct io_uring_rsrc_update` of the kernel's interface.
#[repr(C)]
struct Registration {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg` of the kernel's interface.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_bytes: u32,
    min_wait_us: u32,
    time: *const KernelTime,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct KernelTime {
    seconds: i64,
    nanoseconds: i64,
}

/// How a ring is entered.
pub(super) struct Entrance {
    /// The ring's registered number, or its descriptor where the kernel does not register it.
    ring: RawFd,
    flags: EnterFlags,
    /// Whether timeouts are moments of CLOCK_MONOTONIC (Linux 6.12), not lengths of time from the call on.
    absolute: bool,
}

impl Entrance {
    /// For `ring`, on the thread that will enter it.
    pub(super) fn new(ring: &IoUring) -> Self {
        let mut entrance = match register(ring) {
            // Spares each call the look-up of a descriptor that other threads share.
            Ok(number) => Self { ring: number, flags: EnterFlags::REGISTERED_RING, absolute: false },
            Err(_) => Self { ring: ring.as_raw_fd(), flags: EnterFlags::empty(), absolute: false },
        };
        // The kernel takes such moments for those of its own clock, not for those of this process.
        if has_shifted_clock() {
            return entrance;
        }
        // A moment that has passed: a kernel that knows such moments says that time is up.
        entrance.absolute = true;
        let answer = entrance.wait(0, 1);
        entrance.absolute = answer.is_err_and(|error| error.raw_os_error() == Some(libc::ETIME));
        entrance
    }

    /// Hands over the first `count` requests of the submission queue without waiting.
    pub(super) fn submit(&self, count: u32) -> io::Result<usize> {
        // SAFETY: no argument; the flags match that.
        unsafe { self.call(count, 0, EnterFlags::empty(), std::ptr::null(), 0) }
    }

    /// Hands over the first `count` requests of the submission queue and waits until something completes or `until`
    /// has come.
    pub(super) fn wait(&self, count: u32, until: Nanos) -> io::Result<usize> {
        if until == NEVER {
            // SAFETY: no argument; the flags match that.
            return unsafe { self.call(count, 1, EnterFlags::GETEVENTS, std::ptr::null(), 0) };
        }
        let mut flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let time = if self.absolute {
            flags |= EnterFlags::ABS_TIMER;
            until
        } else {
            until.saturating_sub(clock::now())
        };
        let time = KernelTime {
            seconds: (time / 1_000_000_000).cast_signed(),
            nanoseconds: (time % 1_000_000_000).cast_signed(),
        };
        let argument =
            WaitArgument { signal_mask: 0, signal_mask_bytes: 0, min_wait_us: 0, time: &raw const time };
        let pointer = (&raw const argument).cast();
        // SAFETY: the argument and the time that it points to live until the call returns.
        unsafe { self.call(count, 1, flags, pointer, size_of::<WaitArgument>()) }
    }

    /// Gives the number back: the kernel keeps what is registered until the thread ends, and sixteen at most.
    pub(super) fn leave(&self, ring: &IoUring) {
        if self.flags.contains(EnterFlags::REGISTERED_RING) {
            let mut mine = Registration { offset: self.ring.unsigned_abs(), reserved: 0, data: 0 };
            // SAFETY: one registration, which the kernel reads during the call.
            let _done = unsafe {
                let fd = ring.as_raw_fd();
                libc::syscall(libc::SYS_io_uring_register, fd, UNREGISTER_RING_FDS, &raw mut mine, 1)
            };
        }
    }

    /// # Safety
    /// `argument` must be what `flags` and `bytes` say, and valid during the call.
    #[inline]
    unsafe fn call(
        &self,
        submit: u32,
        wait_for: u32,
        flags: EnterFlags,
        argument: *const libc::c_void,
        bytes: usize,
    ) -> io::Result<usize> {
        let flags = (flags | self.flags).bits();
        // SAFETY: promised by the caller; requests in the queue were promised to be valid when they were queued.
        let result = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, self.ring, submit, wait_for, flags, argument, bytes)
        };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }
}

/// Whether CLOCK_MONOTONIC of this process is not that of the machine: it is in a time namespace (time_namespaces(7)), as
/// containers may be that were moved from another machine.
fn has_shifted_clock() -> bool {
    std::fs::read_to_string("/proc/self/timens_offsets").is_ok_and(|text| is_monotonic_shifted(&text))
}

/// Reads `monotonic 5 0`, the offset in seconds and nanoseconds, among the lines of that file.
fn is_monotonic_shifted(offsets: &str) -> bool {
    let of_monotonic = offsets.lines().filter_map(|line| line.strip_prefix("monotonic"));
    let mut numbers = of_monotonic.flat_map(str::split_whitespace);
    numbers.any(|number| number != "0")
}

/// Registers `ring` with the calling thread; returns its number there. The kernel forgets it when the thread ends.
fn register(ring: &IoUring) -> io::Result<RawFd> {
    let fd = ring.as_raw_fd();
    let mut wanted = Registration { offset: ANY, reserved: 0, data: u64::from(fd.unsigned_abs()) };
    // SAFETY: one registration, which the kernel reads and writes during the call.
    let done =
        unsafe { libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut wanted, 1) };
    if done != 1 {
        return Err(io::Error::last_os_error());
    }
    RawFd::try_from(wanted.offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_its_time_has_come_by_both_kinds_of_timeouts() {
        let Ok(ring) = IoUring::new(8) else { return };
        let entrance = Entrance::new(&ring);
        let ways = [entrance.absolute, false].map(|absolute| Entrance {
            ring: entrance.ring,
            flags: entrance.flags,
            absolute,
        });
        for entrance in ways {
            let until = clock::now() + 3_000_000;
            let error = entrance.wait(0, until).expect_err("nothing completes");
            assert_eq!(error.raw_os_error(), Some(libc::ETIME));
            assert!(clock::now() >= until, "absolute: {}", entrance.absolute);
            let passed = entrance.wait(0, 1).expect_err("a moment long ago");
            assert_eq!(passed.raw_os_error(), Some(libc::ETIME));
        }
    }

    #[test]
    fn a_time_namespace_shifts_the_clock() {
        assert!(!is_monotonic_shifted("monotonic           0         0\nboottime            5         0\n"));
        assert!(is_monotonic_shifted("monotonic           5         0\nboottime            0         0\n"));
        assert!(is_monotonic_shifted("monotonic          -3 500000000\nboottime            0         0\n"));
        assert!(is_monotonic_shifted("monotonic           0       100\n"));
    }

    #[test]
    fn a_ring_is_entered_by_its_number() {
        for round in 0..40 {
            let Ok(ring) = IoUring::new(8) else { return };
            let entrance = Entrance::new(&ring);
            // Linux 5.18 has it; all that this driver runs on is newer.
            assert!(entrance.flags.contains(EnterFlags::REGISTERED_RING), "by its descriptor, round {round}");
            assert_eq!(entrance.submit(0).expect("nothing to hand over"), 0);
            entrance.leave(&ring);
        }
    }
}
