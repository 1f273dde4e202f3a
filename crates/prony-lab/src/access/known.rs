//! Sessions and tokens that were read from the store, so that a page costs no second look. Bounded, and forgotten with
//! every change of users, sessions and tokens: only this lab changes them while it runs.

use std::collections::HashMap;

use super::Access;
use crate::auth::{ApiToken, Digest, Secret};
use crate::clock::{self, Moment};
use crate::lab::Lab;
use crate::model::{Role, UserId};
use crate::store::{StoreError, tokens, users};

/// Sessions and tokens in memory: more than people and scripts of one lab.
const KNOWN_MAX: usize = 1_024;
/// A token is looked up again after this many milliseconds; a session by its own end.
const TOKEN_KNOWN_MS: u64 = 60_000;

/// Somebody who showed a session or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) user: UserId,
    pub(crate) name: String,
    pub(crate) role: Role,
    /// What the forms of the session carry; none for a token.
    pub(crate) csrf: Option<String>,
}

/// By the digest of what they showed, until when.
pub(crate) type Known = HashMap<Digest, (Who, Moment)>;

impl Access {
    fn remembered(&self, digest: &Digest, now: Moment) -> Option<Who> {
        self.known().get(digest).filter(|(_, until)| *until > now).map(|(who, _)| who.clone())
    }

    fn remember(&self, digest: Digest, who: Who, until: Moment) {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(digest, (who, until));
    }
}

impl Lab {
    /// Whose session `secret` is, if it is one.
    pub(crate) async fn who_has_session(&self, secret: &Secret) -> Result<Option<Who>, StoreError> {
        let (digest, now) = (secret.digest(), clock::wall());
        if let Some(who) = self.access.remembered(&digest, now) {
            return Ok(Some(who));
        }
        let Some(found) = self.store.read(move |tx| users::session(tx, &digest, now)).await? else {
            return Ok(None);
        };
        let who = Who { user: found.user, name: found.name, role: found.role, csrf: Some(found.csrf) };
        self.access.remember(digest, who.clone(), found.expires_at);
        Ok(Some(who))
    }

    /// Whose token it is, if it is good.
    pub(crate) async fn who_has_token(&self, token: &ApiToken) -> Result<Option<Who>, StoreError> {
        let (digest, now) = (token.digest(), clock::wall());
        if let Some(who) = self.access.remembered(&digest, now) {
            return Ok(Some(who));
        }
        let id = token.id().to_owned();
        let found = self.store.read(move |tx| tokens::grant(tx, &id)).await?;
        let Some(grant) = found.filter(|grant| token.matches(&grant.digest)) else { return Ok(None) };
        let who = Who { user: grant.user, name: grant.user_name, role: grant.role, csrf: None };
        let until = now.after(std::time::Duration::from_millis(TOKEN_KNOWN_MS));
        self.access.remember(digest, who.clone(), until);
        Ok(Some(who))
    }
}
