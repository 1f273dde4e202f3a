//! What is told of an event.

use serde::{Deserialize, Serialize};

use crate::model::{Alert, AlertId, Build, CommitStatus, EventId, ProjectId};
use crate::store::events::Event;
use crate::store::{StoreError, Tx, alerts, builds};

/// What is told of an event: the body of a webhook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Told {
    /// Number of the event; grows.
    pub(super) event: EventId,
    /// What happened.
    pub(super) kind: String,
    /// When, RFC 3339 in UTC.
    pub(super) at: String,
    /// The build, as it is now.
    pub(super) build: Option<Build>,
    /// The same as code hosts show it.
    pub(super) status: Option<CommitStatus>,
    /// The alert, as it is now.
    pub(super) alert: Option<Alert>,
}

/// The part of an event's own body that matters here.
#[derive(Deserialize)]
struct EventBody {
    alert: Option<AlertId>,
}

impl Told {
    pub(super) fn of(tx: &mut Tx<'_>, event: &Event) -> Result<Self, StoreError> {
        let build = match event.build {
            Some(id) => builds::one(tx, id)?.map(|found| found.build),
            None => None,
        };
        let alert = match serde_json::from_str::<EventBody>(&event.body).ok().and_then(|body| body.alert) {
            Some(id) => alerts::one(tx, id)?,
            None => None,
        };
        let status = build.as_ref().map(|build| CommitStatus::of(build, ""));
        let at = event.at.rfc3339();
        Ok(Self { event: event.id, kind: event.kind.clone(), at, build, status, alert })
    }

    /// Of which project.
    pub(super) fn project(&self) -> Option<ProjectId> {
        let of_alert = self.alert.as_ref().and_then(|alert| alert.project);
        of_alert.or_else(|| self.build.as_ref().and_then(|build| build.project))
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("invariant: every key is a text")
    }
}
