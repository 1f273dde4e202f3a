//! Placeholders that are known only when targets run.

use std::collections::BTreeMap;

use crate::file::template::{Piece, pieces};
use crate::study::Template;

/// What placeholders stand for, by their names without braces: `port`, `url`, `database.url`.
pub(crate) type Values = BTreeMap<String, String>;

impl Template {
    /// The text with `values` in the place of their names. Other braces stay as they are: JSON has them, too.
    pub(crate) fn filled(&self, values: &Values) -> String {
        fill(&self.0, values)
    }
}

/// `text` with `values` in the place of their names, and `{{name}}` as `{name}`.
pub(crate) fn fill(text: &str, values: &Values) -> String {
    let piece = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Name(name) => values.get(name).cloned().unwrap_or_else(|| format!("{{{name}}}")),
        Piece::Literal(name) => format!("{{{name}}}"),
    };
    pieces(text).into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_nothing_else() {
        let values = [("port", "10001"), ("database.url", "postgres://{port}")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let check = |text: &str, expected: &str| {
            assert_eq!(Template(text.to_owned()).filled(&values), expected);
        };
        check("http://127.0.0.1:{port}/", "http://127.0.0.1:10001/");
        check("{database.url}{port}", "postgres://{port}10001");
        check("{\"a\": {}, \"b\": \"{port}\"}", "{\"a\": {}, \"b\": \"10001\"}");
        check("{x} {port", "{x} {port");
        check("awk '{{print}}' {{port}}", "awk '{print}' {port}");
        check("", "");
    }
}
