//! Hardware counters of other processes (perf_event_open(2)).

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Cycles,
    Instructions,
}

/// A counter of one thread and of all that it starts from now on.
#[derive(Debug)]
pub(crate) struct Counter {
    file: OwnedFd,
}

/// What a counter returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub value: u64,
    /// Time that the thread ran with this counter wanted, nanoseconds.
    pub enabled_ns: u64,
    /// The part of that in which the CPU had a counter free for it.
    pub running_ns: u64,
}

/// The first version of `struct perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

impl Counter {
    /// Counts `event` of thread `tid`; in user mode only, if `user_only`, which needs less permission.
    pub(crate) fn open(tid: u32, event: Event, user_only: bool) -> io::Result<Self> {
        const INHERIT: u64 = 1 << 1;
        const EXCLUDE_KERNEL: u64 = 1 << 5;
        const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
        const TIMES: u64 = 1 | 2;
        const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
        let attributes = Attributes {
            size: 64,
            config: match event {
                Event::Cycles => 0,
                Event::Instructions => 1,
            },
            read_format: TIMES,
            flags: INHERIT | EXCLUDE_HYPERVISOR | if user_only { EXCLUDE_KERNEL } else { 0 },
            ..Attributes::default()
        };
        let tid = libc::pid_t::try_from(tid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        // SAFETY: the kernel reads 64 bytes at `attributes` during the call only.
        let result = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, tid, -1, -1, CLOSE_ON_EXEC)
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let number = libc::c_int::try_from(result).expect("invariant: a descriptor is an int");
        // SAFETY: the call has just made this descriptor, and nobody else knows of it.
        Ok(Self { file: unsafe { OwnedFd::from_raw_fd(number) } })
    }

    /// What it has counted so far.
    pub(crate) fn read(&self) -> Option<Count> {
        let mut words = [0_u64; 3];
        // SAFETY: the kernel writes at most the length of `words` to it during the call.
        let length =
            unsafe { libc::read(self.file.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
        let whole = usize::try_from(length) == Ok(size_of_val(&words));
        whole.then_some(Count { value: words[0], enabled_ns: words[1], running_ns: words[2] })
    }
}

const _: () = assert!(size_of::<Attributes>() == 64);
