//! JSON that knows its lines, so that what is left out of a file can be named with its line.

use prony_model::Problem;

use crate::scenario::at;
use crate::session::json_text;

/// Lists and objects within each other.
pub(crate) const DEPTH_MAX: usize = 128;
/// What to try with a text that is not JSON.
const ADVICE: &str = "correct it there: `jq . FILE` finds the place, too";

/// A value and the line that it begins in, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Json,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Logical(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// What is called `name` in this object.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|(own, _)| own == name).map(|(_, node)| node)
    }

    /// Names and values of this object; none of anything else.
    pub(crate) fn fields(&self) -> &[(String, Self)] {
        match &self.value {
            Json::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The items of this list; none of anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// Its text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of the field called `name`.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.field(name)?.text()
    }

    /// Whether the field called `name` is true.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.field(name).is_some_and(|field| field.value == Json::Logical(true))
    }

    /// A text, a number or a truth value as people write it; `None` of others.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Json::Text(text) | Json::Number(text) => Some(text.clone()),
            Json::Logical(value) => Some(value.to_string()),
            Json::Null | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// As JSON on one line.
    pub(crate) fn written(&self) -> String {
        match &self.value {
            Json::Null => "null".to_owned(),
            Json::Logical(value) => value.to_string(),
            Json::Number(number) => number.clone(),
            Json::Text(text) => format!("\"{}\"", json_text(text)),
            Json::List(items) => {
                let items: Vec<String> = items.iter().map(Self::written).collect();
                format!("[{}]", items.join(", "))
            }
            Json::Object(fields) => {
                let field =
                    |(name, node): &(String, Self)| format!("\"{}\": {}", json_text(name), node.written());
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }
}

/// The value that `text` is.
pub(crate) fn parse(text: &str) -> Result<Node, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, at: 0, line: 1 };
    let node = reader.value(0)?;
    reader.skip_spaces();
    if reader.rest().is_empty() { Ok(node) } else { Err(reader.unexpected()) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest()[..bytes].matches('\n').count();
        self.at += bytes;
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.skip(rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len());
    }

    fn unexpected(&self) -> Problem {
        let what = match self.rest().chars().next() {
            Some(character) => {
                format!("this is not JSON: `{}` is not expected here", character.escape_default())
            }
            None => "this is not JSON: it ends too early".to_owned(),
        };
        at(self.line, Problem::new(what, ADVICE))
    }

    fn takes(&mut self, character: char) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(character);
        if found {
            self.skip(character.len_utf8());
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Node, Problem> {
        self.skip_spaces();
        if depth > DEPTH_MAX {
            return Err(at(
                self.line,
                Problem::new("JSON within JSON is too deep", format!("use {DEPTH_MAX} levels or fewer")),
            ));
        }
        let line = self.line;
        let value = match self.rest().bytes().next() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Json::Text(self.string()?),
            _ => self.word()?,
        };
        Ok(Node { line, value })
    }

    fn object(&mut self, depth: usize) -> Result<Json, Problem> {
        self.skip(1);
        let mut fields = Vec::new();
        if self.takes('}') {
            return Ok(Json::Object(fields));
        }
        loop {
            self.skip_spaces();
            if !self.rest().starts_with('"') {
                return Err(self.unexpected());
            }
            let name = self.string()?;
            if !self.takes(':') {
                return Err(self.unexpected());
            }
            fields.push((name, self.value(depth + 1)?));
            if self.takes('}') {
                return Ok(Json::Object(fields));
            }
            if !self.takes(',') {
                return Err(self.unexpected());
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, Problem> {
        self.skip(1);
        let mut items = Vec::new();
        if self.takes(']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes(']') {
                return Ok(Json::List(items));
            }
            if !self.takes(',') {
                return Err(self.unexpected());
            }
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest[1..].find(|character| {
            let is_end = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            is_end
        });
        let end =
            end.ok_or_else(|| at(self.line, Problem::new("this is not JSON: a text has no end", ADVICE)))?;
        let text = serde_json::from_str(&rest[..end + 2]).map_err(|_| {
            at(self.line, Problem::new("this is not JSON: a text has a wrong escape", ADVICE))
        })?;
        self.skip(end + 2);
        Ok(text)
    }

    fn word(&mut self) -> Result<Json, Problem> {
        let rest = self.rest();
        let end = rest
            .find(|one: char| !(one.is_ascii_alphanumeric() || "+-.".contains(one)))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "null" => Json::Null,
            "true" => Json::Logical(true),
            "false" => Json::Logical(false),
            word if serde_json::from_str::<serde_json::Number>(word).is_ok() => Json::Number(word.to_owned()),
            _ => return Err(self.unexpected()),
        };
        self.skip(end);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let node = parse("\u{feff}{\n \"a\": [1,\n -2.5e3, \"x\\n\\u00e9\"],\n\"b\": {}, \"c\": null}\n")
            .expect("JSON");
        let list = node.field("a").expect("a list");
        assert_eq!(list.items().iter().map(|item| item.line).collect::<Vec<_>>(), [2, 3, 3]);
        assert_eq!(list.items()[2].text(), Some("x\né"));
        assert_eq!(node.field("b").map(|node| node.line), Some(4));
        assert_eq!(node.written(), r#"{"a": [1, -2.5e3, "x\né"], "b": {}, "c": null}"#);
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("{", 1),
            ("[1\n2]", 2),
            ("{\"a\" 1}", 1),
            ("\"a", 1),
            ("\"\\x\"", 1),
            ("nul", 1),
            ("{}\n\nx", 3),
            ("01", 1),
            ("{a: 1}", 1),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.what.starts_with(&format!("line {line}: ")), "{text}: {problem}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
