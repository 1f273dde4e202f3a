//! The file format of a result: JSON, versioned, with a schema.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    CAPACITY_FORMAT, COMPARISON_FORMAT, EXEC_FORMAT, EXTERNAL_FORMAT, FLEET_FORMAT, OVERLOAD_FORMAT,
    PROBE_FORMAT, RunResult, STUDY_FORMAT,
};

/// The value of `format` in every stored run.
pub const FORMAT: &str = "prony.run";
/// The version that this crate writes; it reads this one only.
pub const VERSION: u32 = 1;

/// A text that is not a stored run.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Not JSON, or cut short.
    #[error("not JSON, or cut short (line {line}, column {column}): {message}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// JSON of something else.
    #[error("not a result of prony: it has no \"format\": \"{FORMAT}\"")]
    Foreign,
    /// JSON of something else than a result of `prony exec`.
    #[error("not a result of prony exec: it has no \"format\": \"{EXEC_FORMAT}\"")]
    ForeignExec,
    /// JSON of something else than a result of `prony probe`.
    #[error("not a result of prony probe: it has no \"format\": \"{PROBE_FORMAT}\"")]
    ForeignProbe,
    /// JSON of something else than a comparison.
    #[error("not a comparison of prony: it has no \"format\": \"{COMPARISON_FORMAT}\"")]
    ForeignComparison,
    /// JSON of something else than a search for a capacity.
    #[error("not a capacity of prony: it has no \"format\": \"{CAPACITY_FORMAT}\"")]
    ForeignCapacity,
    /// JSON of something else than an overload.
    #[error("not an overload of prony: it has no \"format\": \"{OVERLOAD_FORMAT}\"")]
    ForeignOverload,
    /// JSON of something else than a study.
    #[error("not a study of prony: it has no \"format\": \"{STUDY_FORMAT}\"")]
    ForeignStudy,
    /// JSON of something else than a result of several agents.
    #[error("not a result of several agents: it has no \"format\": \"{FLEET_FORMAT}\"")]
    ForeignFleet,
    /// JSON of something else than a report of another tool.
    #[error("not a report of another tool: it has no \"format\": \"{EXTERNAL_FORMAT}\"")]
    ForeignExternal,
    /// Written by another version of Prony.
    #[error("its version is {found} and this prony reads {VERSION}: use the prony that wrote it")]
    Version {
        /// The version found.
        found: u64,
    },
    /// JSON of a run that lacks something.
    #[error("it says that it is a result of prony, but does not fit the schema: {0}")]
    Schema(String),
}

/// `result` as JSON text, with a line feed at the end.
pub fn to_json(result: &RunResult) -> String {
    write(result)
}

/// What kind of result `text` holds: the value of its `format`, such as [`FORMAT`].
pub fn stored_format(text: &str) -> Result<String, FormatError> {
    #[derive(Deserialize)]
    struct Header {
        format: String,
    }
    serde_json::from_str(text).map(|header: Header| header.format).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => FormatError::Foreign,
        _ => json_error(&error),
    })
}

fn json_error(error: &serde_json::Error) -> FormatError {
    FormatError::Json { line: error.line(), column: error.column(), message: error.to_string() }
}

/// Length in nanoseconds and number of the pieces of time of a stored run; `None` where it has none, or can't be read. The
/// rest of it is not looked at.
pub fn stored_pieces(text: &str) -> Option<(u64, usize)> {
    #[derive(Deserialize)]
    struct Run {
        pieces: Option<Pieces>,
    }
    #[derive(Deserialize)]
    struct Pieces {
        length_ns: u64,
        done: Vec<serde::de::IgnoredAny>,
    }
    let run: Run = serde_json::from_str(text).ok()?;
    run.pieces.map(|pieces| (pieces.length_ns, pieces.done.len()))
}

/// Reads what [`to_json`] wrote.
pub fn from_json(text: &str) -> Result<RunResult, FormatError> {
    read(text, FORMAT, VERSION, FormatError::Foreign)
}

/// The JSON Schema of a stored run, as in docs/schema/run-v1.json.
#[cfg(test)]
fn json_schema() -> String {
    write(&schemars::schema_for!(RunResult))
}

/// `value` as JSON text, with a line feed at the end.
pub(crate) fn write(value: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(value).expect("invariant: results and schemas have string keys only");
    text.push('\n');
    text
}

/// Reads a value of `format` and `version`; `foreign` says that it is something else.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    format: &str,
    version: u32,
    foreign: FormatError,
) -> Result<T, FormatError> {
    #[derive(Deserialize)]
    struct Header {
        format: String,
        version: u64,
    }
    // The text is read twice, so that no tree of values has to be built of it.
    let header = match serde_json::from_str::<Header>(text) {
        Ok(header) if header.format == format => header,
        Err(error) if !error.is_data() => return Err(json_error(&error)),
        _ => return Err(foreign),
    };
    if header.version != u64::from(version) {
        return Err(FormatError::Version { found: header.version });
    }
    serde_json::from_str(text).map_err(|error| FormatError::Schema(error.to_string()))
}

/// Bytes as base64 text.
pub(crate) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/run-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/run-v1.json can be read");
        assert!(published == json_schema(), "docs/schema/run-v1.json is out of date: see this test");
    }

    fn check(text: &str, expected: fn(&FormatError) -> bool) {
        let error = from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    }

    #[test]
    fn the_kind_of_a_result_is_known_before_it_is_read() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(stored_format(text).ok().as_deref(), expected, "{text}");
        };
        check("{\"format\": \"prony.run\", \"version\": 7}", Some("prony.run"));
        check("{\"x\": [{}], \"format\": \"k6\"}", Some("k6"));
        check("{\"format\": 5}", None);
        check("[1, 2]", None);
        check("{\"format\": \"prony.run\", ", None);
        assert!(matches!(stored_format("{}"), Err(FormatError::Foreign)));
        assert!(matches!(stored_format("{"), Err(FormatError::Json { .. })));
    }

    #[test]
    fn foreign_texts_are_refused_by_name() {
        check("", |error| matches!(error, FormatError::Json { .. }));
        check("{\"format\": \"prony.run\", \"ver", |error| matches!(error, FormatError::Json { .. }));
        check("[1, 2]", |error| matches!(error, FormatError::Foreign));
        check("{\"format\": \"k6\", \"version\": 1}", |error| matches!(error, FormatError::Foreign));
        check("{\"format\": \"prony.run\", \"version\": 2}", |error| {
            matches!(error, FormatError::Version { found: 2 })
        });
        check("{\"format\": \"prony.run\", \"version\": 1}", |error| matches!(error, FormatError::Schema(_)));
    }
}
