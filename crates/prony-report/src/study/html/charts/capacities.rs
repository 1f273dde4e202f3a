//! The course of each search for a capacity: times against the rate that was offered, as on the page of one search.

use prony_model::StudySearch;

use super::super::figure::Figure;
use super::super::layout::Layout;
use crate::capacity;

/// Searches that are drawn: more charts than this are no overview.
const DRAWN_MAX: usize = 24;

/// A chart for each search, the first of every cell before any second one.
pub(super) fn figures(layout: &Layout<'_>) -> Vec<Figure> {
    let cells = &layout.result().cells;
    let mut searches: Vec<(usize, usize, &StudySearch)> = Vec::new();
    for (cell, found) in cells.iter().enumerate() {
        searches.extend(found.searches.iter().enumerate().map(|(place, search)| (place, cell, search)));
    }
    searches.sort_by_key(|(place, cell, _)| (*place, *cell));
    let drawn = searches.into_iter().take(DRAWN_MAX);
    let figure = |(place, cell, search): (usize, usize, &StudySearch)| {
        let mut name = cells[cell].name.clone();
        if cells[cell].searches.len() > 1 {
            name = format!("{name}, repeat {}", search.repeat);
        }
        if search.is_partial {
            name = format!("{name}, stopped");
        }
        capacity::named_figure(&search.result, &format!("chart-capacity-{cell}-{place}"), &name)
    };
    drawn.filter_map(figure).collect()
}
