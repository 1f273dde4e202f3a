//! The flags of `prony lab`.

use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// Let everybody who reaches the lab read it; only where that is this machine alone
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "none"], default_value = "none")]
    pub(crate) anonymous: String,
    /// Take builds in, but don't work them off
    #[arg(long)]
    pub(crate) no_worker: bool,
}

/// Where a lab keeps everything.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LabPlaceArgs {
    /// Folder of the lab [default: $XDG_DATA_HOME/prony/lab]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Keep it in this database instead of a file in the folder: postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony lab                                  on http://127.0.0.1:3000/
  prony lab --listen 127.0.0.1:0             on a free port
  prony lab --database postgres://ci@db/lab  for a team
  prony lab backup monday.sqlite             while it runs";
