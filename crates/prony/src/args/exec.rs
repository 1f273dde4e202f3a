//! The flags of `prony exec`: hyperfine's, where hyperfine has them.

use std::path::PathBuf;
use std::time::Duration;

use prony_model::{parse_count_u32, parse_duration};

use super::run::PageFormat;

/// `prony exec`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct ExecArgs {
    /// Commands, each in quotes if it has several words
    #[arg(value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
    /// Warm-up runs, not measured
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) warmup: Option<u32>,
    /// Run each command exactly this often
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32, conflicts_with_all = ["min_runs", "max_runs"])]
    pub(crate) runs: Option<u32>,
    /// Run each at least this often [default: 10]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) min_runs: Option<u32>,
    /// Run each at most this often
    #[arg(short = 'M', long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) max_runs: Option<u32>,
    /// Keep running for this long per command [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) min_time: Option<Duration>,
    /// Stop a run that takes longer [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Option<Duration>,
    /// Run this before each run
    ///
    /// Given once it holds for all commands; given several times, for one command each
    #[arg(short, long, value_name = "CMD")]
    pub(crate) prepare: Vec<String>,
    /// Run after each run; once for all commands, or once for each
    #[arg(short = 'C', long, value_name = "CMD", hide_short_help = true)]
    pub(crate) conclude: Vec<String>,
    /// Run once before the first run
    #[arg(short, long, value_name = "CMD", hide_short_help = true)]
    pub(crate) setup: Option<String>,
    /// Run once after the last run, also after a failure or Ctrl-C
    #[arg(short, long, value_name = "CMD", hide_short_help = true)]
    pub(crate) cleanup: Option<String>,
    /// One command after the other instead of in turn; then no verdict is given
    #[arg(long, hide_short_help = true)]
    pub(crate) sequential: bool,
    /// Start programs without a shell
    #[arg(short = 'N', conflicts_with = "shell")]
    pub(crate) no_shell: bool,
    /// The shell, with its flags: `bash --norc`; `none` is -N [default: sh]
    #[arg(short = 'S', long, value_name = "SHELL", hide_short_help = true)]
    pub(crate) shell: Option<String>,
    /// Ignore failed runs; with codes, only these exit codes: -i=1,2
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = ALL_FAILURES, hide_short_help = true)]
    pub(crate) ignore_failure: Option<String>,
    /// Time this as the program's start
    ///
    /// By default the program's own --version, if it is a binary that prints one, else `true`; `none` leaves it out
    #[arg(long, value_name = "CMD")]
    pub(crate) startup: Option<String>,
    /// Show what the commands print
    #[arg(long, conflicts_with = "output", hide_short_help = true)]
    pub(crate) show_output: bool,
    /// Where that goes: `null`, `pipe`, `inherit`, or a file [default: null]
    #[arg(long, value_name = "WHERE", hide_short_help = true)]
    pub(crate) output: Option<String>,
    /// The file that commands read [default: nothing]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) input: Option<PathBuf>,
    /// What reports call a command; may be repeated
    #[arg(short = 'n', long = "command-name", value_name = "NAME", hide_short_help = true)]
    pub(crate) names: Vec<String>,
    /// Replace {VAR} by each of the values `a,b,c`; may be repeated, for every combination
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"], allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) parameter_list: Vec<String>,
    /// Replace {VAR} by each number from MIN to MAX
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) parameter_scan: Vec<String>,
    /// The step of --parameter-scan [default: 1]
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan", hide_short_help = true)]
    pub(crate) parameter_step_size: Option<String>,
    /// Compare with this command: its number, from 1, or its name [default: the fastest]
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) reference: Option<String>,
    /// Seed of the order [default: from the system, and stored]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Export the times as JSON, in hyperfine's format
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Export a table as Markdown, in hyperfine's format
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Export a table as CSV, in hyperfine's format
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) export_csv: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// What to print [default: text]
    #[arg(long, value_name = "FORMAT", value_enum, hide_short_help = true)]
    pub(crate) format: Option<PageFormat>,
    /// No progress line
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,
}

/// hyperfine's word for `-i` without codes.
pub(crate) const ALL_FAILURES: &str = "all-non-zero";

pub(super) const EXAMPLES: &str = "\
Examples:
  prony exec 'wget -qO- http://127.0.0.1:3000/'
  prony exec --warmup 3 'grep -r TODO .' 'rg TODO' --export-json times.json
  prony exec -L threads 1,2,4 'make -j {threads}' --prepare 'make clean'";
