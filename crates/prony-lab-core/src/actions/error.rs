//! Why something about who may do what can't be changed.

use std::fmt;

use prony_model::Problem;

use super::tokens::{TOKEN_DAYS_MAX, TOKEN_NAME_MAX, TOKENS_MAX};
use crate::policy::{Refusal, RulesError};
use crate::secrets::SecretError;
use prony_lab_model::Role;
use prony_lab_store::StoreError;

/// Why something about who may do what can't be changed.
#[derive(Debug)]
pub enum AccessError {
    /// The store.
    Store(StoreError),
    /// Nobody of that name.
    NoUser(String),
    /// The last admin.
    LastAdmin(String),
    /// A user without a password.
    NoPassword(String),
    /// A name for a token that says nothing.
    TokenName,
    /// More than its user may.
    TokenRole {
        /// What was requested.
        requested: Role,
        /// Whose token.
        name: String,
        /// What the user may do.
        has: Role,
    },
    /// More tokens than anybody needs.
    TooManyTokens {
        /// Whose.
        name: String,
    },
    /// A token that would last too long.
    TokenLife(u32),
    /// What the actor's role is too little for.
    Role(Role),
    /// No token of that number, or none that the actor may see.
    NoToken(String),
    /// A name that means nobody.
    ReservedName(String),
    /// A policy that can't be read.
    PolicySyntax(String),
    /// A policy with a mistake.
    Policy(RulesError),
    /// A secret.
    Secret(SecretError),
    /// What the running lab answered.
    AtLab(Problem),
    /// An answer that can't be read.
    Answer(String),
    /// The lab has ended meanwhile.
    Stopped,
    /// A target that the policy refuses.
    Refused(Refusal),
}

impl AccessError {
    /// What is wrong, as it stands after "failed to", and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Store(error) => error.problem(),
            Self::Secret(error) => error.problem(),
            Self::AtLab(problem) => problem.clone(),
            Self::TokenName => Problem::new(
                "name the token",
                format!("take 1 to {TOKEN_NAME_MAX} characters, such as `laptop` or `ci of web`"),
            ),
            Self::TokenRole { requested, name, has } => Problem::new(
                format!("give a token the role {requested}, since its user `{name}` is {has}"),
                "change the user's role first",
            ),
            Self::TooManyTokens { name } => Problem::new(
                format!("give `{name}` another token: {TOKENS_MAX} are good already"),
                "revoke one first",
            ),
            Self::TokenLife(days) => Problem::without_advice(format!(
                "make a token for {days} days: 1 to {TOKEN_DAYS_MAX} are possible"
            )),
            Self::NoToken(id) => Problem::new(
                format!("find the token {id}, or it is void already"),
                "`prony lab token list` names all",
            ),
            Self::NoUser(name) => {
                Problem::new(format!("find the user `{name}`"), "`prony lab user list` names all")
            }
            Self::LastAdmin(name) => Problem::without_advice(format!(
                "take the role or the door from `{name}`, the last admin: make somebody else admin first"
            )),
            Self::NoPassword(name) => Problem::new(
                format!("give `{name}` a token before a password is set"),
                "follow the link of `prony lab user add` first",
            ),
            Self::Role(role) => {
                Problem::new(format!("do this as {role}"), "ask one, or use a token with that role")
            }
            Self::ReservedName(name) => Problem::new(
                format!("name a user `{name}`: that is who has not logged in"),
                "take another name",
            ),
            Self::PolicySyntax(why) => Problem::new(
                format!("read the policy ({why})"),
                "`prony lab policy show` prints the present one",
            ),
            Self::Policy(error) => Problem::without_advice(format!("use the policy: {error}")),
            Self::Answer(why) => {
                Problem::new(format!("read the answer ({why})"), "use the same version of prony as the lab")
            }
            Self::Stopped => Problem::new("reach the lab, which has just ended", "run the command again"),
            Self::Refused(refusal) => Problem::without_advice(format!("load it: {refusal}")),
        }
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem().sentence())
    }
}

impl std::error::Error for AccessError {}

impl From<StoreError> for AccessError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<RulesError> for AccessError {
    fn from(error: RulesError) -> Self {
        Self::Policy(error)
    }
}

impl From<SecretError> for AccessError {
    fn from(error: SecretError) -> Self {
        Self::Secret(error)
    }
}

impl From<Refusal> for AccessError {
    fn from(error: Refusal) -> Self {
        Self::Refused(error)
    }
}
