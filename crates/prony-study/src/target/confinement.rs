//! Where targets run: beside this process, or in a sandbox that the caller describes.

use std::ffi::OsString;
use std::path::Path;

use prony_supervisor::SELF;
use serde::{Deserialize, Serialize};

/// In a sandbox, the folder in which a command runs stands behind this flag (bwrap(1)).
const FOLDER_FLAG: &str = "--chdir";

/// The sandbox of everything that a study starts. What measures stays outside of it, so that what is measured can neither
/// write results, nor signal or trace what writes them. By default there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// The words that stand before a command: a program that makes the sandbox, with its arguments.
    words: Vec<String>,
    /// Prony as the sandbox knows it.
    program: String,
}

/// Why a text describes no sandbox.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfinementError(String);

impl Confinement {
    /// A sandbox that `words` make, in which prony is `program`.
    pub fn new(words: Vec<String>, program: String) -> Self {
        Self { words, program }
    }

    /// Reads what [`Confinement::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, ConfinementError> {
        serde_json::from_str(text).map_err(|error| ConfinementError(error.to_string()))
    }

    /// For the one who makes the study run.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("invariant: texts can be written as JSON")
    }

    /// `words`, in the sandbox, in `folder` there.
    pub(super) fn around(&self, words: &[String], folder: Option<&Path>) -> Vec<OsString> {
        if self.words.is_empty() {
            return words.iter().map(OsString::from).collect();
        }
        let mut all: Vec<OsString> = self.words.iter().map(OsString::from).collect();
        if let Some(folder) = folder {
            // There is no other folder to start from in there.
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
            all.extend([FOLDER_FLAG.into(), folder.into()]);
        }
        all.push("--".into());
        // There, the program that runs now is the one that makes the sandbox.
        all.extend(
            words.iter().map(|word| if word == SELF { &self.program } else { word }).map(OsString::from),
        );
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_behind_their_sandbox() {
        let words = [SELF, "serve", "null"].map(str::to_owned);
        let check = |confinement: &Confinement, folder: Option<&str>, expected: &[&str]| {
            assert_eq!(confinement.around(&words, folder.map(Path::new)), expected);
        };
        check(&Confinement::default(), Some("/a"), &[SELF, "serve", "null"]);
        let sandbox =
            Confinement::new(["box", "--no-net"].map(str::to_owned).to_vec(), "/bin/prony".to_owned());
        check(
            &sandbox,
            Some("/a"),
            &["box", "--no-net", "--chdir", "/a", "--", "/bin/prony", "serve", "null"],
        );
        check(&sandbox, None, &["box", "--no-net", "--", "/bin/prony", "serve", "null"]);
        assert_eq!(Confinement::from_json(&sandbox.to_json()).expect("read"), sandbox);
        assert!(Confinement::from_json("{\"words\":[],\"program\":\"\",\"more\":1}").is_err());
    }
}
