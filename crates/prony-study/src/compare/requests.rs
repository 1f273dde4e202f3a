//! What became of the requests of each side.

use std::collections::BTreeMap;

use prony_model::{ErrorKind, words::grouped, words::percent_of, words::plural};
use prony_stats::Errors;

use super::block::{Block, BlockPair};

/// The requests of one side, all blocks together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SideRequests {
    /// Due.
    pub(super) requests: u64,
    /// Failed.
    pub(super) failed: u64,
    /// `failed` by kind.
    pub(super) failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Without an answer when the drain of their block ended.
    pub(super) unanswered: u64,
}

/// Those of A and of B.
pub(super) fn side_requests(pairs: &[BlockPair]) -> [SideRequests; 2] {
    let mut sides = [SideRequests::default(), SideRequests::default()];
    for (a, b) in pairs {
        sides[0].add(a);
        sides[1].add(b);
    }
    sides
}

impl SideRequests {
    fn add(&mut self, block: &Block) {
        self.requests += block.summary.requests;
        self.failed += block.summary.failed;
        self.unanswered += block.summary.unanswered;
        for (kind, count) in &block.summary.failed_by_kind {
            *self.failed_by_kind.entry(*kind).or_default() += count;
        }
    }

    /// What a verdict is refused for.
    pub(super) fn errors(&self) -> Errors {
        Errors { failed: self.failed, requests: self.requests }
    }

    /// `1.4 % of A's requests (12 reset, 3 request-timeout)`.
    pub(super) fn failed_share(&self, side: &str) -> String {
        let kinds: Vec<String> = self
            .failed_by_kind
            .iter()
            .map(|(kind, count)| format!("{} {}", grouped(*count), kind.name()))
            .collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        format!("{} of {side}'s{kinds}", percent_of(self.failed, self.requests))
    }

    /// What is to be known of the requests of `side` that got no good answer, if there are any.
    pub(super) fn note(&self, side: &str) -> Option<String> {
        let mut parts = Vec::new();
        if self.failed > 0 {
            parts.push(format!("{} failed", self.failed_share(side)));
        }
        if self.unanswered > 0 {
            parts.push(format!(
                "{} had no answer when the drain of its block ended",
                plural(self.unanswered, "request")
            ));
        }
        (!parts.is_empty())
            .then(|| format!("{side}: {} (of {} requests)", parts.join("; "), grouped(self.requests)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::fixtures::block;
    use super::*;

    #[test]
    fn kinds_are_shown_and_late_answers_are_no_failures() {
        let mut a = block(1000, 1.0);
        a.summary.failed = 14;
        a.summary.failed_by_kind = BTreeMap::from([(ErrorKind::Reset, 12), (ErrorKind::RequestTimeout, 2)]);
        let mut b = block(1000, 1.0);
        b.summary.unanswered = 3;
        let [a, b] = side_requests(&[(a, b)]);
        assert_eq!((a.errors().failed, b.errors().failed), (14, 0));
        let note = a.note("A").expect("failures");
        assert!(
            note.contains("1.4 % of A's") && note.contains("12 reset") && note.contains("2 request-timeout"),
            "{note}"
        );
        let note = b.note("B").expect("requests without an answer");
        assert!(note.contains("3 requests had no answer") && !note.contains("failed"), "{note}");
        assert_eq!(SideRequests::default().note("A"), None);
    }
}
