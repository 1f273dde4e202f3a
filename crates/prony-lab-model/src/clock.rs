//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment as the store keeps it: milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// The moment `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `duration` earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// From `earlier` to this one; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC, to the millisecond.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| "-".to_owned(), |moment| format!("{moment:.3}"))
    }

    /// For people: `2026-11-22 13:05:09`, in UTC.
    pub fn utc(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| "-".to_owned(), |moment| moment.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }
}

/// The system's idea of now, which may jump; for what is written down.
pub fn wall() -> Moment {
    let now = clock_gettime(ClockId::Realtime);
    Moment(now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000))
}

/// Time since boot, which never jumps; for how long something takes.
pub fn steady() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::from_secs(now.tv_sec.cast_unsigned()) + Duration::from_nanos(now.tv_nsec.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_people_write_them() {
        let moment = Moment(1_763_816_709_123);
        assert_eq!(moment.rfc3339(), "2025-11-22T13:05:09.123Z");
        assert_eq!(moment.utc(), "2025-11-22 13:05:09");
        assert_eq!(moment.after(Duration::from_secs(1)).since(moment), Duration::from_secs(1));
        assert_eq!(moment.before(Duration::from_secs(1)).since(moment), Duration::ZERO);
    }
}
