//! Why a lab does not start.

use std::fmt;

use prony_model::Problem;

use prony_lab_model::auth::HostError;
use prony_lab_store::StoreError;

/// Why a lab can't begin, or can't do what is asked.
#[derive(Debug)]
pub enum LabError {
    /// The store.
    Store(StoreError),
    /// Its folder.
    Folder {
        /// Which.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An address to listen on.
    Listen {
        /// Which.
        address: std::net::SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// It would be reached from elsewhere, in the clear.
    Exposed {
        /// Where.
        address: std::net::SocketAddr,
    },
    /// Anybody could read it from elsewhere.
    AnonymousAbroad,
    /// Anybody could do anything.
    AnonymousAdmin,
    /// A name by which it should be known.
    Host(HostError),
    /// Certificate or key.
    Tls {
        /// Which file.
        path: std::path::PathBuf,
        /// Why not.
        why: String,
    },
    /// Builds would run without a sandbox.
    Sandbox(Problem),
    /// The system gives no threads.
    Threads(std::io::Error),
}

impl LabError {
    /// What is wrong, as it stands after "failed to", and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Store(error) => error.problem(),
            Self::Folder { path, source } => Problem::new(
                format!("use the folder {} ({source})", path.display()),
                "name another: --data FOLDER",
            ),
            Self::Listen { address, source } => Problem::new(
                format!("listen on {address} ({source})"),
                "stop the server that has it, or name another with --listen",
            ),
            Self::Exposed { address } => Problem::new(
                format!("listen on {address}, where others reach it, without TLS"),
                "add --tls-certificate FILE --tls-key FILE, or --behind-proxy if a proxy does the TLS",
            ),
            Self::AnonymousAbroad => Problem::new(
                "let everybody in (--anonymous) where others than this machine reach the lab",
                "leave it out",
            ),
            Self::AnonymousAdmin => Problem::new("let everybody be admin", "log in instead"),
            Self::Host(error) => Problem::without_advice(format!("take its names: {error}")),
            Self::Tls { path, why } => {
                Problem::new(format!("use {} for TLS ({why})", path.display()), "it should hold PEM")
            }
            Self::Sandbox(problem) => problem.clone().after("run builds: "),
            Self::Threads(error) => Problem::new(
                format!("start its threads ({error})"),
                "`ulimit -u` shows how many this user may have",
            ),
        }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem().sentence())
    }
}

impl std::error::Error for LabError {}

impl From<StoreError> for LabError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<HostError> for LabError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}
