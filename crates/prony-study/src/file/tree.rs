//! The tree of a TOML text, where every key and value knows its place: parsing, laying `[short]` over the rest, and
//! reading one table after the other, so that a mistake in one hides none in another.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};

use super::carried;
use super::mistake::Mistakes;

/// A key and its value.
type Entry<'a> = (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// A table and what is to be pointed at where something is missing in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) table: &'a DeTable<'a>,
    start: usize,
    end: usize,
}

impl<'a> Section<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, at: &Range<usize>) -> Self {
        Self { table, start: at.start, end: at.end }
    }

    /// Where its name stands.
    pub(super) fn at(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Where the value of `key` stands, or else the table's name.
    pub(super) fn span(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.at(), Spanned::span)
    }

    /// Where the item of the list of `key` stands.
    pub(super) fn item_span(&self, key: &str, item: usize) -> Range<usize> {
        let list = self.table.get(key).and_then(|value| value.get_ref().as_array());
        list.and_then(|list| list.get(item)).map_or_else(|| self.span(key), Spanned::span)
    }

    /// Where the entry `name` of the table of `key` stands.
    pub(super) fn entry_span(&self, key: &str, name: &str) -> Range<usize> {
        let table = self.table.get(key).and_then(|value| value.get_ref().as_table());
        let entry = table.and_then(|table| table.get(name));
        entry.map(Spanned::span).filter(|span| !span.is_empty()).unwrap_or_else(|| self.span(key))
    }

    /// The tables in the table of `key`, by name, in the order of the file.
    pub(super) fn tables(&self, key: &str, mistakes: &mut Mistakes) -> Vec<(&'a str, Section<'a>)> {
        let Some(value) = self.table.get(key) else { return Vec::new() };
        let Some(table) = value.get_ref().as_table() else {
            mistakes.add(value.span(), format!("`{key}` is not a table"), format!("write [{key}.NAME]"));
            return Vec::new();
        };
        let section = |(name, value): Entry<'a>| {
            let table = value.get_ref().as_table();
            if table.is_none() {
                let help = format!("write [{key}.{}] and its keys below", name.get_ref());
                mistakes.add(value.span(), format!("`{}` is not a table", name.get_ref()), help);
            }
            Some((name.get_ref().as_ref(), Section::new(table?, &name.span())))
        };
        in_order(table).into_iter().filter_map(section).collect()
    }

    /// The tables in the list of `key`, `[[key]]`.
    pub(super) fn list(&self, key: &str, mistakes: &mut Mistakes) -> Vec<Section<'a>> {
        let Some(value) = self.table.get(key) else { return Vec::new() };
        let tables = value.get_ref().as_array().and_then(|items| {
            let table = |item: &'a Spanned<DeValue<'a>>| {
                item.get_ref().as_table().map(|table| Section::new(table, &item.span()))
            };
            items.iter().map(table).collect::<Option<Vec<_>>>()
        });
        tables.unwrap_or_else(|| {
            mistakes.add(
                value.span(),
                format!("`{key}` is not a list of tables"),
                format!("write [[{key}]]"),
            );
            Vec::new()
        })
    }

    /// The table as a `T`; every value that is none is reported.
    pub(super) fn read<T: DeserializeOwned>(&self, mistakes: &mut Mistakes) -> Option<T> {
        let whole = match deserialized(self.table.clone(), self.at()) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let mut is_reported = false;
        for (key, value) in self.table {
            let alone = DeTable::from_iter([(key.clone(), value.clone())]);
            if let Err(error) = deserialized::<T>(alone, self.at()) {
                report(&error, &value.span(), mistakes);
                is_reported = true;
            }
        }
        if !is_reported {
            report(&whole, &self.at(), mistakes);
        }
        None
    }
}

fn report(error: &toml::de::Error, otherwise: &Range<usize>, mistakes: &mut Mistakes) {
    let span = error.span().filter(|span| !span.is_empty()).unwrap_or_else(|| otherwise.clone());
    mistakes.add_problem(span, carried::unpacked(error.message()));
}

fn deserialized<T: DeserializeOwned>(table: DeTable<'_>, at: Range<usize>) -> Result<T, toml::de::Error> {
    T::deserialize(ValueDeserializer::from(Spanned::new(at, DeValue::Table(table))))
}

/// The root of `text`; `None` where it is not TOML, which is reported.
pub(super) fn parse<'a>(text: &'a str, mistakes: &mut Mistakes) -> Option<DeTable<'a>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let end = text.len();
        let span = error.span().unwrap_or(end..end);
        mistakes.add(span.start.min(end)..span.end.min(end), error.message(), "");
    }
    errors.is_empty().then(|| root.into_inner())
}

/// Lays `over` on `under`: tables are merged, everything else is replaced.
pub(super) fn overlay<'a>(under: &mut DeTable<'a>, over: &DeTable<'a>) {
    for (key, value) in over {
        let both = (under.get_mut(key).map(Spanned::get_mut), value.get_ref());
        if let (Some(DeValue::Table(under)), DeValue::Table(over)) = both {
            overlay(under, over);
        } else if let Some(replaced) = under.get_mut(key) {
            // The key stays where it was: order is that of the file without the short form.
            *replaced = value.clone();
        } else {
            under.insert(key.clone(), value.clone());
        }
    }
}

/// The entries of a table in the order of the text.
pub(super) fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
