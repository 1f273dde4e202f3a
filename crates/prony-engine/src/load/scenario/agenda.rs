//! What is due, and when: arrivals of sessions, and the later steps of those that are under way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::clock::{NEVER, Nanos};
use crate::load::pacer::Schedule;

/// A session by its place.
pub(crate) type Place = u32;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    /// The next step of a session.
    Step(Place),
    /// The same request of a session once more.
    Retry(Place),
    /// A user of a closed loop begins a session.
    User,
}

impl Entry {
    fn is_retry(self) -> bool {
        matches!(self, Self::Retry(_))
    }
}

/// What brings sessions about.
pub(super) enum Arrivals {
    /// The clock: an open loop.
    Clock(Schedule),
    /// The end of the one before: a closed loop. So many sessions of the measured part are left.
    Users {
        left: u64,
        /// Sessions that begin before are not counted.
        count_from: Nanos,
    },
}

/// What is to come, in the order of its moments.
pub(super) struct Agenda {
    pub(super) arrivals: Arrivals,
    later: BinaryHeap<Reverse<(Nanos, u64, Entry)>>,
    /// Entries that are due, the longest first.
    ready: VecDeque<(Nanos, Entry)>,
    /// Steps that are due, of sessions that have connections of their own; none of them is in `ready`.
    kept: VecDeque<(Nanos, Entry)>,
    keeps_connections: bool,
    /// Steps of the same moment keep their order.
    added: u64,
    /// Users in `later` and `ready`.
    users: u64,
    /// Retries in all of it.
    retries: u64,
}

impl Agenda {
    /// Of sessions that have connections of their own, or not.
    pub(super) fn new(arrivals: Arrivals, keeps_connections: bool) -> Self {
        Self {
            arrivals,
            later: BinaryHeap::new(),
            ready: VecDeque::new(),
            kept: VecDeque::new(),
            keeps_connections,
            added: 0,
            users: 0,
            retries: 0,
        }
    }

    /// `entry` is due at `at`.
    pub(super) fn add(&mut self, at: Nanos, entry: Entry) {
        self.added += 1;
        self.users += u64::from(entry == Entry::User);
        self.retries += u64::from(entry.is_retry());
        self.later.push(Reverse((at, self.added, entry)));
    }

    /// What is due at `now` and needs a connection; of the arrivals of an open loop at most `room`.
    pub(super) fn waiting(&mut self, now: Nanos, room: u64) -> u64 {
        while let Some(Reverse((at, _, entry))) = self.later.peek().copied().filter(|next| next.0.0 <= now) {
            self.later.pop();
            match entry {
                Entry::Step(_) | Entry::Retry(_) if self.keeps_connections => {
                    self.kept.push_back((at, entry));
                }
                entry => self.ready.push_back((at, entry)),
            }
        }
        let arrived = match &mut self.arrivals {
            Arrivals::Clock(schedule) => schedule.waiting(now).min(room),
            Arrivals::Users { .. } => 0,
        };
        self.ready.len() as u64 + arrived
    }

    /// When something becomes due that is not due yet.
    pub(super) fn next_due(&self) -> Nanos {
        let arrival = match &self.arrivals {
            Arrivals::Clock(schedule) => schedule.next_due(),
            Arrivals::Users { .. } => NEVER,
        };
        self.later.peek().map_or(NEVER, |next| next.0.0).min(arrival)
    }

    /// Takes what has been due for the longest; an arrival of the clock has no entry. `now` and `room` as of
    /// [`Self::waiting`], which was called before.
    pub(super) fn take(&mut self, now: Nanos, room: u64) -> Option<(Nanos, Option<Entry>)> {
        let oldest = self.ready.front().copied();
        if let Arrivals::Clock(schedule) = &mut self.arrivals
            && room > 0
            && schedule.waiting(now) > 0
            && oldest.is_none_or(|(at, _)| schedule.oldest() < at)
        {
            return Some((schedule.take(), None));
        }
        let (at, entry) = self.ready.pop_front()?;
        self.users -= u64::from(entry == Entry::User);
        self.retries -= u64::from(entry.is_retry());
        Some((at, Some(entry)))
    }

    /// Takes the step that has been due for the longest of sessions with connections of their own, as of [`Self::waiting`].
    pub(super) fn take_kept(&mut self) -> Option<(Nanos, Entry)> {
        let (at, entry) = self.kept.pop_front()?;
        self.retries -= u64::from(entry.is_retry());
        Some((at, entry))
    }

    /// The session of `entry`, which was due at `at`, has lost its connection: it waits for another.
    pub(super) fn lacks_connection(&mut self, at: Nanos, entry: Entry) {
        self.retries += u64::from(entry.is_retry());
        self.ready.push_back((at, entry));
    }

    /// Whether a request waits to be sent again.
    pub(super) fn has_retries(&self) -> bool {
        self.retries > 0
    }

    /// A user may begin a session at `now`; of the measured part it is one of those that are left.
    pub(super) fn take_user(&mut self, now: Nanos) -> bool {
        match &mut self.arrivals {
            Arrivals::Clock(_) | Arrivals::Users { left: 0, .. } => false,
            Arrivals::Users { left, count_from } => {
                *left -= u64::from(now >= *count_from);
                true
            }
        }
    }

    /// A user who has ended a session begins another at `at`, if one is left for them: else a connection would be opened for
    /// nothing.
    pub(super) fn add_user(&mut self, at: Nanos) {
        if let Arrivals::Users { left, .. } = self.arrivals
            && left > self.users
        {
            self.add(at, Entry::User);
        }
    }

    /// No session begins any more, and no step becomes due; retries stay. Returns the moments of what was due and was not
    /// sent.
    pub(super) fn stop(&mut self, now: Nanos) -> Vec<Nanos> {
        let mut unsent = Vec::new();
        match &mut self.arrivals {
            Arrivals::Clock(schedule) => {
                schedule.end_at(now);
                while schedule.waiting(now) > 0 {
                    unsent.push(schedule.take());
                }
            }
            Arrivals::Users { left, .. } => *left = 0,
        }
        self.users = 0;
        self.later.retain(|Reverse((_, _, entry))| entry.is_retry());
        for queue in [&mut self.ready, &mut self.kept] {
            queue.retain(|(at, entry)| {
                if let Entry::Step(_) = entry {
                    unsent.push(*at);
                }
                entry.is_retry()
            });
        }
        unsent
    }

    /// No session begins any more.
    pub(super) fn end_arrivals(&mut self, now: Nanos) {
        match &mut self.arrivals {
            Arrivals::Clock(schedule) => {
                schedule.end_at(now);
                while schedule.waiting(now) > 0 {
                    schedule.take();
                }
            }
            Arrivals::Users { left, .. } => *left = 0,
        }
    }

    /// Whether no session will begin any more.
    pub(super) fn has_no_arrivals(&self) -> bool {
        match &self.arrivals {
            Arrivals::Clock(schedule) => schedule.is_over(),
            Arrivals::Users { left, .. } => *left == 0,
        }
    }
}
