//! Why a run could not be started. What happens to a request once the run is on is a counted result instead.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use prony_http::tls::{CertificateFault, SetupError, TlsError};
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
    /// What TLS needs can't be read.
    TlsSetup(SetupError),
    /// The TLS handshake failed at every address that answers.
    Tls {
        /// The address tried last.
        address: String,
        /// In words.
        why: String,
        /// By kind.
        error: Box<TlsError>,
    },
    /// The server does not speak HTTP/2, as far as the connection before the load shows.
    NoHttp2 {
        /// The address tried last.
        address: String,
        /// Why, in words.
        why: String,
        /// Whether it was to be chosen in the TLS handshake.
        negotiated: bool,
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
    /// The moment at which the load was to start has passed.
    StartPassed {
        /// How long ago, counting the time that threads take to start.
        late: Duration,
    },
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
            Self::TlsSetup(error) => setup_problem(error, spelled),
            Self::Tls { address, why, error } => {
                let what = format!("no TLS connection to {address}: {why}");
                match tls_advice(error, spelled) {
                    Some((advice, setting)) => Problem::new(what, advice).about(setting),
                    None => Problem::without_advice(what),
                }
            }
            Self::NoHttp2 { address, why, negotiated } => {
                let setting = if *negotiated { "http2" } else { "http2-prior-knowledge" };
                let advice = format!("leave out {} to use HTTP/1.1", spelled(setting));
                Problem::new(format!("no HTTP/2 at {address}: {why}"), advice).about(setting)
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
            Self::StartPassed { late } => Problem::new(
                format!("the planned start came {} ms too early for this machine", late.as_millis() + 1),
                "plan a later start",
            ),
            Self::Server(problem) => Problem::clone(problem),
            Self::System { action, source } => Problem::without_advice(format!("can't {action}: {source}")),
        }
    }
}

fn setup_problem(error: &SetupError, spelled: Spelling) -> Problem {
    let what = error.to_string();
    match error {
        SetupError::ServerName(_) => {
            Problem::new(what, format!("name another one with {}", spelled("sni"))).about("sni")
        }
        SetupError::CaFile { .. } => {
            Problem::new(what, "name a PEM file with at least one certificate").about("cacert")
        }
        SetupError::NoSystemRoots(_) => {
            let (cacert, insecure) = (spelled("cacert"), spelled("insecure"));
            let advice = format!(
                "install the package ca-certificates, or use {cacert} FILE, or {insecure} to verify nothing"
            );
            Problem::new(what, advice).about("cacert")
        }
        SetupError::ClientCertificate { .. } => {
            Problem::new(what, "name a PEM file with the certificate and those between it and its CA")
                .about("cert")
        }
        SetupError::ClientKey { .. } => {
            Problem::new(what, "name a PEM file with the certificate's key, without a password").about("key")
        }
        SetupError::Config(_) => Problem::without_advice(what),
    }
}

/// What to try, and the setting that it is about.
fn tls_advice(error: &TlsError, spelled: Spelling) -> Option<(String, &'static str)> {
    let insecure = spelled("insecure");
    Some(match error {
        TlsError::NotTls => ("use http:// for a server without TLS".to_owned(), "url"),
        TlsError::Certificate(fault) => match fault {
            CertificateFault::UnknownIssuer | CertificateFault::SelfSigned => {
                let cacert = spelled("cacert");
                (format!("trust it with {cacert} FILE, or verify nothing with {insecure}"), "cacert")
            }
            CertificateFault::NotYetValid => (
                format!("check the clocks of server and client, or verify nothing with {insecure}"),
                "insecure",
            ),
            CertificateFault::WrongName => {
                let sni = spelled("sni");
                (format!("use a name that it is for, in the URL or with {sni} NAME; or {insecure}"), "sni")
            }
            CertificateFault::WrongPurpose => (
                format!("issue one for the server, not a CA's own, or verify nothing with {insecure}"),
                "insecure",
            ),
            _ => (format!("renew it, or verify nothing with {insecure}"), "insecure"),
        },
        TlsError::Alert(70) | TlsError::Incompatible(_) => {
            (format!("offer any version: leave out {}", spelled("tls")), "tls")
        }
        TlsError::Alert(112) => (format!("ask for another name with {} NAME", spelled("sni")), "sni"),
        alert if alert.wants_client_certificate() => (
            format!("give one that it accepts with {} FILE and {} FILE", spelled("cert"), spelled("key")),
            "cert",
        ),
        _ => return None,
    })
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
