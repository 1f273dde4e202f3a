//! The file format of a calibration: JSON, versioned, with a schema.

use serde::Deserialize;

use super::Calibration;
use crate::format;

/// The value of `format` in every stored calibration.
pub const CALIBRATION_FORMAT: &str = "prony.calibration";
/// The version that this crate writes; it reads this one only.
pub const CALIBRATION_VERSION: u32 = 1;

/// A text that is not a stored calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// Not JSON, or cut short.
    #[error("it is not JSON, or cut short: {0}")]
    Json(String),
    /// JSON of something else.
    #[error("it has no \"format\": \"{CALIBRATION_FORMAT}\"")]
    Foreign,
    /// Written by another version of Prony.
    #[error(
        "its version is {found} and this prony reads {CALIBRATION_VERSION}: measure again with `prony calibrate`"
    )]
    Version {
        /// The version found.
        found: u64,
    },
    /// A calibration that lacks something.
    #[error("it does not fit the schema: {0}")]
    Schema(String),
    /// A number that no measurement gives.
    #[error(
        "no measurement gives a rate of {rate_per_s} /s with {client_cpu_share} of a core: measure again with `prony calibrate`"
    )]
    Impossible {
        /// Responses per second.
        rate_per_s: f64,
        /// Share of a core.
        client_cpu_share: f64,
    },
}

impl Calibration {
    /// As JSON text, with a line feed at the end.
    pub fn to_json(&self) -> String {
        format::write(self)
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, CalibrationError> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u64,
        }
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| CalibrationError::Json(error.to_string()))?;
        let header = Header::deserialize(&value).ok().filter(|header| header.format == CALIBRATION_FORMAT);
        let found = header.ok_or(CalibrationError::Foreign)?.version;
        if found != u64::from(CALIBRATION_VERSION) {
            return Err(CalibrationError::Version { found });
        }
        let calibration: Self =
            serde_json::from_value(value).map_err(|error| CalibrationError::Schema(error.to_string()))?;
        match calibration.points.iter().find(|point| point.rate_per_s <= 0.0 || point.client_cpu_share < 0.0)
        {
            Some(point) => Err(CalibrationError::Impossible {
                rate_per_s: point.rate_per_s,
                client_cpu_share: point.client_cpu_share,
            }),
            None => Ok(calibration),
        }
    }

    /// The JSON Schema of a stored calibration, as in docs/schema/calibration-v1.json.
    #[cfg(test)]
    fn json_schema() -> String {
        format::write(&schemars::schema_for!(Self))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/calibration-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, Calibration::json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/calibration-v1.json can be read");
        assert!(published == Calibration::json_schema(), "{path} is out of date: see this test");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let calibration =
            fixtures::calibration([fixtures::closed(16, 100_000.5), fixtures::open(1_000.0, 0.05, 0.08)]);
        assert_eq!(Calibration::from_json(&calibration.to_json()).expect("own words"), calibration);
    }

    fn check(text: &str, expected: fn(&CalibrationError) -> bool) {
        let error = Calibration::from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    }

    #[test]
    fn foreign_texts_are_refused_by_name() {
        check("", |error| matches!(error, CalibrationError::Json(_)));
        check("{\"format\": \"prony.calib", |error| matches!(error, CalibrationError::Json(_)));
        check("{\"format\": \"prony.run\", \"version\": 1}", |error| {
            matches!(error, CalibrationError::Foreign)
        });
        check("{\"format\": \"prony.calibration\", \"version\": 2}", |error| {
            matches!(error, CalibrationError::Version { found: 2 })
        });
        check("{\"format\": \"prony.calibration\", \"version\": 1}", |error| {
            matches!(error, CalibrationError::Schema(_))
        });
        let nothing = fixtures::calibration([fixtures::closed(1, 0.0)]).to_json();
        check(&nothing, |error| matches!(error, CalibrationError::Impossible { .. }));
    }
}
