//! Sessions and tokens that were read from the store, so that a page costs no second read. Bounded, and forgotten with
//! every change of users, sessions and tokens: only this lab changes them while it runs.

use std::collections::HashMap;
use std::time::Duration;

use super::Access;
use prony_lab_model::Role;
use prony_lab_model::auth::Digest;
use prony_lab_model::clock::{self, Moment};
use prony_lab_store::{Store, StoreError, tokens, users};

/// Sessions and tokens in memory: more than people and scripts of one lab.
const KNOWN_MAX: usize = 1_024;
/// A token is looked up again after this; a session by its own end.
const TOKEN_KNOWN: Duration = Duration::from_mins(1);
/// How exactly the last use of a token is noted.
const USE_NOTED_MS: i64 = 60_000;

/// Somebody who showed a session or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What the forms of the session carry; none for a token.
    pub csrf: Option<String>,
}

/// What somebody showed. The two are never taken for one another: a session's secret is no token, which no form guards.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Shown {
    /// The secret of a session.
    Session(Digest),
    /// A token: its id and the digest of its secret.
    Token(String, Digest),
}

/// By what they showed, until when.
pub(crate) type Known = HashMap<Shown, (Who, Moment)>;

impl Access {
    fn remembered(&self, shown: &Shown, now: Moment) -> Option<Who> {
        self.known().get(shown).filter(|(_, until)| *until > now).map(|(who, _)| who.clone())
    }

    fn remember(&self, shown: Shown, who: Who, until: Moment) {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(shown, (who, until));
    }

    /// Who has shown this, if it is good.
    pub async fn who(&self, store: &Store, shown: &Shown) -> Result<Option<Who>, StoreError> {
        let now = clock::wall();
        if let Some(who) = self.remembered(shown, now) {
            return Ok(Some(who));
        }
        let looked_up = shown.clone();
        let found = match looked_up {
            Shown::Session(digest) => {
                let found = store.read(move |tx| users::session(tx, &digest, now)).await?;
                found.map(|session| {
                    let who = Who { name: session.name, role: session.role, csrf: Some(session.csrf) };
                    (who, session.expires_at)
                })
            }
            Shown::Token(id, digest) => {
                let found = store.read(move |tx| tokens::grant(tx, &id, now)).await?;
                let grant = found.filter(|grant| grant.digest.is(&digest));
                grant.map(|grant| {
                    note_use(store, grant.id, grant.used_at, now);
                    let until = now.after(TOKEN_KNOWN);
                    let until = grant.expires_at.map_or(until, |end| end.min(until));
                    (Who { name: grant.user_name, role: grant.role, csrf: None }, until)
                })
            }
        };
        let Some((who, until)) = found else { return Ok(None) };
        self.remember(shown.clone(), who.clone(), until);
        Ok(Some(who))
    }
}

/// Notes that a token is used, to a minute. Nobody waits for it.
fn note_use(store: &Store, id: String, used_at: Option<Moment>, now: Moment) {
    if used_at.is_some_and(|used| now.0 - used.0 < USE_NOTED_MS) {
        return;
    }
    let store = store.clone();
    tokio::spawn(async move {
        // Where it fails, the next use is noted.
        let _ = store.write(move |tx| tokens::note_use(tx, &id, now)).await;
    });
}
