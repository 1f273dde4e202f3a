//! What every chart has: a title that says the finding, the drawings, a caption, and the data as a table.

use askama::Template;

use super::table::Table;
use crate::svg::{Drawing, Shape};

/// The name of a drawing, which is empty where there is only one, and the drawing.
pub(crate) type Panel = (String, String);

/// A chart, or several of the same kind beside one another.
#[derive(Template)]
#[template(path = "figure.html")]
pub(crate) struct Figure {
    /// The page's only one.
    pub(crate) id: String,
    /// The finding.
    pub(crate) title: String,
    /// What is drawn, in a sentence or two.
    pub(crate) caption: String,
    /// Number of a colour and what has it, where the drawings don't say it themselves.
    pub(crate) legend: Vec<(usize, String)>,
    /// The drawings.
    pub(crate) panels: Vec<Panel>,
    /// The data.
    pub(crate) table: Table,
    /// Whether the data stands in the open.
    pub(crate) open: bool,
}

/// Drawings that are shown at once; the others are folded, so that the page can be read.
const OPEN_PANELS: usize = 12;

impl Figure {
    /// Each name of the legend behind a point of its colour.
    fn marks(&self) -> impl Iterator<Item = (String, &String)> {
        self.legend.iter().map(|(colour, name)| {
            let mut drawing = Drawing::new(16.0, 12.0);
            drawing.point(&format!("d s{colour}"), Shape::of(*colour), (8.0, 6.0), 4.5);
            (drawing.ornament(), name)
        })
    }

    /// The drawings that are shown at once, and the others.
    fn shown_and_more(&self) -> (&[Panel], &[Panel]) {
        self.panels.split_at(self.panels.len().min(OPEN_PANELS))
    }
}
