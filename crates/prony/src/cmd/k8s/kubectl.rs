//! Calls of kubectl, with this user's context.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use prony_report::clean;

use crate::cli_error::CliError;

/// Lines of its stderr that are shown.
const LINES_MAX: usize = 5;

/// kubectl in a namespace.
pub(super) struct Kubectl {
    namespace: Option<String>,
}

impl Kubectl {
    pub(super) fn new(namespace: Option<String>) -> Self {
        Self { namespace }
    }

    /// What it prints when it is called with `words` and `input`.
    pub(super) fn call<W: AsRef<OsStr>>(&self, words: &[W], input: &str) -> Result<String, CliError> {
        let output = self.output(words, input).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CliError::usage("--apply needs kubectl, and there is none in PATH")
                .hint("install it, or leave out --apply and create the manifests in another way"),
            _ => CliError::internal(format!("kubectl: {error}")),
        })?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
            let what =
                words.first().map(|word| word.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
            return Err(CliError::target_failed(clean(&format!("kubectl {what}: {}", lines.join("; ")))));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| CliError::target_failed("kubectl printed something that is no text"))
    }

    fn output<W: AsRef<OsStr>>(&self, words: &[W], input: &str) -> io::Result<Output> {
        let mut command = Command::new("kubectl");
        // Before the words, of which those behind `--` are another program's.
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().expect("invariant: it is a pipe");
        // kubectl reads all of it before it prints; one that has ended already says why itself.
        match stdin.write_all(input.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => drop(stdin),
        }
        child.wait_with_output()
    }
}
