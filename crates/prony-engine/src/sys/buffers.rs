//! A ring of receive buffers that the kernel fills: each completion says which one, and how many bytes.
//!
//! Where the kernel can (6.12), a buffer takes one answer after the other until it is full, so that a few
//! buffers serve thousands of small answers from warm cache lines and large answers still find room.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The buffers of receives that say nothing of when.
pub(super) const GROUP: u16 = 0;
/// The buffers of those that do.
pub(super) const STAMPED_GROUP: u16 = 1;
/// IOU_PBUF_RING_INC of the kernel's interface: buffers are used up piece by piece.
const INCREMENTAL: u16 = 2;

/// Bytes of a buffer that is used up piece by piece.
const SHARED_BYTES: u32 = 16 * 1024;
/// Such buffers, at least and at most; one for 32 connections between them. 16 hold the small answers of
/// 1,000 connections and fit a core's own cache.
const SHARED_COUNT: (u32, u32) = (16, 512);
/// Bytes of a buffer that holds one piece: an odd number of cache lines, so that the beginnings of buffers,
/// where small answers lie, don't fall into the same few sets of a cache.
const SINGLE_BYTES: u32 = 4096 + 3 * 64;
/// Such buffers, at least and at most: one for each connection lets a whole round of answers arrive at once.
const SINGLE_COUNT: (u32, u32) = (64, 1024);

/// Bytes of a buffer that holds what came with one stamp: as much as a buffer that is used up piece by piece. The kernel
/// can't fill those with stamps: it puts a header before each piece, and stops for good where only that has no room.
const STAMPED_BYTES: u32 = 16 * 1024 + 3 * 64;
/// Such buffers, at least and at most; one for two connections between them. Small answers touch a page of each.
const STAMPED_COUNT: (u32, u32) = (16, 256);

/// Receive buffers shared with the kernel. Must outlive the ring that it is registered with: the driver drops
/// the ring first.
pub(crate) struct Buffers {
    /// The page-aligned array of entries, `count` long, mapped anonymously.
    entries: NonNull<BufRingEntry>,
    /// `count` buffers of `buffer_bytes` each. Untouched pages take no memory.
    memory: Box<[u8]>,
    /// By buffer: bytes of it that are used up. All 0 where a buffer holds one piece.
    used: Box<[u32]>,
    count: u16,
    buffer_bytes: u32,
    tail: u16,
}

/// The two groups of buffers of a worker.
pub(crate) struct BufferGroups {
    plain: Buffers,
    /// None where no connection is stamped.
    stamped: Option<Buffers>,
}

impl BufferGroups {
    /// Registers buffers for `connections` connections, of which `stamped` learn when their bytes arrived.
    pub(super) fn register(submitter: &Submitter<'_>, connections: u32, stamped: u32) -> io::Result<Self> {
        let count = |wanted: u32, bounds: (u32, u32)| wanted.next_power_of_two().clamp(bounds.0, bounds.1);
        let shared = count(connections / 32, SHARED_COUNT);
        let plain = match Buffers::register_as(submitter, GROUP, shared, SHARED_BYTES, INCREMENTAL) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Buffers::register_as(submitter, GROUP, count(connections, SINGLE_COUNT), SINGLE_BYTES, 0)
            }
            result => result,
        }?;
        let room = count(stamped / 2, STAMPED_COUNT);
        let register = || Buffers::register_as(submitter, STAMPED_GROUP, room, STAMPED_BYTES, 0);
        Ok(Self { plain, stamped: (stamped > 0).then(register).transpose()? })
    }

    /// The buffers of connections that are `stamped`, or of the others.
    #[inline]
    pub(crate) fn of(&mut self, stamped: bool) -> &mut Buffers {
        match &mut self.stamped {
            Some(buffers) if stamped => buffers,
            _ => &mut self.plain,
        }
    }
}

impl Buffers {
    fn register_as(
        submitter: &Submitter<'_>,
        group: u16,
        count: u32,
        buffer_bytes: u32,
        flags: u16,
    ) -> io::Result<Self> {
        let count = u16::try_from(count).expect("invariant: the bounds above fit");
        assert!(
            count.is_power_of_two() && count <= 1 << 15,
            "invariant: the kernel takes powers of two up to 2^15"
        );
        let memory = vec![0; usize::from(count) * buffer_bytes as usize].into_boxed_slice();
        let used = vec![0; usize::from(count)].into_boxed_slice();
        let entries = map_entries(count)?;
        let mut buffers = Self { entries, memory, used, count, buffer_bytes, tail: 0 };
        // SAFETY: the entries are page-aligned, zeroed, `count` long, and unmapped only in `drop`, which runs
        // after the ring is gone (see the type's contract, kept by the field order in the driver).
        unsafe { submitter.register_buf_ring_with_flags(entries.as_ptr() as u64, count, group, flags)? };
        for index in 0..count {
            buffers.give_back(index);
        }
        Ok(buffers)
    }

    /// The next `length` bytes of buffer `index`, which a completion named.
    #[inline]
    pub(crate) fn bytes(&self, index: u16, length: usize) -> &[u8] {
        let start = usize::from(index) * self.buffer_bytes as usize + self.used[usize::from(index)] as usize;
        &self.memory[start..start + length]
    }

    /// The bytes of the last completion in buffer `index` were handled. `more`: the kernel goes on filling it.
    #[inline]
    pub(crate) fn release(&mut self, index: u16, length: usize, more: bool) {
        if more {
            self.used[usize::from(index)] += u32::try_from(length).expect("invariant: less than a buffer");
        } else {
            self.used[usize::from(index)] = 0;
            self.give_back(index);
        }
    }

    /// Lets the kernel use all of buffer `index` again.
    #[inline]
    fn give_back(&mut self, index: u16) {
        assert!(index < self.count, "invariant: the kernel names buffers that it was given");
        let position = usize::from(self.tail & (self.count - 1));
        let start = usize::from(index) * self.buffer_bytes as usize;
        // SAFETY: `position` is below `count`, so the entry lies in the mapping; the kernel reads it only after
        // the tail is advanced below. The buffer's address stays valid as long as the ring, see `register_as`.
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
