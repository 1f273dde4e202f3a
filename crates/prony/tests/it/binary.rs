//! Running the binary.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What one call of prony did.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl ProgramOutput {
    /// Whether numbers were printed. On a busy machine a run is marked as invalid, as it should be, and tests
    /// that are not about the verdict must not depend on it.
    pub(crate) fn is_measured(&self) -> bool {
        matches!(self.code, Some(0 | 3)) && self.err.is_empty()
    }
}

/// A call of prony that does not depend on the environment of the tests.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "LC_ALL",
        "LC_CTYPE",
        "GITHUB_STEP_SUMMARY",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    ] {
        command.env_remove(name);
    }
    // A calibration of this machine must not affect the tests: the folder is never made.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-state"));
    command.env("LANG", "C.UTF-8").stdin(Stdio::null());
    command
}

/// Calls prony with `words` and waits for it.
pub(crate) fn prony<S: AsRef<OsStr>>(words: &[S]) -> ProgramOutput {
    program_output(command().args(words).output().expect("the binary was built"))
}

/// The same in `folder`.
pub(crate) fn prony_in(folder: &Path, words: &[&str]) -> ProgramOutput {
    program_output(command().current_dir(folder).args(words).output().expect("the binary was built"))
}

pub(crate) fn program_output(output: Output) -> ProgramOutput {
    ProgramOutput {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("prony prints UTF-8"),
        err: String::from_utf8(output.stderr).expect("prony prints UTF-8"),
    }
}
