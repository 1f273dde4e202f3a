//! Why a server could not be started.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::express::DatabaseError;
use crate::postgres::PostgresError;

/// Why a reference server did not start; the texts fit after "failed to ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address can be reached from other machines and that was not asked for.
    #[error(
        "listen on {address}: other machines could reach it; use a loopback address such as 127.0.0.1, or \
         allow remote clients explicitly"
    )]
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// Another socket listens there.
    #[error(
        "listen on {address}: the port is taken; stop the other server, or use port 0 to be given a free one"
    )]
    PortTaken {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The port is reserved for privileged users.
    #[error("listen on {address}: this user may not use that port; choose one from 1024 up, or 0")]
    PortForbidden {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The machine doesn't have this address.
    #[error(
        "listen on {address}: this machine does not have that address; see `ip address` for those it has"
    )]
    NoSuchAddress {
        /// The address asked for.
        address: SocketAddr,
    },
    /// Any other fault of the listening socket.
    #[error("listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// A setting that can't be served.
    #[error("use {setting}: {reason}")]
    Setting {
        /// The field of the configuration.
        setting: &'static str,
        /// What is wrong with it and what would be right.
        reason: &'static str,
    },
    /// The kernel refused something a server needs.
    #[error("get {what} from the kernel; `ulimit -a` shows the limits of this shell")]
    Resource {
        /// What was refused.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The log can't be written.
    #[error("write the log {}; check that the folder exists and has room", path.display())]
    Log {
        /// The file asked for.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The database can't be used.
    #[error("use the store {}; check that the folder may be written and that no other server uses it", path.display())]
    Store {
        /// The file of the database.
        path: PathBuf,
        /// The error of the database or the kernel.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The files to serve can't be read.
    #[error("read the files in {}; name a folder that may be read", path.display())]
    Files {
        /// The folder, or what is in it.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A site to check has no address.
    #[error("find the host of {url}; check the spelling, or name the address")]
    NoSuchHost {
        /// The site.
        url: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// A certificate or a key can't be used.
    #[error("use {}: {reason}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be right.
        reason: &'static str,
    },
    /// The file of a certificate or of a key can't be read.
    #[error("read {}; name a file that may be read", path.display())]
    TlsFileUnreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// No certificate could be made.
    #[error("make a certificate; name the files of one of your own")]
    Tls {
        /// What refused it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A private PostgreSQL could not be started.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// A database can't be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}
