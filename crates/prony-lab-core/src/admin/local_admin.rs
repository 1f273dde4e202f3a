//! What an administrator does at the machine itself.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::command::{Command, UrlCheck, answer};
use super::socket;
use crate::actions::{AccessError, TokenRow, UserRow, tokens};
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{Name, Role, SecretName};
use prony_lab_store::{Store, StoreError};

/// What an administrator does at the machine itself: anyone who can write the lab's folder needs no password. It is done by
/// the lab while one runs there, and on its store otherwise.
pub struct LocalAdmin {
    place: Place,
    by: String,
}

enum Place {
    /// The folder of a lab that runs.
    Running(PathBuf),
    /// The folder of one that doesn't, and its store.
    Stopped(PathBuf, Store),
}

impl LocalAdmin {
    /// For the lab in the folder `data` with the store at `address`; `by` stands in the audit log.
    pub fn open(data: &Path, address: &StoreAddress, by: &str) -> Result<Self, StoreError> {
        let place = match socket::connect(data) {
            Some(_) => Place::Running(data.to_owned()),
            None => Place::Stopped(data.to_owned(), Store::open(address)?),
        };
        Ok(Self { place, by: by.to_owned() })
    }

    /// Everybody.
    pub fn users(&self) -> Result<Vec<UserRow>, AccessError> {
        self.ask(Command::Users)
    }

    /// The path of a link by which `name` sets a password, within an hour, and is then there with `role`.
    pub fn invite(&self, name: &Name, role: Role) -> Result<String, AccessError> {
        self.ask(Command::Invite { name: name.clone(), role })
    }

    /// Gives a user another role.
    pub fn set_role(&self, name: &str, role: Role) -> Result<(), AccessError> {
        self.ask(Command::SetRole { name: name.to_owned(), role })
    }

    /// Keeps a user out, or lets them in again.
    pub fn set_disabled(&self, name: &str, is_disabled: bool) -> Result<(), AccessError> {
        self.ask(Command::SetDisabled { name: name.to_owned(), is_disabled })
    }

    /// Ends every session of a user.
    pub fn end_sessions(&self, name: &str) -> Result<(), AccessError> {
        self.ask(Command::EndSessions { name: name.to_owned() })
    }

    /// Every token.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, AccessError> {
        self.ask(Command::Tokens)
    }

    /// A new token of `name`, in its only writing; good for `days`, or for as long as most are.
    pub fn add_token(
        &self,
        name: &str,
        label: &str,
        role: Role,
        days: Option<u32>,
    ) -> Result<String, AccessError> {
        let (user, label) = (name.to_owned(), label.to_owned());
        self.ask(Command::AddToken { user, label, role, days: days.unwrap_or(tokens::TOKEN_DAYS) })
    }

    /// Makes a token void.
    pub fn revoke_token(&self, id: &str) -> Result<(), AccessError> {
        self.ask(Command::RevokeToken { id: id.to_owned() })
    }

    /// The target policy in force, every default written out, as TOML.
    pub fn policy_text(&self) -> Result<String, AccessError> {
        self.ask(Command::PolicyText)
    }

    /// Makes `text` the target policy.
    pub fn set_policy(&self, text: &str) -> Result<(), AccessError> {
        self.ask(Command::SetPolicy { text: text.to_owned() })
    }

    /// Whether somebody with `role` may load `url`: its addresses, or why not.
    pub fn check_url(&self, role: Role, url: &str) -> Result<Result<Vec<String>, String>, AccessError> {
        self.ask::<UrlCheck>(Command::CheckUrl { role, url: url.to_owned() })
    }

    /// Checks the audit log: how many entries it has, the hash of the last one, and the first entry that was tampered
    /// with.
    pub fn check_audit(&self) -> Result<(u64, String, Option<i64>), AccessError> {
        self.ask(Command::CheckAudit)
    }

    /// The names of all secrets.
    pub fn secret_names(&self) -> Result<Vec<String>, AccessError> {
        self.ask(Command::SecretNames)
    }

    /// Keeps a secret; one of the same name is replaced.
    pub fn set_secret(&self, name: &SecretName, value: &[u8]) -> Result<(), AccessError> {
        self.ask(Command::SetSecret { name: name.clone(), value: value.to_vec() })
    }

    /// Forgets a secret.
    pub fn remove_secret(&self, name: &SecretName) -> Result<(), AccessError> {
        self.ask(Command::RemoveSecret { name: name.clone() })
    }

    /// Empties the caches of a project, for builds that begin from now on; how many these were.
    pub fn clear_caches(&self, project: &str) -> Result<u64, AccessError> {
        self.ask(Command::ClearCaches { project: project.to_owned() })
    }

    /// Ends all loads on all agents, and refuses new ones until [`Self::lift_agents`].
    pub fn stop_agents(&self) -> Result<(), AccessError> {
        self.ask(Command::StopAgents)
    }

    /// Has agents take loads again; whether that was refused before.
    pub fn lift_agents(&self) -> Result<bool, AccessError> {
        self.ask(Command::LiftAgents)
    }

    fn ask<T: DeserializeOwned>(&self, command: Command) -> Result<T, AccessError> {
        answer(match &self.place {
            Place::Stopped(data, store) => command.execute(store, data, &self.by)?,
            Place::Running(data) => {
                let stream: UnixStream = socket::connect(data).ok_or(AccessError::Stopped)?;
                socket::ask(&stream, &self.by, command)?
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::sessions::{Origin, accept_invitation};
    use crate::policy::Rules;
    use prony_lab_model::auth::{Password, Secret};
    use prony_lab_model::clock;

    fn open() -> (tempfile::TempDir, LocalAdmin) {
        let folder = tempfile::tempdir().expect("a folder");
        let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
        let admin = LocalAdmin::open(folder.path(), &address, "root at the machine").expect("a store");
        (folder, admin)
    }

    fn name(text: &str) -> Name {
        text.parse().expect(text)
    }

    /// Follows a link.
    fn follow(admin: &LocalAdmin, path: &str) -> Option<Secret> {
        let secret = Secret::read(path.strip_prefix("/first-login/").expect("a path")).expect("a secret");
        let hash = Password::choose("some good words", "x").expect("a password").hash();
        let Place::Stopped(_, store) = &admin.place else { panic!("no lab runs") };
        store
            .write_blocking(move |tx| {
                accept_invitation(tx, &secret.digest(), &hash, &Origin::default(), clock::wall())
            })
            .expect("written")
            .map(|(_, session)| session)
    }

    #[test]
    fn from_a_link_to_a_token() {
        let (_folder, admin) = open();
        let path = admin.invite(&name("ada"), Role::Runner).expect("a link");
        assert!(matches!(admin.add_token("ada", "ci", Role::Viewer, None), Err(AccessError::NoUser(_))));
        assert!(follow(&admin, &path).is_some());
        assert!(follow(&admin, &path).is_none(), "once is all");
        let refused = admin.add_token("ada", "ci", Role::Admin, None);
        assert!(matches!(
            refused,
            Err(AccessError::TokenRole { requested: Role::Admin, has: Role::Runner, .. })
        ));
        assert!(matches!(admin.add_token("ada", " ", Role::Viewer, None), Err(AccessError::TokenName)));
        let token = admin.add_token("ada", "ci", Role::Runner, None).expect("a token");
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
        let refused = admin.check_url(Role::Admin, "http://127.1/").expect("checked");
        assert!(refused.as_ref().is_err_and(|why| why.contains("loopback")), "{refused:?}");
        assert!(admin.policy_text().expect("read").contains("hosts = [\"a.example\"]"));
        assert!(matches!(admin.set_policy("loopback = 3"), Err(AccessError::PolicySyntax(_))));
        assert!(matches!(admin.set_policy("ports = [\"x\"]"), Err(AccessError::Policy(_))));
    }
}
