//! A result on its way to the controller: which parts to send when.

use super::spool::Spooled;
use crate::protocol::Part;

/// Parts on their way at once.
const WINDOW: u32 = 4;
/// Parts without an answer are sent again after this long,
const RETRY_NS: u64 = 1_000_000_000;
/// and after twice as long each time, up to this: a controller that is gone may not come back.
const RETRY_MAX_NS: u64 = 60_000_000_000;

/// What was sent of one result.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) spooled: Spooled,
    /// All parts before this one have arrived.
    next: u32,
    /// All parts before this one were sent.
    sent: u32,
    sent_ns: u64,
    retry_ns: u64,
}

impl Upload {
    pub(super) fn new(spooled: Spooled) -> Self {
        Self { spooled, next: 0, sent: 0, sent_ns: 0, retry_ns: RETRY_NS }
    }

    fn count(&self) -> u32 {
        u32::try_from(Part::count(self.spooled.bytes)).unwrap_or(u32::MAX)
    }

    /// The parts to send now.
    pub(super) fn due(&mut self, now_ns: u64) -> std::ops::Range<u32> {
        if self.sent > 0 && now_ns.saturating_sub(self.sent_ns) >= self.retry_ns {
            // The last part again, where all have arrived and only the commit is missing.
            self.sent = self.next.min(self.count() - 1);
            self.retry_ns = (2 * self.retry_ns).min(RETRY_MAX_NS);
        }
        // One part until somebody answers.
        let window = if self.next == 0 { 1 } else { WINDOW };
        let end = self.count().min(self.next.saturating_add(window)).max(self.sent);
        let due = self.sent..end;
        if !due.is_empty() {
            self.sent = end;
            self.sent_ns = now_ns;
        }
        due
    }

    /// All parts before `next` have arrived; none where who takes them now has none of those before.
    pub(super) fn received(&mut self, next: u32, now_ns: u64) {
        if next == 0 {
            (self.next, self.sent) = (0, 0);
        }
        if next > self.next && next <= self.count() {
            self.next = next;
            self.sent = self.sent.max(next);
            self.sent_ns = now_ns;
            self.retry_ns = RETRY_NS;
        }
    }

    /// The connection is back, or the controller was heard: no reason to wait.
    pub(super) fn hurry(&mut self) {
        self.retry_ns = RETRY_NS;
    }
}
