//! Why a recording can't be replayed.

use prony_model::Problem;

/// Letters of a line that an error shows.
const SHOWN_MAX: usize = 160;

/// Why a recording can't be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It can't be read.
    #[error("can't read {file} ({source})")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// Nothing can be done with what is in it.
    #[error(transparent)]
    Content(#[from] Problem),
}

impl ReplayError {
    /// What is wrong, and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Unreadable { .. } => Problem::new(self.to_string(), "name a file that can be read"),
            Self::Content(problem) => problem.clone(),
        }
    }
}

/// A line as errors show it: cut, without control characters, and without the values of its queries and of what looks like
/// credentials.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN_MAX)]);
    let mut shown = String::new();
    let (mut in_query, mut in_value) = (false, false);
    for character in text.chars().map(|character| if character.is_control() { '·' } else { character }) {
        let ends_query = matches!(character, ' ' | '"' | '\'');
        match character {
            '?' => in_query = true,
            '=' if in_query && !in_value => {
                in_value = true;
                shown.push_str("=…");
                continue;
            }
            '&' | ';' => in_value = false,
            _ if ends_query => (in_query, in_value) = (false, false),
            _ => {}
        }
        if !in_value {
            shown.push(character);
        }
    }
    if shown.chars().count() > SHOWN_MAX {
        return shown.chars().take(SHOWN_MAX).chain(['…']).collect();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_queries_are_never_shown() {
        let check = |line: &str, expected: &str| assert_eq!(shown(line.as_bytes()), expected);
        check("GET /a?token=se=cret&b=2 HTTP/1.1", "GET /a?token=…&b=… HTTP/1.1");
        check("\"GET /?q\" x=1", "\"GET /?q\" x=1");
        check("\u{1b}[2J", "·[2J");
        assert_eq!(shown(&[b'x'; 1000]).chars().count(), SHOWN_MAX + 1);
    }
}
