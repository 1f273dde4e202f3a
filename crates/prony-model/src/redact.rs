//! Secrets never reach a stored result.

use serde::Serializer;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Headers whose values are secrets by their nature (lower case).
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "x-csrf-token"];

/// The same of a response.
const SECRET_RESPONSE_HEADERS: [&str; 5] =
    ["set-cookie", "set-cookie2", "x-auth-token", "x-csrf-token", "authentication-info"];

/// Writes request headers with the values of secret ones replaced.
pub(crate) fn headers<S: Serializer>(headers: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    without(&SECRET_HEADERS, headers, serializer)
}

/// Writes response headers with the values of secret ones replaced.
pub(crate) fn response_headers<S: Serializer>(
    headers: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    without(&SECRET_RESPONSE_HEADERS, headers, serializer)
}

fn without<S: Serializer>(
    secrets: &[&str],
    headers: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(headers.iter().map(|(name, value)| {
        let secret = secrets.contains(&name.to_ascii_lowercase().as_str());
        (name.as_str(), if secret { REDACTED } else { value.as_str() })
    }))
}
