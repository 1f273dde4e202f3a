//! The stored form of a merged result.

use super::FleetResult;
use crate::format::{self, FormatError};

/// The value of `format` in every stored result of several agents.
pub const FLEET_FORMAT: &str = "prony.fleet";
/// The version of [`FleetResult`] that this crate writes.
pub const FLEET_VERSION: u32 = 1;

/// `result` as JSON text, with a line feed at the end.
pub fn fleet_to_json(result: &FleetResult) -> String {
    format::write(result)
}

/// Reads what [`fleet_to_json`] wrote.
pub fn fleet_from_json(text: &str) -> Result<FleetResult, FormatError> {
    format::read(text, FLEET_FORMAT, FLEET_VERSION, FormatError::ForeignFleet)
}

/// The JSON Schema of a stored result of several agents, as in docs/schema/fleet-v1.json.
#[cfg(test)]
fn fleet_json_schema() -> String {
    format::write(&schemars::schema_for!(FleetResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/fleet-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, fleet_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/fleet-v1.json can be read");
        assert!(published == fleet_json_schema(), "docs/schema/fleet-v1.json is out of date: see this test");
    }
}
