//! The flags of `prony report`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_model::Clock;

use super::Format;
use super::thresholds::ThresholdArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  prony report result.json
  prony report before.json after.json -o markdown
  prony report result.json -o hgrm --clock service > service.hgrm";

/// `prony report`, as typed.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Results that `prony run --json FILE` kept; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What to print [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub(crate) output: Option<Format>,
    /// The distribution for `-o hgrm` [default: response]
    #[arg(long, value_name = "CLOCK", value_parser = clock())]
    pub(crate) clock: Option<Clock>,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    /// Print results that contradict themselves, too
    #[arg(long)]
    pub(crate) force: bool,
}

/// Reads the name of a clock.
pub(super) fn clock() -> impl TypedValueParser<Value = Clock> {
    PossibleValuesParser::new(Clock::ALL.map(Clock::name)).map(|name| {
        let named = Clock::ALL.into_iter().find(|clock| clock.name() == name);
        named.expect("invariant: only the names of clocks are possible")
    })
}
