//! What went wrong, by kind, with the first example of each; and the status codes.

use prony_model::{RunResult, status_name};

use crate::number::{count, percent, seconds};

/// One kind of failure, ready to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureRow {
    pub(crate) count: String,
    pub(crate) share: String,
    pub(crate) kind: String,
    pub(crate) first: String,
}

/// Every kind of failure, the most frequent first; shares are of all requests due.
pub(crate) fn rows(result: &RunResult) -> Vec<FailureRow> {
    let mut errors: Vec<_> = result.errors.iter().collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
        .into_iter()
        .map(|error| FailureRow {
            count: count(error.count),
            share: percent(error.count, result.requests.intended),
            kind: error.kind.description().to_owned(),
            first: format!("first at {}: {}", seconds(error.first_at_s), error.first_example),
        })
        .collect()
}

/// The status codes with their counts, where there is more than one.
pub(crate) fn statuses(result: &RunResult) -> Option<Vec<String>> {
    (result.statuses.len() > 1).then(|| {
        result
            .statuses
            .iter()
            .map(|(status, number)| format!("{} {}", status_name(*status), count(*number)))
            .collect()
    })
}
