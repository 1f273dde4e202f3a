//! Reports that can't be read.

use prony_model::ExternalTool;

/// A report of a known tool that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A number that is none.
    #[error("it is a report of {}, and `{text}` is no {what}: was it edited, or cut short?", tool.name())]
    Number {
        /// Whose report.
        tool: ExternalTool,
        /// What belongs there.
        what: &'static str,
        /// What is there.
        text: String,
    },
    /// Something that every such report has.
    #[error("it is a report of {} without {what}: was it edited, or cut short?", tool.name())]
    Missing {
        /// Whose report.
        tool: ExternalTool,
        /// What is missing.
        what: &'static str,
    },
    /// A form with fewer figures than another one of the same tool.
    #[error("it is a report of {} in a form that can't be read: {advice}", tool.name())]
    Form {
        /// Whose report.
        tool: ExternalTool,
        /// What to do.
        advice: &'static str,
    },
    /// More than a report has.
    #[error("it is a report of {} on {number} things, and at most {most} can be read: leave some out", tool.name())]
    TooMuch {
        /// Whose report.
        tool: ExternalTool,
        /// How many there are.
        number: usize,
        /// How many may be.
        most: usize,
    },
}
