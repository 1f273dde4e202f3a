//! The flags of `prony lab secret`.

use prony_lab::model::SecretName;

use super::LabPlaceArgs;

/// `prony lab secret`
#[derive(Debug, clap::Args)]
pub(crate) struct LabSecretArgs {
    #[command(subcommand)]
    pub(crate) action: SecretAction,
}

/// What is done about secrets.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SecretAction {
    /// The names of all; nobody is shown a value
    List {
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Store a secret, whose value is read from stdin; a line feed at its end is left out
    Set {
        /// Its name, such as NPM_TOKEN
        name: SecretName,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
    /// Forget a secret
    Remove {
        /// Its name
        name: SecretName,
        #[command(flatten)]
        place: LabPlaceArgs,
    },
}
