//! The notification of an event.

use serde::{Deserialize, Serialize};
use serde_json::json;

use prony_lab_model::{Alert, AlertId, Build, CommitStatus, EventId, HookFormat, ProjectId};
use prony_lab_store::events::Event;
use prony_lab_store::{StoreError, Tx, alerts, builds};

/// The notification of an event: the body of a webhook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Notification {
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

impl Notification {
    /// Of `event`, in a lab that is reached at `address` (`https://lab.example`, or empty where it is not known).
    pub(super) fn of(tx: &mut Tx<'_>, event: &Event, address: &str) -> Result<Self, StoreError> {
        let build = match event.build {
            Some(id) => builds::one(tx, id)?.map(|found| found.build),
            None => None,
        };
        let alert = match serde_json::from_str::<EventBody>(&event.body).ok().and_then(|body| body.alert) {
            Some(id) => alerts::one(tx, id)?,
            None => None,
        };
        let status = build.as_ref().map(|build| CommitStatus::of(build, address));
        let at = event.at.rfc3339();
        Ok(Self { event: event.id, kind: event.kind.clone(), at, build, status, alert })
    }

    /// Of which project.
    pub(super) fn project(&self) -> Option<ProjectId> {
        let of_alert = self.alert.as_ref().and_then(|alert| alert.project);
        of_alert.or_else(|| self.build.as_ref().and_then(|build| build.project))
    }

    /// The body of a webhook; `address` as for [`Notification::of`].
    pub(super) fn body(&self, format: HookFormat, address: &str) -> String {
        let (words, page) = (self.words(), self.page(address));
        let body = match format {
            HookFormat::Prony => return serde_json::to_string(self).expect("invariant: every key is a text"),
            HookFormat::Slack => json!({ "text": slack(&words, &page) }),
            HookFormat::Teams => json!({
                "type": "message",
                "attachments": [{
                    "contentType": "application/vnd.microsoft.card.adaptive",
                    "content": card(&words, &page),
                }],
            }),
        };
        body.to_string()
    }

    /// What happened, in a sentence.
    fn words(&self) -> String {
        match (&self.alert, &self.build) {
            (Some(alert), _) => format!("Alert {} ({}): {}", alert.id, alert.state.name(), alert.words),
            (None, Some(build)) => {
                let of = build.project_name.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
                let description = self.status.as_ref().map_or("", |status| status.description.as_str());
                format!("Build {}{of} ({}): {description}", build.id, build.reference)
            }
            (None, None) => self.kind.clone(),
        }
    }

    /// The page that shows it.
    fn page(&self, address: &str) -> String {
        match (&self.alert, &self.build) {
            (Some(alert), _) => format!("{address}/alerts#alert-{}", alert.id),
            (None, Some(build)) => format!("{address}/build/{}", build.id),
            (None, None) => format!("{address}/"),
        }
    }
}

/// Text for Slack, which takes three characters for its own (Formatting text for app surfaces).
fn slack(words: &str, page: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if page.starts_with("http") { format!("<{page}|{words}>") } else { words }
}

fn card(words: &str, page: &str) -> serde_json::Value {
    let mut card = json!({
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{ "type": "TextBlock", "wrap": true, "text": words }],
    });
    // A button has to lead somewhere.
    if page.starts_with("http") {
        card["actions"] = json!([{ "type": "Action.OpenUrl", "title": "Open", "url": page }]);
    }
    card
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_for_a_chat_says_what_happened_and_where() {
        let notification = Notification {
            event: EventId(7),
            kind: "store.full".to_owned(),
            at: String::new(),
            build: None,
            status: None,
            alert: None,
        };
        let slack: serde_json::Value =
            serde_json::from_str(&notification.body(HookFormat::Slack, "https://lab.example")).expect("JSON");
        assert_eq!(slack["text"], "<https://lab.example/|store.full>");
        let teams: serde_json::Value =
            serde_json::from_str(&notification.body(HookFormat::Teams, "")).expect("JSON");
        let card = &teams["attachments"][0]["content"];
        assert_eq!((&card["body"][0]["text"], card.get("actions")), (&json!("store.full"), None));
        assert_eq!(super::slack("a <b> & c", "/x"), "a &lt;b&gt; &amp; c");
    }
}
