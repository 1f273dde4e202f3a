//! A [`Problem`] on its way through serde, which carries an error as one text only.

use std::fmt;

use prony_model::Problem;

/// Between the parts of a problem; advice never has it.
const SEPARATOR: char = '\u{1f}';

/// A problem as an error of serde.
#[derive(Debug, PartialEq)]
pub(super) struct Carried(Problem);

impl From<Problem> for Carried {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { what, advice, .. } = &self.0;
        write!(formatter, "{what}{SEPARATOR}{}", advice.as_deref().unwrap_or_default())
    }
}

/// The problem that a message of serde carries, or the message itself.
pub(super) fn unpacked(message: &str) -> Problem {
    match message.rsplit_once(SEPARATOR) {
        Some((what, advice)) => Problem::new(what, advice),
        None => Problem::without_advice(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_never_looks_like_advice() {
        let check = |problem: Problem| assert_eq!(unpacked(&Carried(problem.clone()).to_string()), problem);
        check(Problem::new("`a: b\u{1f}c` is not a count", "write 5"));
        assert_eq!(unpacked("invalid type: a map"), Problem::without_advice("invalid type: a map"));
    }
}
