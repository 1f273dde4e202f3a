//! Strings of Hurl: templates, and escapes with a backslash.

use std::cell::Cell;

use prony_model::{Escape, Problem};

use crate::session::Values;
use crate::template::Draft;

/// The template of a string in which a backslash escapes.
pub(super) fn string(values: &mut Values, text: &str, escape: Option<Escape>) -> Result<Draft, Problem> {
    unescaped(&values.template(text, escape)?)
}

/// `draft` with the escapes resolved that are in its literal text: no name has a backslash.
pub(super) fn unescaped(draft: &Draft) -> Result<Draft, Problem> {
    let broken = Cell::new(None);
    let draft = draft.map(|literal| {
        unescape(literal).unwrap_or_else(|problem| {
            broken.set(Some(problem));
            String::new()
        })
    });
    broken.take().map_or(Ok(draft), Err)
}

/// `text` with its escapes resolved.
pub(super) fn unescape(text: &str) -> Result<String, Problem> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let mut characters = escape.chars();
        let first = characters.next();
        rest = characters.as_str();
        match first {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let (digits, after) = rest
                    .strip_prefix('{')
                    .and_then(|digits| digits.split_once('}'))
                    .ok_or_else(|| no_escape("u"))?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| no_escape("u"))?);
                rest = after;
            }
            Some(one) if one.is_ascii_punctuation() || one == ' ' => out.push(one),
            other => return Err(no_escape(&other.map(String::from).unwrap_or_default())),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn no_escape(what: &str) -> Problem {
    Problem::new(format!("`\\{what}` is not an escape"), "write \\\\ for a backslash")
}
