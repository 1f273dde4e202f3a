//! A ring of receive buffers from which the kernel picks one for each completion.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The one buffer group that a worker registers.
pub(super) const GROUP: u16 = 0;

/// Receive buffers shared with the kernel. Must outlive the ring that it is registered with: the driver drops
/// the ring first.
pub(crate) struct Buffers {
    /// The page-aligned array of entries, `count` long, mapped anonymously.
    entries: NonNull<BufRingEntry>,
    /// `count` buffers of `buffer_bytes` each. Untouched pages take no memory.
    memory: Box<[u8]>,
    count: u16,
    buffer_bytes: u32,
    tail: u16,
}

impl Buffers {
    /// Allocates `count` (a power of two, at most 32,768) buffers and registers them.
    pub(super) fn register(submitter: &Submitter<'_>, count: u16, buffer_bytes: u32) -> io::Result<Self> {
        assert!(
            count.is_power_of_two() && count <= 1 << 15,
            "invariant: the kernel takes powers of two up to 2^15"
        );
        let memory = vec![0; usize::from(count) * buffer_bytes as usize].into_boxed_slice();
        let entries = map_entries(count)?;
        let mut buffers = Self { entries, memory, count, buffer_bytes, tail: 0 };
        // SAFETY: the entries are page-aligned, zeroed, `count` long, and unmapped only in `drop`, which runs
        // after the ring is gone (see the type's contract, kept by the field order in `Ring`).
        unsafe { submitter.register_buf_ring_with_flags(entries.as_ptr() as u64, count, GROUP, 0)? };
        for index in 0..count {
            buffers.give_back(index);
        }
        Ok(buffers)
    }

    /// The first `length` bytes of buffer `index`, which a completion named.
    #[inline]
    pub(crate) fn bytes(&self, index: u16, length: usize) -> &[u8] {
        let start = usize::from(index) * self.buffer_bytes as usize;
        &self.memory[start..start + length]
    }

    /// Lets the kernel use buffer `index` again.
    #[inline]
    pub(crate) fn give_back(&mut self, index: u16) {
        assert!(index < self.count, "invariant: the kernel names buffers that it was given");
        let position = usize::from(self.tail & (self.count - 1));
        let start = usize::from(index) * self.buffer_bytes as usize;
        // SAFETY: `position` is below `count`, so the entry lies in the mapping; the kernel reads it only after
        // the tail is advanced below. The buffer's address stays valid as long as the ring, see `register`.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(position);
            entry.set_addr(self.memory.as_mut_ptr().add(start) as u64);
            entry.set_len(self.buffer_bytes);
            entry.set_bid(index);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies inside the first entry of the mapping; the kernel only reads it. `Release`
        // makes the entry visible before the tail.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: mapped by `map_entries` with this length, and nothing uses it any more.
        let result = unsafe { libc::munmap(self.entries.as_ptr().cast(), mapping_bytes(self.count)) };
        debug_assert_eq!(result, 0, "munmap of our own mapping can't fail");
    }
}

fn mapping_bytes(count: u16) -> usize {
    usize::from(count) * size_of::<BufRingEntry>()
}

/// An anonymous mapping, because the kernel wants whole pages.
fn map_entries(count: u16) -> io::Result<NonNull<BufRingEntry>> {
    // SAFETY: a fresh private anonymous mapping touches no existing memory.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            mapping_bytes(count),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))
}
