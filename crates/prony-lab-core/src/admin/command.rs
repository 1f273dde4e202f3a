//! What an administrator can ask for at the machine itself, as data: done on the store of a lab that is stopped, or sent to
//! one that runs.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actions::tokens::NewToken;
use crate::actions::{AccessError, Actor, Ctx, act_blocking, agents, policy, projects, tokens, users};
use crate::egress::{self, rules};
use crate::secrets::SecretAdmin;
use prony_lab_model::{Name, Role, SecretName};
use prony_lab_store::{Store, Tx, audit};

/// What is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Command {
    Users,
    Invite {
        name: Name,
        role: Role,
    },
    SetRole {
        name: String,
        role: Role,
    },
    SetDisabled {
        name: String,
        is_disabled: bool,
    },
    EndSessions {
        name: String,
    },
    Tokens,
    AddToken {
        user: String,
        label: String,
        role: Role,
        days: u32,
    },
    RevokeToken {
        id: String,
    },
    PolicyText,
    SetPolicy {
        text: String,
    },
    #[serde(rename = "judge")]
    CheckUrl {
        role: Role,
        url: String,
    },
    CheckAudit,
    SecretNames,
    SetSecret {
        name: SecretName,
        value: Vec<u8>,
    },
    RemoveSecret {
        name: SecretName,
    },
    ClearCaches {
        project: String,
    },
    StopAgents,
    LiftAgents,
}

/// Whether a URL may be loaded: its addresses, or why not.
pub(super) type UrlCheck = Result<Vec<String>, String>;

impl Command {
    /// Does it on `store`, whose lab has the folder `data`; `by` stands in the audit log.
    pub(super) fn execute(
        self,
        store: &Store,
        data: &std::path::Path,
        by: &str,
    ) -> Result<Value, AccessError> {
        let act = Act { store, by };
        let secrets = || SecretAdmin::over(store.clone(), data, by);
        match self {
            Self::Users => value(store.read_blocking(users::list)?),
            Self::Invite { name, role } => {
                let secret = act.run(move |tx, ctx| users::invite(tx, ctx, &name, role))?;
                value(users::link(&secret))
            }
            Self::SetRole { name, role } => {
                value(act.run(move |tx, ctx| users::set_role(tx, ctx, &name, role))?)
            }
            Self::SetDisabled { name, is_disabled } => {
                value(act.run(move |tx, ctx| users::set_disabled(tx, ctx, &name, is_disabled))?)
            }
            Self::EndSessions { name } => value(act.run(move |tx, ctx| users::end_sessions(tx, ctx, &name))?),
            Self::Tokens => value(store.read_blocking(tokens::list)?),
            Self::AddToken { user, label, role, days } => {
                let new = NewToken { user, label, role, days };
                value(act.run(move |tx, ctx| tokens::add(tx, ctx, &new))?.text())
            }
            Self::RevokeToken { id } => value(act.run(move |tx, ctx| tokens::revoke(tx, ctx, &id))?),
            Self::PolicyText => value(policy::written(&store.read_blocking(rules)?)),
            Self::SetPolicy { text } => value(act.run(move |tx, ctx| policy::set(tx, ctx, &text))?),
            Self::CheckUrl { role, url } => {
                let policy = store.read_blocking(egress::policy)?;
                let checked: UrlCheck = match policy.resolve(role, &url) {
                    Ok(addresses) => Ok(addresses.iter().map(ToString::to_string).collect()),
                    Err(refusal) => Err(refusal.to_string()),
                };
                value(checked)
            }
            Self::CheckAudit => {
                let checked = store.read_blocking(audit::check)?;
                value((checked.entries, checked.head.text(), checked.broken_at))
            }
            Self::SecretNames => value(secrets().names()?),
            Self::SetSecret { name, value: bytes } => value(secrets().set(&name, &bytes)?),
            Self::RemoveSecret { name } => value(secrets().remove(&name)?),
            Self::StopAgents => value(act.run(|tx, ctx| Ok(agents::stop(tx, ctx)?))?),
            Self::LiftAgents => value(act.run(|tx, ctx| Ok(agents::lift(tx, ctx)?))?),
            Self::ClearCaches { project } => {
                value(act.run(move |tx, ctx| Ok(projects::clear_caches(tx, ctx, &project)?))?)
            }
        }
    }
}

fn value(answer: impl Serialize) -> Result<Value, AccessError> {
    serde_json::to_value(answer).map_err(|error| AccessError::Answer(error.to_string()))
}

/// The answer that `value` holds.
pub(super) fn answer<T: DeserializeOwned>(value: Value) -> Result<T, AccessError> {
    serde_json::from_value(value).map_err(|error| AccessError::Answer(error.to_string()))
}

struct Act<'a> {
    store: &'a Store,
    by: &'a str,
}

impl Act<'_> {
    fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        act_blocking(self.store, Actor::at_machine(self.by), action)
    }
}
