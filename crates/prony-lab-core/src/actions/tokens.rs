//! Tokens for scripts: made, and made void. A token never makes or voids what may do more than itself, nor does what it
//! makes outlive it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{AccessError, Ctx, users};
use prony_lab_model::Role;
use prony_lab_model::auth::ApiToken;
use prony_lab_model::clock::Moment;
use prony_lab_store::{StoreError, Tx, tokens};

/// A token's name describes where it is; a longer one breaks tables.
pub(super) const TOKEN_NAME_MAX: usize = 64;
/// Good tokens of one user: one for each script and machine, and some.
pub(super) const TOKENS_MAX: u32 = 50;
/// Days for which a token is good by default.
pub const TOKEN_DAYS: u32 = 90;
/// The most that may be requested.
pub const TOKEN_DAYS_MAX: u32 = 366;

/// A token, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokenRow {
    /// Its number in hexadecimal digits.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// What it may do at most.
    pub role: Role,
    /// Since when it is good.
    pub created_at: Moment,
    /// Until when; nothing for one that was made before tokens had an end.
    pub expires_at: Option<Moment>,
    /// When it was used last, to a minute.
    pub used_at: Option<Moment>,
    /// Since when it is void.
    pub revoked_at: Option<Moment>,
}

impl TokenRow {
    /// Whether its time is over.
    pub fn is_over(&self, now: Moment) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A token that is wanted.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whose it is to be.
    pub user: String,
    /// What it is for.
    pub label: String,
    /// What it may do at most.
    pub role: Role,
    /// For how many days it is good.
    pub days: u32,
}

/// Makes a token: the token itself, which nobody sees again.
pub fn add(tx: &mut Tx<'_>, ctx: &Ctx, new: &NewToken) -> Result<ApiToken, AccessError> {
    let label = new.label.trim();
    if !(1..=TOKEN_NAME_MAX).contains(&label.chars().count()) || label.chars().any(char::is_control) {
        return Err(AccessError::TokenName);
    }
    if !(1..=TOKEN_DAYS_MAX).contains(&new.days) {
        return Err(AccessError::TokenLife(new.days));
    }
    if new.user != ctx.who.name && ctx.who.role < Role::Admin {
        return Err(AccessError::Role(Role::Admin));
    }
    if new.role > ctx.who.role {
        return Err(AccessError::Role(new.role));
    }
    let user = users::find(tx, &new.user)?;
    if !user.has_password {
        return Err(AccessError::NoPassword(user.name));
    }
    if new.role > user.role {
        return Err(AccessError::TokenRole { requested: new.role, name: user.name, has: user.role });
    }
    if tokens::good(tx, user.id, ctx.now)? >= i64::from(TOKENS_MAX) {
        return Err(AccessError::TooManyTokens { name: user.name });
    }
    let mut expires_at = ctx.now.after(Duration::from_hours(24 * u64::from(new.days)));
    let parent = ctx.who.token.as_deref();
    if let Some(end) = parent.map(|id| tokens::end(tx, id)).transpose()?.flatten() {
        expires_at = expires_at.min(end);
    }
    let token = ApiToken::new();
    let kept = tokens::NewToken { user: user.id, name: label, role: new.role, expires_at, parent };
    tokens::add(tx, &kept, &token, ctx.now)?;
    let detail = format!("{label}, of {}, as {}, until {} UTC", new.user, new.role, expires_at.utc());
    ctx.note(tx, "token.add", token.id(), &detail)?;
    Ok(token)
}

/// Makes a token void, and every one that was made with it.
pub fn revoke(tx: &mut Tx<'_>, ctx: &Ctx, id: &str) -> Result<(), AccessError> {
    let none = || AccessError::NoToken(id.to_owned());
    let token = tokens::one(tx, id)?.filter(|token| token.revoked_at.is_none()).ok_or_else(none)?;
    if ctx.who.role < Role::Admin && token.user_name != ctx.who.name {
        return Err(none());
    }
    if token.role > ctx.who.role {
        return Err(AccessError::Role(token.role));
    }
    tokens::revoke(tx, id, ctx.now)?;
    ctx.note(tx, "token.revoke", id, "")?;
    Ok(())
}

/// Every token.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<TokenRow>, StoreError> {
    let row = |token: tokens::Token| TokenRow {
        id: token.id,
        name: token.name,
        user: token.user_name,
        role: token.role,
        created_at: token.created_at,
        expires_at: token.expires_at,
        used_at: token.used_at,
        revoked_at: token.revoked_at,
    };
    Ok(tokens::all(tx)?.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Actor, act_blocking, sessions, users as user_actions};
    use super::*;
    use prony_lab_model::Name;
    use prony_lab_model::auth::Password;
    use prony_lab_model::clock;
    use prony_lab_store::Store;
    use prony_lab_store::fixture::on_both;

    fn machine() -> Actor {
        Actor::at_machine("root")
    }

    /// A user who has followed a link.
    fn user(store: &Store, name: &'static str, role: Role) -> Actor {
        let hash = Password::choose("some good words", "x").expect("a password").hash();
        act_blocking(store, machine(), move |tx, ctx| {
            let link = user_actions::invite(tx, ctx, &name.parse().expect("a name"), role)?;
            Ok::<_, AccessError>(sessions::accept_invitation(
                tx,
                &link.digest(),
                &hash,
                &sessions::Origin::default(),
                ctx.now,
            )?)
        })
        .expect("a user");
        Actor { name: name.to_owned(), role, token: None }
    }

    fn added(store: &Store, who: &Actor, role: Role, days: u32) -> Result<Actor, AccessError> {
        let new = NewToken { user: who.name.clone(), label: "ci".to_owned(), role, days };
        let token = act_blocking(store, who.clone(), move |tx, ctx| add(tx, ctx, &new))?;
        Ok(Actor { name: who.name.clone(), role, token: Some(token.id().to_owned()) })
    }

    fn revoked(store: &Store, who: &Actor, token: &Actor) -> Result<(), AccessError> {
        let id = token.token.clone().expect("a token");
        act_blocking(store, who.clone(), move |tx, ctx| revoke(tx, ctx, &id))
    }

    fn is_good(store: &Store, token: &Actor) -> bool {
        let id = token.token.clone().expect("a token");
        store.read_blocking(|tx| tokens::grant(tx, &id, clock::wall())).expect("read").is_some()
    }

    #[test]
    fn a_token_does_nothing_that_is_beyond_it() {
        on_both(|store| {
            let ada = user(store, "ada", Role::Admin);
            let admin = added(store, &ada, Role::Admin, 90).expect("a token");
            let runner = added(store, &ada, Role::Runner, 90).expect("a token");
            assert!(matches!(added(store, &runner, Role::Admin, 1), Err(AccessError::Role(Role::Admin))));
            assert!(matches!(revoked(store, &runner, &admin), Err(AccessError::Role(Role::Admin))));
            assert!(is_good(store, &admin));
            let ben = user(store, "ben", Role::Runner);
            assert!(matches!(revoked(store, &ben, &runner), Err(AccessError::NoToken(_))));
            let child = added(store, &runner, Role::Viewer, 366).expect("a token");
            let grandchild = added(store, &child, Role::Viewer, 366).expect("a token");
            let ends = |token: &Actor| {
                let id = token.token.clone().expect("a token");
                store.read_blocking(|tx| tokens::end(tx, &id)).expect("read").expect("an end")
            };
            assert_eq!(ends(&grandchild), ends(&runner), "none outlives what made it");
            revoked(store, &ada, &runner).expect("hers");
            let left = [&runner, &child, &grandchild, &admin].map(|token| is_good(store, token));
            assert_eq!(left, [false, false, false, true]);
            assert!(matches!(revoked(store, &ada, &runner), Err(AccessError::NoToken(_))));
        });
    }

    #[test]
    fn tokens_end_and_are_few() {
        on_both(|store| {
            let ada = user(store, "ada", Role::Runner);
            for days in [0, 367] {
                assert!(matches!(added(store, &ada, Role::Viewer, days), Err(AccessError::TokenLife(_))));
            }
            for _ in 0..TOKENS_MAX {
                added(store, &ada, Role::Viewer, 1).expect("a token");
            }
            let refused = added(store, &ada, Role::Viewer, 1);
            assert!(matches!(refused, Err(AccessError::TooManyTokens { .. })), "{refused:?}");
        });
    }

    #[test]
    fn who_is_kept_out_or_may_less_keeps_no_key() {
        on_both(|store| {
            user(store, "root2", Role::Admin);
            let ada = user(store, "ada", Role::Admin);
            let admin = added(store, &ada, Role::Admin, 90).expect("a token");
            let viewer = added(store, &ada, Role::Viewer, 90).expect("a token");
            let ada_name = || -> Name { "ada".parse().expect("a name") };
            let link = || {
                let made = act_blocking(store, machine(), move |tx, ctx| {
                    user_actions::invite(tx, ctx, &ada_name(), Role::Admin)
                });
                made.expect("a link")
            };
            let works = |link: &prony_lab_model::auth::Secret| {
                let digest = link.digest();
                let found =
                    store.read_blocking(|tx| prony_lab_store::users::invited(tx, &digest, clock::wall()));
                found.expect("read").is_some()
            };
            let first = link();
            act_blocking(store, machine(), |tx, ctx| user_actions::set_role(tx, ctx, "ada", Role::Runner))
                .expect("changed");
            assert!(!works(&first), "a link with more than the new role");
            assert_eq!((is_good(store, &admin), is_good(store, &viewer)), (false, true));
            let second = link();
            for is_out in [true, false] {
                act_blocking(store, machine(), move |tx, ctx| {
                    user_actions::set_disabled(tx, ctx, "ada", is_out)
                })
                .expect("changed");
                assert!(!works(&second) && !is_good(store, &viewer), "void for good");
            }
            for name in ["anonymous", "lab", "somebody"] {
                let refused = act_blocking(store, machine(), |tx, ctx| {
                    user_actions::invite(tx, ctx, &name.parse().expect("a name"), Role::Viewer)
                });
                assert!(matches!(refused, Err(AccessError::ReservedName(_))), "{name}");
            }
        });
    }
}
