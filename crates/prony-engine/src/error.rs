//! Why a run could not be started. What happens to a request once the run is on is a counted result instead.

use std::net::IpAddr;
use std::path::PathBuf;
use std::{fmt, io};

use prony_model::{PlanError, Problem, Spelling, plain_spelling};

/// Why no load was put on anything.
#[derive(Debug)]
pub enum RunError {
    /// The plan contradicts itself.
    Plan(PlanError),
    /// The request can't be written as HTTP.
    Request(String),
    /// A check can't be made.
    Check(String),
    /// The host name has no address.
    Resolve {
        /// The name.
        host: String,
        /// The resolver's words.
        why: String,
    },
    /// Nothing answers at any address.
    NothingAnswers {
        /// The address tried last.
        address: String,
        /// The system's words.
        why: String,
    },
    /// A source address that is not this machine's.
    Source {
        /// The address.
        address: IpAddr,
        /// The system's words.
        source: io::Error,
    },
    /// A source of one family for a target of the other.
    SourceFamily {
        /// The address.
        address: IpAddr,
    },
    /// A Unix socket path too long for the kernel.
    UnixPath {
        /// The path.
        path: PathBuf,
    },
    /// Too few file descriptors.
    Descriptors {
        /// Connections asked for.
        needed: u64,
        /// Descriptors needed.
        needed_files: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// io_uring was asked for, and the kernel lacks it.
    NoUring(String),
    /// The server's processes that were named can't be measured.
    Server(Box<Problem>),
    /// Anything else that the operating system refuses.
    System {
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: io::Error,
    },
}

impl RunError {
    /// What is wrong, and what to try where that is the same for everybody.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        match self {
            Self::Plan(error) => error.problem(spelled),
            Self::Request(why) => Problem::without_advice(format!("the request can't be sent: {why}")),
            Self::Check(why) => Problem::without_advice(format!("the body check can't be made: {why}")),
            Self::Resolve { host, why } => {
                Problem::without_advice(format!("no address for the host `{host}` ({why})"))
            }
            Self::NothingAnswers { address, why } => {
                Problem::without_advice(format!("nothing answers at {address} ({why})"))
            }
            Self::Source { address, source } => Problem::new(
                format!("can't send from {address} ({source})"),
                "name an address of this machine",
            )
            .about("source"),
            Self::SourceFamily { address } => {
                let other = if address.is_ipv4() { 6 } else { 4 };
                let what = format!("{address} can't reach an address of the other family");
                Problem::new(what, format!("name an IPv{other} source")).about("source")
            }
            Self::UnixPath { path } => Problem::new(
                format!("the socket path {} is too long for the kernel", path.display()),
                "use a shorter one",
            )
            .about("unix"),
            Self::Descriptors { needed, needed_files, allowed } => Problem::new(
                format!(
                    "{needed} connections need {needed_files} file descriptors and only {allowed} are allowed"
                ),
                format!(
                    "run `ulimit -n {needed_files}` first (as root, raise the hard limit), or use fewer connections"
                ),
            )
            .about("connections"),
            Self::NoUring(why) => {
                let driver = spelled("driver");
                let advice = format!("leave out {driver}, or use {driver} epoll");
                Problem::new(format!("io_uring can't be used here ({why})"), advice).about("driver")
            }
            Self::Server(problem) => Problem::clone(problem),
            Self::System { action, source } => Problem::without_advice(format!("can't {action}: {source}")),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem(plain_spelling).fmt(formatter)
    }
}

impl std::error::Error for RunError {}

impl From<PlanError> for RunError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
