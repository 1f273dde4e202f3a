//! Logging in and out, and the link by which somebody sets a password.

use std::net::IpAddr;

use askama::Template;
use axum::extract::{Extension, Form, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::guard::Client;
use super::pages::Frame;
use crate::http::{Principal, WebError};
use prony_lab_core::actions::sessions;
use prony_lab_core::lab::Lab;
use prony_lab_model::auth::{Digest, Password, Secret, Source};
use prony_lab_model::clock;
use prony_lab_store::{StoreError, Tx, users};

/// Where somebody wanted to go is a path of ours; a longer one is forgotten.
const NEXT_MAX: usize = 2_000;
/// Characters of what a browser calls itself that are kept.
const AGENT_MAX: usize = 300;

/// The form of `/login`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Login {
    name: String,
    password: String,
    next: String,
}

/// Where somebody wanted to go.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    next: String,
}

/// The form of a link.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    password: String,
    again: String,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    name: String,
    next: String,
    mistake: Option<String>,
}

#[derive(Template)]
#[template(path = "first_login.html")]
struct FirstLoginPage {
    frame: Frame,
    name: String,
    mistake: Option<String>,
}

/// The address of the form that leads on to `next`.
pub(super) fn address(next: &str) -> String {
    match own_path(next) {
        "/" => "/login".to_owned(),
        next => format!("/login?next={}", utf8_percent_encode(next, NON_ALPHANUMERIC)),
    }
}

/// `next` if it is a path of this lab, else `/`: a login never leads elsewhere. `//host` and `/\host` are other hosts to
/// a browser, and it drops control characters before it looks.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/')
        && !next[1..].starts_with(['/', '\\'])
        && next.len() <= NEXT_MAX
        && next.bytes().all(|byte| byte.is_ascii_graphic());
    if is_own { next } else { "/" }
}

/// Shows the form.
pub(super) async fn show(
    principal: Option<Extension<Principal>>,
    Query(wish): Query<Wish>,
) -> Result<Response, WebError> {
    match principal {
        Some(Extension(principal)) if !principal.csrf.is_empty() => {
            Ok(Redirect::to(own_path(&wish.next)).into_response())
        }
        _ => page(StatusCode::OK, String::new(), &wish.next, None),
    }
}

/// Takes name and password.
pub(super) async fn accept(
    State(lab): State<Lab>,
    Extension(Client(client)): Extension<Client>,
    headers: HeaderMap,
    Form(login): Form<Login>,
) -> Result<Response, WebError> {
    let device = lab.access.device.find(cookies(&headers), &login.name);
    let source = Source { address: client, device: device.as_deref() };
    if let Err(refused) = lab.access.logins.attempt(&login.name, source, clock::steady()) {
        let mut response =
            page(StatusCode::TOO_MANY_REQUESTS, login.name, &login.next, Some(refused.to_string()))?;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(refused.wait.as_secs().max(1)));
        return Ok(response);
    }
    let name = login.name.clone();
    let stored = lab.store.read(move |tx| users::password(tx, &name)).await?;
    let (id, hash) = stored.map_or((None, None), |(id, hash)| (Some(id), Some(hash)));
    let typed = login.password;
    let is_right = hashed(&lab, move || Password::verify(&typed, hash.as_deref())).await?;
    let Some(id) = id.filter(|_| is_right) else {
        let (name, from) = (login.name.clone(), client.to_string());
        lab.store.write(move |tx| sessions::refuse(tx, &name, &from, clock::wall())).await?;
        let words = "name or password is wrong".to_owned();
        return page(StatusCode::UNAUTHORIZED, login.name, &login.next, Some(words));
    };
    lab.access.logins.succeeded(&login.name, source);
    let old = session(&lab, &headers);
    let name = login.name.clone();
    let origin = origin(client, &headers);
    let begin = move |tx: &mut Tx<'_>| sessions::begin(tx, id, &name, old, &origin, clock::wall());
    let secret = lab.store.write(begin).await?;
    lab.access.forget();
    Ok(led_in(&lab, own_path(&login.next), &login.name, &secret))
}

/// Ends the session.
pub(super) async fn leave(
    State(lab): State<Lab>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    if let Some(digest) = session(&lab, &headers) {
        lab.act_on_access(principal.actor(), move |tx, ctx| sessions::end(tx, ctx, &digest)).await?;
    }
    Ok(led_out(&lab))
}

/// On to the login, without a session.
pub(super) fn led_out(lab: &Lab) -> Response {
    let mut response = unkept(Redirect::to("/login").into_response());
    add_cookie(&mut response, lab.access.cookie.clear());
    response
}

/// Where a session is begun that `client` asks for.
pub(super) fn origin(client: IpAddr, headers: &HeaderMap) -> sessions::Origin {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    sessions::Origin {
        address: client.to_canonical().to_string(),
        agent: agent.chars().take(AGENT_MAX).collect(),
    }
}

/// Shows the form of a link. Nothing is used up by that: whatever looks at links ahead of people must not void them.
pub(super) async fn first_show(
    State(lab): State<Lab>,
    Path(secret): Path<String>,
) -> Result<Response, WebError> {
    let name = invited(&lab, &secret).await?;
    first_page(StatusCode::OK, name, None)
}

/// Takes the password that was chosen, and logs in.
pub(super) async fn first_accept(
    State(lab): State<Lab>,
    Path(secret): Path<String>,
    Extension(Client(client)): Extension<Client>,
    headers: HeaderMap,
    Form(choice): Form<Choice>,
) -> Result<Response, WebError> {
    let name = invited(&lab, &secret).await?;
    let password = match Password::choose(&choice.password, &name) {
        _ if choice.password != choice.again => Err("the two are not the same: type it again".to_owned()),
        chosen => chosen.map_err(|error| error.to_string()),
    };
    let password = match password {
        Ok(password) => password,
        Err(words) => return first_page(StatusCode::UNPROCESSABLE_ENTITY, name, Some(words)),
    };
    let digest = digest(&secret)?;
    let hash = hashed(&lab, move || password.hash()).await?;
    let origin = origin(client, &headers);
    let (name, begun) = lab
        .store
        .write(move |tx| sessions::accept_invitation(tx, &digest, &hash, &origin, clock::wall()))
        .await?
        .ok_or_else(void)?;
    lab.access.forget();
    Ok(led_in(&lab, "/", &name, &begun))
}

fn page(status: StatusCode, name: String, next: &str, mistake: Option<String>) -> Result<Response, WebError> {
    let page = LoginPage { frame: Frame::bare(), name, next: own_path(next).to_owned(), mistake };
    Ok(unkept((status, Html(page.render()?)).into_response()))
}

fn first_page(status: StatusCode, name: String, mistake: Option<String>) -> Result<Response, WebError> {
    let page = FirstLoginPage { frame: Frame::bare(), name, mistake };
    Ok(unkept((status, Html(page.render()?)).into_response()))
}

/// On to `path`, with a session of `user`, from a device that is known from now on.
pub(super) fn led_in(lab: &Lab, path: &str, user: &str, session: &Secret) -> Response {
    let mut response = unkept(Redirect::to(path).into_response());
    add_cookie(&mut response, lab.access.cookie.set(session));
    add_cookie(&mut response, lab.access.device.set(user));
    response
}

fn add_cookie(response: &mut Response, cookie: String) {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn unkept(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The digest of the session that came with a request.
fn session(lab: &Lab, headers: &HeaderMap) -> Option<Digest> {
    lab.access.cookie.find(cookies(headers)).map(|secret| secret.digest())
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok())
}

/// Whom a link is for.
async fn invited(lab: &Lab, secret: &str) -> Result<String, WebError> {
    let digest = digest(secret)?;
    let found = lab.store.read(move |tx| users::invited(tx, &digest, clock::wall())).await?;
    found.map(|(name, _)| name.to_string()).ok_or_else(void)
}

fn digest(secret: &str) -> Result<Digest, WebError> {
    Secret::read(secret).map(|secret| secret.digest()).map_err(|_| void())
}

fn void() -> WebError {
    WebError::Missing("such link: it was used, or its hour is over; ask an admin for another".to_owned())
}

/// Does something with a password, one after the other, off the threads that answer.
pub(super) async fn hashed<T: Send + 'static>(
    lab: &Lab,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WebError> {
    let answer = lab.access.hashing.submit(work).map_err(|_| WebError::Busy)?;
    answer.await.map_err(|_| WebError::Store(StoreError::Fault("hashing a password panicked".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_nowhere_else() {
        for own in ["/", "/build/7?x=y&z=%2F", "/add_job"] {
            assert_eq!(own_path(own), own);
        }
        let long = format!("/{}", "a".repeat(2_000));
        for foreign in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil", "/a b", "x", &long]
        {
            assert_eq!(own_path(foreign), "/", "{foreign}");
        }
        assert_eq!(address("/build/7?a=b"), "/login?next=%2Fbuild%2F7%3Fa%3Db");
        assert_eq!(address("//evil.example"), "/login");
    }
}
