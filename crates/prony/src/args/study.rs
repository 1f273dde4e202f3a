//! The flags of `prony study`.

use std::path::PathBuf;

use prony_model::{parse_count, parse_count_u32, parse_percent};

use super::fleet::LeadArgs;
use super::run::StudyFormat;

/// `prony study`, as typed: `None` where nothing was.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct StudyArgs {
    /// The study file: see docs/study.md
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the plan, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the short form that the file describes
    #[arg(long)]
    pub(crate) short: bool,
    /// Run each cell this often [default: from the file]
    #[arg(long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) repeats: Option<u32>,
    /// Repeat as often as it takes to see this change
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, conflicts_with = "repeats")]
    pub(crate) detect: Option<f64>,
    /// Most repeats of invalid runs per cell [default: 3]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) retries: Option<u64>,
    /// Seed of order and loads [default: from the file]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) seed: Option<u64>,
    /// Folder for all results [default: NAME.study]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Run only what is missing in the folder
    #[arg(long, conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Start over: remove the runs that are in the folder
    #[arg(long)]
    pub(crate) force: bool,
    /// What to print at the end [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<StudyFormat>,
    /// Start targets in the sandbox that this file describes: the lab calls it so
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) confinement: Option<PathBuf>,
    /// Exit code 0, not 3, where a threshold is neither met nor missed
    #[arg(long)]
    pub(crate) allow_undecided: bool,
    /// Show the cell at hand, time left and findings so far
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony study studies/kv-journal.toml --dry-run
  prony study studies/kv-journal.toml --short
  prony study studies/kv-journal.toml --resume";
