//! A value that a schema allows: its example, its default, or the simplest one of its type.

use super::Description;
use crate::json::{Json, Node};

/// Schemas within each other; deeper ones, and those that contain themselves, end as null.
const DEPTH_MAX: usize = 8;
/// Values of one sample.
const VALUES_MAX: usize = 2_000;

/// A value, and whether the description itself gives it.
pub(super) struct Sample {
    pub(super) value: Node,
    pub(super) is_given: bool,
}

impl<'a> Description<'a> {
    /// A value for what `owner` (a parameter or a media type) describes.
    pub(super) fn sample_of(&self, owner: &'a Node) -> Sample {
        let examples = owner.field("examples").map(Node::fields).unwrap_or_default();
        let first = examples.first().and_then(|(_, example)| self.resolved(example).field("value"));
        if let Some(example) = owner.field("example").or(first) {
            return Sample { value: example.clone(), is_given: true };
        }
        // A parameter may have a media type instead, which has the schema.
        let media = owner.field("content").and_then(|content| content.fields().first());
        if let Some((_, media)) = media {
            return self.sample_of(media);
        }
        let Some(schema) = owner.field("schema") else {
            return Sample { value: text(owner.line, "string"), is_given: false };
        };
        let mut left = VALUES_MAX;
        let value = self.sample(schema, 0, &mut left);
        Sample { value, is_given: given(self.resolved(schema)).is_some() }
    }

    fn sample(&self, schema: &'a Node, depth: usize, left: &mut usize) -> Node {
        let schema = self.resolved(schema);
        let line = schema.line;
        *left = left.saturating_sub(1);
        if let Some(given) = given(schema) {
            return given.clone();
        }
        if depth > DEPTH_MAX || *left == 0 {
            return Node { line, value: Json::Null };
        }
        if let Some(all) = schema.field("allOf") {
            return self.joined(schema, all, depth, left);
        }
        for either in ["oneOf", "anyOf"] {
            let usual = schema.field(either).map(Node::items).unwrap_or_default().iter();
            let mut usual = usual.filter(|one| one.text_of("type") != Some("null"));
            if let Some(first) = usual.next() {
                return self.sample(first, depth + 1, left);
            }
        }
        let value = match kind(schema) {
            Some("object") => Json::Object(self.properties(schema, depth, left)),
            Some("array") => {
                let items = schema.field("items").map(|items| self.sample(items, depth + 1, left));
                Json::List(items.into_iter().collect())
            }
            Some("integer") => number(schema, "1"),
            Some("number") => number(schema, "1.5"),
            Some("boolean") => Json::Logical(true),
            Some("null") => Json::Null,
            _ if schema.field("properties").is_some() => Json::Object(self.properties(schema, depth, left)),
            _ => return text(line, sample_text(schema.text_of("format"))),
        };
        Node { line, value }
    }

    fn properties(&self, schema: &'a Node, depth: usize, left: &mut usize) -> Vec<(String, Node)> {
        let all = schema.field("properties").map(Node::fields).unwrap_or_default();
        let sent = all.iter().filter(|(_, property)| !self.resolved(property).is("readOnly"));
        sent.map(|(name, property)| (name.clone(), self.sample(property, depth + 1, left))).collect()
    }

    /// The fields of all the schemas of a list.
    fn joined(&self, schema: &'a Node, all: &'a Node, depth: usize, left: &mut usize) -> Node {
        let mut fields = self.properties(schema, depth, left);
        let mut other = None;
        for part in all.items() {
            match self.sample(part, depth + 1, left) {
                Node { value: Json::Object(more), .. } => {
                    for (name, value) in more {
                        fields.retain(|(known, _)| *known != name);
                        fields.push((name, value));
                    }
                }
                value => other = Some(value),
            }
        }
        match other {
            Some(value) if fields.is_empty() => value,
            _ => Node { line: schema.line, value: Json::Object(fields) },
        }
    }
}

/// What a schema itself gives as a value.
fn given(schema: &Node) -> Option<&Node> {
    schema
        .field("example")
        .or_else(|| schema.field("examples")?.items().first())
        .or_else(|| schema.field("const"))
        .or_else(|| schema.field("default").filter(|default| default.value != Json::Null))
        .or_else(|| schema.field("enum")?.items().first())
}

/// The type; the first of several that is not null.
fn kind(schema: &Node) -> Option<&str> {
    let kind = schema.field("type")?;
    kind.text().or_else(|| kind.items().iter().filter_map(Node::text).find(|kind| *kind != "null"))
}

fn number(schema: &Node, otherwise: &str) -> Json {
    match schema.field("minimum").map(|least| &least.value) {
        Some(Json::Number(least)) => Json::Number(least.clone()),
        _ => Json::Number(otherwise.to_owned()),
    }
}

fn sample_text(format: Option<&str>) -> &'static str {
    match format {
        Some("uuid") => "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("email") => "user@example.com",
        Some("uri" | "url") => "http://example.com/",
        Some("ipv4") => "192.0.2.1",
        Some("byte") => "c3RyaW5n",
        _ => "string",
    }
}

fn text(line: usize, text: &str) -> Node {
    Node { line, value: Json::Text(text.to_owned()) }
}
