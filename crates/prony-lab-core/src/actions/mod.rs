//! What people do to a lab: one function for each action holds its check, its limits, the write and the entry of the audit
//! log. Pages, API and command line read what was sent, call it and show its result; none of them writes to the store
//! itself.

pub mod agents;
pub mod alerts;
pub mod bisects;
pub mod builds;
pub mod commits;
mod error;
pub mod policy;
pub mod projects;
mod repeats;
pub mod requests;
pub mod sessions;
pub mod tokens;
pub mod users;
pub mod watches;

pub use error::AccessError;
pub use tokens::TokenRow;
pub use users::UserRow;

use crate::lab::{Lab, Refused};
use prony_lab_model::Role;
use prony_lab_model::clock::{self, Moment};
use prony_lab_store::{Store, StoreError, Tx, audit};

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Their name, as the audit log has it.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The id of the token that they act by.
    pub token: Option<String>,
}

impl Actor {
    /// Somebody at the machine itself, who could write the store as well.
    pub fn at_machine(name: &str) -> Self {
        Self { name: name.to_owned(), role: Role::Admin, token: None }
    }
}

/// Who acts, and when.
#[derive(Debug)]
pub struct Ctx {
    /// Who acts.
    pub who: Actor,
    /// When.
    pub now: Moment,
}

impl Ctx {
    /// Notes in the audit log what was done to whom or what.
    fn note(&self, tx: &mut Tx<'_>, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        audit::append(tx, self.now, &self.who.name, action, subject, detail)
    }
}

/// Why an action is not done. One of the store undoes what was done until then; the others come before anything is
/// changed.
pub trait Refusal: From<StoreError> + Send + 'static {
    /// The store's error that it is, or itself.
    fn into_store(self) -> Result<StoreError, Self>;
}

impl Refusal for StoreError {
    fn into_store(self) -> Result<StoreError, Self> {
        Ok(self)
    }
}

impl Refusal for AccessError {
    fn into_store(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(error) => Ok(error),
            other => Err(other),
        }
    }
}

impl Refusal for Refused {
    fn into_store(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(error) => Ok(error),
            other => Err(other),
        }
    }
}

fn undone<T, E: Refusal>(made: Result<T, E>) -> Result<Result<T, E>, StoreError> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(refusal) => refusal.into_store().map_or_else(|other| Ok(Err(other)), Err),
    }
}

/// Does an action; durable when this returns. For threads that may wait.
pub fn act_blocking<T: Send + 'static, E: Refusal>(
    store: &Store,
    who: Actor,
    action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    store.write_blocking(move |tx| undone(action(tx, &Ctx { who, now: clock::wall() })))?
}

impl Lab {
    /// Does an action; durable when this returns.
    pub async fn act<T: Send + 'static, E: Refusal>(
        &self,
        who: Actor,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.store.write(move |tx| undone(action(tx, &Ctx { who, now: clock::wall() }))).await?
    }

    /// The same for an action after which somebody may do something else: anyone who was let in before is checked again.
    pub async fn act_on_access<T: Send + 'static, E: Refusal>(
        &self,
        who: Actor,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let made = self.act(who, action).await;
        self.access.forget();
        made
    }
}
