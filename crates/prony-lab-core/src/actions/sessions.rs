//! Sessions: begun by a password, or by the link that sets one; ended.

use super::AccessError;
use prony_lab_model::UserId;
use prony_lab_model::auth::{Digest, Secret};
use prony_lab_model::clock::Moment;
use prony_lab_store::{StoreError, Tx, audit, users};

/// Where a session is begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The address that asks.
    pub address: String,
    /// What the browser calls itself.
    pub agent: String,
}

/// Uses a link: the password is set, its user logged in, with the new session's secret. `None` where the link is void.
pub fn accept_invitation(
    tx: &mut Tx<'_>,
    link: &Digest,
    password_hash: &str,
    origin: &Origin,
    now: Moment,
) -> Result<Option<(String, Secret)>, StoreError> {
    let Some((name, role)) = users::invited(tx, link, now)? else { return Ok(None) };
    if !users::use_invitation(tx, link, now)? {
        return Ok(None);
    }
    let id = users::set_password(tx, &name, role, password_hash, now)?;
    audit::append(tx, now, name.as_str(), "user.password", name.as_str(), &format!("by a link, as {role}"))?;
    begin(tx, id, name.as_str(), None, origin, now).map(|secret| Some((name.to_string(), secret)))
}

/// Begins a session of a user whose password was right, in the place of `old`.
pub fn begin(
    tx: &mut Tx<'_>,
    id: UserId,
    name: &str,
    old: Option<Digest>,
    origin: &Origin,
    now: Moment,
) -> Result<Secret, StoreError> {
    if let Some(old) = old {
        users::end_session(tx, &old)?;
    }
    let secret = Secret::new();
    users::begin_session(tx, id, &secret.digest(), &Secret::new().text(), now)?;
    users::note_origin(tx, &secret.digest(), &origin.address, &origin.agent)?;
    audit::append(tx, now, name, "session.begin", name, "")?;
    Ok(secret)
}

/// Notes that a login failed. What was typed for a name that nobody has may be a password, and is not kept.
pub fn refuse(tx: &mut Tx<'_>, name: &str, from: &str, now: Moment) -> Result<(), StoreError> {
    let known = users::by_name(tx, name)?.map(|user| user.name);
    let subject = known.as_deref().unwrap_or("a name that nobody has");
    audit::append(tx, now, "somebody", "session.refuse", subject, &format!("from {from}"))
}

/// Gives the acting user another password, whose hash this is, and a new session, whose secret it returns; every other ends.
pub fn change_password(
    tx: &mut Tx<'_>,
    ctx: &super::Ctx,
    hash: &str,
    origin: &Origin,
) -> Result<Secret, AccessError> {
    let user = super::users::find(tx, &ctx.who.name)?;
    users::change_password(tx, user.id, hash)?;
    ctx.note(tx, "user.password", &user.name, "by themselves")?;
    Ok(begin(tx, user.id, &user.name, None, origin, ctx.now)?)
}

/// Ends one of the sessions of the acting user.
pub fn end_own(tx: &mut Tx<'_>, ctx: &super::Ctx, session: &Digest) -> Result<(), AccessError> {
    if users::end_session_of(tx, &ctx.who.name, session)? {
        ctx.note(tx, "session.end", &ctx.who.name, "from another one")?;
    }
    Ok(())
}

/// Ends a session.
pub fn end(tx: &mut Tx<'_>, ctx: &super::Ctx, session: &Digest) -> Result<(), AccessError> {
    users::end_session(tx, session)?;
    ctx.note(tx, "session.end", &ctx.who.name, "")?;
    Ok(())
}
