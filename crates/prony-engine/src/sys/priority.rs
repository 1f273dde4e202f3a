//! How soon the kernel runs a thread that wakes up.

/// Asks for time slices of a tenth of a millisecond, the shortest there are: from Linux 6.12 on, a thread with
/// a shorter slice that wakes up need not wait for the slice of another one to end (sched_setattr(2),
/// `sched_runtime` of SCHED_OTHER). It gets no more time for it. Where it is refused, nothing changes.
pub(crate) fn ask_for_short_slices() {
    const SLICE_NS: u64 = 100_000;
    // The layout of the first version of `struct sched_attr`, which every kernel takes.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: reads the calling thread's own nice value; no memory is involved.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: 48,
        policy: 0,
        flags: 0,
        nice,
        priority: 0,
        runtime: SLICE_NS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the kernel reads 48 bytes at `attributes` during the call only; 0 is the calling thread.
    let _as_before = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
