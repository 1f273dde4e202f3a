//! Who asks.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::error::WebError;
use crate::lab::Lab;
use crate::model::Role;

/// Who asks, and what they may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// For the audit log and for "requested by".
    pub(crate) name: String,
    /// What they may do.
    pub(crate) role: Role,
}

impl Principal {
    /// Fails where they may not do what `least` may.
    pub(crate) fn demand(&self, least: Role) -> Result<(), WebError> {
        if self.role >= least { Ok(()) } else { Err(WebError::Forbidden(least)) }
    }
}

impl FromRequestParts<Lab> for Principal {
    type Rejection = WebError;

    async fn from_request_parts(_: &mut Parts, lab: &Lab) -> Result<Self, WebError> {
        let role = lab.options.anonymous.ok_or(WebError::Unknown)?;
        Ok(Self { name: "anonymous".to_owned(), role })
    }
}
