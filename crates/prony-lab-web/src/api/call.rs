//! How a handler of the API is called, and what it answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, FromRequestParts as _, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use crate::http::{Principal, WebError, own_address};
use prony_lab_core::lab::Lab;
use prony_lab_model::Role;
use prony_lab_model::auth::hexadecimal;

/// A row of the table of routes.
pub(super) struct Route {
    pub(super) method: Method,
    /// Below [`super::BASE`].
    pub(super) path: &'static str,
    /// The least role of a caller.
    pub(super) least: Role,
    /// What it does, in a sentence.
    pub(super) summary: &'static str,
    /// The status of success.
    pub(super) status: StatusCode,
    /// Whether the header `Idempotency-Key` counts.
    pub(super) takes_key: bool,
    pub(super) schemas: Schemas,
    pub(super) handler: MethodRouter<Lab>,
}

/// The types of a route, as functions that make their schemas.
#[derive(Clone, Copy)]
pub(super) struct Schemas {
    pub(super) path: fn(&mut SchemaGenerator) -> Schema,
    pub(super) query: fn(&mut SchemaGenerator) -> Schema,
    /// None where nothing is sent.
    pub(super) body: Option<fn(&mut SchemaGenerator) -> Schema>,
    pub(super) answer: fn(&mut SchemaGenerator) -> Schema,
}

/// Nothing: no parameters, no body.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Nothing {}

/// One call.
pub(super) struct Call<P, Q, B> {
    pub(super) lab: Lab,
    pub(super) who: Principal,
    pub(super) path: P,
    pub(super) query: Q,
    pub(super) body: B,
    /// What the client calls this request, so that it can send it again without a second effect.
    pub(super) key: Option<String>,
    /// The SHA-256 of the body.
    pub(super) digest: prony_lab_model::auth::Digest,
    /// Where the client reached the lab: `http://127.0.0.1:3000`.
    pub(super) own_address: String,
}

/// What a handler answers.
pub(super) struct Answer<R> {
    pub(super) body: R,
    /// Where what was made is.
    pub(super) location: Option<String>,
    /// Whether nobody may keep it, a cache least of all.
    pub(super) is_secret: bool,
}

impl<R> Answer<R> {
    pub(super) fn at(body: R, path: &str) -> Self {
        Self { body, location: Some(format!("{}{path}", super::BASE)), is_secret: false }
    }

    pub(super) fn secret(body: R) -> Self {
        Self { body, location: None, is_secret: true }
    }
}

impl<R> From<R> for Answer<R> {
    fn from(body: R) -> Self {
        Self { body, location: None, is_secret: false }
    }
}

/// The result of a handler.
pub(super) type Answered<R> = Result<Answer<R>, Problem>;

impl Route {
    /// A route whose handler takes parameters of the path, of the query and a body, and answers `R`.
    pub(super) fn new<P, Q, B, R, F>(
        method: Method,
        path: &'static str,
        least: Role,
        summary: &'static str,
        handler: fn(Call<P, Q, B>) -> F,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        F: Future<Output = Answered<R>> + Send + 'static,
    {
        let has_body = method == Method::POST || method == Method::PUT;
        let status = StatusCode::OK;
        let filter = MethodFilter::try_from(method.clone()).expect("invariant: the table has usual methods");
        let schemas = Schemas {
            path: P::json_schema,
            query: Q::json_schema,
            body: (has_body && B::schema_name() != Nothing::schema_name())
                .then_some(|generator: &mut SchemaGenerator| generator.subschema_for::<B>()),
            answer: |generator| generator.subschema_for::<R>(),
        };
        let takes_body = schemas.body.is_some();
        let answer: Handler = Arc::new(move |mut raw: Raw| {
            Box::pin(async move {
                let Ok(Path(path)) = Path::<P>::from_request_parts(&mut raw.parts, &()).await else {
                    let words = "such thing: what stands in the address is no number or name";
                    return Err(Problem::missing(words));
                };
                let Query(query) =
                    Query::try_from_uri(&raw.parts.uri).map_err(|error| Problem::bad(error.body_text()))?;
                let body = serde_json::from_slice(raw.json(takes_body)?).map_err(|error| unread(&error))?;
                handler(raw.call()?.of(path, query, body)).await?.written()
            })
        });
        let handler = mounted(filter, least, answer);
        Self { method, path, least, summary, status, takes_key: false, schemas, handler }
    }

    /// The same for what makes something: it answers 201, unless it was made before.
    pub(super) fn creates(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// The same for what honours `Idempotency-Key`.
    pub(super) fn keyed(self) -> Self {
        Self { takes_key: true, ..self }
    }
}

/// A request that was let in, with nothing read of it yet.
struct Raw {
    lab: Lab,
    who: Principal,
    parts: Parts,
    bytes: Bytes,
}

/// Reads a request, does what it asks for, and writes the answer: a route without its types, so that what surrounds it is
/// compiled once.
type Handler =
    Arc<dyn Fn(Raw) -> Pin<Box<dyn Future<Output = Result<Written, Problem>> + Send>> + Send + Sync>;

/// An answer as JSON.
struct Written {
    text: Vec<u8>,
    location: Option<String>,
    is_secret: bool,
}

/// `answer` as a route for those who are at least `least`.
fn mounted(filter: MethodFilter, least: Role, answer: Handler) -> MethodRouter<Lab> {
    on(
        filter,
        async move |State(lab): State<Lab>, who: Option<Extension<Principal>>, parts: Parts, bytes: Bytes| {
            let (method, headers) = (parts.method.clone(), parts.headers.clone());
            let answered = async {
                let Some(Extension(who)) = who else { return Err(WebError::Unknown.into()) };
                who.require(least)?;
                answer(Raw { lab, who, parts, bytes }).await
            };
            match answered.await {
                Ok(written) => written.response(&method, &headers),
                Err(problem) => problem.into_response(),
            }
        },
    )
}

impl Raw {
    /// What was sent, as JSON; an empty object where nothing is to be sent.
    fn json(&self, takes_body: bool) -> Result<&[u8], Problem> {
        if !takes_body {
            return Ok(b"{}");
        }
        let kind = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
        if !is_json {
            let words = "send JSON, with the header Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        Ok(&self.bytes)
    }

    /// The call that this is, with nothing read of it.
    fn call(self) -> Result<Call<(), (), ()>, Problem> {
        let Self { lab, who, parts, bytes } = self;
        // Of another route, or another thing, the same key is another request's.
        let key = key(&parts.headers)?.map(|key| format!("{} {} {key}", parts.method, parts.uri.path()));
        let digest = prony_lab_model::auth::Digest(Sha256::digest(&bytes).into());
        let own_address = own_address(&lab, &parts.headers);
        Ok(Call { lab, who, path: (), query: (), body: (), key, digest, own_address })
    }
}

impl Call<(), (), ()> {
    /// The call with what was read of it.
    fn of<P, Q, B>(self, path: P, query: Q, body: B) -> Call<P, Q, B> {
        let Self { lab, who, key, digest, own_address, .. } = self;
        Call { lab, who, path, query, body, key, digest, own_address }
    }
}

/// Why a body could not be read.
fn unread(error: &serde_json::Error) -> Problem {
    if error.is_data() { Problem::unfit(error.to_string()) } else { Problem::bad(error.to_string()) }
}

/// The longest `Idempotency-Key`, as the document has it.
const KEY_BYTES_MAX: usize = 255;

/// `Idempotency-Key`: visible characters alone.
fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    if text.is_empty() || text.len() > KEY_BYTES_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let words = "an Idempotency-Key has 1 to 255 visible ASCII characters and no spaces, such as a UUID";
        return Err(Problem::bad(words));
    }
    Ok(Some(text.to_owned()))
}

impl<R: Serialize> Answer<R> {
    fn written(self) -> Result<Written, Problem> {
        let Self { body, location, is_secret } = self;
        match serde_json::to_vec(&body) {
            Ok(text) => Ok(Written { text, location, is_secret }),
            Err(error) => {
                let words = format!("the answer can't be written ({error})");
                Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, words))
            }
        }
    }
}

impl Written {
    /// The response, with its ETag where it was read; nothing where the client has it already.
    fn response(self, method: &Method, headers: &HeaderMap) -> Response {
        let Self { text, location, is_secret } = self;
        let made = location.is_some();
        let mut response_headers = HeaderMap::new();
        response_headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(location) = location.and_then(|path| HeaderValue::try_from(path).ok()) {
            response_headers.insert(header::LOCATION, location);
        }
        if is_secret {
            response_headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if method == Method::GET {
            // Half of a SHA-256 is enough to distinguish any two answers.
            let tag = format!("\"{}\"", hexadecimal(&Sha256::digest(&text)[..16]));
            let has_it = has_tag(headers, &tag);
            response_headers
                .insert(header::ETAG, HeaderValue::try_from(tag).expect("invariant: hexadecimal digits"));
            if has_it {
                return (StatusCode::NOT_MODIFIED, response_headers).into_response();
            }
        }
        let status = if made { StatusCode::CREATED } else { StatusCode::OK };
        (status, response_headers, text).into_response()
    }
}

/// RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`.
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lists
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}
