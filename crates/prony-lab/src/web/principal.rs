//! Who asks.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::error::WebError;
use crate::access::Who;
use crate::auth::ApiToken;
use crate::lab::Lab;
use crate::model::Role;

/// Who asks, and what they may do. [`super::guard`] finds out before anything else is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// For the audit log and for "requested by".
    pub(crate) name: String,
    /// What they may do.
    pub(crate) role: Role,
    /// What the forms of their session carry in the hidden field `csrf`; empty without a session.
    pub(crate) csrf: String,
    /// How they showed who they are.
    pub(crate) means: Means,
}

/// How somebody showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// Not at all.
    Nothing,
    /// By a session's cookie, which a browser sends whoever made the request.
    Cookie,
    /// By an API token.
    Token,
}

impl Principal {
    /// Fails where they may not do what `least` may.
    pub(crate) fn demand(&self, least: Role) -> Result<(), WebError> {
        if self.role >= least { Ok(()) } else { Err(WebError::Forbidden(least)) }
    }

    fn new(who: Who, means: Means) -> Self {
        Self { name: who.name, role: who.role, csrf: who.csrf.unwrap_or_default(), means }
    }

    /// Who asks with these headers. A token that is shown counts alone, and must be good.
    pub(super) async fn find(lab: &Lab, headers: &HeaderMap) -> Result<Option<Self>, WebError> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let text = value.to_str().ok().and_then(|text| text.split_once(' '));
            let bearer = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let token = bearer.and_then(|(_, token)| ApiToken::read(token.trim()).ok());
            let who = match token {
                Some(token) => lab.who_has_token(&token).await?,
                None => None,
            };
            return who.map(|who| Some(Self::new(who, Means::Token))).ok_or(WebError::BadToken);
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        if let Some(secret) = lab.access.cookie.find(cookies)
            && let Some(who) = lab.who_has_session(&secret).await?
        {
            return Ok(Some(Self::new(who, Means::Cookie)));
        }
        let anonymous =
            |role| Self { name: "anonymous".to_owned(), role, csrf: String::new(), means: Means::Nothing };
        Ok(lab.options.anonymous.map(anonymous))
    }
}

impl FromRequestParts<Lab> for Principal {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &Lab) -> Result<Self, WebError> {
        parts.extensions.get::<Self>().cloned().ok_or(WebError::Unknown)
    }
}
