//! What is wrong in a study file, with the place and what to try, as data: the binary and pages draw it.

use std::fmt;
use std::ops::Range;

use prony_model::Problem;

/// Mistakes that are reported of one file: who mends this many reads it again anyway.
const MISTAKES_MAX: usize = 20;

/// What is wrong at one place of a study file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// What to try.
    pub help: Option<String>,
}

/// Everything that was found wrong in a study file; at least one mistake, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyError {
    /// The mistakes.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for StudyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Mistake { message, span, help }) in self.mistakes.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(formatter, "{separator}{message} (byte {})", span.start)?;
            if let Some(help) = help {
                write!(formatter, ": {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for StudyError {}

/// Collects mistakes; what exceeds [`MISTAKES_MAX`], or was reported before, is dropped.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    pub(super) fn add(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let help = Some(help.into()).filter(|help| !help.is_empty());
        let mistake = Mistake { message: message.into(), span, help };
        if self.0.len() < MISTAKES_MAX && !self.0.contains(&mistake) {
            self.0.push(mistake);
        }
    }

    /// The same, of what a library found wrong.
    pub(super) fn add_problem(&mut self, span: Range<usize>, problem: Problem) {
        self.add(span, problem.what, problem.advice.unwrap_or_default());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Nothing more would be reported.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MISTAKES_MAX
    }

    /// The error that they are, if there is any.
    pub(super) fn into_result(mut self) -> Result<(), StudyError> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0.sort_by_key(|mistake| mistake.span.start);
        Err(StudyError { mistakes: self.0 })
    }
}
