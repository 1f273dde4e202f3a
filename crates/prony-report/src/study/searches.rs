//! Searches for the capacity of a cell: the outcome of each, in a sentence.

use prony_model::{StudyCell, StudySearch};

use crate::capacity;

/// A line for each search that the study has whole.
pub(super) fn lines(cell: &StudyCell) -> Vec<String> {
    let is_one = cell.searches.len() == 1 && cell.planned == 1;
    let line = |search: &StudySearch| {
        let (word, sentence) = capacity::answer(&search.result);
        let repeat = if is_one { String::new() } else { format!("repeat {}, ", search.repeat) };
        let partial = if search.is_partial { "stopped, and counts in no figure: " } else { "" };
        format!("{repeat}{partial}{word} {sentence}")
    };
    cell.searches.iter().map(line).collect()
}
