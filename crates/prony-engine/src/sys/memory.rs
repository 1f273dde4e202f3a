//! How the C library hands out large pieces of memory.

/// Has all threads share two heaps, from now on.
///
/// By default glibc gives threads up to eight heaps for each core, and what one of them has freed serves no other: a lab
/// of twenty threads keeps many times what it uses (mallopt(3), M_ARENA_MAX). Other C libraries do otherwise.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    {
        const HEAPS: libc::c_int = 2;
        // SAFETY: changes a number inside the allocator, under its own lock.
        let accepted = unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS) };
        debug_assert_eq!(accepted, 1, "any number is accepted");
    }
}

/// Makes every allocation of 128 KiB or more a mapping of its own, which the kernel backs page by page as it
/// is touched.
///
/// By default glibc raises that limit each time such a piece is freed, and then serves the next ones from
/// its heap, where it must write zeros over all of it: histograms of 270 KiB of which a few pages are used
/// took 36 MB instead of 2 (mallopt(3), M_MMAP_THRESHOLD), and eight logins of a lab, one after the other, 170 MB that were
/// never given back. Other C libraries do so anyway.
pub fn map_large_allocations() {
    #[cfg(target_env = "gnu")]
    {
        const THRESHOLD_BYTES: libc::c_int = 128 * 1024;
        // SAFETY: changes a number inside the allocator, under its own lock.
        let accepted = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, THRESHOLD_BYTES) };
        debug_assert_eq!(accepted, 1, "the value is below HEAP_MAX_SIZE / 2");
    }
}
