//! The body that `-d` and its like add up to.

use std::fs::File;
use std::io::Read as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use prony_model::Problem;

use super::options::DataKind;
use crate::shell::Word;

/// What RFC 3986 leaves as it is: all that curl does not encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// A body is held in memory and stored in every result.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The pieces so far.
#[derive(Debug, Default)]
pub(super) struct Data {
    joined: Vec<u8>,
    pieces: usize,
}

impl Data {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    /// The whole body.
    pub(super) fn joined(self) -> Vec<u8> {
        self.joined
    }

    /// Adds a piece behind `&`.
    pub(super) fn add(&mut self, kind: DataKind, word: &Word) -> Result<(), Problem> {
        let piece = match (kind, word.bytes.split_first()) {
            (DataKind::Text, Some((b'@', path))) => {
                let mut bytes = file(path_text(path, word.line)?, word.line)?;
                bytes.retain(|byte| !matches!(byte, b'\n' | b'\r' | 0));
                bytes
            }
            (DataKind::Binary, Some((b'@', path))) => file(path_text(path, word.line)?, word.line)?,
            (DataKind::UrlEncoded, _) => url_encoded(word)?,
            _ => word.bytes.clone(),
        };
        if self.pieces > 0 {
            self.joined.push(b'&');
        }
        self.pieces += 1;
        self.joined.extend(piece);
        Ok(())
    }

    /// Adds a piece of `--json`, which curl puts together without anything between.
    pub(super) fn add_json(&mut self, word: &Word) -> Result<(), Problem> {
        let piece = match word.bytes.split_first() {
            Some((b'@', path)) => file(path_text(path, word.line)?, word.line)?,
            _ => word.bytes.clone(),
        };
        self.pieces += 1;
        self.joined.extend(piece);
        Ok(())
    }
}

/// `content`, `=content`, `name=content`, `@file` or `name@file`: the name stays as it is.
fn url_encoded(word: &Word) -> Result<Vec<u8>, Problem> {
    let at = word.bytes.iter().position(|byte| matches!(byte, b'=' | b'@'));
    let Some(at) = at else { return Ok(encoded(&word.bytes)) };
    let (name, behind) = (&word.bytes[..at], &word.bytes[at + 1..]);
    let content = if word.bytes[at] == b'@' {
        encoded(&file(path_text(behind, word.line)?, word.line)?)
    } else {
        encoded(behind)
    };
    if name.is_empty() {
        return Ok(content);
    }
    Ok([name, b"=", &content].concat())
}

/// As forms do, with `+` for a space: so does curl.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    percent_encode(bytes, UNRESERVED).to_string().replace("%20", "+").into_bytes()
}

pub(super) fn path_text(path: &[u8], line: usize) -> Result<&str, Problem> {
    let path = std::str::from_utf8(path).ok().filter(|path| !path.is_empty());
    path.ok_or_else(|| Problem::new(format!("line {line}: there is no file name behind @"), "write @FILE"))
}

/// The content of a file that the command names. stdin may be where the command itself comes from.
pub(super) fn file(path: &str, line: usize) -> Result<Vec<u8>, Problem> {
    if path == "-" {
        return Err(Problem::new(
            format!("line {line}: a body from stdin is not read"),
            "name a file: @FILE, or prony's own --body-file -",
        ));
    }
    let unreadable = |error: &std::io::Error| {
        Problem::new(
            format!("line {line}: can't read {path} ({error})"),
            "name it as seen from here, or run prony where curl was run",
        )
    };
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|error| unreadable(&error))?;
    opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Problem::new(
            format!("line {line}: {path} is larger than 64 MiB"),
            "a body is kept in memory and in the result: use a smaller one",
        ));
    }
    Ok(bytes)
}
