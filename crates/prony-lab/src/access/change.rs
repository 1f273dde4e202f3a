//! Changes of users, tokens and the target policy: by an admin on a page, or at the machine itself.

use serde::Serialize;

use super::POLICY;
use crate::auth::{ApiToken, Digest, Secret};
use crate::clock::{self, Moment};
use crate::model::{Name, Role, UserId};
use crate::options::StoreAddress;
use crate::policy::{Policy, Refusal, Rules, RulesError};
use crate::store::{Store, StoreError, Tx, audit, settings, tokens, users};

/// A token's name says where it is; a longer one breaks tables.
const TOKEN_NAME_MAX: usize = 64;

/// Why something about who may do what can't be changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody of that name.
    #[error("find the user `{0}`; `prony lab user list` names all")]
    NoUser(String),
    /// The last admin.
    #[error("take the role or the door from `{0}`, the last admin: make somebody else admin first")]
    LastAdmin(String),
    /// A user without a password.
    #[error("give `{0}` a token before a password is set; follow the link of `prony lab user add` first")]
    NoPassword(String),
    /// A name for a token that says nothing.
    #[error("name a token with 1 to {TOKEN_NAME_MAX} characters, such as `laptop` or `ci of web`")]
    TokenName,
    /// More than its user may.
    #[error("give a token the role {asked}, since its user `{name}` is {has}; change the user's role first")]
    TokenRole {
        /// What was asked for.
        asked: Role,
        /// Whose token.
        name: String,
        /// What the user may do.
        has: Role,
    },
    /// A policy that can't be read.
    #[error("read the policy ({0})")]
    PolicySyntax(String),
    /// A policy with a mistake.
    #[error("use the policy: {0}")]
    Policy(#[from] RulesError),
    /// A target that the policy refuses.
    #[error("load it: {0}")]
    Refused(#[from] Refusal),
}

/// A user, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UserRow {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Whether they have a password; without one nobody logs in.
    pub has_password: bool,
    /// Since when they are known.
    pub created_at: Moment,
    /// Since when they are kept out.
    pub disabled_at: Option<Moment>,
}

/// A token, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
    /// Since when it is void.
    pub revoked_at: Option<Moment>,
}

/// Makes a link by which `name` sets a password and is then there with `role`: its secret.
pub(crate) fn invite(
    tx: &mut Tx<'_>,
    by: &str,
    name: &Name,
    role: Role,
    now: Moment,
) -> Result<Secret, AccessError> {
    if let Some(user) = users::by_name(tx, name.as_str())? {
        keep_an_admin(tx, &user, role < Role::Admin)?;
    }
    let secret = Secret::new();
    users::invite(tx, &secret.digest(), name, role, now)?;
    audit::append(tx, now, by, "user.invite", name.as_str(), &format!("as {role}"))?;
    Ok(secret)
}

/// Uses a link: the password is set, its user logged in, with the new session's secret. `None` where the link is void.
pub(crate) fn accept_invitation(
    tx: &mut Tx<'_>,
    link: &Digest,
    password_hash: &str,
    now: Moment,
) -> Result<Option<Secret>, StoreError> {
    let Some((name, role)) = users::invited(tx, link, now)? else { return Ok(None) };
    if !users::use_invitation(tx, link, now)? {
        return Ok(None);
    }
    let id = users::set_password(tx, &name, role, password_hash, now)?;
    audit::append(tx, now, name.as_str(), "user.password", name.as_str(), &format!("by a link, as {role}"))?;
    begin_session(tx, id, name.as_str(), now).map(Some)
}

/// Begins a session of a user whose password was right.
pub(crate) fn begin_session(
    tx: &mut Tx<'_>,
    id: UserId,
    name: &str,
    now: Moment,
) -> Result<Secret, StoreError> {
    let secret = Secret::new();
    users::begin_session(tx, id, &secret.digest(), &Secret::new().text(), now)?;
    audit::append(tx, now, name, "session.begin", name, "")?;
    Ok(secret)
}

/// Gives a user another role.
pub(crate) fn set_role(
    tx: &mut Tx<'_>,
    by: &str,
    name: &str,
    role: Role,
    now: Moment,
) -> Result<(), AccessError> {
    let user = user(tx, name)?;
    keep_an_admin(tx, &user, role < Role::Admin)?;
    users::set_role(tx, user.id, role)?;
    audit::append(tx, now, by, "user.role", name, &format!("{} -> {role}", user.role))?;
    Ok(())
}

/// Keeps a user out, or lets them in again.
pub(crate) fn set_disabled(
    tx: &mut Tx<'_>,
    by: &str,
    name: &str,
    is_disabled: bool,
    now: Moment,
) -> Result<(), AccessError> {
    let user = user(tx, name)?;
    keep_an_admin(tx, &user, is_disabled)?;
    users::set_disabled(tx, user.id, is_disabled.then_some(now))?;
    audit::append(tx, now, by, if is_disabled { "user.disable" } else { "user.enable" }, name, "")?;
    Ok(())
}

/// Makes a token of `name`: the token itself, which nobody sees again.
pub(crate) fn add_token(
    tx: &mut Tx<'_>,
    by: &str,
    name: &str,
    label: &str,
    role: Role,
    now: Moment,
) -> Result<ApiToken, AccessError> {
    let label = label.trim();
    if !(1..=TOKEN_NAME_MAX).contains(&label.chars().count()) || label.chars().any(char::is_control) {
        return Err(AccessError::TokenName);
    }
    let user = user(tx, name)?;
    if !user.has_password {
        return Err(AccessError::NoPassword(user.name));
    }
    if role > user.role {
        return Err(AccessError::TokenRole { asked: role, name: user.name, has: user.role });
    }
    let token = ApiToken::new();
    tokens::add(tx, user.id, label, role, &token, now)?;
    audit::append(tx, now, by, "token.add", token.id(), &format!("{label}, of {name}, as {role}"))?;
    Ok(token)
}

/// Makes a token void.
pub(crate) fn revoke_token(tx: &mut Tx<'_>, by: &str, id: &str, now: Moment) -> Result<(), AccessError> {
    tokens::revoke(tx, id, now)?;
    audit::append(tx, now, by, "token.revoke", id, "")?;
    Ok(())
}

/// Makes `text` the target policy.
pub(crate) fn set_policy(tx: &mut Tx<'_>, by: &str, text: &str, now: Moment) -> Result<(), AccessError> {
    let rules: Rules = toml::from_str(text).map_err(|error| AccessError::PolicySyntax(error.to_string()))?;
    rules.check()?;
    settings::set(tx, POLICY, text)?;
    audit::append(tx, now, by, "policy.set", "policy", text)?;
    Ok(())
}

fn user(tx: &mut Tx<'_>, name: &str) -> Result<users::User, AccessError> {
    users::by_name(tx, name)?.ok_or_else(|| AccessError::NoUser(name.to_owned()))
}

/// Refuses to make the lab's last admin something less.
fn keep_an_admin(tx: &mut Tx<'_>, user: &users::User, is_less: bool) -> Result<(), AccessError> {
    let is_admin = user.role == Role::Admin && user.disabled_at.is_none() && user.has_password;
    if is_less && is_admin && users::admins(tx)? == 1 {
        return Err(AccessError::LastAdmin(user.name.clone()));
    }
    Ok(())
}

/// Everybody.
pub(crate) fn list_users(tx: &mut Tx<'_>) -> Result<Vec<UserRow>, StoreError> {
    let row = |user: users::User| UserRow {
        name: user.name,
        role: user.role,
        has_password: user.has_password,
        created_at: user.created_at,
        disabled_at: user.disabled_at,
    };
    Ok(users::all(tx)?.into_iter().map(row).collect())
}

/// Every token.
pub(crate) fn list_tokens(tx: &mut Tx<'_>) -> Result<Vec<TokenRow>, StoreError> {
    let row = |token: tokens::Token| TokenRow {
        id: token.id,
        name: token.name,
        user: token.user_name,
        role: token.role,
        created_at: token.created_at,
        revoked_at: token.revoked_at,
    };
    Ok(tokens::all(tx)?.into_iter().map(row).collect())
}

/// The administrator's desk at the machine itself: whoever can write the store needs no password. It works while no lab
/// runs on that store.
pub struct Office {
    store: Store,
    by: String,
}

impl Office {
    /// Opens the store at `address`; `by` stands in the audit log.
    pub fn open(address: &StoreAddress, by: &str) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open(address)?, by: by.to_owned() })
    }

    /// Everybody.
    pub fn users(&self) -> Result<Vec<UserRow>, AccessError> {
        Ok(self.store.read_blocking(list_users)?)
    }

    /// The path of a link by which `name` sets a password, within an hour, and is then there with `role`.
    pub fn invite(&self, name: &Name, role: Role) -> Result<String, AccessError> {
        let name = name.clone();
        self.change(move |tx, by, now| invite(tx, by, &name, role, now)).map(|secret| link(&secret))
    }

    /// Gives a user another role.
    pub fn set_role(&self, name: &str, role: Role) -> Result<(), AccessError> {
        let name = name.to_owned();
        self.change(move |tx, by, now| set_role(tx, by, &name, role, now))
    }

    /// Keeps a user out, or lets them in again.
    pub fn set_disabled(&self, name: &str, is_disabled: bool) -> Result<(), AccessError> {
        let name = name.to_owned();
        self.change(move |tx, by, now| set_disabled(tx, by, &name, is_disabled, now))
    }

    /// Every token.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, AccessError> {
        Ok(self.store.read_blocking(list_tokens)?)
    }

    /// A new token of `name`, in its only writing.
    pub fn add_token(&self, name: &str, label: &str, role: Role) -> Result<String, AccessError> {
        let (name, label) = (name.to_owned(), label.to_owned());
        self.change(move |tx, by, now| add_token(tx, by, &name, &label, role, now)).map(|token| token.text())
    }

    /// Makes a token void.
    pub fn revoke_token(&self, id: &str) -> Result<(), AccessError> {
        let id = id.to_owned();
        self.change(move |tx, by, now| revoke_token(tx, by, &id, now))
    }

    /// The target policy in force, every default written out, as TOML.
    pub fn policy_text(&self) -> Result<String, AccessError> {
        Ok(written(&self.store.read_blocking(super::rules)?))
    }

    /// The target policy in force.
    pub fn policy(&self) -> Result<Policy, AccessError> {
        Ok(self.store.read_blocking(super::policy)?)
    }

    /// Makes `text` the target policy.
    pub fn set_policy(&self, text: &str) -> Result<(), AccessError> {
        let text = text.to_owned();
        self.change(move |tx, by, now| set_policy(tx, by, &text, now))
    }

    /// Checks the audit log: how many entries it has, the hash of the last one, and the first entry that was tampered
    /// with.
    pub fn check_audit(&self) -> Result<(u64, String, Option<i64>), AccessError> {
        let checked = self.store.read_blocking(audit::check)?;
        Ok((checked.entries, checked.head.text(), checked.broken_at))
    }

    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Tx<'_>, &str, Moment) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let by = self.by.clone();
        self.store.write_blocking(move |tx| undone(change(tx, &by, clock::wall())))?
    }
}

/// An error of the store undoes the transaction; a refusal comes before anything is changed.
pub(crate) fn undone<T>(changed: Result<T, AccessError>) -> Result<Result<T, AccessError>, StoreError> {
    match changed {
        Err(AccessError::Store(error)) => Err(error),
        other => Ok(other),
    }
}

/// Where a link with this secret leads to.
pub(crate) fn link(secret: &Secret) -> String {
    format!("/first-login/{}", secret.text())
}

/// `rules` as TOML, each line a rule.
pub(crate) fn written(rules: &Rules) -> String {
    let list = |entries: &[String]| {
        let quoted: Vec<String> = entries.iter().map(|entry| format!("{entry:?}")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let caps = |name: &str, caps: &crate::policy::Caps| {
        format!(
            "\n[{name}]\nrate_per_s = {}\nconnections = {}\nduration_s = {}\nbytes = {}\n",
            caps.rate_per_s, caps.connections, caps.duration_s, caps.bytes
        )
    };
    format!(
        "loopback = {}\nprivate = {}\nhosts = {}\nnetworks = {}\nrefused = {}\nports = {}\n{}{}\n[user_caps]\nbuilds = {}\n",
        rules.loopback,
        rules.private,
        list(&rules.hosts),
        list(&rules.networks),
        list(&rules.refused),
        list(&rules.ports),
        caps("caps", &rules.caps),
        caps("public_caps", &rules.public_caps),
        rules.user_caps.builds
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Password;

    fn office() -> (tempfile::TempDir, Office) {
        let folder = tempfile::tempdir().expect("a folder");
        let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
        let office = Office::open(&address, "root at the machine").expect("a store");
        (folder, office)
    }

    fn name(text: &str) -> Name {
        text.parse().expect(text)
    }

    /// Follows a link.
    fn follow(office: &Office, path: &str) -> Option<Secret> {
        let secret = Secret::read(path.strip_prefix("/first-login/").expect("a path")).expect("a secret");
        let hash = Password::choose("some good words", "x").expect("a password").hash();
        office
            .store
            .write_blocking(move |tx| accept_invitation(tx, &secret.digest(), &hash, clock::wall()))
            .expect("written")
    }

    #[test]
    fn from_a_link_to_a_token() {
        let (_folder, office) = office();
        let path = office.invite(&name("ada"), Role::Runner).expect("a link");
        assert!(matches!(office.add_token("ada", "ci", Role::Viewer), Err(AccessError::NoUser(_))));
        assert!(follow(&office, &path).is_some());
        assert!(follow(&office, &path).is_none(), "once is all");
        let refused = office.add_token("ada", "ci", Role::Admin);
        assert!(matches!(refused, Err(AccessError::TokenRole { asked: Role::Admin, has: Role::Runner, .. })));
        assert!(matches!(office.add_token("ada", " ", Role::Viewer), Err(AccessError::TokenName)));
        let token = office.add_token("ada", "ci", Role::Runner).expect("a token");
        let listed = office.tokens().expect("read");
        assert_eq!((listed.len(), listed[0].name.as_str()), (1, "ci"));
        assert!(token.starts_with(&format!("lab_{}_", listed[0].id)));
        office.revoke_token(&listed[0].id).expect("revoked");
        assert!(office.revoke_token(&listed[0].id).is_err());
        let (entries, _, broken_at) = office.check_audit().expect("read");
        assert_eq!((entries, broken_at), (5, None), "invite, password, session, token, revocation");
    }

    #[test]
    fn somebody_stays_admin() {
        let (_folder, office) = office();
        follow(&office, &office.invite(&name("ada"), Role::Admin).expect("a link")).expect("followed");
        assert!(matches!(office.set_role("ada", Role::Viewer), Err(AccessError::LastAdmin(_))));
        assert!(matches!(office.set_disabled("ada", true), Err(AccessError::LastAdmin(_))));
        assert!(matches!(office.invite(&name("ada"), Role::Viewer), Err(AccessError::LastAdmin(_))));
        follow(&office, &office.invite(&name("ben"), Role::Admin).expect("a link")).expect("followed");
        office.set_role("ada", Role::Viewer).expect("ben is left");
        assert!(matches!(office.set_disabled("ben", true), Err(AccessError::LastAdmin(_))));
        office.set_disabled("ada", true).expect("no admin");
        assert!(office.users().expect("read")[0].disabled_at.is_some());
        office.set_disabled("ada", false).expect("back");
        assert!(matches!(office.set_role("eve", Role::Admin), Err(AccessError::NoUser(_))));
    }

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        let (_folder, office) = office();
        let text = office.policy_text().expect("the default");
        assert_eq!(toml::from_str::<Rules>(&text).expect("TOML"), Rules::default());
        office.set_policy("loopback = false\nhosts = [\"a.example\"]").expect("a policy");
        let refused = office.policy().expect("read").resolve(Role::Admin, "http://127.1/");
        assert!(matches!(refused, Err(Refusal::Loopback { .. })));
        assert!(office.policy_text().expect("read").contains("hosts = [\"a.example\"]"));
        assert!(matches!(office.set_policy("loopback = 3"), Err(AccessError::PolicySyntax(_))));
        assert!(matches!(office.set_policy("ports = [\"x\"]"), Err(AccessError::Policy(_))));
    }
}
