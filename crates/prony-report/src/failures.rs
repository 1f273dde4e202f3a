//! What went wrong, by kind, with the first example of each; and the status codes.

use prony_model::RunResult;

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

/// `404 Not Found`; the number alone where RFC 9110 names no phrase.
pub(crate) fn status_name(status: u16) -> String {
    let phrase = match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return status.to_string(),
    };
    format!("{status} {phrase}")
}
