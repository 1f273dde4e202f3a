//! The flags of `prony lab login` and `logout`.

/// `prony lab login`
#[derive(Debug, clap::Args)]
pub(crate) struct LabLoginArgs {
    /// The lab's address [default: $PRONY_LAB, or http://127.0.0.1:3000]
    #[arg(value_name = "URL")]
    pub(crate) lab: Option<String>,
    /// What the token is for, as the lab lists it [default: this machine's name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Only print the page's address, don't open it
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// `prony lab logout`
#[derive(Debug, clap::Args)]
pub(crate) struct LabLogoutArgs {
    /// The lab's address [default: $PRONY_LAB, or http://127.0.0.1:3000]
    #[arg(value_name = "URL")]
    pub(crate) lab: Option<String>,
}
