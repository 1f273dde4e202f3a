//! The CPU time of another process, to the nanosecond, with one system call and without any permission.

/// CPU time of all threads of process `pid`, those that ended included, nanoseconds. `None` where there is no such
/// process.
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes one clock number to `clock`, which lives until the call returns.
    let found = unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &raw mut clock) };
    if found != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one `timespec` to `time`, which lives until the call returns.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (read == 0).then(|| seconds * 1_000_000_000 + nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_passes_and_nobody_has_none() {
        let before = process_cpu_ns(std::process::id()).expect("this process");
        let mut sum = 0_u64;
        while process_cpu_ns(std::process::id()).expect("this process") < before + 2_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        // Beyond the greatest number that the kernel gives (PID_MAX_LIMIT).
        assert_eq!(process_cpu_ns(1 << 23), None);
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }
}
