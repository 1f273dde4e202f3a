//! Users: invited, given another role, kept out.

use serde::{Deserialize, Serialize};

use super::{AccessError, Ctx};
use prony_lab_model::ANONYMOUS;
use prony_lab_model::auth::Secret;
use prony_lab_model::clock::Moment;
use prony_lab_model::{Name, Role};
use prony_lab_store::{StoreError, Tx, tokens, users};

/// A user, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UserRow {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Whether they have a password; without one nobody logs in.
    pub has_password: bool,
    /// Since when they are known.
    pub created_at: Moment,
    /// Since when they are kept out.
    pub disabled_at: Option<Moment>,
}

/// Names that no user may have: builds, alerts and the audit log give them to anyone who has not logged in, to the lab
/// itself, and to anyone who failed to log in.
const RESERVED: [&str; 3] = [ANONYMOUS, "lab", "somebody"];

/// Makes a link by which `name` sets a password and is then there with `role`: its secret.
pub fn invite(tx: &mut Tx<'_>, ctx: &Ctx, name: &Name, role: Role) -> Result<Secret, AccessError> {
    if RESERVED.contains(&name.as_str()) {
        return Err(AccessError::ReservedName(name.to_string()));
    }
    if let Some(user) = users::by_name(tx, name.as_str())? {
        keep_an_admin(tx, &user, role < Role::Admin)?;
    }
    let secret = Secret::new();
    users::invite(tx, &secret.digest(), name, role, ctx.now)?;
    ctx.note(tx, "user.invite", name.as_str(), &format!("as {role}"))?;
    Ok(secret)
}

/// Gives a user another role. Links and sessions from before are void, and tokens that may do more than that.
pub fn set_role(tx: &mut Tx<'_>, ctx: &Ctx, name: &str, role: Role) -> Result<(), AccessError> {
    let user = find(tx, name)?;
    keep_an_admin(tx, &user, role < Role::Admin)?;
    users::set_role(tx, user.id, role)?;
    users::end_sessions(tx, user.id)?;
    users::void_links(tx, name)?;
    tokens::revoke_above(tx, user.id, role, ctx.now)?;
    ctx.note(tx, "user.role", name, &format!("{} -> {role}", user.role))?;
    Ok(())
}

/// Keeps a user out, or lets them in again. Links, sessions and tokens of somebody who is kept out are void for good.
pub fn set_disabled(tx: &mut Tx<'_>, ctx: &Ctx, name: &str, is_disabled: bool) -> Result<(), AccessError> {
    let user = find(tx, name)?;
    keep_an_admin(tx, &user, is_disabled)?;
    users::set_disabled(tx, user.id, is_disabled.then_some(ctx.now))?;
    users::void_links(tx, name)?;
    if is_disabled {
        tokens::revoke_all(tx, user.id, ctx.now)?;
    }
    ctx.note(tx, if is_disabled { "user.disable" } else { "user.enable" }, name, "")?;
    Ok(())
}

/// Ends every session of a user: anyone who is logged in as them no longer is. Tokens stay.
pub fn end_sessions(tx: &mut Tx<'_>, ctx: &Ctx, name: &str) -> Result<(), AccessError> {
    let user = find(tx, name)?;
    if name != ctx.who.name && ctx.who.role < Role::Admin {
        return Err(AccessError::Role(Role::Admin));
    }
    users::end_sessions(tx, user.id)?;
    ctx.note(tx, "session.end-all", name, "")?;
    Ok(())
}

/// The user of that name.
pub(super) fn find(tx: &mut Tx<'_>, name: &str) -> Result<users::User, AccessError> {
    users::by_name(tx, name)?.ok_or_else(|| AccessError::NoUser(name.to_owned()))
}

/// Refuses to make the lab's last admin something less.
fn keep_an_admin(tx: &mut Tx<'_>, user: &users::User, is_less: bool) -> Result<(), AccessError> {
    let is_admin = user.role == Role::Admin && user.disabled_at.is_none() && user.has_password;
    if is_less && is_admin && users::admins(tx)? == 1 {
        return Err(AccessError::LastAdmin(user.name.clone()));
    }
    Ok(())
}

/// Everybody.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<UserRow>, StoreError> {
    let row = |user: users::User| UserRow {
        name: user.name,
        role: user.role,
        has_password: user.has_password,
        created_at: user.created_at,
        disabled_at: user.disabled_at,
    };
    Ok(users::all(tx)?.into_iter().map(row).collect())
}

/// Where a link with this secret leads to.
pub fn link(secret: &Secret) -> String {
    format!("/first-login/{}", secret.text())
}
