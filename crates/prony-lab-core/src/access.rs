//! Who may do what in this lab: sessions, tokens and keys, as every request needs them.

mod hashing;
mod known;
mod place;

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use hashing::Hashing;
pub(crate) use known::Known;
pub use known::{Shown, Who};
pub(crate) use place::check_place;

use crate::policy::Ownership;
use prony_lab_model::auth::{BadgeSeal, DeviceCookie, HostError, Hosts, LoginLimit, Secret, SessionCookie};
use prony_lab_model::options::LabOptions;
use prony_lab_store::{StoreError, Tx, settings};

/// The setting that holds the key by which browsers are known again.
pub(crate) const DEVICES: &str = "device-key";
/// The setting that holds the key by which owners of public servers agree.
const OWNERSHIP: &str = "ownership-key";

/// What every request is checked against.
pub struct Access {
    /// The names by which the lab may be asked.
    pub hosts: Hosts,
    /// How a session's cookie is written.
    pub cookie: SessionCookie,
    /// How a browser is known again from which somebody logged in.
    pub device: DeviceCookie,
    /// The addresses of badges.
    pub badge: BadgeSeal,
    /// Whether browsers reach the lab by HTTPS.
    pub is_secure: bool,
    /// Tries to log in.
    pub logins: LoginLimit,
    /// Where passwords are hashed.
    pub hashing: Hashing,
    /// Sessions and tokens that were read from the store.
    known: Mutex<Known>,
    /// Grows when somebody may do something else.
    changes: AtomicU64,
}

impl Access {
    /// For a lab with `options`.
    pub fn new(options: &LabOptions, hashing: Hashing, device_key: &Secret) -> Result<Self, HostError> {
        let is_secure = options.tls.is_some() || options.is_behind_proxy;
        // A lab that listens on an address may be asked by it.
        let own = options.listen.iter().map(std::net::SocketAddr::ip).filter(|ip| !ip.is_unspecified());
        let own: Vec<String> = own.map(|ip| ip.to_string()).collect();
        let names = options.hosts.iter().chain(&own).map(String::as_str);
        Ok(Self {
            hosts: Hosts::new(names)?,
            cookie: SessionCookie::new(is_secure),
            device: DeviceCookie::new(is_secure, device_key),
            badge: BadgeSeal::new(device_key),
            is_secure,
            logins: LoginLimit::new(),
            hashing,
            known: Mutex::new(Known::default()),
            changes: AtomicU64::new(0),
        })
    }

    /// Forgets what was read: somebody may do something else from now on.
    pub fn forget(&self) {
        self.known().clear();
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Grows when somebody may do something else: long-running requests check it.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().expect("invariant: nobody panics with the known in hand")
    }
}

/// Does something that waits, off the threads that answer.
pub async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    /// Without the type, so that a task is compiled once.
    async fn erased(
        work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Result<Box<dyn Any + Send>, StoreError> {
        tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Fault("it panicked".to_owned()))
    }
    let done = erased(Box::new(move || Box::new(work()))).await?;
    Ok(*done.downcast().expect("invariant: it is what the work returned"))
}

/// Makes and finds the tokens by which owners of public servers agree.
pub fn ownership(tx: &mut Tx<'_>) -> Result<Ownership, StoreError> {
    Ok(Ownership::new(key(tx, OWNERSHIP)?.bytes()))
}

/// A key of the lab's, which is made when it is needed first.
pub fn key(tx: &mut Tx<'_>, name: &str) -> Result<Secret, StoreError> {
    if let Some(key) = known_key(tx, name)? {
        return Ok(key);
    }
    let key = Secret::new();
    settings::set(tx, name, &key.text())?;
    Ok(key)
}

/// The same, if it was made.
pub(crate) fn known_key(tx: &mut Tx<'_>, name: &str) -> Result<Option<Secret>, StoreError> {
    let read =
        |text: String| Secret::read(&text).map_err(|_| StoreError::Damaged(format!("the setting {name}")));
    settings::setting(tx, name)?.map(read).transpose()
}
