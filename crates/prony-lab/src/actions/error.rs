//! Why something about who may do what can't be changed.

use super::tokens::{TOKEN_DAYS_MAX, TOKEN_NAME_MAX, TOKENS_MAX};
use crate::model::Role;
use crate::policy::{Refusal, RulesError};
use crate::secrets::SecretError;
use crate::store::StoreError;

/// Why something about who may do what can't be changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody of that name.
    #[error("find the user `{0}`; `prony lab user list` names all")]
    NoUser(String),
    /// The last admin.
    #[error("take the role or the door from `{0}`, the last admin: make somebody else admin first")]
    LastAdmin(String),
    /// A user without a password.
    #[error("give `{0}` a token before a password is set; follow the link of `prony lab user add` first")]
    NoPassword(String),
    /// A name for a token that says nothing.
    #[error("name the token; take 1 to {TOKEN_NAME_MAX} characters, such as `laptop` or `ci of web`")]
    TokenName,
    /// More than its user may.
    #[error(
        "give a token the role {requested}, since its user `{name}` is {has}; change the user's role first"
    )]
    TokenRole {
        /// What was requested.
        requested: Role,
        /// Whose token.
        name: String,
        /// What the user may do.
        has: Role,
    },
    /// More tokens than anybody needs.
    #[error("give `{name}` another token: {TOKENS_MAX} are good already; revoke one first")]
    TooManyTokens {
        /// Whose.
        name: String,
    },
    /// A token that would last too long.
    #[error("make a token for {0} days: 1 to {TOKEN_DAYS_MAX} are possible")]
    TokenLife(u32),
    /// What the actor's role is too little for.
    #[error("do this as {0}; ask one, or use a token with that role")]
    Role(Role),
    /// No token of that number, or none that the actor may see.
    #[error("find the token {0}, or it is void already; `prony lab token list` names all")]
    NoToken(String),
    /// A name that means nobody.
    #[error("name a user `{0}`: that is who has not logged in; take another name")]
    ReservedName(String),
    /// A policy that can't be read.
    #[error("read the policy ({0}); `prony lab policy show` prints the present one")]
    PolicySyntax(String),
    /// A policy with a mistake.
    #[error("use the policy: {0}")]
    Policy(#[from] RulesError),
    /// A secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// What the running lab answered.
    #[error("{0}")]
    AtLab(String),
    /// An answer that can't be read.
    #[error("read the answer ({0}); use the same version of prony as the lab")]
    Answer(String),
    /// The lab has ended meanwhile.
    #[error("reach the lab, which has just ended; run the command again")]
    Stopped,
    /// A target that the policy refuses.
    #[error("load it: {0}")]
    Refused(#[from] Refusal),
}
