//! Tables: each scrolls within itself, and every number in it has an id.

use std::fmt::Write as _;

use crate::svg::escaped;

/// A piece of the page: text that is escaped already, with its markup. Plain text becomes one by `into`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Markup, in which every foreign text is escaped.
    pub(super) fn markup(markup: String) -> Self {
        Self(markup)
    }

    /// `text` and, below it, small `more`.
    pub(super) fn with_more(text: &str, class: &str, more: &str) -> Self {
        let class = if class.is_empty() { "i".to_owned() } else { format!("i {class}") };
        Self(format!("{}<span class=\"{class}\">{}</span>", escaped(text), escaped(more)))
    }

    /// As text of a page.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Self {
        Self(escaped(text))
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        Self(escaped(&text))
    }
}

/// What stands where there is nothing to say.
pub(super) fn dash() -> Html {
    Html("–".to_owned())
}

/// A column: its key in ids, its heading, and whether it holds numbers.
pub(super) struct Column {
    key: String,
    heading: String,
    class: &'static str,
}

/// A column of numbers.
pub(super) fn numbers(key: &str, heading: &str) -> Column {
    Column { key: slug(key), heading: heading.to_owned(), class: "n" }
}

/// A column of words.
pub(super) fn words(key: &str, heading: &str) -> Column {
    Column { key: slug(key), heading: heading.to_owned(), class: "t" }
}

/// A table under construction.
pub(super) struct Table {
    /// Id of the table.
    name: String,
    /// What the ids of rows and cells begin with.
    id: String,
    caption: String,
    columns: Vec<Column>,
    rows: String,
}

impl Table {
    /// A table whose first column, of headings, is `corner`. `id` is the page's only one.
    pub(super) fn new(id: &str, caption: &str, corner: &str, columns: Vec<Column>) -> Self {
        let mut heading = format!("<tr><th scope=\"col\">{}</th>", escaped(corner));
        for Column { heading: text, class, .. } in &columns {
            // Writing to a `String` can't fail, here and below.
            let _ = write!(heading, "<th scope=\"col\" class=\"{class}\">{}</th>", escaped(text));
        }
        let rows = format!("<thead>{heading}</tr></thead>\n<tbody>\n");
        Self { name: id.to_owned(), id: id.to_owned(), caption: caption.to_owned(), columns, rows }
    }

    /// The same with another id for the table itself, where several tables share the ids of their rows.
    pub(super) fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// A row. Rows differ in their keys.
    pub(super) fn row(&mut self, key: &str, head: &Html, cells: &[Html]) {
        self.row_of(key, "", head, cells);
    }

    /// A row of a class; none if it is empty.
    pub(super) fn row_of(&mut self, key: &str, class: &str, head: &Html, cells: &[Html]) {
        debug_assert_eq!(cells.len(), self.columns.len(), "invariant: a cell for each column of {}", self.id);
        let row = format!("{}-{}", self.id, slug(key));
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.rows, "<tr id=\"{row}\"{class}><th scope=\"row\">{}</th>", head.as_str());
        for (Column { key, class, heading }, cell) in self.columns.iter().zip(cells) {
            // On a narrow screen each cell stands on a line of its own, with its heading before it.
            let label = escaped(heading);
            let _ = write!(
                self.rows,
                "<td id=\"{row}-{key}\" class=\"{class}\" data-label=\"{label}\"><div>{}</div></td>",
                cell.as_str()
            );
        }
        self.rows.push_str("</tr>\n");
    }

    /// The table as HTML.
    pub(super) fn finish(self) -> String {
        let caption = escaped(&self.caption);
        format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{0}-caption\">\
             <table id=\"{0}\"><caption id=\"{0}-caption\"><span>{caption}</span></caption>\n{1}</tbody></table></div>\n",
            self.name, self.rows
        )
    }
}

/// `key` as part of an id.
pub(super) fn slug(key: &str) -> String {
    key.chars()
        .map(|character| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' })
        .collect()
}
