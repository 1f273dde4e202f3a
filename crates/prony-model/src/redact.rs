//! Secrets never reach a stored result.

use serde::Serializer;

/// Flags of curl and wget behind which a name and a secret stand.
const SECRET_FLAGS: [&str; 6] = ["-u", "--user", "-U", "--proxy-user", "--password", "--http-password"];

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

/// Whether the values of request headers of this name are secrets by their nature.
pub fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str())
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

/// Writes a command line with its secrets replaced.
pub(crate) fn line<S: Serializer>(line: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_secrets(line))
}

/// The same of one that may be missing.
#[expect(clippy::ref_option, reason = "serde hands over the field")]
pub(crate) fn some_line<S: Serializer>(line: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match line {
        Some(text) => serializer.serialize_some(&without_secrets(text)),
        None => serializer.serialize_none(),
    }
}

/// A command line to be shown or stored: without the values of secret headers, of flags that take a password, and
/// without the password of a URL.
pub fn without_secrets(line: &str) -> String {
    let line = without_headers(line);
    let line = without_flags(&line);
    without_passwords(&line)
}

/// Replaces what follows `Authorization:` and the like, up to the quote that closes it or the word's end.
fn without_headers(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for name in SECRET_HEADERS {
        for (at, _) in lower.match_indices(&format!("{name}:")) {
            let quote = line[..at].chars().next_back().filter(|before| matches!(before, '\'' | '"'));
            let from = at + name.len() + 1;
            let from = from + line[from..].len() - line[from..].trim_start_matches(' ').len();
            let end = line[from..].find(|end: char| quote.map_or(end.is_whitespace(), |quote| end == quote));
            spans.push((from, end.map_or(line.len(), |end| from + end)));
        }
    }
    replaced(line, spans)
}

/// Replaces the values of [`SECRET_FLAGS`]; of `name:secret` the second part.
fn without_flags(line: &str) -> String {
    let mut spans = Vec::new();
    for flag in SECRET_FLAGS {
        for (at, _) in line.match_indices(flag) {
            let is_word = line[..at].chars().next_back().is_none_or(char::is_whitespace);
            let from = at + flag.len();
            let rest = &line[from..];
            let Some(first) = rest.chars().next().filter(|first| is_word && matches!(first, ' ' | '='))
            else {
                continue;
            };
            let value = rest[first.len_utf8()..].trim_start_matches(['\'', '"']);
            let start = line.len() - value.len();
            let end = value
                .find(|end: char| end.is_whitespace() || matches!(end, '\'' | '"'))
                .unwrap_or(value.len());
            let secret = value[..end].find(':').map_or(0, |colon| colon + 1);
            if !flag.to_ascii_lowercase().ends_with('u') && !flag.ends_with("user") || secret > 0 {
                spans.push((start + secret, start + end));
            }
        }
    }
    replaced(line, spans)
}

/// Replaces the password of `scheme://name:password@host`.
fn without_passwords(line: &str) -> String {
    let mut spans = Vec::new();
    for (at, found) in line.match_indices("://") {
        let from = at + found.len();
        let end = line[from..].find(|end: char| end.is_whitespace() || matches!(end, '/' | '\'' | '"' | '?'));
        let authority = &line[from..end.map_or(line.len(), |end| from + end)];
        if let Some((user, _)) = authority.rsplit_once('@')
            && let Some(colon) = user.find(':')
        {
            spans.push((from + colon + 1, from + user.len()));
        }
    }
    replaced(line, spans)
}

fn replaced(line: &str, mut spans: Vec<(usize, usize)>) -> String {
    spans.retain(|(from, to)| from < to);
    spans.sort_unstable();
    let (mut text, mut done) = (String::new(), 0);
    for (from, to) in spans {
        if from >= done {
            text.push_str(&line[done..from]);
            text.push_str(REDACTED);
            done = to;
        }
    }
    text.push_str(&line[done..]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        assert_eq!(without_secrets(line), expected);
    }

    #[test]
    fn command_lines_keep_no_secrets() {
        check(
            "curl -H 'Authorization: Bearer a b' http://h/",
            "curl -H 'Authorization: [redacted]' http://h/",
        );
        check("curl -Hcookie:a=b http://h/", "curl -Hcookie:[redacted] http://h/");
        check(
            "curl -H \"X-API-Key:abc\" -H 'Cookie: x'",
            "curl -H \"X-API-Key:[redacted]\" -H 'Cookie: [redacted]'",
        );
        check("curl -u me:pass h", "curl -u me:[redacted] h");
        check("curl --user='me:pass' h", "curl --user='me:[redacted]' h");
        check("wget --password=abc http://h", "wget --password=[redacted] http://h");
        check("wget http://me:pass@h/x?a=b:c@d", "wget http://me:[redacted]@h/x?a=b:c@d");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for line in [
            "curl -s http://h:80/a:b@c",
            "sort -u file",
            "ls --user",
            "grep -u 'a b'",
            "echo 'authorization: '",
            "",
        ] {
            check(line, line);
        }
    }
}
