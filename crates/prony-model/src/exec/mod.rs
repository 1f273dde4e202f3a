//! Timing commands: what `prony exec` is asked to do ([`ExecPlan`]), what it reports meanwhile ([`ExecEvent`]), and
//! what it found out ([`ExecResult`], with a file format of its own).

mod event;
mod plan;
mod result;

pub use event::ExecEvent;
pub use plan::{
    ExecCommand, ExecOrder, ExecOutput, ExecPlan, ExecPlanError, ExecRuns, ExpectedExits, StartUpSource,
    StartUpTry,
};
pub use result::{
    CommandComparison, CommandExit, CommandResult, CommandRun, ExecResult, ExecTiming, MemorySummary,
    ShellUse, StartUpShare, TimeSummary,
};

use crate::FormatError;
use crate::format;

/// The value of `format` in every stored result of `prony exec`.
pub const EXEC_FORMAT: &str = "prony.exec";
/// The version that this crate writes; it reads this one only.
pub const EXEC_VERSION: u32 = 1;

/// `result` as JSON text, with a line feed at the end.
pub fn exec_to_json(result: &ExecResult) -> String {
    format::write(result)
}

/// Reads what [`exec_to_json`] wrote.
pub fn exec_from_json(text: &str) -> Result<ExecResult, FormatError> {
    format::read(text, EXEC_FORMAT, EXEC_VERSION, FormatError::ForeignExec)
}

/// The JSON Schema of a stored result of `prony exec`, as in docs/schema/exec-v1.json.
#[cfg(test)]
fn exec_json_schema() -> String {
    format::write(&schemars::schema_for!(ExecResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/exec-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, exec_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/exec-v1.json can be read");
        assert!(published == exec_json_schema(), "docs/schema/exec-v1.json is out of date: see this test");
    }

    fn check(text: &str, expected: fn(&FormatError) -> bool) {
        let error = exec_from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    }

    #[test]
    fn foreign_texts_are_refused_by_name() {
        check("{\"format\": \"prony.ex", |error| matches!(error, FormatError::Json { .. }));
        check("{\"format\": \"prony.run\", \"version\": 1}", |error| {
            matches!(error, FormatError::ForeignExec)
        });
        check("{\"format\": \"prony.exec\", \"version\": 2}", |error| {
            matches!(error, FormatError::Version { found: 2 })
        });
        check("{\"format\": \"prony.exec\", \"version\": 1}", |error| {
            matches!(error, FormatError::Schema(_))
        });
    }
}
