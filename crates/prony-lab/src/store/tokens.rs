//! API tokens.

use super::{Row, StoreError, Tx, values};
use crate::auth::{ApiToken, Digest};
use crate::clock::Moment;
use crate::model::{Role, UserId};

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) user_name: String,
    pub(crate) role: Role,
    pub(crate) created_at: Moment,
    pub(crate) revoked_at: Option<Moment>,
}

/// What a token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) user: UserId,
    pub(crate) user_name: String,
    /// The lesser of the token's role and its user's.
    pub(crate) role: Role,
    pub(crate) digest: Digest,
}

/// Keeps a new token of a user.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    user: UserId,
    name: &str,
    role: Role,
    token: &ApiToken,
    now: Moment,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO tokens (id, user_id, name, role, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        values![token.id(), user, name, role.name(), &token.digest().0[..], now],
    )?;
    Ok(())
}

/// What the token `id` opens; nothing if it is revoked, or its user kept out.
pub(crate) fn grant(tx: &mut Tx<'_>, id: &str) -> Result<Option<Grant>, StoreError> {
    let found = tx.first(
        "SELECT u.id, u.name, t.role, u.role, t.hash FROM tokens t JOIN users u ON u.id = t.user_id \
         WHERE t.id = $1 AND t.revoked_at IS NULL AND u.disabled_at IS NULL",
        values![id],
        |row| {
            let (token, user): (Role, Role) = (row.word(2)?, row.word(3)?);
            Ok((UserId(row.int(0)?), row.text(1)?, token.min(user), row.bytes(4)?))
        },
    )?;
    let Some((user, user_name, role, bytes)) = found else { return Ok(None) };
    let digest = bytes
        .try_into()
        .map(Digest)
        .map_err(|_| StoreError::Damaged(format!("token {id} has no SHA-256")))?;
    Ok(Some(Grant { user, user_name, role, digest }))
}

/// All of them, the newest first.
pub(crate) fn all(tx: &mut Tx<'_>) -> Result<Vec<Token>, StoreError> {
    tx.query(
        "SELECT t.id, t.name, u.name, t.role, t.created_at, t.revoked_at FROM tokens t \
         JOIN users u ON u.id = t.user_id ORDER BY t.created_at DESC, t.id",
        &[],
        token,
    )
}

/// Makes a token void.
pub(crate) fn revoke(tx: &mut Tx<'_>, id: &str, now: Moment) -> Result<(), StoreError> {
    match tx
        .execute("UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", values![id, now])?
    {
        0 => Err(StoreError::Missing(format!("token {id}, or it is revoked already"))),
        _ => Ok(()),
    }
}

fn token(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.text(0)?,
        name: row.text(1)?,
        user_name: row.text(2)?,
        role: row.word(3)?,
        created_at: row.moment(4)?,
        revoked_at: row.maybe_moment(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::users;
    use super::*;

    #[test]
    fn a_token_opens_what_it_and_its_user_may() {
        on_both(|store| {
            let token = ApiToken::new();
            let kept = token.clone();
            let user = store
                .write_blocking(move |tx| {
                    let ada = "ada".parse().expect("a name");
                    let user = users::set_password(tx, &ada, Role::Runner, "x", Moment(1))?;
                    add(tx, user, "laptop", Role::Admin, &kept, Moment(2))?;
                    Ok(user)
                })
                .expect("written");
            let grant = || store.read_blocking(|tx| super::grant(tx, token.id())).expect("read");
            let found = grant().expect("a grant");
            assert_eq!((found.role, found.user), (Role::Runner, user));
            assert!(token.matches(&found.digest) && !ApiToken::new().matches(&found.digest));
            store.write_blocking(move |tx| users::set_disabled(tx, user, Some(Moment(3)))).expect("written");
            assert_eq!(grant(), None);
            store.write_blocking(move |tx| users::set_disabled(tx, user, None)).expect("written");
            assert!(grant().is_some());
            let id = token.id().to_owned();
            let revoke = || {
                let id = id.clone();
                store.write_blocking(move |tx| revoke(tx, &id, Moment(4)))
            };
            assert_eq!(revoke(), Ok(()));
            assert!(matches!(revoke(), Err(StoreError::Missing(_))));
            assert_eq!(grant(), None);
            let all = store.read_blocking(all).expect("read");
            assert_eq!((all.len(), all[0].revoked_at), (1, Some(Moment(4))));
        });
    }
}
