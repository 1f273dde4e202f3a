//! The flags of `prony serve postgres`.

/// `prony serve postgres`
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve postgres --port 5433\n  \
    prony serve express --database postgresql://guest@127.0.0.1:5433/guest")]
pub(crate) struct PostgresArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(short, long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
}
