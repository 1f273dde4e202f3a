//! Whether a build fits a search. It is found out here and not by the databases, which disagree about cases.

use super::super::{BuildId, BuildState, BuildVerdict, ProjectId};
use super::query::{SearchQuery, Word};
use crate::clock::Moment;

/// What a search looks at of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedBuild {
    /// Its number.
    pub id: BuildId,
    /// The project, unless it is a load of its own.
    pub project: Option<ProjectId>,
    /// The branch, tag or commit that was requested.
    pub reference: String,
    /// The branch that has its commit, where that is known.
    pub branch: Option<String>,
    /// The commit that was built, once it is checked out.
    pub commit: Option<String>,
    /// Who wrote the commit.
    pub author: Option<String>,
    /// The first line of its message.
    pub subject: Option<String>,
    /// How far it is.
    pub state: BuildState,
    /// What its results mean, once they are there.
    pub verdict: Option<BuildVerdict>,
    /// When it was requested.
    pub requested_at: Moment,
    /// Whether somebody wrote about it.
    pub has_notes: bool,
}

/// `text` as it is compared: in small letters, each by itself, so that a part of a text is a part of it still.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

impl SearchQuery {
    /// Whether a build fits all operators but `project:`, of which only the store knows the number.
    pub fn admits(&self, build: &SearchedBuild) -> bool {
        let folded = |text: &Option<String>| text.as_deref().map(fold).unwrap_or_default();
        self.state.is_none_or(|state| build.state == state)
            && self.verdict.is_none_or(|verdict| build.verdict == Some(verdict))
            && self.after.is_none_or(|after| build.requested_at >= after)
            && self.before.is_none_or(|before| build.requested_at < before)
            && self.commit.as_ref().is_none_or(|digits| folded(&build.commit).starts_with(digits))
            && self.branch.as_ref().is_none_or(|branches| branches.contain(&folded(&build.branch)))
            && self.author.as_ref().is_none_or(|author| folded(&build.author).contains(author))
    }

    /// The words that stand neither in a build nor in `project`, the folded names of its project.
    pub fn missing<'a>(&'a self, build: &SearchedBuild, project: &str) -> Vec<&'a Word> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let texts =
            [Some(&build.reference), build.branch.as_ref(), build.author.as_ref(), build.subject.as_ref()];
        let texts = texts.map(|text| text.map(|text| fold(text)).unwrap_or_default());
        let is_there = |word: &Word| {
            let is_commit =
                |digits| build.commit.as_ref().is_some_and(|commit| fold(commit).starts_with(digits));
            project.contains(&word.text)
                || texts.iter().any(|text| text.contains(&word.text))
                || word.commit_digits().is_some_and(is_commit)
        };
        self.words.iter().filter(|word| !is_there(word)).collect()
    }

    /// Whether every word stands in `text`, which is folded.
    pub fn all_words_in(&self, text: &str) -> bool {
        self.words.iter().all(|word| text.contains(&word.text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn build() -> SearchedBuild {
        SearchedBuild {
            id: BuildId(7),
            project: Some(ProjectId(1)),
            reference: "v1.2".to_owned(),
            branch: Some("Release/1".to_owned()),
            commit: Some("3f2a".repeat(10)),
            author: Some("Ann ÜNAL".to_owned()),
            subject: Some("Use 100% of a larger_buffer".to_owned()),
            state: BuildState::Failed,
            verdict: None,
            requested_at: Moment(1_767_225_600_000),
            has_notes: false,
        }
    }

    fn fits(text: &str) -> bool {
        let query: SearchQuery = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        query.admits(&build()) && query.missing(&build(), "web\nour site").is_empty()
    }

    #[test]
    fn all_that_is_searched_for_must_hold() {
        for good in [
            "v1.2",
            "RELEASE",
            "ünal",
            "\"ann ü\"",
            "3f2a3f",
            "web",
            "\"our site\"",
            "buffer 100%",
            "r_b",
            "author:ünal",
            "branch:release/1",
            "branch:rel*",
            "commit:3F2A",
            "state:failed",
            "after:2026-01-01",
            "before:2026-01-02",
            "larger author:ann branch:release/*",
        ] {
            assert!(fits(good), "{good}");
        }
        for bad in [
            "v1.3",
            "buffer nothing",
            "r%b",
            "\"3f2a3f\"",
            "f2a3",
            "author:kim",
            "branch:release",
            "branch:elease/*",
            "commit:f2a3",
            "state:queued",
            "verdict:slower",
            "after:2026-01-02",
            "before:2026-01-01",
            "larger author:kim",
        ] {
            assert!(!fits(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_part_stays_a_part(before in any::<String>(), part in any::<String>(), after in any::<String>()) {
            let whole = format!("{before}{part}{after}");
            prop_assert!(fold(&whole).contains(&fold(&part)));
            prop_assert_eq!(fold(&fold(&whole)), fold(&whole));
        }
    }
}
