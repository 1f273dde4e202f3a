//! Who may do what in this lab: what its parts share of it, and what changes it. Every change is in the audit log, in the
//! same transaction.

pub(crate) mod change;
mod known;
mod place;

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

pub use change::{AccessError, Office, TokenRow, UserRow};
pub(crate) use change::{accept_invitation, begin_session};
pub(crate) use known::{Known, Who};
pub(crate) use place::check_place;

use crate::auth::{HostError, Hosts, LoginLimit, SessionCookie};
use crate::clock;
use crate::lab::Lab;
use crate::model::Role;
use crate::options::LabOptions;
use crate::policy::{Ownership, Policy, Rules};
use crate::store::{StoreError, Tx, settings, users};

/// Passwords that are hashed at once: each takes a core and 19 MiB.
const HASHING: usize = 2;
/// The name of whoever comes first.
const FIRST_ADMIN: &str = "admin";
/// In whose name the audit log says that they were let in.
const FIRST_BY: &str = "the start of the lab";
/// The setting that holds the target policy, as TOML.
const POLICY: &str = "policy";
/// The setting that holds the key by which owners of public servers agree.
const OWNERSHIP: &str = "ownership-key";

/// What every request is judged by.
pub(crate) struct Access {
    /// The names by which the lab may be asked.
    pub(crate) hosts: Hosts,
    /// How a session's cookie is written.
    pub(crate) cookie: SessionCookie,
    /// Whether browsers reach the lab by HTTPS.
    pub(crate) is_secure: bool,
    /// Tries to log in.
    pub(crate) logins: LoginLimit,
    /// Whose turn it is to have a password hashed.
    pub(crate) hashing: Semaphore,
    /// Sessions and tokens that were read from the store.
    known: Mutex<Known>,
}

impl Access {
    /// For a lab with `options`.
    pub(crate) fn new(options: &LabOptions) -> Result<Self, HostError> {
        let is_secure = options.tls.is_some() || options.is_behind_proxy;
        // A lab that listens on an address may be asked by it.
        let own = options.listen.iter().map(std::net::SocketAddr::ip).filter(|ip| !ip.is_unspecified());
        let own: Vec<String> = own.map(|ip| ip.to_string()).collect();
        let names = options.hosts.iter().chain(&own).map(String::as_str);
        Ok(Self {
            hosts: Hosts::new(names)?,
            cookie: SessionCookie::new(is_secure),
            is_secure,
            logins: LoginLimit::new(),
            hashing: Semaphore::new(HASHING),
            known: Mutex::new(Known::default()),
        })
    }

    /// Forgets what was read: somebody may do something else from now on.
    pub(crate) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().expect("invariant: nobody panics with the known in hand")
    }
}

impl Lab {
    /// The target policy as it is now.
    pub(crate) async fn policy(&self) -> Result<Arc<Policy>, StoreError> {
        self.store.read(policy).await.map(Arc::new)
    }

    /// The path of a link by which the first admin sets a password; none where an admin can log in already.
    pub fn first_link(&self) -> Result<Option<String>, AccessError> {
        let made = self.store.write_blocking(|tx| {
            if users::admins(tx)? > 0 {
                return Ok(Ok(None));
            }
            let name = FIRST_ADMIN.parse().expect("invariant: it is a name");
            change::undone(change::invite(tx, FIRST_BY, &name, Role::Admin, clock::wall()).map(Some))
        })?;
        Ok(made?.map(|secret| change::link(&secret)))
    }

    /// What makes and finds the words by which owners of public servers agree. Threads that may wait only.
    pub(crate) fn ownership_blocking(&self) -> Result<Ownership, StoreError> {
        self.store.write_blocking(ownership)
    }
}

/// Does something that waits, off the threads that answer.
pub(crate) async fn waited<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Fault("it panicked".to_owned()))
}

/// The target policy of the store.
pub(crate) fn policy(tx: &mut Tx<'_>) -> Result<Policy, StoreError> {
    let damaged = |error: String| StoreError::Damaged(format!("the target policy: {error}"));
    rules(tx)?.check().map_err(|error| damaged(error.to_string()))
}

/// The same as it was written.
pub(crate) fn rules(tx: &mut Tx<'_>) -> Result<Rules, StoreError> {
    let Some(text) = settings::setting(tx, POLICY)? else { return Ok(Rules::default()) };
    toml::from_str(&text)
        .map_err(|error| StoreError::Damaged(format!("the target policy: {}", error.message())))
}

/// The lab's key is made when it is needed first.
fn ownership(tx: &mut Tx<'_>) -> Result<Ownership, StoreError> {
    use crate::auth::Secret;
    let text = if let Some(text) = settings::setting(tx, OWNERSHIP)? {
        text
    } else {
        let text = Secret::new().text();
        settings::set(tx, OWNERSHIP, &text)?;
        text
    };
    let damaged = |_| StoreError::Damaged("the key for owners of public servers".to_owned());
    Secret::read(&text).map(|secret| Ownership::new(secret.bytes())).map_err(damaged)
}
