//! A queue of slots from whose middle one can be taken without looking for it.

use crate::load::driver::Slot;

const NONE: Slot = Slot::MAX;

/// Slots in the order in which they came, each at most once.
pub(crate) struct SlotList {
    /// By slot: who is behind it, and before it. A slot that is not in the list is its own neighbour.
    links: Box<[Link]>,
    first: Slot,
    last: Slot,
}

#[derive(Clone, Copy)]
struct Link {
    next: Slot,
    previous: Slot,
}

impl SlotList {
    /// An empty one, for slots below `slots`.
    pub(crate) fn new(slots: u32) -> Self {
        let links = (0..slots).map(|slot| Link { next: slot, previous: slot }).collect();
        Self { links, first: NONE, last: NONE }
    }

    /// Adds `slot` behind all others; does nothing if it is there already.
    #[inline]
    pub(crate) fn push_back(&mut self, slot: Slot) {
        if self.contains(slot) {
            return;
        }
        self.links[slot as usize] = Link { next: NONE, previous: self.last };
        match self.last {
            NONE => self.first = slot,
            last => self.links[last as usize].next = slot,
        }
        self.last = slot;
    }

    /// Takes the first.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<Slot> {
        let slot = self.first;
        if slot == NONE {
            return None;
        }
        self.remove(slot);
        Some(slot)
    }

    /// Takes `slot`, if it is there.
    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) {
        if !self.contains(slot) {
            return;
        }
        let Link { next, previous } = self.links[slot as usize];
        match previous {
            NONE => self.first = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => self.links[next as usize].previous = previous,
        }
        self.links[slot as usize] = Link { next: slot, previous: slot };
    }

    #[inline]
    fn contains(&self, slot: Slot) -> bool {
        self.links[slot as usize].next != slot
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As a plain queue that is searched.
        #[test]
        fn it_is_a_queue(steps in proptest::collection::vec((0..3_u8, 0..6_u32), 0..200)) {
            let (mut list, mut model) = (SlotList::new(6), VecDeque::new());
            for (step, slot) in steps {
                match step {
                    0 => {
                        list.push_back(slot);
                        if !model.contains(&slot) {
                            model.push_back(slot);
                        }
                    }
                    1 => {
                        list.remove(slot);
                        model.retain(|other| *other != slot);
                    }
                    _ => prop_assert_eq!(list.pop_front(), model.pop_front()),
                }
            }
            let rest: Vec<Slot> = std::iter::from_fn(|| list.pop_front()).collect();
            prop_assert_eq!(rest, Vec::from(model));
        }
    }
}
