//! The flags of those who ask a lab from elsewhere: `prony lab submit`, `wait`, `gate`, `search`.

use std::time::Duration;

use prony_model::parse_duration;

/// Which lab.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LabThereArgs {
    /// Its address [default: $PRONY_LAB, or http://127.0.0.1:3000]; the token comes from $PRONY_LAB_TOKEN or `prony lab login`
    #[arg(long, value_name = "URL")]
    pub(crate) lab: Option<String>,
}

/// `prony lab submit`
#[derive(Debug, clap::Args)]
pub(crate) struct LabSubmitArgs {
    /// Name of the project
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Branch, tag or commit [default: the project's branch]
    #[arg(long = "ref", value_name = "REF", default_value = "", hide_default_value = true)]
    pub(crate) reference: String,
    /// Compare with this branch, tag or commit, in turn
    #[arg(long, value_name = "REF", default_value = "", hide_default_value = true)]
    pub(crate) base: String,
    /// One of the project's variants [default: its first]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) variant: String,
    /// Run this task; may be repeated [default: all]
    #[arg(long = "task", value_name = "NAME")]
    pub(crate) tasks: Vec<String>,
    /// Tell this address of the end
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true)]
    pub(crate) email: String,
    /// low, normal or high [default: normal]
    #[arg(long, value_name = "PRIORITY", default_value = "", hide_default_value = true)]
    pub(crate) priority: String,
    #[command(flatten)]
    pub(crate) there: LabThereArgs,
}

/// `prony lab gate`
#[derive(Debug, clap::Args)]
pub(crate) struct LabGateArgs {
    /// End with 3 where nothing speaks for the commit either: too noisy, nothing to compare with, numbers of which some
    /// can't be used
    #[arg(long)]
    pub(crate) strict: bool,
    /// Have such a result measured again, at most this often; 0 is never [default: gate.repeats of the project, or 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(..=10))]
    pub(crate) repeats: Option<u32>,
    #[command(flatten)]
    pub(crate) wait: LabWaitArgs,
}

/// `prony lab search`
#[derive(Debug, clap::Args)]
pub(crate) struct LabSearchArgs {
    /// Words, "phrases" and operators: author:ann branch:release/* state:failed after:2026-01-31; 12 is build 12
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,
    /// Print at most this many builds
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=500), default_value = "50")]
    pub(crate) limit: u32,
    /// Search builds before this one only
    #[arg(long, value_name = "BUILD")]
    pub(crate) before: Option<i64>,
    /// text or json [default: text]
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "text",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) output: SearchFormat,
    #[command(flatten)]
    pub(crate) there: LabThereArgs,
}

/// How `prony lab search` prints what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SearchFormat {
    /// A line for each build.
    Text,
    /// As the API answers.
    Json,
}

/// `prony lab wait` and `prony lab gate`
#[derive(Debug, clap::Args)]
pub(crate) struct LabWaitArgs {
    /// The build's number, as `prony lab submit` printed it
    #[arg(value_name = "BUILD")]
    pub(crate) build: i64,
    /// Wait at most this long
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1h")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) there: LabThereArgs,
}
