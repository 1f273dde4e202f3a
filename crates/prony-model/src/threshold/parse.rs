//! From text to a threshold: `FIGURE OPERATOR VALUE`, or what is wrong, where, and what to try.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::amount::{Amount, Unit};
use super::figure::Figure;
use super::{Bound, Operator, Threshold};
use crate::{Problem, nearest};

/// A threshold is a line that people read.
const TEXT_BYTES_MAX: usize = 200;
/// The characters of operators.
const SIGNS: [char; 4] = ['<', '>', '=', '!'];

/// A text that is no threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdError {
    /// What is wrong, and what to try.
    pub problem: Problem,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        if text.len() > TEXT_BYTES_MAX {
            let what = format!("a threshold is longer than {TEXT_BYTES_MAX} bytes");
            return Err(error(text, 0..text.len(), what, "write one comparison for each threshold"));
        }
        let Some(at) = text.find(SIGNS) else {
            let what = format!("`{}` has no operator", text.trim());
            let advice =
                "write a figure, an operator and a value, such as 'response.p99 < 50ms' or 'checks > 99.9%'";
            return Err(error(text, 0..text.len(), what, advice));
        };
        let signs = text[at..].len() - text[at..].trim_start_matches(SIGNS).len();
        let typed = &text[at..at + signs];
        let operator = Operator::ALL.into_iter().find(|operator| operator.sign() == typed);
        let figure = figure(text, 0..at)?;
        let Some(operator) = operator else {
            let advice = if typed == "=" { "write `==`" } else { "write one of < <= > >= == !=" };
            return Err(error(text, at..at + signs, format!("`{typed}` is not an operator"), advice));
        };
        let value = trimmed(text, at + signs..text.len());
        let bound = bound(&text[value.clone()], figure, operator)
            .map_err(|problem| ThresholdError { problem, span: value })?;
        Ok(Self { figure, operator, bound })
    }
}

fn figure(text: &str, span: Range<usize>) -> Result<Figure, ThresholdError> {
    let span = trimmed(text, span);
    let name = &text[span.clone()];
    if name.is_empty() {
        let what = "the figure is missing".to_owned();
        return Err(error(text, span, what, "write its name first, such as 'response.p99 < 50ms'"));
    }
    Figure::parse(name).map_err(|problem| ThresholdError { problem, span })
}

fn bound(value: &str, figure: Figure, operator: Operator) -> Result<Bound, Problem> {
    if value.is_empty() {
        return Err(Problem::new("the value is missing", "write it last, such as 'response.p99 < 50ms'"));
    }
    if value.contains(SIGNS) {
        let advice = "write each comparison as a threshold of its own";
        return Err(Problem::new(format!("`{value}` has a second operator"), advice));
    }
    if figure.unit() != Unit::Word {
        return Amount::parse(value, figure.unit()).map(Bound::Amount);
    }
    let words = figure.words();
    let Some(word) = words.iter().copied().find(|word| *word == value) else {
        let advice = match nearest(value, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", words.join(", ")),
        };
        return Err(Problem::new(format!("`{value}` is not a {figure}"), advice));
    };
    if !matches!(operator, Operator::Equal | Operator::Unequal) {
        let advice = format!("write `{figure} == {word}` or `{figure} != {word}`");
        return Err(Problem::new(
            format!("{figure} is a word: `{}` has no meaning", operator.sign()),
            advice,
        ));
    }
    Ok(Bound::Word(word))
}

/// `span` without the blanks at its ends.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let from = span.start + part.len() - part.trim_start().len();
    from..from + part.trim().len()
}

fn error(text: &str, span: Range<usize>, what: String, advice: &str) -> ThresholdError {
    let span = if span.len() == text.len() { trimmed(text, span) } else { span };
    ThresholdError { problem: Problem::new(what, advice), span }
}

impl ThresholdError {
    /// The problem with its place in `text`, for readers who see no marks: "… (column 3)".
    pub fn located(&self, text: &str) -> Problem {
        let before = text.get(..self.span.start).unwrap_or_default();
        let column = before.chars().count() + 1;
        let mut problem = self.problem.clone();
        if column > 1 {
            problem.what = format!("{} (column {column})", problem.what);
        }
        problem
    }
}

impl fmt::Display for ThresholdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(formatter)
    }
}

impl std::error::Error for ThresholdError {}
