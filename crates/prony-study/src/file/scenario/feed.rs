//! The feeds of a scenario file: rows of values from CSV files and JSON lines.

use std::sync::Arc;

use prony_model::{Feed, FeedEnd, FeedOrder, FeedRows, FeedRowsError};
use sha2::{Digest as _, Sha256};

use super::Files;
use super::csv::Rows;
use super::keys::{FeedEndKey, FeedKeys, FeedOrderKey};
use crate::file::mistake::Mistakes;
use crate::file::tree::Section;

/// The feeds, in the order of the file.
pub(super) fn feeds(root: &Section<'_>, files: &mut Files, mistakes: &mut Mistakes) -> Vec<Feed> {
    let tables = root.tables("feeds", mistakes);
    tables.into_iter().filter_map(|(name, section)| feed(name, &section, files, mistakes)).collect()
}

fn feed(name: &str, section: &Section<'_>, files: &mut Files, mistakes: &mut Mistakes) -> Option<Feed> {
    let keys: FeedKeys = section.read(mistakes)?;
    let Some(file) = keys.file else {
        mistakes.add(section.at(), "this feed has no file", "add file = \"users.csv\"");
        return None;
    };
    let separator = keys.separator.as_deref().unwrap_or(",");
    let mut letters = separator.chars();
    let separator = match (letters.next(), letters.next()) {
        (Some(separator), None) if !"\"\r\n".contains(separator) => separator,
        _ => {
            mistakes.add(section.span("separator"), "a separator is one letter", "write \";\" or \"\\t\"");
            return None;
        }
    };
    let bytes = match files.read(&file) {
        Ok(bytes) => bytes,
        Err(why) => {
            let message = format!("can't read {file} ({why})");
            mistakes.add(section.span("file"), message, "paths begin at the scenario file");
            return None;
        }
    };
    let sha256 = hexadecimal(&Sha256::digest(&bytes));
    let is_json = [".jsonl", ".ndjson"].iter().any(|end| file.to_ascii_lowercase().ends_with(end));
    let read = text(bytes).and_then(|text| {
        if is_json { json_lines(&text) } else { csv(&text, separator, keys.columns.clone()) }
    });
    let Table { columns, rows } = match read {
        Ok(table) => table,
        Err(RowError { line, what, help }) => {
            mistakes.add(section.span("file"), format!("{file}, line {line}: {what}"), help);
            return None;
        }
    };
    if is_json && keys.columns.is_some() {
        let help = "leave it out: each line of the file has its names";
        mistakes.add(section.span("columns"), "`columns` is for CSV files", help);
    }
    let order = match keys.order {
        None | Some(FeedOrderKey::Sequential) => FeedOrder::Sequential,
        Some(FeedOrderKey::Random) => FeedOrder::Random,
        Some(FeedOrderKey::Unique) => FeedOrder::Unique,
    };
    let at_end = match keys.at_end {
        Some(FeedEndKey::Stop) => FeedEnd::Stop,
        None if order == FeedOrder::Unique => FeedEnd::Stop,
        Some(FeedEndKey::Repeat) | None => FeedEnd::Repeat,
    };
    let count = rows.len() as u64;
    Some(Feed {
        name: name.to_owned(),
        file,
        sha256,
        rows: count,
        columns,
        order,
        at_end,
        data: Arc::new(rows),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

struct Table {
    columns: Vec<String>,
    rows: FeedRows,
}

/// What is wrong with a line of a feed.
struct RowError {
    line: usize,
    what: String,
    help: String,
}

impl RowError {
    fn new(line: usize, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line, what: what.into(), help: help.into() }
    }
}

fn text(bytes: Vec<u8>) -> Result<String, RowError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = String::from_utf8_lossy(good).matches('\n').count() + 1;
        RowError::new(line, "this is not UTF-8", "save the file as UTF-8")
    })
}

fn csv(text: &str, separator: char, columns: Option<Vec<String>>) -> Result<Table, RowError> {
    let mut lines = Rows::new(text, separator);
    let mut next = || {
        let row = lines.next().transpose();
        row.map_err(|error| RowError::new(error.line, error.what, "write \"\" for a quote within a value"))
    };
    let columns = if let Some(columns) = columns {
        columns
    } else {
        let Some((_, names)) = next()? else {
            let help = "write the names of the columns into the first line, and the rows behind it";
            return Err(RowError::new(1, "this file is empty", help));
        };
        names.into_iter().map(|name| name.trim().to_owned()).collect()
    };
    let mut rows = FeedRows::new(columns.len());
    while let Some((line, values)) = next()? {
        add(&mut rows, line, &values)?;
    }
    Ok(Table { columns, rows })
}

fn add(rows: &mut FeedRows, line: usize, values: &[String]) -> Result<(), RowError> {
    rows.push(values).map_err(|error| match error {
        FeedRowsError::Uneven { values, columns } => {
            let what = format!("{values} values for {columns} columns");
            RowError::new(line, what, "put values with a separator in quotes")
        }
        FeedRowsError::TooLarge => RowError::new(line, "all values may have 256 MiB", "use fewer rows"),
    })
}

fn json_lines(text: &str) -> Result<Table, RowError> {
    let mut table: Option<Table> = None;
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|_| {
                RowError::new(line, "this is not an object of JSON", "write {\"name\": \"ann\"} on one line")
            })?;
        let table = table.get_or_insert_with(|| {
            let columns: Vec<String> = object.keys().cloned().collect();
            Table { rows: FeedRows::new(columns.len()), columns }
        });
        let value = |column: &String| match object.get(column)? {
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let values: Option<Vec<String>> = table.columns.iter().map(value).collect();
        let Some(values) = values.filter(|values| values.len() == object.len()) else {
            let what = "this line has other names than the first one";
            return Err(RowError::new(line, what, format!("write {}", table.columns.join(", "))));
        };
        add(&mut table.rows, line, &values)?;
    }
    table.ok_or_else(|| RowError::new(1, "this file is empty", "write an object of JSON on each line"))
}
