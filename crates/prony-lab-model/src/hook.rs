//! Hooks: addresses of others that are notified of events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use super::{Contradiction, FieldMistake, HookId, ProjectId};
use crate::clock::Moment;

/// What a hook may ask for: each begins with one of these.
const KINDS: [&str; 3] = ["build.", "task.", "alert."];
/// Never sent, because there are too many: a piece of output each.
const NEVER_SENT: &str = "task.output";
/// What a hook gets if nothing is specified.
const DEFAULT_KINDS: &str = "build.completed build.degraded build.failed alert.*";
/// More is a mistake.
const KINDS_MAX: usize = 32;

/// What a hook is asked to be, as a form or a script says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookRequest {
    /// Where it is sent.
    pub url: String,
    /// What it is notified of: kinds of events such as `build.completed` or `alert.*`, apart by spaces or commas. Empty is
    /// every build that ends with or without results, and every alert.
    pub kinds: String,
    /// Of which project only; empty is all.
    pub project: String,
    /// `prony` (the event as JSON), `slack` or `teams` (a message for a chat); empty is `prony`.
    pub format: String,
}

/// As what a hook is notified with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookFormat {
    /// The event as JSON.
    #[default]
    Prony,
    /// A message for an incoming webhook of Slack, which Mattermost and others take, too.
    Slack,
    /// A card for a workflow of Microsoft Teams.
    Teams,
}

named!(HookFormat, "format of a webhook", Prony = "prony", Slack = "slack", Teams = "teams");

/// An address that is notified of events. Its secret is shown once, when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// Its number; 0 before it has one.
    pub id: HookId,
    /// Where it is sent.
    pub url: String,
    /// What it is notified of.
    pub kinds: Vec<String>,
    /// Of which project only.
    pub project: Option<ProjectId>,
    /// As what.
    pub format: HookFormat,
    /// Who asked for it.
    pub created_by: String,
    /// When.
    pub created_at: Moment,
}

impl Hook {
    /// Whether it gets an event of `kind` of `project`.
    pub fn is_for(&self, kind: &str, project: Option<ProjectId>) -> bool {
        let is_its = self.kinds.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(prefix) => kind.starts_with(prefix),
            None => kind == wanted,
        });
        is_its && kind != NEVER_SENT && self.project.is_none_or(|wanted| project == Some(wanted))
    }
}

impl HookRequest {
    /// The hook that this asks for; `project` is the number of the project that it names, if there is one.
    pub fn checked(&self, project: Option<ProjectId>, by: &str, now: Moment) -> Result<Hook, Contradiction> {
        let mut mistakes = Vec::new();
        let mut wrong = |field: &str, message: String| {
            mistakes.push(FieldMistake { field: field.to_owned(), message });
        };
        let url = super::check_url(&self.url).map_err(|message| wrong("url", message)).ok();
        let text = if self.kinds.trim().is_empty() { DEFAULT_KINDS } else { &self.kinds };
        let kinds: Vec<String> =
            text.split([' ', ',', '\n', '\r']).filter(|kind| !kind.is_empty()).map(str::to_owned).collect();
        if kinds.len() > KINDS_MAX || !kinds.iter().all(|kind| is_kind(kind)) {
            wrong("kinds", "write kinds of events such as build.completed, alert.* or build.*".to_owned());
        }
        if !self.project.is_empty() && project.is_none() {
            wrong("project", "there is no such project: choose one of the list".to_owned());
        }
        let format = match self.format.as_str() {
            "" => HookFormat::default(),
            text => text.parse().unwrap_or_else(|message| {
                wrong("format", message);
                HookFormat::default()
            }),
        };
        match url {
            Some(url) if mistakes.is_empty() => Ok(Hook {
                id: HookId(0),
                url,
                kinds,
                project,
                format,
                created_by: by.to_owned(),
                created_at: now,
            }),
            _ => Err(mistakes),
        }
    }
}

fn is_kind(text: &str) -> bool {
    let Some(rest) = KINDS.iter().find_map(|prefix| text.strip_prefix(prefix)) else { return false };
    rest == "*" || (!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_gets_what_it_asked_for() {
        let request = |kinds: &str| HookRequest {
            url: "https://a.example/x".to_owned(),
            kinds: kinds.to_owned(),
            ..HookRequest::default()
        };
        let hook = request("").checked(None, "kim", Moment(1)).expect("good");
        assert!(hook.is_for("build.failed", None) && hook.is_for("alert.closed", Some(ProjectId(1))));
        assert!(!hook.is_for("build.running", None));
        let hook =
            request("task.*, build.running").checked(Some(ProjectId(2)), "kim", Moment(1)).expect("good");
        assert!(
            hook.is_for("task.failed", Some(ProjectId(2))) && !hook.is_for("task.output", Some(ProjectId(2)))
        );
        assert!(!hook.is_for("build.running", Some(ProjectId(3))) && !hook.is_for("build.running", None));
        for wrong in ["*", "build", "build.", "build.X", "login.*"] {
            let mistakes = request(wrong).checked(None, "kim", Moment(1)).expect_err(wrong);
            assert_eq!(mistakes[0].field, "kinds");
        }
        let chat = HookRequest { format: "slack".to_owned(), ..request("") };
        assert_eq!(chat.checked(None, "kim", Moment(1)).expect("good").format, HookFormat::Slack);
        let odd = HookRequest { format: "irc".to_owned(), ..request("") };
        assert_eq!(odd.checked(None, "kim", Moment(1)).expect_err("wrong")[0].field, "format");
        let nowhere = HookRequest { project: "b".to_owned(), ..request("") };
        assert_eq!(nowhere.checked(None, "kim", Moment(1)).expect_err("wrong")[0].field, "project");
    }
}
