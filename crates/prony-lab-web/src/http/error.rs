//! What goes wrong, as people see it.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use prony_lab_core::actions::AccessError;
use prony_lab_core::capacity::CapacityError;
use prony_lab_model::Role;
use prony_lab_model::auth::{ForeignOrigin, HostError};
use prony_lab_store::StoreError;

/// How long the passwords of others take that wait already.
const BUSY: Duration = Duration::from_secs(10);

/// Why a page can't be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// There is no such thing.
    #[error("there is no {0}")]
    Missing(String),
    /// Nobody knows who asks.
    #[error("log in first")]
    Unknown,
    /// A token that opens nothing.
    #[error("this API token is unknown or revoked; make one: prony lab token add")]
    BadToken,
    /// A push that isn't signed with the secret that was agreed on.
    #[error(
        "this push is not signed with the secret of the project's trigger: give the code host that secret"
    )]
    BadSignature,
    /// A name that isn't the lab's.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A page of somebody else made the request.
    #[error(transparent)]
    Foreign(#[from] ForeignOrigin),
    /// A form without the token of its session.
    #[error("the form is older than this login, or not ours; open it again and send it once more")]
    NoFormToken,
    /// A body beyond the bound.
    #[error("the request is larger than {0} bytes: send less")]
    LargeBody(usize),
    /// A body that doesn't come.
    #[error("the request did not arrive within 30 s: send it again")]
    SlowBody,
    /// A body that broke off.
    #[error("the request broke off: send it again")]
    BrokenBody,
    /// Too much to do.
    #[error("the lab is busy; try again in a minute")]
    Busy,
    /// They may not.
    #[error("this needs the role {}; ask an administrator of this lab", .0.name())]
    Forbidden(Role),
    /// The address asks for something that can't be meant.
    #[error("{0}; go back and choose again")]
    Query(String),
    /// What a form sent can't be read.
    #[error("the form can't be read ({0}); go back and send it again")]
    Form(String),
    /// The store.
    #[error("failed to {0}")]
    Store(#[from] StoreError),
    /// A page can't be drawn: a fault of ours.
    #[error("the page can't be drawn ({0}): this is a fault of prony")]
    Drawing(#[from] askama::Error),
}

impl From<AccessError> for WebError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Store(error) => Self::Store(error),
            AccessError::Role(role) => Self::Forbidden(role),
            other => Self::Query(other.to_string()),
        }
    }
}

impl WebError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) | Self::Store(StoreError::Missing(_)) => StatusCode::NOT_FOUND,
            Self::Unknown | Self::BadToken | Self::BadSignature => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) | Self::Foreign(_) | Self::NoFormToken => StatusCode::FORBIDDEN,
            // RFC 9110, 15.5.20: the request came to a server that doesn't answer for that name.
            Self::Host(HostError::Foreign(_)) => StatusCode::MISDIRECTED_REQUEST,
            Self::Query(_) | Self::Form(_) | Self::Host(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::LargeBody(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::Store(StoreError::Conflict(_)) => StatusCode::CONFLICT,
            Self::Store(StoreError::Fault(_) | StoreError::Damaged(_)) | Self::Drawing(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Busy | Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl WebError {
    /// When it may work, where that is known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Store(error) => error.retry_after(),
            Self::Busy => Some(BUSY),
            _ => None,
        }
    }
}

/// What `status` wants beside it.
pub(crate) fn add_headers(headers: &mut HeaderMap, status: StatusCode, retry_after: Option<Duration>) {
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"prony lab\""));
    }
    if let Some(wait) = retry_after {
        headers.insert(header::RETRY_AFTER, wait.as_secs().into());
    }
}

impl From<CapacityError> for WebError {
    fn from(error: CapacityError) -> Self {
        match error {
            CapacityError::Busy => Self::Busy,
            CapacityError::Store(error) => Self::Store(error),
            CapacityError::Drawing(error) => Self::Drawing(error),
        }
    }
}
