//! Users, tokens and the audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::List;
use super::call::{Answer, Answered, Call, Nothing};
use prony_lab_core::actions::{Ctx, TokenRow, UserRow, tokens, users};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Name, Role};
use prony_lab_store::{Tx, audit};

/// Entries of one page of the audit log.
const ENTRIES: u32 = 200;

/// Who calls.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Me {
    /// Their name.
    name: String,
    /// What they may do.
    role: Role,
}

/// One user.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneUser {
    /// Their name.
    name: String,
}

/// One token.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneToken {
    /// Its number, 16 hexadecimal digits.
    id: String,
}

/// Who is to come.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Invitation {
    /// Their name.
    name: Name,
    /// What they may do.
    role: Role,
}

/// A link by which somebody sets a password.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Link {
    /// Where; good once, for an hour.
    url: String,
}

/// Another role.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRole {
    /// What they may do from now on.
    role: Role,
}

/// It was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Done {
    /// Always true: what was not done is a problem.
    done: bool,
}

/// What token is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenWish {
    /// What it is for.
    name: String,
    /// What it may do at most.
    role: Role,
    /// Whose it is; absent: one's own. Other people's are for admins.
    #[serde(default)]
    user: Option<String>,
    /// For how many days it is good, 366 at most; absent: 90.
    #[serde(default)]
    days: Option<u32>,
}

/// A new token.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewToken {
    /// Its number.
    id: String,
    /// The token itself, which nobody sees again.
    token: String,
}

/// From where on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Before {
    /// Entries before this one: `next` of the page before.
    before: Option<i64>,
}

/// An entry of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Its number.
    id: i64,
    /// When.
    at: Moment,
    /// Who.
    actor: String,
    /// Did what.
    action: String,
    /// To whom or what.
    subject: String,
    /// The rest, in words.
    detail: String,
    /// SHA-256 over this entry and the one before.
    hash: String,
}

/// Whether the audit log is whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Checked {
    /// How many entries it has.
    entries: u64,
    /// The hash of the last one: note it elsewhere to see later whether the end was cut off.
    head: String,
    /// The first entry that isn't what it was.
    broken_at: Option<i64>,
}

const DONE: Done = Done { done: true };

pub(super) async fn me(call: Call<Nothing, Nothing, Nothing>) -> Answered<Me> {
    Ok(Me { name: call.who.name, role: call.who.role }.into())
}

pub(super) async fn all_users(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<UserRow>> {
    Ok(List { items: call.lab.store.read(users::list).await?, next: None }.into())
}

pub(super) async fn invite(call: Call<Nothing, Nothing, Invitation>) -> Answered<Link> {
    let Invitation { name, role } = call.body;
    let invite = move |tx: &mut Tx<'_>, ctx: &Ctx| users::invite(tx, ctx, &name, role);
    let secret = call.lab.act_on_access(call.who.actor(), invite).await?;
    Ok(Answer::secret(Link { url: format!("{}{}", call.own_address, users::link(&secret)) }))
}

pub(super) async fn set_role(call: Call<OneUser, Nothing, NewRole>) -> Answered<Done> {
    let (name, role) = (call.path.name, call.body.role);
    let set_role = move |tx: &mut Tx<'_>, ctx: &Ctx| users::set_role(tx, ctx, &name, role);
    call.lab.act_on_access(call.who.actor(), set_role).await?;
    Ok(DONE.into())
}

pub(super) async fn disable(call: Call<OneUser, Nothing, Nothing>) -> Answered<Done> {
    set_disabled(call, true).await
}

pub(super) async fn enable(call: Call<OneUser, Nothing, Nothing>) -> Answered<Done> {
    set_disabled(call, false).await
}

async fn set_disabled(call: Call<OneUser, Nothing, Nothing>, is_disabled: bool) -> Answered<Done> {
    let name = call.path.name;
    let set = move |tx: &mut Tx<'_>, ctx: &Ctx| users::set_disabled(tx, ctx, &name, is_disabled);
    call.lab.act_on_access(call.who.actor(), set).await?;
    Ok(DONE.into())
}

pub(super) async fn all_tokens(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<TokenRow>> {
    let mut items = call.lab.store.read(tokens::list).await?;
    if call.who.role < Role::Admin {
        items.retain(|token| token.user == call.who.name);
    }
    Ok(List { items, next: None }.into())
}

pub(super) async fn add_token(call: Call<Nothing, Nothing, TokenWish>) -> Answered<NewToken> {
    let TokenWish { name: label, role, user, days } = call.body;
    let user = user.unwrap_or_else(|| call.who.name.clone());
    let new = tokens::NewToken { user, label, role, days: days.unwrap_or(tokens::TOKEN_DAYS) };
    let token = call.lab.act(call.who.actor(), move |tx, ctx| tokens::add(tx, ctx, &new)).await?;
    Ok(Answer::secret(NewToken { id: token.id().to_owned(), token: token.text() }))
}

pub(super) async fn revoke_token(call: Call<OneToken, Nothing, Nothing>) -> Answered<Done> {
    let id = call.path.id;
    call.lab.act_on_access(call.who.actor(), move |tx, ctx| tokens::revoke(tx, ctx, &id)).await?;
    Ok(DONE.into())
}

pub(super) async fn audit(call: Call<Nothing, Before, Nothing>) -> Answered<List<Entry>> {
    let before = call.query.before;
    let found = call.lab.store.read(move |tx| audit::list(tx, before, ENTRIES)).await?;
    let is_full = found.len() == ENTRIES as usize;
    let next = found.last().filter(|_| is_full).map(|entry| entry.id);
    let shown = |entry: audit::Entry| Entry {
        id: entry.id,
        at: entry.at,
        actor: entry.actor,
        action: entry.action,
        subject: entry.subject,
        detail: entry.detail,
        hash: entry.hash.text(),
    };
    Ok(List { items: found.into_iter().map(shown).collect(), next }.into())
}

pub(super) async fn check_audit(call: Call<Nothing, Nothing, Nothing>) -> Answered<Checked> {
    let checked = call.lab.store.read(audit::check).await?;
    let head = checked.head.text();
    Ok(Checked { entries: checked.entries, head, broken_at: checked.broken_at }.into())
}
