//! `/admin`: users, tokens, target policy, audit log, storage.

use askama::Template;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format, mistake_of};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam, QueryParams};
use prony_lab_core::actions::{self, AccessError, Ctx, TokenRow, UserRow, policy, tokens, users};
use prony_lab_core::ansi_stripper;
use prony_lab_core::egress::rules;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock;
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{FieldMistake, Name, Role};
use prony_lab_store::{StoreError, Tx, audit, figures};

/// Entries of the log on one page.
const ENTRIES: u32 = 50;
/// Of an entry's detail on the page, which may be a whole definition.
const DETAIL_CHARACTERS: usize = 160;

#[derive(Template)]
#[template(path = "admin.html")]
struct Page {
    frame: Frame,
    /// What could not be done.
    mistakes: Vec<FieldMistake>,
    secret: Option<Shown>,
    typed: Typed,
    roles: [Role; 3],
    days: String,
    days_max: u32,
    now: clock::Moment,
    users: Vec<UserRow>,
    tokens: Vec<TokenRow>,
    policy: String,
    entries: Vec<audit::Entry>,
    older: Option<i64>,
    audit_entries: u64,
    audit_head: String,
    audit_broken: Option<i64>,
    store: String,
    size: Option<String>,
    counts: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

/// What is shown once.
struct Shown {
    words: String,
    text: String,
    is_link: bool,
}

/// What was typed, where it could not be done.
#[derive(Default)]
struct Typed {
    name: String,
    role: String,
    label: String,
    user: String,
    days: Option<String>,
    policy: Option<String>,
}

/// What came of the last form.
#[derive(Default)]
struct Outcome {
    mistakes: Vec<FieldMistake>,
    secret: Option<Shown>,
    typed: Typed,
    before: Option<i64>,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let before = query.parsed("before")?;
    Ok(Html(page(&lab, &principal, Outcome { before, ..Outcome::default() }).await?))
}

/// Makes a link by which somebody sets a password.
pub(crate) async fn invite(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let typed = Typed {
        name: fields.one("name").to_owned(),
        role: fields.one("role").to_owned(),
        ..Typed::default()
    };
    let name: Name = match typed.name.parse() {
        Ok(name) => name,
        Err(error) => {
            let mistake = FieldMistake { field: "user-name".to_owned(), message: error.to_string() };
            return mistaken(&lab, &principal, typed, mistake).await;
        }
    };
    let role = role(&fields)?;
    let words = format!("Anyone who opens this link within an hour sets the password of {name}:");
    let invite = move |tx: &mut Tx<'_>, ctx: &Ctx| users::invite(tx, ctx, &name, role);
    let made = lab.act_on_access(principal.actor(), invite).await;
    match made {
        Ok(secret) => {
            let secret = Shown { words, text: users::link(&secret), is_link: true };
            done(&lab, &principal, secret).await
        }
        Err(error) => refused(&lab, &principal, typed, error).await,
    }
}

/// Gives a user another role, keeps one out, or lets one in again.
pub(crate) async fn set_user(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let made = match fields.one("do") {
        "role" => {
            let role = role(&fields)?;
            let set_role = move |tx: &mut Tx<'_>, ctx: &Ctx| users::set_role(tx, ctx, &name, role);
            lab.act_on_access(principal.actor(), set_role).await
        }
        "sign-out" => {
            let end = move |tx: &mut Tx<'_>, ctx: &Ctx| users::end_sessions(tx, ctx, &name);
            lab.act_on_access(principal.actor(), end).await
        }
        what @ ("enable" | "disable") => {
            let is_out = what == "disable";
            let set = move |tx: &mut Tx<'_>, ctx: &Ctx| users::set_disabled(tx, ctx, &name, is_out);
            lab.act_on_access(principal.actor(), set).await
        }
        _ => return Err(WebError::Query("choose what becomes of the user".to_owned())),
    };
    back(&lab, &principal, made, "/admin#users").await
}

/// Makes a token.
pub(crate) async fn add_token(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let (label, user) = (fields.one("label").to_owned(), fields.one("user").to_owned());
    let days = fields.one("days").to_owned();
    let typed = Typed {
        label: label.clone(),
        user: user.clone(),
        role: fields.one("role").to_owned(),
        days: Some(days.clone()),
        ..Typed::default()
    };
    let role = role(&fields)?;
    let words = format!("The token {} of {}:", ansi_stripper::line(&label), ansi_stripper::line(&user));
    // What is no number is no number of days either.
    let days = days.parse().unwrap_or(0);
    let new = tokens::NewToken { user, label, role, days };
    match lab.act(principal.actor(), move |tx, ctx| tokens::add(tx, ctx, &new)).await {
        Ok(token) => done(&lab, &principal, Shown { words, text: token.text(), is_link: false }).await,
        Err(error) => refused(&lab, &principal, typed, error).await,
    }
}

/// Makes a token void.
pub(crate) async fn revoke_token(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<String>,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let made = lab.act_on_access(principal.actor(), move |tx, ctx| tokens::revoke(tx, ctx, &id)).await;
    back(&lab, &principal, made, "/admin#tokens").await
}

/// Sets the target policy.
pub(crate) async fn set_policy(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let text = fields.one("policy").replace("\r\n", "\n");
    let typed = Typed { policy: Some(text.clone()), ..Typed::default() };
    match lab.act(principal.actor(), move |tx, ctx| policy::set(tx, ctx, &text)).await {
        Ok(()) => Ok(Redirect::to("/admin#policy").into_response()),
        Err(error) => refused(&lab, &principal, typed, error).await,
    }
}

/// Cancels everything that is not over.
pub(crate) async fn stop(State(lab): State<Lab>, principal: Principal) -> Result<Redirect, WebError> {
    principal.require(Role::Admin)?;
    lab.act(principal.actor(), actions::builds::stop_all).await?;
    Ok(Redirect::to("/"))
}

async fn back(
    lab: &Lab,
    principal: &Principal,
    made: Result<(), AccessError>,
    to: &str,
) -> Result<Response, WebError> {
    match made {
        Ok(()) => Ok(Redirect::to(to).into_response()),
        Err(error) => refused(lab, principal, Typed::default(), error).await,
    }
}

/// Shows a secret, which nobody keeps but who reads it.
async fn done(lab: &Lab, principal: &Principal, secret: Shown) -> Result<Response, WebError> {
    let outcome = Outcome { secret: Some(secret), ..Outcome::default() };
    let page = Html(page(lab, principal, outcome).await?);
    Ok(([(header::CACHE_CONTROL, "no-store")], page).into_response())
}

async fn refused(
    lab: &Lab,
    principal: &Principal,
    typed: Typed,
    error: AccessError,
) -> Result<Response, WebError> {
    mistaken(lab, principal, typed, mistake_of(error)?).await
}

async fn mistaken(
    lab: &Lab,
    principal: &Principal,
    typed: Typed,
    mistake: FieldMistake,
) -> Result<Response, WebError> {
    let outcome = Outcome { mistakes: vec![mistake], typed, ..Outcome::default() };
    let page = page(lab, principal, outcome).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
}

fn role(fields: &Fields) -> Result<Role, WebError> {
    fields.parsed("role")?.ok_or_else(|| WebError::Query("choose a role".to_owned()))
}

async fn page(lab: &Lab, principal: &Principal, outcome: Outcome) -> Result<String, WebError> {
    principal.require(Role::Admin)?;
    let Outcome { mistakes, secret, mut typed, before } = outcome;
    let read = lab.store.read(move |tx| Read::of(tx, before)).await?;
    let mut entries = read.entries;
    let is_more = entries.len() > ENTRIES as usize;
    entries.truncate(ENTRIES as usize);
    let (store, size) = match &lab.options.store {
        StoreAddress::Sqlite(path) => {
            let size = std::fs::metadata(path).ok().map(|found| format::bytes(found.len()));
            (format!("SQLite, {}", path.display()), size)
        }
        // Its address may hold a password.
        StoreAddress::Postgres(_) => ("PostgreSQL".to_owned(), None),
    };
    let page = Page {
        frame: Frame::of(principal).at("/admin"),
        mistakes,
        secret,
        roles: [Role::Viewer, Role::Runner, Role::Admin],
        days: typed.days.take().unwrap_or_else(|| tokens::TOKEN_DAYS.to_string()),
        days_max: tokens::TOKEN_DAYS_MAX,
        now: clock::wall(),
        users: read.users,
        tokens: read.tokens,
        policy: typed.policy.take().unwrap_or(read.policy),
        typed,
        older: entries.last().filter(|_| is_more).map(|entry| entry.id),
        entries,
        audit_entries: read.checked.entries,
        audit_head: read.checked.head.text(),
        audit_broken: read.checked.broken_at,
        store,
        size,
        counts: read.counts,
        notes: lab.notes().to_vec(),
    };
    Ok(page.render()?)
}

/// What the page shows of the store.
struct Read {
    users: Vec<UserRow>,
    tokens: Vec<TokenRow>,
    policy: String,
    entries: Vec<audit::Entry>,
    checked: audit::Checked,
    counts: Vec<(&'static str, String)>,
}

impl Read {
    fn of(tx: &mut Tx<'_>, before: Option<i64>) -> Result<Self, StoreError> {
        let counts = figures::counts(tx)?;
        let formatted = |(name, count): (&'static str, u64)| (name, prony_report::count(count));
        Ok(Self {
            users: users::list(tx)?,
            tokens: tokens::list(tx)?,
            policy: policy::written(&rules(tx)?),
            entries: audit::list(tx, before, ENTRIES + 1)?,
            checked: audit::check(tx)?,
            counts: counts.into_iter().map(formatted).collect(),
        })
    }
}

/// The beginning of a detail, on one line.
fn short(detail: &str) -> String {
    // One line is enough to see which it is.
    let one_line = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = one_line.chars().take(DETAIL_CHARACTERS).collect();
    if shown.len() < one_line.len() {
        shown.push('…');
    }
    ansi_stripper::line(&shown)
}
