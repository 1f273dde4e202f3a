//! `/account`: one's own password, sessions and tokens.

use askama::Template;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format, mistake_of};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam, QueryParams};
use crate::web::guard::Client;
use crate::web::login;
use prony_lab_core::access::Shown;
use prony_lab_core::actions::{AccessError, TokenRow, sessions, tokens, users};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::auth::{Digest, Password, Source};
use prony_lab_model::clock;
use prony_lab_model::{FieldMistake, Role};
use prony_lab_store as store;

#[derive(Template)]
#[template(path = "account.html")]
struct Page {
    frame: Frame,
    name: String,
    role: Role,
    /// What could not be done.
    mistakes: Vec<FieldMistake>,
    /// What was done.
    done: Option<&'static str>,
    /// A new token: what it is for, and itself.
    token: Option<(String, String)>,
    /// What was typed for a new token.
    label: String,
    role_chosen: Role,
    days: String,
    days_max: u32,
    roles: Vec<Role>,
    sessions: Vec<SessionRow>,
    tokens: Vec<TokenRow>,
    now: clock::Moment,
}

/// A session, as the page lists it.
struct SessionRow {
    id: String,
    is_this: bool,
    address: String,
    agent: String,
    created_at: clock::Moment,
    expires_at: clock::Moment,
}

/// What came of the last form.
struct Outcome {
    mistakes: Vec<FieldMistake>,
    done: Option<&'static str>,
    token: Option<(String, String)>,
    label: String,
    role: Role,
    days: String,
}

impl Default for Outcome {
    fn default() -> Self {
        let days = tokens::TOKEN_DAYS.to_string();
        Self { mistakes: Vec::new(), done: None, token: None, label: String::new(), role: Role::Runner, days }
    }
}

/// Shows it. `label` in the query stands in the form for a new token.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Response, WebError> {
    let done = (query.one("done") == "password")
        .then_some("Your password is changed, and your other sessions have ended.");
    let outcome = Outcome { label: query.one("label").to_owned(), done, ..Outcome::default() };
    page(&lab, &principal, outcome).await
}

/// Takes a new password, where the old one is right. Whoever else is logged in as them no longer is.
pub(crate) async fn set_password(
    State(lab): State<Lab>,
    principal: Principal,
    Extension(Client(client)): Extension<Client>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, WebError> {
    session(&principal)?;
    let mistaken = async |field: &str, message: String| {
        let mistakes = vec![FieldMistake { field: field.to_owned(), message }];
        let outcome = Outcome { mistakes, ..Outcome::default() };
        page(&lab, &principal, outcome).await
    };
    let name = principal.name.clone();
    let (old, new) = (fields.whole("old").to_owned(), fields.whole("password").to_owned());
    if new != fields.whole("again") {
        return mistaken("again", "the two new ones are not the same: type them again".to_owned()).await;
    }
    let password = match Password::choose(&new, &name) {
        Ok(password) => password,
        Err(error) => return mistaken("new", error.to_string()).await,
    };
    // Somebody at a browser that was left open tries passwords no faster than at the login.
    let source = Source { address: client, device: None };
    if let Err(refused) = lab.access.logins.attempt(&name, source, clock::steady()) {
        return mistaken("old", refused.to_string()).await;
    }
    let user = name.clone();
    let stored = lab.store.read(move |tx| store::users::password(tx, &user)).await?;
    let hash = stored.map(|(_, hash)| hash);
    let checked =
        login::hashed(&lab, move || Password::verify(&old, hash.as_deref()).then(|| password.hash()));
    let Some(hash) = checked.await? else {
        return mistaken("old", "the old password is wrong".to_owned()).await;
    };
    lab.access.logins.succeeded(&name, source);
    let origin = login::origin(client, &headers);
    let change = move |tx: &mut store::Tx<'_>, ctx: &prony_lab_core::actions::Ctx| {
        sessions::change_password(tx, ctx, &hash, &origin)
    };
    let begun = lab.act_on_access(principal.actor(), change).await?;
    Ok(login::led_in(&lab, "/account?done=password", &principal.name, &begun))
}

/// Makes a token for oneself.
pub(crate) async fn add_token(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    session(&principal)?;
    let label = fields.one("label").to_owned();
    let role = fields.parsed("role")?.ok_or_else(|| WebError::Query("choose a role".to_owned()))?;
    let days = fields.one("days").to_owned();
    // What is no number is no number of days either.
    let wanted = days.parse().unwrap_or(0);
    let new = tokens::NewToken { user: principal.name.clone(), label: label.clone(), role, days: wanted };
    let outcome = match lab.act(principal.actor(), move |tx, ctx| tokens::add(tx, ctx, &new)).await {
        Ok(token) => {
            Outcome { token: Some((ansi_stripper::line(&label), token.text())), ..Outcome::default() }
        }
        Err(error) => Outcome { label, role, days, ..refused(error)? },
    };
    page(&lab, &principal, outcome).await
}

/// Makes one of one's own tokens void.
pub(crate) async fn revoke_token(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<String>,
) -> Result<Response, WebError> {
    session(&principal)?;
    let own = lab.store.read(tokens::list).await?;
    let own = own.into_iter().find(|token| token.id == id && token.user == principal.name);
    let id = own.ok_or_else(|| WebError::Missing("such token of yours".to_owned()))?.id;
    match lab.act_on_access(principal.actor(), move |tx, ctx| tokens::revoke(tx, ctx, &id)).await {
        Ok(()) => Ok(Redirect::to("/account#tokens").into_response()),
        Err(error) => page(&lab, &principal, refused(error)?).await,
    }
}

/// Ends one of one's own sessions.
pub(crate) async fn end_session(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<String>,
) -> Result<Response, WebError> {
    session(&principal)?;
    let missing = || WebError::Missing("such session of yours: it has ended already".to_owned());
    let digest = Digest::read(&id).ok_or_else(missing)?;
    lab.act_on_access(principal.actor(), move |tx, ctx| sessions::end_own(tx, ctx, &digest)).await?;
    Ok(Redirect::to("/account#sessions").into_response())
}

/// Ends all of one's own sessions, this one included.
pub(crate) async fn sign_out(State(lab): State<Lab>, principal: Principal) -> Result<Response, WebError> {
    session(&principal)?;
    let name = principal.name.clone();
    lab.act_on_access(principal.actor(), move |tx, ctx| users::end_sessions(tx, ctx, &name)).await?;
    Ok(login::led_out(&lab))
}

/// The session that somebody asks with; a token changes none of this.
fn session(principal: &Principal) -> Result<Digest, WebError> {
    match principal.shown {
        Some(Shown::Session(digest)) => Ok(digest),
        _ => Err(WebError::Unknown),
    }
}

fn refused(error: AccessError) -> Result<Outcome, WebError> {
    Ok(Outcome { mistakes: vec![mistake_of(error)?], ..Outcome::default() })
}

async fn page(lab: &Lab, principal: &Principal, outcome: Outcome) -> Result<Response, WebError> {
    let this = session(principal)?;
    let name = principal.name.clone();
    let now = clock::wall();
    let (listed, mut own) =
        lab.store.read(move |tx| Ok((store::users::sessions_of(tx, &name, now)?, tokens::list(tx)?))).await?;
    own.retain(|token| token.user == principal.name);
    let row = |session: store::users::Begun| SessionRow {
        id: session.digest.text(),
        is_this: session.digest.is(&this),
        address: session.address,
        agent: browser(&session.agent),
        created_at: session.created_at,
        expires_at: session.expires_at,
    };
    let status = if outcome.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = Page {
        frame: Frame::of(principal).at("/account"),
        name: principal.name.clone(),
        role: principal.role,
        mistakes: outcome.mistakes,
        done: outcome.done,
        token: outcome.token,
        label: outcome.label,
        role_chosen: outcome.role,
        days: outcome.days,
        days_max: tokens::TOKEN_DAYS_MAX,
        roles: [Role::Viewer, Role::Runner, Role::Admin]
            .into_iter()
            .filter(|role| *role <= principal.role)
            .collect(),
        sessions: listed.into_iter().map(row).collect(),
        tokens: own,
        now,
    };
    let page = Html(page.render()?);
    // It may hold a token.
    Ok((status, [(header::CACHE_CONTROL, "no-store")], page).into_response())
}

/// What a browser calls itself, in two words: browsers write the names of all others before their own.
fn browser(agent: &str) -> String {
    let first = |names: &[(&str, &'static str)]| {
        names.iter().find(|(token, _)| agent.contains(token)).map(|(_, name)| *name)
    };
    let name = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (name, system) {
        (Some(name), Some(system)) => format!("{name} on {system}"),
        (Some(name), None) => name.to_owned(),
        (None, _) if agent.is_empty() => "not known".to_owned(),
        (None, _) => ansi_stripper::line(&agent.chars().take(40).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_by_what_they_call_themselves() {
        let check = |agent: &str, expected: &str| assert_eq!(browser(agent), expected, "{agent}");
        check("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox on Linux");
        check(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0",
            "Edge on Windows",
        );
        check(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
            "Safari on macOS",
        );
        check("curl/8.5.0", "curl");
        check("", "not known");
        check("\u{1b}[31mspider", "\\u{1b}[31mspider");
    }
}
