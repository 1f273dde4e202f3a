//! Secrets never reach a stored result.

use serde::Serializer;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Headers whose values are secrets by their nature (lower case).
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "x-csrf-token"];

/// Writes request headers with the values of secret ones replaced.
pub(crate) fn headers<S: Serializer>(headers: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(headers.iter().map(|(name, value)| {
        let secret = SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        (name.as_str(), if secret { REDACTED } else { value.as_str() })
    }))
}
