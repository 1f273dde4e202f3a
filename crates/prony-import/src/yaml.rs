//! YAML 1.2 (<https://yaml.org/spec/1.2.2/>) as JSON that knows its lines.
//!
//! The parser's events become nodes here, so that what an alias stands for is bounded: a file of a few lines can name
//! billions of values by aliases of aliases.

use std::collections::HashMap;

use prony_model::Problem;
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::json::{DEPTH_MAX, Json, Node};
use crate::scenario::{FILE_BYTES_MAX, at};

/// What all aliases of a file may stand for, in bytes of memory: as much as a file may have.
const ALIASED_BYTES_MAX: usize = FILE_BYTES_MAX;
/// Memory of a node beside its text, roughly.
const NODE_BYTES: usize = 64;
/// What to try with a text that is not YAML.
const ADVICE: &str = "correct it there: indentation, quotes and colons are the usual suspects";

/// The value that `text` is: its first document, and there is no other.
///
/// # Errors
/// What is wrong, with its line.
pub(crate) fn parse(text: &str) -> Result<Node, Problem> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        let (event, span) = event.map_err(|error| {
            let what = format!("this is not YAML: {}", error.info());
            at(error.marker().line().max(1), Problem::new(what, ADVICE))
        })?;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let problem =
                    Problem::new("a second document begins here", "import each in a file of its own");
                return Err(at(line(span), problem));
            }
        }
        builder.add(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node { line: 1, value: Json::Null }))
}

fn line(span: Span) -> usize {
    span.start.line().max(1)
}

/// A list or a mapping that is not at its end.
struct Open {
    line: usize,
    anchor: usize,
    inner: Inner,
}

enum Inner {
    List(Vec<Node>),
    /// The fields, and the key whose value comes next.
    Mapping(Vec<(String, Node)>, Option<String>),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    /// What has a name, by its number.
    anchors: HashMap<usize, Node>,
    /// What aliases stood for so far.
    aliased_bytes: usize,
}

impl Builder {
    fn add(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let line = line(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                // A key is a text, whatever it looks like.
                let key = self.wants_key().then(|| text.into_owned());
                self.keep(anchor, &Node { line, value: value.clone() }, line)?;
                match key {
                    Some(key) => self.key(key),
                    None => self.value(Node { line, value }),
                }
                Ok(())
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    at(
                        line,
                        Problem::new("this alias stands for what it is part of", "write the value itself"),
                    )
                })?;
                self.pay(bytes(&node), line)?;
                match (self.wants_key(), node.scalar()) {
                    (true, Some(key)) => self.key(key),
                    (true, None) => return Err(complex_key(line)),
                    // The line of the alias is where people look.
                    (false, _) => self.value(Node { line, ..node }),
                }
                Ok(())
            }
            Event::SequenceStart(anchor, _) => self.begin(line, anchor, Inner::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(line, anchor, Inner::Mapping(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    /// Whether a key of a mapping comes next.
    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { inner: Inner::Mapping(_, None), .. }))
    }

    fn begin(&mut self, line: usize, anchor: usize, inner: Inner) -> Result<(), Problem> {
        if self.wants_key() {
            return Err(complex_key(line));
        }
        if self.open.len() > DEPTH_MAX {
            let problem =
                Problem::new("YAML within YAML is too deep", format!("use {DEPTH_MAX} levels or fewer"));
            return Err(at(line, problem));
        }
        self.open.push(Open { line, anchor, inner });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(Open { line, anchor, inner }) = self.open.pop() else { return Ok(()) };
        let value = match inner {
            Inner::List(items) => Json::List(items),
            Inner::Mapping(fields, _) => Json::Object(self.merged(fields, line)?),
        };
        let node = Node { line, value };
        self.keep(anchor, &node, line)?;
        self.value(node);
        Ok(())
    }

    /// Keeps what has a name for its aliases.
    fn keep(&mut self, anchor: usize, node: &Node, line: usize) -> Result<(), Problem> {
        if anchor > 0 {
            self.pay(bytes(node), line)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(())
    }

    fn pay(&mut self, bytes: usize, line: usize) -> Result<(), Problem> {
        self.aliased_bytes = self.aliased_bytes.saturating_add(bytes);
        if self.aliased_bytes > ALIASED_BYTES_MAX {
            let problem =
                Problem::new("the aliases up to here stand for more than 16 MiB", "write fewer of them");
            return Err(at(line, problem));
        }
        Ok(())
    }

    fn key(&mut self, text: String) {
        if let Some(Open { inner: Inner::Mapping(_, key), .. }) = self.open.last_mut() {
            *key = Some(text);
        }
    }

    fn value(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.inner) {
            Some(Inner::List(items)) => items.push(node),
            Some(Inner::Mapping(fields, key)) => fields.push((key.take().unwrap_or_default(), node)),
            None => self.root = Some(node),
        }
    }

    /// `fields` with those of mappings behind `<<`, as in YAML 1.1, where they have none of the same name.
    fn merged(&mut self, fields: Vec<(String, Node)>, line: usize) -> Result<Vec<(String, Node)>, Problem> {
        const MERGE: &str = "<<";
        if fields.iter().all(|(name, _)| name != MERGE) {
            return Ok(fields);
        }
        let (merges, mut own): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == MERGE);
        let sources = merges.iter().flat_map(|(_, node)| match &node.value {
            Json::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        });
        let mut known: std::collections::HashSet<String> = own.iter().map(|(name, _)| name.clone()).collect();
        for (name, node) in sources.flat_map(Node::fields) {
            if known.insert(name.clone()) {
                self.pay(bytes(node), line)?;
                own.push((name.clone(), node.clone()));
            }
        }
        Ok(own)
    }
}

fn complex_key(line: usize) -> Problem {
    at(line, Problem::new("a list or a mapping is a key here", "use a text"))
}

/// What `node` takes in memory, roughly.
fn bytes(node: &Node) -> usize {
    let inner = match &node.value {
        Json::Null | Json::Logical(_) => 0,
        Json::Number(text) | Json::Text(text) => text.len(),
        Json::List(items) => items.iter().map(bytes).sum(),
        Json::Object(fields) => fields.iter().map(|(name, node)| name.len() + NODE_BYTES + bytes(node)).sum(),
    };
    NODE_BYTES + inner
}

/// The value of a scalar in the core schema (section 10.3).
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Json {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Json::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Logical(true),
        "false" | "False" | "FALSE" => Json::Logical(false),
        _ => number(text).map_or_else(|| Json::Text(text.to_owned()), Json::Number),
    }
}

/// `text` as JSON writes numbers, if it is one.
fn number(text: &str) -> Option<String> {
    let is_json = |text: &str| serde_json::from_str::<serde_json::Number>(text).is_ok();
    if is_json(text) {
        return Some(text.to_owned());
    }
    let based = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, base)| Some((text.strip_prefix(prefix)?, base)));
    if let Some((digits, base)) = based {
        // `from_str_radix` takes a sign, which the schema doesn't.
        return u64::from_str_radix(digits, base)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|n| n.to_string());
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        && text.contains(|one: char| one.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_number {
        return None;
    }
    if let Ok(whole) = text.parse::<i128>() {
        return Some(whole.to_string());
    }
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(value.to_string()).filter(|text| is_json(text))
}

#[cfg(test)]
mod tests;
