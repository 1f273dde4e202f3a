//! Commits, and what lies between two of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use crate::clock::Moment;

/// Longer names of authors are cut.
const AUTHOR_CHARACTERS_MAX: usize = 100;
/// Longer subjects are cut: git recommends 50 characters.
const SUBJECT_CHARACTERS_MAX: usize = 200;
/// The last second of the year 9999: later dates are made up.
const LAST_SECOND: i64 = 253_402_300_799;

/// A commit as git describes it. Its texts are a stranger's: cut, and without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// Its whole hash.
    pub commit: String,
    /// Name of its author.
    pub author: String,
    /// First line of its message.
    pub subject: String,
    /// When it was committed, as far as that can be a date.
    pub at: Option<Moment>,
}

/// Whether it is known which commits lie between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RangeState {
    /// The worker is to list them.
    Wanted,
    /// They are listed.
    Listed,
    /// They can't be listed.
    Failed,
}

named!(RangeState, "state of a list of commits", Wanted = "wanted", Listed = "listed", Failed = "failed");

/// The commits that one commit has and another has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitRange {
    /// The commit that they follow.
    pub base: String,
    /// The commit that has them.
    pub tip: String,
    /// Whether they are known.
    pub state: RangeState,
    /// The newest of them, the newest first; at most 50.
    pub commits: Vec<Commit>,
    /// How many there are.
    pub ahead: u64,
    /// How many commits `base` has that `tip` has not: 0 if `tip` descends from it.
    pub behind: u64,
    /// Why they can't be listed.
    pub error: Option<String>,
}

impl Commit {
    /// A commit of what git prints about it; `seconds` since 1970.
    pub fn new(commit: &str, author: &str, subject: &str, seconds: Option<i64>) -> Self {
        let at = seconds.filter(|seconds| (0..=LAST_SECOND).contains(seconds));
        Self {
            commit: commit.to_owned(),
            author: cleaned(author, AUTHOR_CHARACTERS_MAX),
            subject: cleaned(subject, SUBJECT_CHARACTERS_MAX),
            at: at.map(|seconds| Moment(seconds * 1000)),
        }
    }
}

impl CommitRange {
    /// How many commits there are beside the listed ones.
    pub fn unlisted(&self) -> u64 {
        self.ahead.saturating_sub(self.commits.len() as u64)
    }
}

/// `text` on one line, of at most `most` characters.
fn cleaned(text: &str, most: usize) -> String {
    let plain =
        || text.trim().chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control());
    let mut cleaned: String = plain().take(most).collect();
    if plain().nth(most).is_some() {
        cleaned.pop();
        cleaned.push('…');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_of_strangers_are_cut_and_cleaned() {
        let commit = Commit::new("a", " Kim\u{1b}[31m\tLee\u{0} ", &"x".repeat(1_000_000), Some(5));
        assert_eq!((commit.author.as_str(), commit.at), ("Kim[31m Lee", Some(Moment(5_000))));
        assert_eq!(commit.subject.chars().count(), SUBJECT_CHARACTERS_MAX);
        assert!(commit.subject.ends_with("x…"), "{}", commit.subject);
        let whole = "y".repeat(SUBJECT_CHARACTERS_MAX);
        assert_eq!(Commit::new("a", "", &whole, None).subject, whole);
        for seconds in [i64::MIN, -1, LAST_SECOND + 1, i64::MAX] {
            assert_eq!(Commit::new("a", "", "", Some(seconds)).at, None, "{seconds}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_long_or_moves_anything(text in any::<String>(), most in 1_usize..40) {
            let cleaned = cleaned(&text, most);
            prop_assert!(cleaned.chars().count() <= most);
            prop_assert!(!cleaned.chars().any(char::is_control), "{cleaned:?}");
        }
    }
}
