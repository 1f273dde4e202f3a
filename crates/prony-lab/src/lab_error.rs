//! Why a lab does not start.

use crate::auth::HostError;
use crate::store::StoreError;

/// Why a lab can't begin, or can't do what is asked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its folder.
    #[error("use the folder {path} ({source}); name another: --data FOLDER")]
    Folder {
        /// Which.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An address to listen on.
    #[error("listen on {address} ({source}); stop the server that has it, or name another with --listen")]
    Listen {
        /// Which.
        address: std::net::SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// It would be reached from elsewhere, in the clear.
    #[error(
        "listen on {address}, where others reach it, without TLS; add --tls-certificate FILE --tls-key FILE, or \
         --behind-proxy if a proxy does the TLS"
    )]
    Exposed {
        /// Where.
        address: std::net::SocketAddr,
    },
    /// Anybody could read it from elsewhere.
    #[error("let everybody in (--anonymous) where others than this machine reach the lab; leave it out")]
    AnonymousAbroad,
    /// Anybody could do anything.
    #[error("let everybody be admin; log in instead")]
    AnonymousAdmin,
    /// A name by which it should be known.
    #[error("take its names: {0}")]
    Host(#[from] HostError),
    /// Certificate or key.
    #[error("use {path} for TLS ({why}); it should hold PEM")]
    Tls {
        /// Which file.
        path: std::path::PathBuf,
        /// Why not.
        why: String,
    },
    /// Builds would run without a sandbox.
    #[error("run builds: {0}")]
    Sandbox(String),
    /// The system gives no threads.
    #[error("start its threads ({0}); `ulimit -u` shows how many this user may have")]
    Threads(std::io::Error),
}
