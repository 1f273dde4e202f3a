//! What somebody writes into the field of a search, read: `author:ann branch:main "slow path" state:failed`.

use std::str::FromStr;

use super::super::named::named;
use super::super::{BuildId, BuildState, BuildVerdict};
use super::matching::fold;
use crate::clock::Moment;

/// Characters of a search: more is no search but a text.
pub const QUERY_CHARS_MAX: usize = 200;
/// Words, phrases and operators of a search together: each is looked for in every build.
const TERMS_MAX: usize = 12;
/// Digits from which on a word can be the beginning of a commit: git itself shortens commits to no less.
const COMMIT_DIGITS_MIN: usize = 4;
/// Digits of a whole commit, by SHA-256.
const COMMIT_DIGITS_MAX: usize = 64;

/// What stands before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Part of the name of the commit's author.
    Author,
    /// The branch in whose history the build stands.
    Branch,
    /// The beginning of the commit.
    Commit,
    /// The name of the project.
    Project,
    /// The state of the build.
    State,
    /// Its verdict.
    Verdict,
    /// Requested on this day or later.
    After,
    /// Requested before this day.
    Before,
}

named!(
    Operator,
    "operator",
    Author = "author",
    Branch = "branch",
    Commit = "commit",
    Project = "project",
    State = "state",
    Verdict = "verdict",
    After = "after",
    Before = "before"
);

/// What is searched for: all of it must hold. Texts are folded, so that they match in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The build that is named by its number and nothing else.
    pub number: Option<BuildId>,
    /// Words and phrases, each of which stands in one of the texts of a build.
    pub words: Vec<Word>,
    /// `author:`, a part of the name.
    pub author: Option<String>,
    /// `branch:`.
    pub branch: Option<Branches>,
    /// `commit:`, the first digits.
    pub commit: Option<String>,
    /// `project:`.
    pub project: Option<String>,
    /// `state:`.
    pub state: Option<BuildState>,
    /// `verdict:`.
    pub verdict: Option<BuildVerdict>,
    /// `after:`: not requested before this.
    pub after: Option<Moment>,
    /// `before:`: requested before this.
    pub before: Option<Moment>,
}

/// A word, or a phrase in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// What is searched for.
    pub text: String,
    pub(crate) is_phrase: bool,
}

/// One branch, or all that begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branches {
    /// The name, or its beginning.
    pub text: String,
    /// Whether it was written with a `*` at its end.
    pub is_prefix: bool,
}

/// Why a search can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchMistake {
    #[error("there is nothing to search for: write a word, a commit, or an operator such as author:ann")]
    Empty,
    #[error("a search has at most {QUERY_CHARS_MAX} characters: write less")]
    Long,
    #[error("a search has at most {TERMS_MAX} words, phrases and operators: leave some out")]
    ManyTerms,
    #[error("a quotation mark is opened and not closed: write \"two words\"")]
    OpenQuote,
    #[error(
        "there is no operator `{0}:`; there are {all}. To search for such a text, put it into quotes: \"{0}:…\"",
        all = all_operators()
    )]
    Operator(String),
    #[error("`{0}:` has no value: write it right after the colon, such as {0}:x")]
    NoValue(&'static str),
    #[error("`{0}:` is given twice: leave one out")]
    Twice(&'static str),
    #[error("`{operator}:{value}` can't be: {expected}")]
    Value { operator: &'static str, value: String, expected: String },
}

/// `author:, branch:, …`
fn all_operators() -> String {
    let names: Vec<_> = Operator::ALL.iter().map(|operator| format!("{}:", operator.name())).collect();
    names.join(", ")
}

impl Word {
    /// The digits of a commit, if it can be the beginning of one and no quotes say that it is a text.
    pub fn commit_digits(&self) -> Option<&str> {
        (!self.is_phrase && is_commit_prefix(&self.text)).then_some(self.text.as_str())
    }
}

impl Branches {
    /// Whether a branch, folded, is one of them.
    pub(crate) fn contain(&self, branch: &str) -> bool {
        if self.is_prefix { branch.starts_with(&self.text) } else { branch == self.text }
    }
}

impl SearchQuery {
    /// Whether nothing but words is searched for, as they may stand in names of projects and monitors, too.
    pub fn is_words_only(&self) -> bool {
        let words = self.words.clone();
        *self == Self { words, number: self.number, ..Self::default() }
    }

    fn add(&mut self, term: Term<'_>) -> Result<(), SearchMistake> {
        let (name, value) = match term {
            Term::Word { text, .. } if text.trim().is_empty() => return Ok(()),
            Term::Word { text, is_phrase } => {
                self.words.push(Word { text: fold(text), is_phrase });
                return Ok(());
            }
            Term::Filter { name, value } => (name, value),
        };
        let Ok(operator) = name.to_ascii_lowercase().parse::<Operator>() else {
            return Err(SearchMistake::Operator(name.to_owned()));
        };
        let folded = fold(value.trim());
        if folded.is_empty() {
            return Err(SearchMistake::NoValue(operator.name()));
        }
        let unfit = |expected: String| SearchMistake::Value {
            operator: operator.name(),
            value: value.to_owned(),
            expected,
        };
        let is_twice = match operator {
            Operator::Author => self.author.replace(folded).is_some(),
            Operator::Branch => self.branch.replace(branches(&folded)).is_some(),
            Operator::Project => self.project.replace(folded).is_some(),
            Operator::Commit => {
                if !is_commit_prefix(&folded) {
                    return Err(unfit(format!(
                        "write {COMMIT_DIGITS_MIN} to {COMMIT_DIGITS_MAX} hexadecimal digits"
                    )));
                }
                self.commit.replace(folded).is_some()
            }
            Operator::State => {
                let states = || {
                    let all: Vec<_> = BuildState::ALL.iter().map(|state| state.name()).collect();
                    format!("write one of {}", all.join(", "))
                };
                self.state.replace(folded.parse().map_err(|_| unfit(states()))?).is_some()
            }
            Operator::Verdict => self.verdict.replace(folded.parse().map_err(&unfit)?).is_some(),
            Operator::After => self.after.replace(day(&folded).map_err(&unfit)?).is_some(),
            Operator::Before => self.before.replace(day(&folded).map_err(&unfit)?).is_some(),
        };
        if is_twice { Err(SearchMistake::Twice(operator.name())) } else { Ok(()) }
    }
}

impl FromStr for SearchQuery {
    type Err = SearchMistake;

    fn from_str(text: &str) -> Result<Self, SearchMistake> {
        if text.chars().count() > QUERY_CHARS_MAX {
            return Err(SearchMistake::Long);
        }
        let mut query = Self::default();
        let mut rest = text;
        let mut terms = 0;
        while let Some((term, after)) = next_term(rest)? {
            terms += 1;
            if terms > TERMS_MAX {
                return Err(SearchMistake::ManyTerms);
            }
            query.add(term)?;
            rest = after;
        }
        if query == Self::default() {
            return Err(SearchMistake::Empty);
        }
        query.number = number(text.trim_matches(is_separator));
        Ok(query)
    }
}

/// A part of a search as it was written.
#[derive(Clone, Copy)]
enum Term<'a> {
    Word { text: &'a str, is_phrase: bool },
    Filter { name: &'a str, value: &'a str },
}

/// The first part of `text` and what follows it.
fn next_term(text: &str) -> Result<Option<(Term<'_>, &str)>, SearchMistake> {
    let text = text.trim_start_matches(is_separator);
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let (text, rest) = quoted.split_once('"').ok_or(SearchMistake::OpenQuote)?;
        return Ok(Some((Term::Word { text, is_phrase: true }, rest)));
    }
    let (word, rest) = text.split_at(text.find(is_separator).unwrap_or(text.len()));
    let Some((name, value)) = word.split_once(':').filter(|(name, _)| is_name(name)) else {
        return Ok(Some((Term::Word { text: word, is_phrase: false }, rest)));
    };
    if !value.starts_with('"') {
        return Ok(Some((Term::Filter { name, value }, rest)));
    }
    // The value may have spaces: it ends with the next quotation mark.
    let quoted = &text[name.len() + ":\"".len()..];
    let (value, rest) = quoted.split_once('"').ok_or(SearchMistake::OpenQuote)?;
    Ok(Some((Term::Filter { name, value }, rest)))
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Whether what stands before a colon looks like an operator: `12:30` is a text.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-' || byte == b'_')
}

/// `12` and `#12`.
fn number(text: &str) -> Option<BuildId> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

fn is_commit_prefix(text: &str) -> bool {
    (COMMIT_DIGITS_MIN..=COMMIT_DIGITS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn branches(text: &str) -> Branches {
    match text.strip_suffix('*') {
        Some(prefix) => Branches { text: prefix.to_owned(), is_prefix: true },
        None => Branches { text: text.to_owned(), is_prefix: false },
    }
}

/// The beginning of a day, in UTC.
fn day(text: &str) -> Result<Moment, String> {
    let expected = || "write a day as 2026-01-31".to_owned();
    let is_plain = text.len() == "2026-01-31".len()
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let date: jiff::civil::Date = text.parse().ok().filter(|_| is_plain).ok_or_else(expected)?;
    let start = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| expected())?;
    Ok(Moment(start.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> SearchQuery {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn words(texts: &[&str]) -> Vec<Word> {
        texts.iter().map(|text| Word { text: (*text).to_owned(), is_phrase: false }).collect()
    }

    #[test]
    fn words_phrases_and_operators() {
        let query =
            read("Slow \"Hot  Path\" author:\"Ann Lee\" BRANCH:Release/* state:failed verdict:slower");
        let phrase = Word { text: "hot  path".to_owned(), is_phrase: true };
        assert_eq!(query.words, [words(&["slow"]), vec![phrase]].concat());
        assert_eq!(query.author.as_deref(), Some("ann lee"));
        assert_eq!(query.branch, Some(Branches { text: "release/".to_owned(), is_prefix: true }));
        assert_eq!((query.state, query.verdict), (Some(BuildState::Failed), Some(BuildVerdict::Slower)));
        assert!(!query.is_words_only() && read("a b").is_words_only() && read("12").is_words_only());
        let query = read("project:web after:2026-01-01 before:2026-01-02 commit:3F2A");
        assert_eq!((query.project.as_deref(), query.commit.as_deref()), (Some("web"), Some("3f2a")));
        assert_eq!(query.after, Some(Moment(1_767_225_600_000)));
        assert_eq!(query.before, Some(Moment(1_767_225_600_000 + 86_400_000)));
        assert_eq!(read("12:30 5\" :x").words, words(&["12:30", "5\"", ":x"]), "these are texts");
    }

    #[test]
    fn numbers_lead_straight_to_a_build() {
        for (text, number) in [
            ("12", Some(12)),
            (" #12\t", Some(12)),
            ("#", None),
            ("+12", None),
            ("#12 x", None),
            ("\"12\"", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(read(text).number, number.map(BuildId), "{text}");
        }
    }

    #[test]
    fn commits_begin_with_four_digits() {
        let digits = |text: &str| read(text).words[0].commit_digits().map(str::to_owned);
        assert_eq!(digits("3F2a"), Some("3f2a".to_owned()));
        for text in ["3f2", "3f2g", "\"3f2a\"", &"a".repeat(65)] {
            assert_eq!(digits(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_there_is() {
        let check = |text: &str, expected: &str| {
            let message = text.parse::<SearchQuery>().expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        };
        check("", "nothing to search for");
        check(" \t\"\" \" \"", "nothing to search for");
        check(&"x".repeat(QUERY_CHARS_MAX + 1), "200 characters");
        check(&"x ".repeat(TERMS_MAX + 1), "12 words");
        check("\"open", "not closed");
        check("author:\"open", "not closed");
        check("writer:ann", "there is no operator `writer:`; there are author:, branch:, commit:");
        check("http://x", "put it into quotes");
        check("author:", "`author:` has no value");
        check("author:\" \" x", "`author:` has no value");
        check("state:failed state:queued", "`state:` is given twice: leave one out");
        check("state:broken", "`state:broken` can't be: write one of queued,");
        check("verdict:bad", "no-baseline, faster, slower");
        check("commit:xyz", "4 to 64 hexadecimal digits");
        for day in ["2026-1-1", "2026-02-30", "2026-01-01T10:00", "today", "-026-01-01"] {
            check(&format!("after:{day}"), "write a day as 2026-01-31");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_or_refused_within_bounds(text in any::<String>()) {
            if let Ok(query) = text.parse::<SearchQuery>() {
                prop_assert!(text.chars().count() <= QUERY_CHARS_MAX);
                prop_assert!(query.words.len() <= TERMS_MAX);
                prop_assert!(query.words.iter().all(|word| !word.text.trim().is_empty()));
            }
        }

        #[test]
        fn odd_quotes_and_colons_do_no_harm(text in "[a-c\":# *0-9-]{0,40}(author|after|branch)?:?[\"a ]{0,5}") {
            let _ = text.parse::<SearchQuery>();
        }

        #[test]
        fn what_is_put_together_is_taken_apart(
            plain in proptest::collection::vec("[a-z0-9._/]{1,8}", 0..5),
            phrases in proptest::collection::vec("[a-z:*#][a-zA-Z:*# ]{0,8}", 1..5),
            author in proptest::option::of("[a-z]{1,8}( [A-Z][a-z]{1,4})?"),
        ) {
            let mut text = plain.join(" ");
            for phrase in &phrases {
                text.extend([" \"", phrase, "\""]);
            }
            if let Some(author) = &author {
                text.extend([" author:\"", author, "\""]);
            }
            let query = read(&text);
            let found: Vec<_> = query.words.iter().map(|word| word.text.clone()).collect();
            let expected: Vec<_> = plain.iter().chain(&phrases).map(|word| fold(word)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(query.author, author.as_deref().map(fold));
        }
    }
}
