//! Slices that wait until it is known whether their time was clean. Workers get an empty one for each at once.

use std::collections::VecDeque;

use super::marks::Marks;
use crate::record::samples::Samples;
use crate::record::slice::Slice;

/// Slices of one thread that may wait: those of the time that [`Marks::know`] asks for, two that are being recorded
/// or on their way, and one for a late poll. What does not fit in is evaluated by what is known.
const HELD_MAX: usize = 6;

/// The slices of all threads.
pub(crate) struct Held {
    threads: Vec<OfThread>,
}

struct OfThread {
    waiting: VecDeque<Box<Slice>>,
    #[expect(clippy::vec_box, reason = "slices go round between threads in their boxes")]
    empty: Vec<Box<Slice>>,
}

impl Held {
    /// For `threads` workers; each slice has room for single samples if they are `kept`.
    pub(crate) fn new(threads: u32, kept: bool) -> Self {
        let empty =
            |thread| (0..HELD_MAX).map(|_| Box::new(Slice::new(thread, Samples::new(kept)))).collect();
        let of_thread =
            |thread| OfThread { waiting: VecDeque::with_capacity(HELD_MAX), empty: empty(thread) };
        Self { threads: (0..threads).map(of_thread).collect() }
    }

    /// Lets `slice` wait. Returns an empty one for its worker; before that `evaluate` gets the one that waited longest,
    /// if there is no room.
    pub(crate) fn hold(&mut self, slice: Box<Slice>, mut evaluate: impl FnMut(&Slice)) -> Box<Slice> {
        let thread = &mut self.threads[slice.thread as usize];
        let empty = thread.empty.pop().unwrap_or_else(|| {
            let mut longest = thread.waiting.pop_front().expect("invariant: each slice waits or is empty");
            evaluate(&longest);
            longest.clear();
            longest
        });
        thread.waiting.push_back(slice);
        empty
    }

    /// Those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Slice> {
        self.threads.iter().flat_map(|thread| thread.waiting.iter().map(Box::as_ref))
    }

    /// Gives `evaluate` those of whose time `marks` knows all; every one, where `all`.
    pub(crate) fn release(&mut self, marks: &Marks, all: bool, mut evaluate: impl FnMut(&Slice)) {
        for thread in &mut self.threads {
            while let Some(mut slice) = thread.waiting.pop_front_if(|slice| all || marks.know(slice.end)) {
                evaluate(&slice);
                slice.clear();
                thread.empty.push(slice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::clean::marks::Stretch;
    use crate::record::slice::SLICE;

    fn slice(index: u64) -> Box<Slice> {
        let mut slice = Box::new(Slice::new(0, Samples::none()));
        (slice.start, slice.end) = (index * SLICE, (index + 1) * SLICE);
        slice
    }

    #[test]
    fn every_slice_is_evaluated_once_and_in_order() {
        let (mut held, mut marks, mut evaluated) = (Held::new(1, false), Marks::default(), Vec::new());
        for index in 0..40 {
            // The collector polls rarely: the slices in between wait, or go early.
            let empty = held.hold(slice(index), |slice| evaluated.push(slice.start / SLICE));
            assert!(empty.thread == 0 && empty.counters.done_now == 0);
            if index % 9 == 8 {
                marks.add(&Stretch { to: (index + 1) * SLICE, ..Stretch::default() });
                held.release(&marks, false, |slice| evaluated.push(slice.start / SLICE));
            }
        }
        held.release(&marks, true, |slice| evaluated.push(slice.start / SLICE));
        assert_eq!(evaluated, (0..40).collect::<Vec<u64>>());
    }
}
