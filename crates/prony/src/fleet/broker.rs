//! How the broker is reached.

use prony_fleet::bus::NatsOptions;

use crate::args::BrokerArgs;
use crate::cli_error::CliError;
use crate::lab_key;

/// Where the broker is if nobody says.
const BROKER: &str = "nats://127.0.0.1:4222";

/// What `args` say of it; `name` is what its logs call this side, and one that is `patient` waits for it.
pub(crate) fn broker(args: &BrokerArgs, name: String, patient: bool) -> Result<NatsOptions, CliError> {
    Ok(NatsOptions {
        url: args.nats.clone().unwrap_or_else(|| BROKER.to_owned()),
        nkey: args.nkey.as_deref().map(lab_key::secret).transpose()?,
        ca_file: args.nats_cacert.clone(),
        name,
        patient,
    })
}
