//! What a lab is started with.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::Role;

/// What a lab is started with. The binary fills it in; nothing here reads the environment.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// Folder of the lab's own: store, work folders, mirrors of repositories.
    pub data: PathBuf,
    /// Where what is accepted is kept.
    pub store: StoreAddress,
    /// Where people and scripts come in. Several, so that 127.0.0.1 and ::1 both work.
    pub listen: Vec<SocketAddr>,
    /// Names by which it may be called (`Host`), beside those of loopback.
    pub hosts: Vec<String>,
    /// What somebody may do who has not logged in; `None` is nothing but to log in.
    pub anonymous: Option<Role>,
    /// Certificate chain and key in PEM, to be reached by others.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a proxy in front of it does the TLS.
    pub is_behind_proxy: bool,
    /// Addresses of such proxies, beside those of this machine: they may forward the client's address.
    pub proxies: Vec<IpAddr>,
    /// Where people reach it, for links in notifications: `https://lab.example`, without a slash at its end.
    pub public_address: Option<String>,
    /// The program that measures: prony itself.
    pub program: PathBuf,
    /// Folders in which to search for commands, as in `PATH`, for builds.
    pub search_path: String,
    /// A command that takes a message as sendmail does; without one nobody gets mail.
    pub mail: Option<Vec<String>>,
    /// Who gets mail about the lab itself: its disk, queue, worker and database.
    pub operator_mail: Option<String>,
    /// The room that the disk of `data` should have; with less, the operator is notified. 0 turns that off.
    pub disk_alert_bytes: u64,
    /// Whether builds are run; a lab without a worker only accepts them.
    pub has_worker: bool,
    /// Whether builds run in a sandbox.
    pub sandbox: SandboxMode,
}

impl LabOptions {
    /// A lab with everything in the folder `data`, on a free port of this machine, that runs no builds and that nobody may
    /// enter without logging in.
    pub fn new(data: PathBuf) -> Self {
        Self {
            store: StoreAddress::Sqlite(data.join("lab.sqlite")),
            data,
            listen: vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)],
            hosts: Vec::new(),
            anonymous: None,
            tls: None,
            is_behind_proxy: false,
            proxies: Vec::new(),
            public_address: None,
            program: prony_supervisor::SELF.into(),
            search_path: String::new(),
            mail: None,
            operator_mail: None,
            disk_alert_bytes: 0,
            has_worker: false,
            sandbox: SandboxMode::Off,
        }
    }
}

/// Whether builds run in a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// They do, or not at all.
    Require,
    /// They do where that works; else only for administrators, and never as root.
    #[default]
    Auto,
    /// They don't: they may do what the lab's user may.
    Off,
}

/// Where a lab keeps what it accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A SQLite database in this file.
    Sqlite(PathBuf),
    /// A PostgreSQL database (`postgres://…`).
    Postgres(String),
}
