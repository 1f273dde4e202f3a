//! Why a run could not be started. What happens to a request once the run is on is a counted result instead.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// Why no load was put on anything.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] prony_model::PlanError),
    /// The request can't be written as HTTP.
    #[error("the request can't be sent: {0}")]
    Request(String),
    /// A check can't be made.
    #[error("the body check can't be made: {0}")]
    Check(String),
    /// The host name has no address.
    #[error("no address for the host `{host}` ({why})")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's words.
        why: String,
    },
    /// Nothing answers at any address.
    #[error("nothing answers at {address} ({why})")]
    NothingAnswers {
        /// The address tried last.
        address: String,
        /// The system's words.
        why: String,
    },
    /// A source address that is not this machine's.
    #[error("can't send from {address} ({source}): name an address of this machine")]
    Source {
        /// The address.
        address: IpAddr,
        /// The system's words.
        source: io::Error,
    },
    /// A source of one family for a target of the other.
    #[error("{address} can't reach an address of the other family: name an IPv{} source", if address.is_ipv4() { 6 } else { 4 })]
    SourceFamily {
        /// The address.
        address: IpAddr,
    },
    /// A Unix socket path too long for the kernel.
    #[error("the socket path {path} is too long for the kernel: use a shorter one")]
    UnixPath {
        /// The path.
        path: PathBuf,
    },
    /// Too few file descriptors.
    #[error(
        "{needed} connections need {needed_files} file descriptors and only {allowed} are allowed: run `ulimit -n {needed_files}` first (as root, raise the hard limit), or use fewer connections"
    )]
    Descriptors {
        /// Connections asked for.
        needed: u64,
        /// Descriptors needed.
        needed_files: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// io_uring was asked for, and the kernel lacks it.
    #[error("io_uring can't be used here ({0}): leave out --driver, or use --driver epoll")]
    NoUring(String),
    /// The server's processes that were named can't be measured.
    #[error("{0}")]
    Server(String),
    /// Anything else that the operating system refuses.
    #[error("can't {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: io::Error,
    },
}
