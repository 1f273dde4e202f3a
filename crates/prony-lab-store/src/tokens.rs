//! API tokens.

use super::{Row, StoreError, Tx, values};
use prony_lab_model::auth::{ApiToken, Digest};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Role, UserId};

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The public part of the token.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// Whose it is.
    pub user_name: String,
    /// What it may do at most.
    pub role: Role,
    /// When it was made.
    pub created_at: Moment,
    /// Nothing for one that was made before tokens had an end.
    pub expires_at: Option<Moment>,
    /// When it was used last.
    pub used_at: Option<Moment>,
    /// When it was revoked.
    pub revoked_at: Option<Moment>,
}

/// What a token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The public part of the token.
    pub id: String,
    /// Whose it is.
    pub user_name: String,
    /// The lesser of the token's role and its user's.
    pub role: Role,
    /// The hash of its secret.
    pub digest: Digest,
    /// Until when it is good.
    pub expires_at: Option<Moment>,
    /// When it was used last.
    pub used_at: Option<Moment>,
}

/// A token that is to be kept.
#[derive(Debug, Clone, Copy)]
pub struct NewToken<'a> {
    /// Whose it is.
    pub user: UserId,
    /// What it is for.
    pub name: &'a str,
    /// What it may do at most.
    pub role: Role,
    /// Until when it is good.
    pub expires_at: Moment,
    /// The token that it was made with.
    pub parent: Option<&'a str>,
}

/// Keeps a new token of a user.
pub fn add(tx: &mut Tx<'_>, new: &NewToken<'_>, token: &ApiToken, now: Moment) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO tokens (id, user_id, name, role, hash, created_at, expires_at, parent_id) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values![
            token.id(),
            new.user,
            new.name,
            new.role.name(),
            &token.digest().0[..],
            now,
            new.expires_at,
            new.parent
        ],
    )?;
    Ok(())
}

/// What the token `id` opens; nothing if it is revoked or over, or its user kept out.
pub fn grant(tx: &mut Tx<'_>, id: &str, now: Moment) -> Result<Option<Grant>, StoreError> {
    let found = tx.first(
        "SELECT u.name, t.role, u.role, t.hash, t.expires_at, t.used_at FROM tokens t \
         JOIN users u ON u.id = t.user_id WHERE t.id = $1 AND t.revoked_at IS NULL AND u.disabled_at IS NULL \
         AND (t.expires_at IS NULL OR t.expires_at > $2)",
        values![id, now],
        |row| {
            let (token, user): (Role, Role) = (row.word(1)?, row.word(2)?);
            Ok((row.text(0)?, token.min(user), row.bytes(3)?, row.maybe_moment(4)?, row.maybe_moment(5)?))
        },
    )?;
    let Some((user_name, role, bytes, expires_at, used_at)) = found else { return Ok(None) };
    let digest = bytes
        .try_into()
        .map(Digest)
        .map_err(|_| StoreError::Damaged(format!("token {id} has no SHA-256")))?;
    Ok(Some(Grant { id: id.to_owned(), user_name, role, digest, expires_at, used_at }))
}

const COLUMNS: &str = "t.id, t.name, u.name, t.role, t.created_at, t.expires_at, t.used_at, t.revoked_at";

/// All of them, the newest first.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<Token>, StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id ORDER BY t.created_at DESC, t.id"
    );
    tx.query(&statement, &[], token)
}

/// The token of that number.
pub fn one(tx: &mut Tx<'_>, id: &str) -> Result<Option<Token>, StoreError> {
    let statement =
        format!("SELECT {COLUMNS} FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.id = $1");
    tx.first(&statement, values![id], token)
}

/// Tokens of a user that are good.
pub fn good(tx: &mut Tx<'_>, user: UserId, now: Moment) -> Result<i64, StoreError> {
    tx.number(
        "SELECT COUNT(*) FROM tokens WHERE user_id = $1 AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > $2)",
        values![user, now],
    )
}

/// Until when a token is good.
pub fn end(tx: &mut Tx<'_>, id: &str) -> Result<Option<Moment>, StoreError> {
    let found =
        tx.first("SELECT expires_at FROM tokens WHERE id = $1", values![id], |row| row.maybe_moment(0))?;
    Ok(found.flatten())
}

/// Notes when a token was used.
pub fn note_use(tx: &mut Tx<'_>, id: &str, now: Moment) -> Result<(), StoreError> {
    tx.execute("UPDATE tokens SET used_at = $2 WHERE id = $1", values![id, now]).map(drop)
}

/// Makes a token void, and every one that was made with it, or with one of those.
pub fn revoke(tx: &mut Tx<'_>, id: &str, now: Moment) -> Result<(), StoreError> {
    revoke_trees(tx, "id = $2", values![now, id])
}

/// The same for those of a user that may do more than `role`.
pub fn revoke_above(tx: &mut Tx<'_>, user: UserId, role: Role, now: Moment) -> Result<(), StoreError> {
    for above in [Role::Runner, Role::Admin].into_iter().filter(|above| *above > role) {
        revoke_trees(tx, "user_id = $2 AND role = $3", values![now, user, above.name()])?;
    }
    Ok(())
}

/// The same for all of a user's.
pub fn revoke_all(tx: &mut Tx<'_>, user: UserId, now: Moment) -> Result<(), StoreError> {
    revoke_trees(tx, "user_id = $2", values![now, user])
}

fn revoke_trees(tx: &mut Tx<'_>, which: &str, values: &[super::Value]) -> Result<(), StoreError> {
    let statement = format!(
        "UPDATE tokens SET revoked_at = $1 WHERE revoked_at IS NULL AND id IN (WITH RECURSIVE made (id) AS \
         (SELECT id FROM tokens WHERE {which} UNION SELECT t.id FROM tokens t JOIN made m ON t.parent_id = m.id) \
         SELECT id FROM made)"
    );
    tx.execute(&statement, values).map(drop)
}

fn token(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.text(0)?,
        name: row.text(1)?,
        user_name: row.text(2)?,
        role: row.word(3)?,
        created_at: row.moment(4)?,
        expires_at: row.maybe_moment(5)?,
        used_at: row.maybe_moment(6)?,
        revoked_at: row.maybe_moment(7)?,
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
                    let new = NewToken {
                        user,
                        name: "laptop",
                        role: Role::Admin,
                        expires_at: Moment(100),
                        parent: None,
                    };
                    add(tx, &new, &kept, Moment(2))?;
                    Ok(user)
                })
                .expect("written");
            let grant_at =
                |at| store.read_blocking(|tx| super::grant(tx, token.id(), Moment(at))).expect("read");
            let grant = || grant_at(99);
            assert_eq!(grant_at(100), None, "it has ended");
            let found = grant().expect("a grant");
            assert_eq!((found.role, found.user_name.as_str()), (Role::Runner, "ada"));
            assert!(found.digest.is(&token.digest()) && !found.digest.is(&ApiToken::new().digest()));
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
            assert_eq!(grant(), None);
            let all = store.read_blocking(all).expect("read");
            assert_eq!((all.len(), all[0].revoked_at), (1, Some(Moment(4))));
        });
    }
}
