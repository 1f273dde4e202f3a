//! What people do to a lab: one function for each action holds its check, its limits, the write and the entry of the audit
//! log. Pages, API and command line read what was sent, call it and show its result; none of them writes to the store
//! itself.

pub(crate) mod alerts;
pub(crate) mod bisects;
pub(crate) mod builds;
pub(crate) mod commits;
mod error;
pub(crate) mod policy;
pub(crate) mod projects;
mod repeats;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod users;
pub(crate) mod watches;

pub use error::AccessError;
pub use tokens::TokenRow;
pub use users::UserRow;

use crate::clock::{self, Moment};
use crate::lab::{Lab, Refused};
use crate::model::Role;
use crate::store::{Store, StoreError, Tx, audit};

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) name: String,
    /// What they may do.
    pub(crate) role: Role,
    /// The id of the token that they act by.
    pub(crate) token: Option<String>,
}

impl Actor {
    /// Somebody at the machine itself, who could write the store as well.
    pub(crate) fn at_machine(name: &str) -> Self {
        Self { name: name.to_owned(), role: Role::Admin, token: None }
    }
}

/// Who acts, and when.
#[derive(Debug)]
pub(crate) struct Ctx {
    pub(crate) who: Actor,
    pub(crate) now: Moment,
}

impl Ctx {
    /// Notes in the audit log what was done to whom or what.
    fn note(&self, tx: &mut Tx<'_>, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        audit::append(tx, self.now, &self.who.name, action, subject, detail)
    }
}

/// Why an action is not done. One of the store undoes what was done until then; the others come before anything is
/// changed.
pub(crate) trait Refusal: From<StoreError> + Send + 'static {
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
pub(crate) fn act_blocking<T: Send + 'static, E: Refusal>(
    store: &Store,
    who: Actor,
    action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    store.write_blocking(move |tx| undone(action(tx, &Ctx { who, now: clock::wall() })))?
}

impl Lab {
    /// Does an action; durable when this returns.
    pub(crate) async fn act<T: Send + 'static, E: Refusal>(
        &self,
        who: Actor,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.store.write(move |tx| undone(action(tx, &Ctx { who, now: clock::wall() }))).await?
    }

    /// The same for an action after which somebody may do something else: whoever was let in before is checked anew.
    pub(crate) async fn act_on_access<T: Send + 'static, E: Refusal>(
        &self,
        who: Actor,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let made = self.act(who, action).await;
        self.access.forget();
        made
    }
}
