//! Numbers by which the lab knows things. They are never used twice.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// A project.
    ProjectId,
    /// A build: one request to check out, build and measure.
    BuildId,
    /// A task of a build.
    TaskId,
    /// A series: one metric of one cell of one variant of one project on one machine.
    SeriesId,
    /// An alert.
    AlertId,
    /// A bisect.
    BisectId,
    /// A URL that is looked at on a schedule.
    MonitorId,
    /// Somebody who may log in.
    UserId,
    /// Something that happened; ever growing, so that a reader can say what it has seen.
    EventId,
    /// Somebody else's address that is notified of events.
    HookId,
    /// A note that somebody wrote.
    NoteId,
}
