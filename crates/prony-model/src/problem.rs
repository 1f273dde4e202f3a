//! What is wrong with what was typed, as data: each edge (the command line, a study file, a page) words it for its
//! readers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How an edge writes the setting of a plain name: of `connections`, `--connections` on a command line, and the key
/// `connections` in a study file.
pub type Spelling = fn(&str) -> String;

/// What is wrong, and what to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What is wrong, as a lower-case fragment.
    pub what: String,
    /// What to try, where that is known.
    pub advice: Option<String>,
    /// The plain name of the setting that it is about, where it is about one.
    pub field: Option<String>,
}

impl Problem {
    /// What is wrong, and what to try.
    pub fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: Some(advice.into()), field: None }
    }

    /// Where nothing can be advised, or somebody else does it.
    pub fn without_advice(what: impl Into<String>) -> Self {
        Self { what: what.into(), advice: None, field: None }
    }

    /// Notes which setting it is about.
    #[must_use]
    pub fn about(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    /// The same, with `words` before what is wrong.
    #[must_use]
    pub fn after(mut self, words: &str) -> Self {
        self.what.insert_str(0, words);
        self
    }

    /// `what; advice`: for what has a colon of its own.
    pub fn sentence(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}; {advice}", self.what),
            None => self.what.clone(),
        }
    }
}

impl fmt::Display for Problem {
    /// `what: advice`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)?;
        match &self.advice {
            Some(advice) => write!(formatter, ": {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// The spelling where nobody typed a setting: its plain name.
pub fn plain_spelling(name: &str) -> String {
    format!("`{name}`")
}

/// Implements `Display` and `Error` for types with a method `problem`.
macro_rules! shown_as_problem {
    ($($error:ty),+) => {$(
        impl std::fmt::Display for $error {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.problem($crate::plain_spelling).fmt(formatter)
            }
        }

        impl std::error::Error for $error {}
    )+};
}
pub(crate) use shown_as_problem;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_stands_behind_what_is_wrong() {
        let check = |problem: &Problem, line: &str, sentence: &str| {
            assert_eq!((problem.to_string().as_str(), problem.sentence().as_str()), (line, sentence));
        };
        check(&Problem::new("0 runs", "use 1"), "0 runs: use 1", "0 runs; use 1");
        check(&Problem::new("runs", "use 1").after("0 ").about("runs"), "0 runs: use 1", "0 runs; use 1");
        check(&Problem::without_advice("it is odd"), "it is odd", "it is odd");
    }
}
