//! How a call fails: RFC 9457.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{WebError, add_headers};
use prony_lab_core::actions::AccessError;
use prony_lab_core::lab::Refused;
use prony_lab_core::policy::Refusal;
use prony_lab_model::FieldMistake;
use prony_lab_store::StoreError;

/// What went wrong, as `application/problem+json` (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    pub(super) status: u16,
    /// What happened, and what to try.
    detail: String,
    /// What is wrong with which field.
    mistakes: Vec<FieldMistake>,
    /// When to try again.
    #[serde(skip)]
    retry_after: Option<Duration>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail: detail.into(),
            mistakes: Vec::new(),
            retry_after: None,
        }
    }

    pub(super) fn missing(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what}"))
    }

    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut headers = HeaderMap::new();
        add_headers(&mut headers, status, self.retry_after);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let text = serde_json::to_string(&self).expect("invariant: a problem is plain data");
        (status, headers, text).into_response()
    }
}

impl From<WebError> for Problem {
    fn from(error: WebError) -> Self {
        Self { retry_after: error.retry_after(), ..Self::new(error.status(), error.to_string()) }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        WebError::from(error).into()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::unfit(refusal.to_string())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fields(mistakes) => {
                let fields: Vec<&str> = mistakes.iter().map(|mistake| mistake.field.as_str()).collect();
                let detail = format!("something is wrong with {}", fields.join(", "));
                Self { mistakes, ..Self::unfit(detail) }
            }
            Refused::Target(refusal) => refusal.into(),
            Refused::KeyReused => {
                Self::unfit("another request was sent with this Idempotency-Key: take a new one")
            }
            Refused::Store(error) => error.into(),
        }
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        let status = match error {
            AccessError::Store(error) => return error.into(),
            AccessError::NoUser(_) | AccessError::NoToken(_) => StatusCode::NOT_FOUND,
            AccessError::Role(_) => StatusCode::FORBIDDEN,
            AccessError::LastAdmin(_) | AccessError::NoPassword(_) | AccessError::TooManyTokens { .. } => {
                StatusCode::CONFLICT
            }
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, format!("failed to {error}"))
    }
}
