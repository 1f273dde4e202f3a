//! What every request passes first, and every response last.
//!
//! In: a name that is ours (S2), a bounded body in bounded time (S13), who asks (S3–S5), and that a page of ours made
//! them ask (S6). Out: the headers that keep a browser from doing more than it should (S18).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::pages::{Frame, ProblemWords, problem};
use crate::http::{Means, Principal, WebError};
use prony_lab_core::capacity::Turn;
use prony_lab_core::lab::Lab;
use prony_lab_model::Role;
use prony_lab_model::auth::{
    CONTENT_SECURITY_POLICY, HostError, Provenance, SECURITY_HEADERS, STORED_PAGE_POLICY, Secret,
};

/// What somebody may send who may do something: a project's definition is far below.
const BODY_MAX: usize = 1 << 20;
/// What somebody may send whom nobody knows: name and password.
const UNKNOWN_BODY_MAX: usize = 16 << 10;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// A year, as browsers' preload lists want it.
const HSTS: &str = "max-age=31536000";

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The address that asks: behind a proxy, the one that the proxy saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client(pub(crate) IpAddr);

/// Marks a response that is a stored page, with styles of its own: it is shown with an origin of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredPage;

/// Around every route.
pub(super) async fn guard(State(lab): State<Lab>, request: Request, next: Next) -> Response {
    let path = request.uri().path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let wants_page = request.method() == Method::GET && accepts_html(request.headers()) && !is_api(&path);
    let mut response = match admit(&lab, request).await {
        Ok((request, turn)) => {
            let principal = request.extensions().get::<Principal>().cloned();
            let response = next.run(request).await;
            drop(turn);
            with_navigation(response, principal.as_ref())
        }
        Err(error) if is_api(&path) => crate::api::Problem::from(error).into_response(),
        Err(error) => error.into_response(),
    };
    if wants_page && response.status() == StatusCode::UNAUTHORIZED {
        response = Redirect::to(&super::login::address(&path)).into_response();
    }
    finish(&lab, &mut response);
    response
}

/// `response`, and if it is the page of a problem, with the navigation of who asks.
fn with_navigation(mut response: Response, principal: Option<&Principal>) -> Response {
    if let (Some(ProblemWords(words)), Some(principal)) =
        (response.extensions_mut().remove::<ProblemWords>(), principal)
    {
        let page = problem(&Frame::of(principal), response.status(), &words);
        *response.body_mut() = Body::from(page);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Whether scripts ask there, which want errors as JSON.
fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Lets a request in when it is its turn, with its body read, and with who asks.
async fn admit(lab: &Lab, request: Request) -> Result<(Request, Option<Turn>), WebError> {
    let (mut parts, body) = request.into_parts();
    let host = host(&parts.headers, parts.uri.authority().map(ToString::to_string))?;
    lab.access.hosts.check(&host)?;
    let client = client(lab, &parts.headers, parts.extensions.get::<Peer>().copied());
    parts.extensions.insert(Client(client));
    let principal = Principal::find(lab, &parts.headers).await?;
    let changes = !matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_token = principal.as_ref().is_some_and(|principal| principal.means == Means::Token);
    if changes && !is_token {
        provenance(&parts.headers, &host, lab.access.is_secure).check()?;
    }
    let may_send = principal.as_ref().is_some_and(|principal| principal.role >= Role::Runner);
    // A code host's notification of a push is longer than what a stranger may send, so that only a few may at once.
    let is_push = parts.uri.path().starts_with("/push/");
    let _room = if is_push { Some(lab.pushes.try_acquire().map_err(|_| WebError::Busy)?) } else { None };
    let body = if changes {
        whole(body, if may_send || is_push { BODY_MAX } else { UNKNOWN_BODY_MAX }).await?
    } else {
        // No page reads a body of GET; what comes in it is thrown away with the connection.
        Bytes::new()
    };
    let mut turn = None;
    if let Some(principal) = principal {
        if !changes {
            turn = Some(lab.turns.wait(&principal.name).await?);
        }
        if changes
            && principal.means == Means::Cookie
            && !has_token_of_form(&principal.csrf, &parts.headers, &body)
        {
            return Err(WebError::NoFormToken);
        }
        parts.extensions.insert(principal);
    }
    Ok((Request::from_parts(parts, Body::from(body)), turn))
}

/// The one `Host` of a request; where its first line names one too, they must agree.
fn host(headers: &HeaderMap, authority: Option<String>) -> Result<String, HostError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().map_err(|_| HostError::None)?.to_owned(),
        _ => return Err(HostError::None),
    };
    match authority {
        Some(authority) if !authority.eq_ignore_ascii_case(&host) => Err(HostError::None),
        _ => Ok(host),
    }
}

/// The address that asks. Only a configured proxy, or one on this machine, may forward another; the last it
/// names is the one it saw itself.
fn client(lab: &Lab, headers: &HeaderMap, peer: Option<Peer>) -> IpAddr {
    let nobody = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
    let peer = peer.map_or(nobody, |Peer(address)| address.ip());
    let is_proxy = peer.to_canonical().is_loopback() || lab.options.proxies.contains(&peer.to_canonical());
    if !lab.options.is_behind_proxy || !is_proxy {
        return peer;
    }
    let seen = headers.get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
    seen.and_then(|seen| seen.rsplit(',').next()).and_then(|last| last.trim().parse().ok()).unwrap_or(peer)
}

fn provenance<'a>(headers: &'a HeaderMap, host: &'a str, secure: bool) -> Provenance<'a> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("not ASCII"));
    Provenance {
        fetch_site: text("sec-fetch-site"),
        origin: text("origin"),
        referer: text("referer"),
        host,
        secure,
    }
}

/// The whole body, if it is no longer than `most` and comes in time.
async fn whole(body: Body, most: usize) -> Result<Bytes, WebError> {
    let collected = tokio::time::timeout(BODY_TIME, Limited::new(body, most).collect()).await;
    match collected {
        Err(_) => Err(WebError::SlowBody),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(WebError::LargeBody(most)),
        Ok(Err(_)) => Err(WebError::BrokenBody),
    }
}

/// Whether a request carries what only a form of its session knows: in the field `csrf`, or in `X-CSRF-Token`.
fn has_token_of_form(csrf: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let Ok(expected) = Secret::read(csrf) else { return false };
    if let Some(value) = headers.get("x-csrf-token") {
        return value.to_str().is_ok_and(|text| expected.is(text));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.starts_with("application/x-www-form-urlencoded")
        && url::form_urlencoded::parse(body).any(|(name, value)| name == "csrf" && expected.is(&value))
}

/// Gives a response the headers that every one has.
fn finish(lab: &Lab, response: &mut Response) {
    let is_stored = response.extensions().get::<StoredPage>().is_some();
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let policy = if is_stored { STORED_PAGE_POLICY } else { CONTENT_SECURITY_POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if lab.access.is_secure {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    // What one person sees is nobody else's, and may be something else after a logout.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    headers.entry(header::VARY).or_insert(HeaderValue::from_static("Cookie, Authorization"));
}
