//! Tables: each scrolls within itself, and every number in it has an id.

use askama::Template;

/// A word with its shape, never colour alone: `✓ VALID`.
#[derive(Template)]
#[template(source = r#"<span class="word {{ class }}">{{ text }}</span>"#, ext = "html")]
pub(crate) struct Word {
    class: &'static str,
    text: String,
}

impl Word {
    pub(crate) fn new(class: &'static str, text: impl Into<String>) -> Self {
        Self { class, text: text.into() }
    }
}

/// What stands in a cell of a table.
#[derive(Template)]
#[template(path = "content.html")]
pub(crate) enum Content {
    Text(String),
    /// Text and, below it, small notes with their classes.
    Noted(String, Vec<(&'static str, String)>),
    Code(String),
    /// The place of a cell of the study and its name, which leads there.
    Link(u32, String),
    /// A checked `http` or `https` URL elsewhere, and a code that leads there.
    ExternalLink(String, String),
    Word(Word),
}

impl Content {
    /// `text` and, below it, small `note`.
    pub(crate) fn noted(text: impl Into<String>, note: impl Into<String>) -> Self {
        Self::Noted(text.into(), vec![("i", note.into())])
    }

    /// What stands where there is nothing to say.
    pub(crate) fn dash() -> Self {
        "–".into()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A column: its key in ids, its heading, and whether it holds numbers.
pub(crate) struct Column {
    key: String,
    heading: String,
    class: &'static str,
}

/// A column of numbers.
pub(crate) fn numbers(key: &str, heading: &str) -> Column {
    Column { key: slug(key), heading: heading.to_owned(), class: "n" }
}

/// A column of words.
pub(crate) fn words(key: &str, heading: &str) -> Column {
    Column { key: slug(key), heading: heading.to_owned(), class: "t" }
}

struct Row {
    key: String,
    class: &'static str,
    head: Content,
    cells: Vec<Content>,
}

/// A table under construction.
#[derive(Template)]
#[template(path = "table.html")]
pub(crate) struct Table {
    /// Id of the table.
    name: String,
    /// What the ids of rows and cells begin with.
    id: String,
    caption: String,
    corner: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// A table whose first column, of headings, is `corner`. `id` is the page's only one.
    pub(crate) fn new(id: &str, caption: &str, corner: &str, columns: Vec<Column>) -> Self {
        let (name, id) = (id.to_owned(), id.to_owned());
        Self { name, id, caption: caption.to_owned(), corner: corner.to_owned(), columns, rows: Vec::new() }
    }

    /// The same with another id for the table itself, where several tables share the ids of their rows.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// A row. Rows differ in their keys.
    pub(crate) fn row(
        &mut self,
        key: &str,
        head: impl Into<Content>,
        cells: impl IntoIterator<Item = Content>,
    ) {
        self.row_of(key, "", head, cells);
    }

    /// A row of a class; none if it is empty.
    pub(crate) fn row_of(
        &mut self,
        key: &str,
        class: &'static str,
        head: impl Into<Content>,
        cells: impl IntoIterator<Item = Content>,
    ) {
        let row = Row { key: slug(key), class, head: head.into(), cells: cells.into_iter().collect() };
        debug_assert_eq!(
            row.cells.len(),
            self.columns.len(),
            "invariant: a cell for each column of {}",
            self.id
        );
        self.rows.push(row);
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a Column, &'a Content)> {
        self.columns.iter().zip(&row.cells)
    }
}

/// `key` as part of an id.
pub(crate) fn slug(key: &str) -> String {
    key.chars()
        .map(|character| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' })
        .collect()
}
