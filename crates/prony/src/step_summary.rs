//! The summary of a step of GitHub Actions: a file to which each command appends Markdown.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use crate::cli_error::CliError;

const VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// The file of this step.
#[derive(Debug)]
pub(crate) struct StepSummary(PathBuf);

impl StepSummary {
    /// The one that `variable` names, if it can be written.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self, CliError> {
        let path = variable(VARIABLE).map(PathBuf::from).ok_or_else(|| {
            CliError::usage(format!("--github-summary has no file: {VARIABLE} is not set"))
                .hint("GitHub Actions sets it; elsewhere, use -o markdown")
        })?;
        let summary = Self(path);
        // An empty text changes nothing, and shows what is wrong before the load.
        summary.append("")?;
        Ok(summary)
    }

    /// Appends `markdown`, whole or with an error.
    pub(crate) fn append(&self, markdown: &str) -> Result<(), CliError> {
        let file = OpenOptions::new().append(true).create(true).open(&self.0);
        file.and_then(|mut file| file.write_all(markdown.as_bytes())).map_err(|error| {
            let path = self.0.display();
            CliError::usage(format!("{VARIABLE}: can't write to {path} ({error})"))
                .hint("leave out --github-summary, or name a file that can be written")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("summary.md");
        std::fs::write(&file, "# before\n").expect("written");
        let path = file.display().to_string();
        let summary = StepSummary::find(|_| Some(path.clone())).expect("a file");
        summary.append("one\n").expect("appended");
        summary.append("two\n").expect("appended");
        assert_eq!(std::fs::read_to_string(&file).expect("text"), "# before\none\ntwo\n");
    }

    #[test]
    fn no_file_is_a_mistake_before_the_load() {
        let missing = StepSummary::find(|_| None).expect_err("nowhere").text();
        assert!(missing.contains("GITHUB_STEP_SUMMARY is not set"), "{missing}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("none/summary.md").display().to_string();
        let refused = StepSummary::find(|_| Some(path.clone())).expect_err("no folder").text();
        assert!(refused.contains("can't write to"), "{refused}");
    }
}
