//! The flags of the administrator at the machine: `prony lab user`, `token`, `policy`, `audit`.

use std::path::PathBuf;

use prony_lab::model::{Name, Role};

use super::LabPlaceArgs;

/// `prony lab user`
#[derive(Debug, clap::Args)]
pub(crate) struct LabUserArgs {
    #[command(subcommand)]
    pub(crate) action: UserAction,
}

/// What is done about users.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum UserAction {
    /// Everybody, with what they may do
    List {
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Print a link by which somebody sets a password; for a known user, a new one
    Add {
        /// Their name
        name: Name,
        /// viewer reads, runner requests builds, admin does everything
        #[arg(long, value_name = "ROLE", default_value = "runner")]
        role: Role,
        /// Address of the lab, to stand in the link
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3000")]
        lab: String,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Give a user another role
    Role {
        /// Their name
        name: Name,
        /// viewer, runner or admin
        role: Role,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Keep a user out, with all sessions and tokens
    Disable {
        /// Their name
        name: Name,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Let a user in again
    Enable {
        /// Their name
        name: Name,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// End all sessions of a user; tokens stay
    SignOut {
        /// Their name
        name: Name,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
}

/// `prony lab token`
#[derive(Debug, clap::Args)]
pub(crate) struct LabTokenArgs {
    #[command(subcommand)]
    pub(crate) action: TokenAction,
}

/// What is done about tokens.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum TokenAction {
    /// Every token, with what it may do
    List {
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Make one of a user's, and print it this once
    Add {
        /// The user's name
        user: Name,
        /// What it is for, such as the machine that has it
        label: String,
        /// What it may do at most
        #[arg(long, value_name = "ROLE", default_value = "runner")]
        role: Role,
        /// For how many days it is good, 366 at most [default: 90]
        #[arg(long, value_name = "DAYS")]
        days: Option<u32>,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Make one void
    Revoke {
        /// Its number, the part after `lab_`
        id: String,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
}

/// `prony lab policy`
#[derive(Debug, clap::Args)]
pub(crate) struct LabPolicyArgs {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

/// What is done about the target policy.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum PolicyAction {
    /// Print it, every default written out
    Show {
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Replace it by a file of that form
    Set {
        /// The file; `-` is stdin
        file: PathBuf,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Print whether a URL may be loaded
    #[command(alias = "judge")]
    Check {
        /// The URL
        url: String,
        /// By whom
        #[arg(long, value_name = "ROLE", default_value = "runner")]
        role: Role,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
}

/// `prony lab audit`
#[derive(Debug, clap::Args)]
pub(crate) struct LabAuditArgs {
    /// Demand that the log ends with this hash, which was printed before
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,
    #[command(flatten)]
    pub(crate) place: LabPlaceArgs,
}
