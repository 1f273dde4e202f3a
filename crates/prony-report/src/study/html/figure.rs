//! What every chart has: a title that says the finding, the drawings, a caption, and the data as a table.

use std::fmt::Write as _;

use crate::svg::{Drawing, Shape, escaped};

/// A chart, or several of the same kind beside one another.
pub(super) struct Figure {
    /// The page's only one.
    pub(super) id: String,
    /// The finding.
    pub(super) title: String,
    /// What is drawn, in a sentence or two.
    pub(super) caption: String,
    /// Number of a colour and what has it, where the drawings don't say it themselves.
    pub(super) legend: Vec<(usize, String)>,
    /// Each drawing with its name, which is empty where there is only one.
    pub(super) panels: Vec<(String, String)>,
    /// The data, as HTML.
    pub(super) table: String,
    /// Whether the data stands in the open.
    pub(super) open: bool,
}

/// Drawings that are shown at once; the others are folded, so that the page can be read.
const OPEN_PANELS: usize = 12;

impl Figure {
    /// The chart as HTML.
    pub(super) fn html(&self) -> String {
        let mut html = format!(
            "<div class=\"chart\" id=\"{}\">\n<h3>{}</h3>\n<figure>\n",
            self.id,
            escaped(&self.title)
        );
        html.push_str(&self.explained());
        match self.panels.as_slice() {
            [] => {}
            [(_, drawing)] => html.push_str(&scrolled(&self.title, drawing)),
            panels => {
                let (shown, more) = panels.split_at(panels.len().min(OPEN_PANELS));
                html.push_str(&self.grid(shown));
                if !more.is_empty() {
                    let grid = self.grid(more);
                    // Writing to a `String` can't fail, here and below.
                    let _ =
                        write!(html, "<details><summary>{} more</summary>\n{grid}</details>\n", more.len());
                }
            }
        }
        let _ = write!(html, "<figcaption>{}</figcaption>\n</figure>\n", escaped(&self.caption));
        if self.open {
            html.push_str(&self.table);
        } else if !self.table.is_empty() {
            let _ =
                write!(html, "<details><summary>The data as a table</summary>\n{}</details>\n", self.table);
        }
        html.push_str("</div>\n");
        html
    }

    fn grid(&self, panels: &[(String, String)]) -> String {
        let panel = |(name, drawing): &(String, String)| {
            let heading = if name.is_empty() { String::new() } else { format!("<p>{}</p>", escaped(name)) };
            let named = format!("{}: {name}", self.title);
            format!("<div class=\"panel\">{heading}{}</div>\n", scrolled(&named, drawing))
        };
        let panels: Vec<String> = panels.iter().map(panel).collect();
        format!("<div class=\"panels\">\n{}</div>\n", panels.concat())
    }

    fn explained(&self) -> String {
        if self.legend.is_empty() {
            return String::new();
        }
        let entry = |(colour, name): &(usize, String)| {
            let mut drawing = Drawing::new(16.0, 12.0);
            drawing.point(&format!("d s{colour}"), Shape::of(*colour), (8.0, 6.0), 4.5);
            format!("<li>{}{}</li>", drawing.ornament(), escaped(name))
        };
        let entries: Vec<String> = self.legend.iter().map(entry).collect();
        format!("<ul class=\"legend\">{}</ul>\n", entries.concat())
    }
}

/// A drawing that is wider than the screen moves within itself.
fn scrolled(name: &str, drawing: &str) -> String {
    format!(
        "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">{drawing}</div>\n",
        escaped(name)
    )
}
