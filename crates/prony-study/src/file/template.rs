//! `{name}` in texts: which names stand there, and what becomes of them.
//!
//! A name in double braces, `{{name}}`, is meant literally; braces around anything that is no name are only braces, as
//! in JSON and in programs of awk.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::tree::in_order;

/// A placeholder in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// Without the braces.
    pub(super) name: String,
    /// The value that it stands in.
    pub(super) span: Range<usize>,
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// `{name}`.
    Name(&'a str),
    /// `{{name}}`, which means `{name}`.
    Literal(&'a str),
}

/// The pieces of `text`, in order.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(open) = text[at..].find('{').map(|open| at + open) {
        let (name, doubled) = match name_at(&text[open + 1..]) {
            Some(name) => (name, false),
            None => match text[open + 1..].strip_prefix('{').and_then(name_at) {
                Some(name) if text[open + 3 + name.len()..].starts_with('}') => (name, true),
                _ => {
                    at = open + 1;
                    continue;
                }
            },
        };
        if plain < open {
            pieces.push(Piece::Text(&text[plain..open]));
        }
        pieces.push(if doubled { Piece::Literal(name) } else { Piece::Name(name) });
        at = open + name.len() + if doubled { 4 } else { 2 };
        plain = at;
    }
    if plain < text.len() {
        pieces.push(Piece::Text(&text[plain..]));
    }
    pieces
}

/// The name that `text` begins with, if a closing brace is next.
fn name_at(text: &str) -> Option<&str> {
    let is_in_name = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let end = text.find(|character| !is_in_name(character))?;
    let starts_well = text.starts_with(|character: char| character.is_ascii_alphabetic());
    (starts_well && text[end..].starts_with('}')).then(|| &text[..end])
}

/// Every placeholder in the texts of `table`, at any depth.
pub(super) fn placeholders(table: &DeTable<'_>) -> Vec<Placeholder> {
    let mut found = Vec::new();
    for (_, value) in in_order(table) {
        collect(value, &mut found);
    }
    found
}

fn collect(value: &Spanned<DeValue<'_>>, found: &mut Vec<Placeholder>) {
    match value.get_ref() {
        DeValue::String(text) => found.extend(pieces(text).into_iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(Placeholder { name: name.to_owned(), span: value.span() }),
            Piece::Text(_) | Piece::Literal(_) => None,
        })),
        DeValue::Array(items) => items.iter().for_each(|item| collect(item, found)),
        DeValue::Table(table) => found.extend(placeholders(table)),
        _ => {}
    }
}

/// `table` with the names of `values` filled in. What is meant literally stays in double braces: see [`plain`].
pub(super) fn filled<'a>(table: &DeTable<'a>, values: &BTreeMap<String, String>) -> DeTable<'a> {
    table.iter().map(|(key, value)| (key.clone(), filled_value(value, values))).collect()
}

fn filled_value<'a>(value: &Spanned<DeValue<'a>>, values: &BTreeMap<String, String>) -> Spanned<DeValue<'a>> {
    let filled = match value.get_ref() {
        DeValue::String(text) if text.contains('{') => {
            DeValue::String(DeString::Owned(filled_text(text, values)))
        }
        DeValue::Array(items) => {
            DeValue::Array(items.iter().map(|item| filled_value(item, values)).collect())
        }
        DeValue::Table(table) => DeValue::Table(filled(table, values)),
        other => other.clone(),
    };
    Spanned::new(value.span(), filled)
}

fn filled_text(text: &str, values: &BTreeMap<String, String>) -> String {
    let piece = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Name(name) => values.get(name).cloned().unwrap_or_else(|| format!("{{{name}}}")),
        Piece::Literal(name) => format!("{{{{{name}}}}}"),
    };
    pieces(text).into_iter().map(piece).collect()
}

/// `text` with `{{name}}` as `{name}`, where nothing is left to be filled in.
pub(super) fn plain(text: &str) -> String {
    let piece = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Name(name) | Piece::Literal(name) => format!("{{{name}}}"),
    };
    pieces(text).into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let values = BTreeMap::from([("a".to_owned(), "1 {b}".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert_eq!(filled_text(text, &values), expected, "{text}");
    }

    #[test]
    fn names_are_filled_in_once() {
        check("x {a} {b}{b}", "x 1 {b} 22");
        check("{port} {db.url}", "{port} {db.url}");
        check("{{a}} {{ä}} {a", "{{a}} {{ä}} {a");
        check("{\"a\": {\"b\": {}}}", "{\"a\": {\"b\": {}}}");
        check("{{{b}}}", "{{{b}}}");
        check("{ a } {} {}}", "{ a } {} {}}");
        check("{b", "{b");
    }

    #[test]
    fn doubled_braces_are_braces() {
        assert_eq!(plain("awk '{{print}}' {{x.y}} {{"), "awk '{print}' {x.y} {{");
    }
}
