//! The flags for metrics while a run is on.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::parse_duration;

/// Where metrics go, as typed.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "push", multiple = true)]
pub(crate) struct PushArgs {
    /// Send metrics while the run is on, by Prometheus remote write: `http://127.0.0.1:9090`; may be repeated
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) prometheus_rw: Vec<String>,
    /// The same by OTLP over HTTP; `env` takes OTEL_EXPORTER_OTLP_ENDPOINT
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) otlp: Vec<String>,
    /// Time between two pushes [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) push_every: Option<Duration>,
    /// File with headers for the receivers, such as credentials: `NAME: VALUE` lines
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) push_headers: Option<PathBuf>,
    /// How distributions are sent [default: native]
    #[arg(long, value_name = "FORM", value_enum, hide_short_help = true)]
    pub(crate) push_histograms: Option<PushHistograms>,
    /// Label of all metrics, `NAME=VALUE`; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", hide_short_help = true)]
    pub(crate) labels: Vec<String>,
}

/// How distributions are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PushHistograms {
    /// Exponential ones, 2 % wide; Prometheus calls them native.
    Native,
    /// With fixed bounds, for receivers that know no others.
    Classic,
}
