//! The flags of `prony import`.

use std::path::PathBuf;

use clap::ValueEnum;

/// A file in the words of another tool.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ImportArgs {
    /// A Hurl file, a Postman collection, an OpenAPI description or a HAR file; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A second HAR file of the same visit: what differs and comes from a response is extracted
    #[arg(value_name = "SECOND")]
    pub(crate) second: Option<PathBuf>,
    /// What it is [default: found out from its name and content]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<ImportFormat>,
    /// The value of a variable, `NAME=VALUE`; may be repeated
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// Of a HAR file, images, styles, scripts and fonts, too
    #[arg(long)]
    pub(crate) assets: bool,
    /// Go through the scenario once at this server, and say which extractions found a value
    #[arg(long, value_name = "URL")]
    pub(crate) verify: Option<String>,
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// A Hurl file.
    Hurl,
    /// A Postman collection, version 2.
    Postman,
    /// An OpenAPI description, 3.0 to 3.2, as JSON or YAML.
    Openapi,
    /// An HTTP archive.
    Har,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony import session.hurl > scenario.toml
  prony import collection.json --variable token=secret > scenario.toml
  prony import openapi.json > scenario.toml
  prony import first.har second.har --verify http://127.0.0.1:3000 > shop.toml
  prony run scenario.toml --base http://127.0.0.1:3000 --rate 50";
