//! Durations in files are plain numbers of seconds, with the unit in the field's name (`timeout_s`).
//!
//! Use as `#[serde(with = "prony_model::duration", rename = "…_s")]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// Writes `value` as seconds.
pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(value.as_secs_f64())
}

/// Reads seconds; negative, infinite and unrepresentable numbers are errors.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}
