//! What goes wrong, as people see it.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{Html, IntoResponse, Response};

use super::pages::{Frame, problem};
use crate::model::Role;
use crate::store::StoreError;

/// Why a page can't be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// There is no such thing.
    #[error("there is no {0}")]
    Missing(String),
    /// Nobody knows who asks.
    #[error("log in first")]
    Unknown,
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
    #[error("the page can't be drawn ({0})")]
    Drawing(#[from] askama::Error),
}

impl WebError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) | Self::Store(StoreError::Missing(_)) => StatusCode::NOT_FOUND,
            Self::Query(_) | Self::Form(_) => StatusCode::BAD_REQUEST,
            Self::Unknown => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Store(StoreError::Conflict(_)) => StatusCode::CONFLICT,
            Self::Store(StoreError::Fault(_)) | Self::Drawing(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let page = problem(&Frame::bare(), self.status(), &self.to_string());
        let mut response = (self.status(), Html(page)).into_response();
        if let Self::Store(error) = &self
            && let Some(wait) = error.retry_after()
        {
            response.headers_mut().insert(RETRY_AFTER, wait.as_secs().into());
        }
        response
    }
}
