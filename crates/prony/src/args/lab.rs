//! The flags of `prony lab`.

mod ask;
mod local_admin;
mod login;
mod secret;

use std::net::SocketAddr;
use std::path::PathBuf;

use prony_model::parse_bytes;

pub(crate) use ask::{LabGateArgs, LabSearchArgs, LabSubmitArgs, LabThereArgs, LabWaitArgs, SearchFormat};
pub(crate) use local_admin::{
    LabAuditArgs, LabPolicyArgs, LabTokenArgs, LabUserArgs, PolicyAction, TokenAction, UserAction,
};
pub(crate) use login::{LabLoginArgs, LabLogoutArgs};
pub(crate) use secret::{LabSecretArgs, SecretAction};

/// `prony lab`
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LabArgs {
    /// What to do instead of starting the lab
    #[command(subcommand)]
    pub(crate) action: Option<LabAction>,
    /// How to start it
    #[command(flatten)]
    pub(crate) serve: LabServeArgs,
}

/// What `prony lab` does beside starting one.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabAction {
    /// Copy everything that a lab keeps to a file, also while it runs
    Backup(LabCopyArgs),
    /// Put a copy in the place of what a stopped lab keeps
    Restore(LabCopyArgs),
    /// Look whether everything that a lab keeps is whole, also while it runs
    Check(LabCheckArgs),
    /// Users: list, add, role, disable, enable, sign-out
    User(LabUserArgs),
    /// API tokens: list, add, revoke
    Token(LabTokenArgs),
    /// Which servers the lab may load: show, set, check
    Policy(LabPolicyArgs),
    /// Secrets, which tasks get that name them: list, set, remove
    Secret(LabSecretArgs),
    /// Empty the caches of a project: folders that are kept between its builds
    ClearCaches(LabClearCachesArgs),
    /// End all loads on all agents at once, and refuse new ones
    StopAll(LabStopAllArgs),
    /// Look whether the audit log is whole
    Audit(LabAuditArgs),
    /// Log in at a lab: have a token made on its page, and keep it for submit, wait and gate
    Login(LabLoginArgs),
    /// Make the token of `prony lab login` void, and forget it
    Logout(LabLogoutArgs),
    /// Ask a lab for a build, and print its number
    Submit(LabSubmitArgs),
    /// Wait until a build is over
    Wait(LabWaitArgs),
    /// Wait until a build is over, and end as it says: 0 good, 1 slower, 3 invalid, 4 failed
    Gate(LabGateArgs),
    /// Search a lab for builds, and whatever else has a name
    Search(LabSearchArgs),
}

/// `prony lab clear-caches`
#[derive(Debug, clap::Args)]
pub(crate) struct LabClearCachesArgs {
    /// Name of the project
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
}

/// `prony lab stop-all`
#[derive(Debug, clap::Args)]
pub(crate) struct LabStopAllArgs {
    /// Have agents take loads again
    #[arg(long)]
    pub(crate) lift: bool,
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
}

/// How a lab reaches agents.
#[derive(Debug, clap::Args)]
pub(crate) struct LabAgentsArgs {
    /// Lead agents on other machines (`prony agent`), through this NATS server: loads can be shared by them
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) nats: Option<String>,
    /// File with the nkey that the broker knows the lab by
    #[arg(long, value_name = "FILE", requires = "nats", hide_short_help = true)]
    pub(crate) nkey: Option<PathBuf>,
    /// Trust the authority in this PEM file for the broker's certificate
    #[arg(long, value_name = "FILE", requires = "nats", hide_short_help = true)]
    pub(crate) nats_cacert: Option<PathBuf>,
    /// The private key that signs commands to agents [default: one of yours, made when it is needed]
    #[arg(long, value_name = "FILE", requires = "nats", hide_short_help = true)]
    pub(crate) lab_key: Option<PathBuf>,
}

/// `prony lab backup` and `prony lab restore`
#[derive(Debug, clap::Args)]
pub(crate) struct LabCopyArgs {
    /// The copy
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
}

/// `prony lab check`
#[derive(Debug, clap::Args)]
pub(crate) struct LabCheckArgs {
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
}

/// How a lab is started.
#[derive(Debug, clap::Args)]
pub(crate) struct LabServeArgs {
    /// Where the lab keeps everything
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
    /// Listen here, and at the same port of ::1 where this is 127.0.0.1
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,
    /// A name by which the lab is called, beside localhost and the addresses it listens on; may be repeated
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) host: Vec<String>,
    /// Certificate chain in PEM, to be reached by HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key", hide_short_help = true)]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate", hide_short_help = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// A proxy in front of the lab does the TLS, passes Host on and adds X-Forwarded-For
    #[arg(long, conflicts_with = "tls_certificate", hide_short_help = true)]
    pub(crate) behind_proxy: bool,
    /// Address of such a proxy, where it is on another machine; once for each
    #[arg(long, value_name = "ADDRESS", requires = "behind_proxy", hide_short_help = true)]
    pub(crate) proxy: Vec<std::net::IpAddr>,
    /// Where people reach the lab, such as `https://lab.example.org`: for links in mails and webhooks
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) public_address: Option<String>,
    /// Let everybody who reaches the lab read it; only where that is this machine alone
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "none"], default_value = "none")]
    pub(crate) anonymous: String,
    /// Send mail with this command: it gets the message on stdin and the address as its last word, as `sendmail -i` does
    #[arg(long, value_name = "COMMAND")]
    pub(crate) mail_command: Option<String>,
    /// Send mail about the lab itself to this address: a low disk, builds that wait in vain, a lost database
    #[arg(long, value_name = "ADDRESS", requires = "mail_command", value_parser = mail_address, hide_short_help = true)]
    pub(crate) operator_mail: Option<String>,
    /// Raise an alert when the disk of the lab's folder has less room than this; 0 turns it off
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes, hide_short_help = true)]
    pub(crate) disk_alert: u64,
    /// Whether builds run in a sandbox: `auto` does without one only where administrators alone request builds, and never
    /// as root
    #[arg(long, value_name = "MODE", value_parser = ["require", "auto", "off"], default_value = "auto")]
    pub(crate) sandbox: String,
    /// How the log on stderr is written: as text, or as JSON, one object a line
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text", hide_short_help = true)]
    pub(crate) log: String,
    /// Accept builds, but don't run them
    #[arg(long, hide_short_help = true)]
    pub(crate) no_worker: bool,
    /// The agents that it leads
    #[command(flatten)]
    pub(crate) agents: LabAgentsArgs,
}

fn mail_address(text: &str) -> Result<String, String> {
    prony_lab::model::email(text)?.ok_or_else(|| "write one address, such as kim@example.org".to_owned())
}

/// Where a lab keeps everything.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LabPlaceArgs {
    /// Folder of the lab [default: $XDG_DATA_HOME/prony/lab]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Keep it in this database instead of a file in the folder: postgres://USER@HOST/DATABASE. Its password comes from
    /// PGPASSWORD or the file PGPASSFILE; ?sslmode= is verify-full for other machines
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) database: Option<String>,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony lab                                  on http://127.0.0.1:3000/
  prony lab --listen 127.0.0.1:0             on a free port
  prony lab --database postgres://ci@db/lab  for a team
  prony lab gate 42                          in CI: ends as build 42 says
  prony lab backup monday.sqlite             while it runs";
