//! What administrators do at the machine itself, whether the lab runs or not. Every change is in the audit log, in the same
//! transaction.

mod command;
mod local_admin;
mod socket;

pub use local_admin::LocalAdmin;
pub use socket::LocalSocket;

use crate::actions::{AccessError, Actor, act_blocking, users};
use crate::lab::Lab;
use prony_lab_model::Role;
use prony_lab_model::auth::Secret;
use prony_lab_store::users as stored;

/// The name of the first administrator.
const FIRST_ADMIN: &str = "admin";
/// Whom the audit log names as having let them in.
const FIRST_BY: &str = "the start of the lab";

impl Lab {
    /// The path of a link by which the first admin sets a password; none where an admin can log in already.
    pub fn first_link(&self) -> Result<Option<String>, AccessError> {
        // A lab on a full disk can't write, and needs not.
        if self.store.read_blocking(stored::admins)? > 0 {
            return Ok(None);
        }
        let made: Option<Secret> = act_blocking(&self.store, Actor::at_machine(FIRST_BY), |tx, ctx| {
            if stored::admins(tx)? > 0 {
                return Ok(None);
            }
            let name = FIRST_ADMIN.parse().expect("invariant: it is a name");
            users::invite(tx, ctx, &name, Role::Admin).map(Some)
        })?;
        Ok(made.map(|secret| users::link(&secret)))
    }
}
