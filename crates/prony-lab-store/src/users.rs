//! Users, their sessions, and the links by which they set a password.

use super::{Row, StoreError, Tx, values};
use prony_lab_model::auth::{Digest, INVITE_LIFE, SESSION_LIFE};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Name, Role, UserId};

/// Sessions of one user at once: a few browsers on a few machines. Beyond it, the oldest ends.
const SESSIONS_PER_USER: u32 = 20;

/// Somebody who may log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Their number.
    pub id: UserId,
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Whether a password was set; without one nobody logs in.
    pub has_password: bool,
    /// When they were invited.
    pub created_at: Moment,
    /// Since when the user is kept out.
    pub disabled_at: Option<Moment>,
}

/// Who a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub user: UserId,
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What a form of this session carries.
    pub csrf: String,
    /// Until when it is good.
    pub expires_at: Moment,
}

const COLUMNS: &str = "id, name, role, CASE WHEN password IS NULL THEN 0 ELSE 1 END, created_at, disabled_at";

fn user(row: &Row) -> Result<User, StoreError> {
    Ok(User {
        id: UserId(row.int(0)?),
        name: row.text(1)?,
        role: row.word(2)?,
        has_password: row.int(3)? != 0,
        created_at: row.moment(4)?,
        disabled_at: row.maybe_moment(5)?,
    })
}

/// Everybody, by name.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<User>, StoreError> {
    tx.query(&format!("SELECT {COLUMNS} FROM users ORDER BY name"), &[], user)
}

/// The user of that name.
pub fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<User>, StoreError> {
    tx.first(&format!("SELECT {COLUMNS} FROM users WHERE name = $1"), values![name], user)
}

/// What is kept of the password of `name`, and whose it is; nobody who is kept out.
pub fn password(tx: &mut Tx<'_>, name: &str) -> Result<Option<(UserId, String)>, StoreError> {
    tx.first(
        "SELECT id, password FROM users WHERE name = $1 AND disabled_at IS NULL AND password IS NOT NULL",
        values![name],
        |row| Ok((UserId(row.int(0)?), row.text(1)?)),
    )
}

/// Admins who can log in.
pub fn admins(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.number(
        "SELECT COUNT(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL AND password IS NOT NULL",
        &[],
    )
}

/// Sets the password of `name`, who is there from then on, with `role`; anyone who was logged in as them no longer is.
pub fn set_password(
    tx: &mut Tx<'_>,
    name: &Name,
    role: Role,
    password: &str,
    now: Moment,
) -> Result<UserId, StoreError> {
    let id = UserId(tx.number(
        "INSERT INTO users (name, role, password, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE \
         SET role = excluded.role, password = excluded.password, disabled_at = NULL RETURNING id",
        values![name.as_str(), role.name(), password, now],
    )?);
    end_sessions(tx, id)?;
    Ok(id)
}

/// Gives a user another role; counts from the next request on.
pub fn set_role(tx: &mut Tx<'_>, id: UserId, role: Role) -> Result<(), StoreError> {
    changed(tx.execute("UPDATE users SET role = $2 WHERE id = $1", values![id, role.name()])?, id)
}

/// Keeps a user out, whose sessions and tokens are void from then on; or lets them in again.
pub fn set_disabled(tx: &mut Tx<'_>, id: UserId, since: Option<Moment>) -> Result<(), StoreError> {
    changed(tx.execute("UPDATE users SET disabled_at = $2 WHERE id = $1", values![id, since])?, id)?;
    end_sessions(tx, id)
}

fn changed(rows: u64, id: UserId) -> Result<(), StoreError> {
    if rows == 0 { Err(StoreError::Missing(format!("user {id}"))) } else { Ok(()) }
}

/// Begins a session, and throws away those that are over.
pub fn begin_session(
    tx: &mut Tx<'_>,
    id: UserId,
    digest: &Digest,
    csrf: &str,
    now: Moment,
) -> Result<(), StoreError> {
    tx.execute("DELETE FROM sessions WHERE expires_at <= $1", values![now])?;
    tx.execute(
        "DELETE FROM sessions WHERE user_id = $1 AND hash NOT IN (SELECT hash FROM sessions WHERE user_id = $1 \
         ORDER BY created_at DESC, hash LIMIT $2)",
        values![id, SESSIONS_PER_USER - 1],
    )?;
    tx.execute(
        "INSERT INTO sessions (hash, user_id, csrf, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
        values![&digest.0[..], id, csrf, now, now.after(SESSION_LIFE)],
    )?;
    Ok(())
}

/// The session of which `digest` is kept, unless it is over or its user is kept out.
pub fn session(tx: &mut Tx<'_>, digest: &Digest, now: Moment) -> Result<Option<Session>, StoreError> {
    tx.first(
        "SELECT u.id, u.name, u.role, s.csrf, s.expires_at FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE s.hash = $1 AND s.expires_at > $2 AND u.disabled_at IS NULL",
        values![&digest.0[..], now],
        |row| {
            Ok(Session {
                user: UserId(row.int(0)?),
                name: row.text(1)?,
                role: row.word(2)?,
                csrf: row.text(3)?,
                expires_at: row.moment(4)?,
            })
        },
    )
}

/// Notes where a session was begun: the address, and what the browser calls itself.
pub fn note_origin(tx: &mut Tx<'_>, digest: &Digest, address: &str, agent: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sessions SET address = $2, agent = $3 WHERE hash = $1",
        values![&digest.0[..], address, agent],
    )
    .map(drop)
}

/// A session, for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The hash of its secret.
    pub digest: Digest,
    /// Where it was begun.
    pub address: String,
    /// With which browser.
    pub agent: String,
    /// When it was begun.
    pub created_at: Moment,
    /// Until when it is good.
    pub expires_at: Moment,
}

/// The sessions of `name` that are not over, the newest first.
pub fn sessions_of(tx: &mut Tx<'_>, name: &str, now: Moment) -> Result<Vec<Begun>, StoreError> {
    tx.query(
        "SELECT s.hash, s.address, s.agent, s.created_at, s.expires_at FROM sessions s \
         JOIN users u ON u.id = s.user_id WHERE u.name = $1 AND s.expires_at > $2 ORDER BY s.created_at DESC, s.hash",
        values![name, now],
        |row| {
            let damaged = |_| StoreError::Damaged("a session without a SHA-256".to_owned());
            Ok(Begun {
                digest: row.bytes(0)?.try_into().map(Digest).map_err(damaged)?,
                address: row.text(1)?,
                agent: row.text(2)?,
                created_at: row.moment(3)?,
                expires_at: row.moment(4)?,
            })
        },
    )
}

/// Ends a session of `name`; whether there was one.
pub fn end_session_of(tx: &mut Tx<'_>, name: &str, digest: &Digest) -> Result<bool, StoreError> {
    let ended = tx.execute(
        "DELETE FROM sessions WHERE hash = $1 AND user_id IN (SELECT id FROM users WHERE name = $2)",
        values![&digest.0[..], name],
    )?;
    Ok(ended == 1)
}

/// Gives a user another password; anyone who is logged in as them no longer is.
pub fn change_password(tx: &mut Tx<'_>, id: UserId, password: &str) -> Result<(), StoreError> {
    changed(tx.execute("UPDATE users SET password = $2 WHERE id = $1", values![id, password])?, id)?;
    end_sessions(tx, id)
}

/// Ends one session.
pub fn end_session(tx: &mut Tx<'_>, digest: &Digest) -> Result<(), StoreError> {
    tx.execute("DELETE FROM sessions WHERE hash = $1", values![&digest.0[..]]).map(drop)
}

/// Ends every session of a user.
pub fn end_sessions(tx: &mut Tx<'_>, id: UserId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM sessions WHERE user_id = $1", values![id]).map(drop)
}

/// Makes a link good for setting a password once; an older one for the same name is void.
pub fn invite(
    tx: &mut Tx<'_>,
    digest: &Digest,
    name: &Name,
    role: Role,
    now: Moment,
) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM login_links WHERE user_name = $1 OR expires_at <= $2",
        values![name.as_str(), now],
    )?;
    tx.execute(
        "INSERT INTO login_links (hash, user_name, role, expires_at) VALUES ($1, $2, $3, $4)",
        values![&digest.0[..], name.as_str(), role.name(), now.after(INVITE_LIFE)],
    )?;
    Ok(())
}

/// Makes every link void that is for `name`.
pub fn void_links(tx: &mut Tx<'_>, name: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM login_links WHERE user_name = $1", values![name]).map(drop)
}

/// Whom the link is for of which `digest` is kept, if it can still be used.
pub fn invited(tx: &mut Tx<'_>, digest: &Digest, now: Moment) -> Result<Option<(Name, Role)>, StoreError> {
    tx.first(
        "SELECT user_name, role FROM login_links WHERE hash = $1 AND used_at IS NULL AND expires_at > $2",
        values![&digest.0[..], now],
        |row| Ok((row.word(0)?, row.word(1)?)),
    )
}

/// Uses a link up; whether it could still be used.
pub fn use_invitation(tx: &mut Tx<'_>, digest: &Digest, now: Moment) -> Result<bool, StoreError> {
    let used = tx.execute(
        "UPDATE login_links SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2",
        values![&digest.0[..], now],
    )?;
    Ok(used == 1)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::*;
    use prony_lab_model::auth::Secret;

    fn name(text: &str) -> Name {
        text.parse().expect(text)
    }

    #[test]
    fn a_session_lasts_its_time() {
        on_both(|store| {
            let secret = Secret::new();
            let digest = secret.digest();
            let start = Moment(1_000);
            store
                .write_blocking(move |tx| {
                    let id = set_password(tx, &name("ada"), Role::Runner, "x", start)?;
                    begin_session(tx, id, &digest, "form", start)
                })
                .expect("written");
            let found = |at| store.read_blocking(|tx| session(tx, &digest, at)).expect("read");
            let session = found(start).expect("a session");
            assert_eq!(
                (session.name.as_str(), session.role, session.csrf.as_str()),
                ("ada", Role::Runner, "form")
            );
            assert!(found(start.after(SESSION_LIFE)).is_none());
            let other = Secret::new().digest();
            assert!(store.read_blocking(|tx| super::session(tx, &other, start)).expect("read").is_none());
            store.write_blocking(move |tx| end_session(tx, &digest)).expect("ended");
            assert!(found(start).is_none());
        });
    }

    #[test]
    fn a_new_password_and_a_closed_door_end_sessions() {
        on_both(|store| {
            let digest = Secret::new().digest();
            let begin = || {
                store
                    .write_blocking(move |tx| {
                        let id = set_password(tx, &name("ada"), Role::Admin, "x", Moment(1))?;
                        begin_session(tx, id, &digest, "form", Moment(1))?;
                        Ok(id)
                    })
                    .expect("written")
            };
            let is_there =
                || store.read_blocking(|tx| session(tx, &digest, Moment(2))).expect("read").is_some();
            let id = begin();
            assert!(is_there());
            assert_eq!(store.read_blocking(admins).expect("read"), 1);
            store.write_blocking(move |tx| set_disabled(tx, id, Some(Moment(2)))).expect("written");
            assert!(!is_there());
            assert_eq!(store.read_blocking(admins).expect("read"), 0);
            assert_eq!(store.read_blocking(|tx| password(tx, "ada")).expect("read"), None);
            begin();
            assert!(is_there());
            store
                .write_blocking(|tx| set_password(tx, &name("ada"), Role::Viewer, "y", Moment(2)))
                .expect("written");
            assert!(!is_there());
            let ada = store.read_blocking(|tx| by_name(tx, "ada")).expect("read").expect("ada");
            assert_eq!((ada.id, ada.role, ada.has_password), (id, Role::Viewer, true));
            assert_eq!(
                store.read_blocking(|tx| password(tx, "ada")).expect("read"),
                Some((id, "y".to_owned()))
            );
        });
    }

    #[test]
    fn a_user_has_so_many_sessions() {
        on_both(|store| {
            let digests: Vec<_> = (0..25).map(|_| Secret::new().digest()).collect();
            for (at, digest) in digests.iter().copied().enumerate() {
                store
                    .write_blocking(move |tx| {
                        let id = match by_name(tx, "ada")? {
                            Some(user) => user.id,
                            None => set_password(tx, &name("ada"), Role::Viewer, "x", Moment(0))?,
                        };
                        begin_session(tx, id, &digest, "form", Moment(i64::try_from(at).expect("few")))
                    })
                    .expect("written");
            }
            let is_there = |digest: &Digest| {
                store.read_blocking(|tx| session(tx, digest, Moment(30))).expect("read").is_some()
            };
            let there: Vec<bool> = digests.iter().map(is_there).collect();
            let expected: Vec<bool> = (0..25).map(|at| at >= 5).collect();
            assert_eq!(there, expected);
        });
    }

    #[test]
    fn a_link_is_good_once_and_for_its_time() {
        on_both(|store| {
            let (first, second) = (Secret::new().digest(), Secret::new().digest());
            let start = Moment(1_000);
            let invite = |digest: Digest| {
                store
                    .write_blocking(move |tx| super::invite(tx, &digest, &name("ada"), Role::Admin, start))
                    .expect("written");
            };
            let is_good = |digest: &Digest, at| {
                store.read_blocking(|tx| invited(tx, digest, at)).expect("read").is_some()
            };
            let used = |digest: Digest| {
                store.write_blocking(move |tx| use_invitation(tx, &digest, start)).expect("written")
            };
            invite(first);
            assert!(is_good(&first, start) && !is_good(&first, start.after(INVITE_LIFE)));
            invite(second);
            assert!(!is_good(&first, start), "a new link takes the place of the old one");
            assert!(used(second) && !used(second) && !used(first));
            assert!(!is_good(&second, start));
        });
    }
}
