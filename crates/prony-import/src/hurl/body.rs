//! Where a body ends, and of which kind it is.

use prony_model::Problem;

use super::lines::Lines;

/// Brackets and elements within each other.
const DEPTH_MAX: usize = 512;

/// A body as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawBody<'a> {
    /// The line that it begins in.
    pub(super) line: usize,
    pub(super) kind: BodyKind,
    /// Without quotes, fences and their words.
    pub(super) text: &'a str,
    /// Whether braces in it stand for values.
    pub(super) has_values: bool,
    /// Whether a backslash escapes.
    pub(super) has_escapes: bool,
}

/// The kinds of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Xml,
    /// Between three backticks.
    Text,
    /// Between one backtick.
    OneLine,
    GraphQl,
    Base64,
    Hex,
    File,
}

/// Whether a body begins with `line`.
pub(super) fn begins(line: &str) -> bool {
    let words = ["base64,", "hex,", "file,", "true", "false", "null", "{{"];
    let is_word = words.iter().any(|word| {
        line.strip_prefix(word).is_some_and(|rest| word.ends_with(',') || !has_colon_first(rest))
    });
    let is_number =
        line.starts_with(|first: char| first.is_ascii_digit() || first == '-') && !line.contains(':');
    let opens = line.starts_with(['[', '<', '`', '"']) || line.starts_with('{') && !line.starts_with("{{");
    opens || is_word || is_number
}

/// Whether a header's colon comes before anything that no name has.
fn has_colon_first(rest: &str) -> bool {
    let name = rest.trim_start_matches(|one: char| !one.is_whitespace() && one != ':');
    name.trim_start().starts_with(':')
}

/// The body at `lines`, which is left behind.
pub(super) fn body<'a>(lines: &mut Lines<'a>) -> Result<RawBody<'a>, Problem> {
    let rest = lines.rest();
    let line = lines.number();
    let raw = |kind, text, has_values| RawBody { line, kind, text, has_values, has_escapes: false };
    if let Some(inner) = rest.strip_prefix("```") {
        let close = inner.find("```").ok_or_else(|| unclosed("```"))?;
        let body = fenced(line, &inner[..close])?;
        lines.skip(close + 6);
        ends(lines)?;
        return Ok(body);
    }
    if let Some(inner) = rest.strip_prefix('`') {
        let close = unescaped(inner, '`').ok_or_else(|| unclosed("`"))?;
        lines.skip(close + 2);
        ends(lines)?;
        return Ok(raw(BodyKind::OneLine, &inner[..close], true));
    }
    for (word, kind) in [("base64,", BodyKind::Base64), ("hex,", BodyKind::Hex), ("file,", BodyKind::File)] {
        if let Some(inner) = rest.strip_prefix(word) {
            let close = unescaped(inner, ';').ok_or_else(|| unclosed(word))?;
            lines.skip(word.len() + close + 1);
            ends(lines)?;
            return Ok(raw(kind, inner[..close].trim(), kind == BodyKind::File));
        }
    }
    let (kind, length) =
        if rest.starts_with('<') { (BodyKind::Xml, xml(rest)?) } else { (BodyKind::Json, json(rest)?) };
    let text = lines.skip(length);
    ends(lines)?;
    Ok(raw(kind, text, kind == BodyKind::Json))
}

fn unclosed(begin: &str) -> Problem {
    Problem::new(format!("the body that begins with {begin} has no end"), "is the file whole?")
}

/// Nothing but a comment follows on the line of a body's end.
fn ends(lines: &mut Lines<'_>) -> Result<(), Problem> {
    let rest = lines.next_line().trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{}` stands behind a body", crate::session::shown(rest)),
        "begin a new line before it",
    ))
}

/// The first `end` in `text` that no backslash stands before.
fn unescaped(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    text.find(|character| {
        let is_end = character == end && !escaped;
        escaped = character == '\\' && !escaped;
        is_end
    })
}

/// A text between fences: its first line has the kind.
fn fenced(line: usize, inner: &str) -> Result<RawBody<'_>, Problem> {
    let raw = |kind, text, has_values| RawBody { line, kind, text, has_values, has_escapes: false };
    let Some((head, text)) = inner.split_once('\n') else { return Ok(raw(BodyKind::Text, inner, true)) };
    let words: Vec<&str> = head.trim().split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let (mut has_values, mut has_escapes) = (true, false);
    let mut kind = BodyKind::Text;
    for word in words {
        match word {
            "json" => kind = BodyKind::Json,
            "xml" => kind = BodyKind::Xml,
            "graphql" => kind = BodyKind::GraphQl,
            "base64" => kind = BodyKind::Base64,
            "hex" => kind = BodyKind::Hex,
            "raw" => {}
            "escape" => has_escapes = true,
            "novariable" | "novariables" => has_values = false,
            other => {
                let what = format!("`{other}` behind ``` is not supported");
                return Err(Problem::new(
                    what,
                    "json, xml, graphql, base64, hex, raw, escape and novariable are",
                ));
            }
        }
    }
    let is_decoded = matches!(kind, BodyKind::Base64 | BodyKind::Hex);
    Ok(RawBody { has_escapes, ..raw(kind, text, has_values && !is_decoded) })
}

/// A query of GraphQL, and the object of its variables, which stands behind it on a line that begins with `variables`.
pub(super) fn graphql(text: &str) -> (&str, Option<&str>) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let object = line.trim_start().strip_prefix("variables").map(str::trim_start);
        if object.is_some_and(|object| object.is_empty() || object.starts_with('{')) {
            let (query, variables) = text.split_at(start);
            let variables = variables.trim_start().trim_start_matches("variables").trim();
            return (query.trim_end(), Some(variables).filter(|object| object.starts_with('{')));
        }
        start += line.len();
    }
    (text.trim_end(), None)
}

/// The length of the JSON value that `text` begins with, in which `{{name}}` stands for any value.
fn json(text: &str) -> Result<usize, Problem> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        let first = rest.chars().next().ok_or_else(|| unclosed("JSON"))?;
        let length = match first {
            '"' => unescaped(&rest[1..], '"').ok_or_else(|| unclosed("JSON"))? + 2,
            '{' if rest.starts_with("{{") => rest.find("}}").ok_or_else(|| unclosed("{{"))? + 2,
            '{' | '[' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Problem::new(
                        "JSON within JSON is too deep",
                        "use `body-file` in a scenario",
                    ));
                }
                1
            }
            '}' | ']' => {
                depth = depth.checked_sub(1).ok_or_else(|| unclosed("JSON"))?;
                1
            }
            one if depth == 0 => {
                let end = |one: char| one.is_whitespace() || one == '#';
                rest.find(end).unwrap_or(rest.len()).max(one.len_utf8())
            }
            one => one.len_utf8(),
        };
        rest = &rest[length..];
        if depth == 0 {
            return Ok(text.len() - rest.len());
        }
    }
}

/// The length of the XML document that `text` begins with.
fn xml(text: &str) -> Result<usize, Problem> {
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let tag = &rest[open..];
        let special = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")]
            .into_iter()
            .find(|(begin, _)| tag.starts_with(begin));
        let end = special.map_or(">", |(_, end)| end);
        let length = tag.find(end).ok_or_else(|| unclosed("XML"))? + end.len();
        rest = &tag[length..];
        if special.is_some() {
            continue;
        }
        if tag.starts_with("</") {
            depth = depth.checked_sub(1).ok_or_else(|| unclosed("XML"))?;
        } else if !tag[..length].ends_with("/>") {
            depth += 1;
        }
        if depth == 0 {
            return Ok(text.len() - rest.len());
        }
    }
    Err(unclosed("XML"))
}
