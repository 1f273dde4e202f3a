//! Who asks.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::error::WebError;
use prony_lab_core::access::{Shown, Who};
use prony_lab_core::actions::Actor;
use prony_lab_core::lab::Lab;
use prony_lab_model::auth::ApiToken;
use prony_lab_model::{ANONYMOUS, Role};

/// Who asks, and what they may do. The guard (`web/guard.rs`) finds out before anything else is done.
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
    /// What they showed, to ask later whether it is still good.
    pub(crate) shown: Option<Shown>,
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
    pub(crate) fn require(&self, least: Role) -> Result<(), WebError> {
        if self.role >= least { Ok(()) } else { Err(WebError::Forbidden(least)) }
    }

    fn new(who: Who, shown: Shown) -> Self {
        let means = if matches!(shown, Shown::Token(..)) { Means::Token } else { Means::Cookie };
        let csrf = who.csrf.unwrap_or_default();
        Self { name: who.name, role: who.role, csrf, means, shown: Some(shown) }
    }

    /// Who acts, for the lab.
    pub(crate) fn actor(&self) -> Actor {
        let token = match &self.shown {
            Some(Shown::Token(id, _)) => Some(id.clone()),
            _ => None,
        };
        Actor { name: self.name.clone(), role: self.role, token }
    }

    /// Who asks with these headers. A token that is shown counts alone, and must be good.
    pub(crate) async fn find(lab: &Lab, headers: &HeaderMap) -> Result<Option<Self>, WebError> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let text = value.to_str().ok().and_then(|text| text.split_once(' '));
            let bearer = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let token = bearer.and_then(|(_, token)| ApiToken::read(token.trim()).ok());
            let Some(token) = token else { return Err(WebError::BadToken) };
            let shown = Shown::Token(token.id().to_owned(), token.digest());
            let who = lab.who(&shown).await?;
            return who.map(|who| Some(Self::new(who, shown))).ok_or(WebError::BadToken);
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        if let Some(secret) = lab.access.cookie.find(cookies) {
            let shown = Shown::Session(secret.digest());
            if let Some(who) = lab.who(&shown).await? {
                return Ok(Some(Self::new(who, shown)));
            }
        }
        let anonymous = |role| Self {
            name: ANONYMOUS.to_owned(),
            role,
            csrf: String::new(),
            means: Means::Nothing,
            shown: None,
        };
        Ok(lab.options.anonymous.map(anonymous))
    }
}

impl FromRequestParts<Lab> for Principal {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &Lab) -> Result<Self, WebError> {
        parts.extensions.get::<Self>().cloned().ok_or(WebError::Unknown)
    }
}
