//! What an administrator does at the machine itself.

use super::rules;
use crate::access;
use crate::actions::tokens::NewToken;
use crate::actions::{AccessError, Actor, Ctx, TokenRow, UserRow, act_blocking, policy, tokens, users};
use crate::model::{Name, Role};
use crate::options::StoreAddress;
use crate::policy::Policy;
use crate::store::{Store, StoreError, Tx, audit};

/// What an administrator does at the machine itself: whoever can write the store needs no password. It works while no lab
/// runs on that store.
pub struct LocalAdmin {
    store: Store,
    by: String,
}

impl LocalAdmin {
    /// Opens the store at `address`; `by` stands in the audit log.
    pub fn open(address: &StoreAddress, by: &str) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open(address)?, by: by.to_owned() })
    }

    /// Everybody.
    pub fn users(&self) -> Result<Vec<UserRow>, AccessError> {
        Ok(self.store.read_blocking(users::list)?)
    }

    /// The path of a link by which `name` sets a password, within an hour, and is then there with `role`.
    pub fn invite(&self, name: &Name, role: Role) -> Result<String, AccessError> {
        let name = name.clone();
        self.act(move |tx, ctx| users::invite(tx, ctx, &name, role)).map(|secret| users::link(&secret))
    }

    /// Gives a user another role.
    pub fn set_role(&self, name: &str, role: Role) -> Result<(), AccessError> {
        let name = name.to_owned();
        self.act(move |tx, ctx| users::set_role(tx, ctx, &name, role))
    }

    /// Keeps a user out, or lets them in again.
    pub fn set_disabled(&self, name: &str, is_disabled: bool) -> Result<(), AccessError> {
        let name = name.to_owned();
        self.act(move |tx, ctx| users::set_disabled(tx, ctx, &name, is_disabled))
    }

    /// Every token.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, AccessError> {
        Ok(self.store.read_blocking(tokens::list)?)
    }

    /// A new token of `name`, in its only writing.
    pub fn add_token(&self, name: &str, label: &str, role: Role) -> Result<String, AccessError> {
        let (user, label) = (name.to_owned(), label.to_owned());
        let new = NewToken { user, label, role, days: tokens::TOKEN_DAYS };
        self.act(move |tx, ctx| tokens::add(tx, ctx, &new)).map(|token| token.text())
    }

    /// Makes a token void.
    pub fn revoke_token(&self, id: &str) -> Result<(), AccessError> {
        let id = id.to_owned();
        self.act(move |tx, ctx| tokens::revoke(tx, ctx, &id))
    }

    /// The target policy in force, every default written out, as TOML.
    pub fn policy_text(&self) -> Result<String, AccessError> {
        Ok(policy::written(&self.store.read_blocking(rules)?))
    }

    /// The target policy in force.
    pub fn policy(&self) -> Result<Policy, AccessError> {
        Ok(self.store.read_blocking(access::policy)?)
    }

    /// Makes `text` the target policy.
    pub fn set_policy(&self, text: &str) -> Result<(), AccessError> {
        let text = text.to_owned();
        self.act(move |tx, ctx| policy::set(tx, ctx, &text))
    }

    /// Checks the audit log: how many entries it has, the hash of the last one, and the first entry that was tampered
    /// with.
    pub fn check_audit(&self) -> Result<(u64, String, Option<i64>), AccessError> {
        let checked = self.store.read_blocking(audit::check)?;
        Ok((checked.entries, checked.head.text(), checked.broken_at))
    }

    fn act<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Tx<'_>, &Ctx) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        act_blocking(&self.store, Actor::at_machine(&self.by), action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::sessions::accept_invitation;
    use crate::auth::{Password, Secret};
    use crate::clock;
    use crate::policy::{Refusal, Rules};

    fn open() -> (tempfile::TempDir, LocalAdmin) {
        let folder = tempfile::tempdir().expect("a folder");
        let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
        let admin = LocalAdmin::open(&address, "root at the machine").expect("a store");
        (folder, admin)
    }

    fn name(text: &str) -> Name {
        text.parse().expect(text)
    }

    /// Follows a link.
    fn follow(admin: &LocalAdmin, path: &str) -> Option<Secret> {
        let secret = Secret::read(path.strip_prefix("/first-login/").expect("a path")).expect("a secret");
        let hash = Password::choose("some good words", "x").expect("a password").hash();
        admin
            .store
            .write_blocking(move |tx| accept_invitation(tx, &secret.digest(), &hash, clock::wall()))
            .expect("written")
            .map(|(_, session)| session)
    }

    #[test]
    fn from_a_link_to_a_token() {
        let (_folder, admin) = open();
        let path = admin.invite(&name("ada"), Role::Runner).expect("a link");
        assert!(matches!(admin.add_token("ada", "ci", Role::Viewer), Err(AccessError::NoUser(_))));
        assert!(follow(&admin, &path).is_some());
        assert!(follow(&admin, &path).is_none(), "once is all");
        let refused = admin.add_token("ada", "ci", Role::Admin);
        assert!(matches!(refused, Err(AccessError::TokenRole { asked: Role::Admin, has: Role::Runner, .. })));
        assert!(matches!(admin.add_token("ada", " ", Role::Viewer), Err(AccessError::TokenName)));
        let token = admin.add_token("ada", "ci", Role::Runner).expect("a token");
        let listed = admin.tokens().expect("read");
        assert_eq!((listed.len(), listed[0].name.as_str()), (1, "ci"));
        assert!(token.starts_with(&format!("lab_{}_", listed[0].id)));
        admin.revoke_token(&listed[0].id).expect("revoked");
        assert!(admin.revoke_token(&listed[0].id).is_err());
        let (entries, _, broken_at) = admin.check_audit().expect("read");
        assert_eq!((entries, broken_at), (5, None), "invite, password, session, token, revocation");
    }

    #[test]
    fn somebody_stays_admin() {
        let (_folder, admin) = open();
        follow(&admin, &admin.invite(&name("ada"), Role::Admin).expect("a link")).expect("followed");
        assert!(matches!(admin.set_role("ada", Role::Viewer), Err(AccessError::LastAdmin(_))));
        assert!(matches!(admin.set_disabled("ada", true), Err(AccessError::LastAdmin(_))));
        assert!(matches!(admin.invite(&name("ada"), Role::Viewer), Err(AccessError::LastAdmin(_))));
        follow(&admin, &admin.invite(&name("ben"), Role::Admin).expect("a link")).expect("followed");
        admin.set_role("ada", Role::Viewer).expect("ben is left");
        assert!(matches!(admin.set_disabled("ben", true), Err(AccessError::LastAdmin(_))));
        admin.set_disabled("ada", true).expect("no admin");
        assert!(admin.users().expect("read")[0].disabled_at.is_some());
        admin.set_disabled("ada", false).expect("back");
        assert!(matches!(admin.set_role("eve", Role::Admin), Err(AccessError::NoUser(_))));
    }

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        let (_folder, admin) = open();
        let text = admin.policy_text().expect("the default");
        assert_eq!(toml::from_str::<Rules>(&text).expect("TOML"), Rules::default());
        admin.set_policy("loopback = false\nhosts = [\"a.example\"]").expect("a policy");
        let refused = admin.policy().expect("read").resolve(Role::Admin, "http://127.1/");
        assert!(matches!(refused, Err(Refusal::Loopback { .. })));
        assert!(admin.policy_text().expect("read").contains("hosts = [\"a.example\"]"));
        assert!(matches!(admin.set_policy("loopback = 3"), Err(AccessError::PolicySyntax(_))));
        assert!(matches!(admin.set_policy("ports = [\"x\"]"), Err(AccessError::Policy(_))));
    }
}
