//! Where a value stands in a response.

use prony_model::ExtractionSource;
use serde_json::Value;

use super::recording::Exchange;

/// A place in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A pointer (RFC 6901) into its body.
    Json(String),
    /// A header field.
    Header(String),
    /// A cookie that it sets.
    Cookie(String),
    /// An attribute of a tag that is found by its name.
    Tag(Tag),
}

/// `<input name="csrf" value="…">` or `<meta name="csrf-token" content="…">`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    element: &'static str,
    name: String,
    attribute: &'static str,
    /// Whether the name stands before the value.
    name_first: bool,
    quote: char,
}

const TAGS: [(&str, &str); 2] = [("input", "value"), ("meta", "content")];

impl Place {
    /// How a step extracts it.
    pub(super) fn source(&self) -> ExtractionSource {
        match self {
            Self::Json(pointer) => ExtractionSource::Json(pointer.clone()),
            Self::Header(name) => ExtractionSource::Header(name.clone()),
            Self::Cookie(name) => ExtractionSource::Cookie(name.clone()),
            Self::Tag(tag) => ExtractionSource::Regex { pattern: tag.pattern(), group: 1 },
        }
    }
}

impl Tag {
    fn pattern(&self) -> String {
        let Self { element, name, attribute, name_first, quote } = self;
        let name = format!("name={quote}{}{quote}", escaped(name));
        let value = format!("{attribute}={quote}([^{quote}]*){quote}");
        if *name_first {
            format!("<{element}[^>]*\\s{name}[^>]*\\s{value}")
        } else {
            format!("<{element}[^>]*\\s{value}[^>]*\\s{name}")
        }
    }
}

/// Text of a regular expression that means itself.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if "\\.+*?()|[]{}^$#&-~/".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// All places and their values in a response: what is most certain first.
pub(super) fn places(exchange: &Exchange) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(&exchange.response_body) {
        leaves(&value, &mut String::new(), &mut |pointer, value| {
            found.push((Place::Json(pointer.to_owned()), value));
        });
    } else {
        tags(&exchange.response_body, &mut found);
    }
    for (name, value) in &exchange.response_headers {
        if name.eq_ignore_ascii_case("set-cookie") {
            // Some browsers put several into one header, a line each.
            for field in value.lines() {
                if let Some((cookie, value)) = field.split(';').next().and_then(|pair| pair.split_once('=')) {
                    found.push((Place::Cookie(cookie.trim().to_owned()), value.trim().to_owned()));
                }
            }
        } else {
            found.push((Place::Header(name.clone()), value.trim().to_owned()));
        }
    }
    found
}

/// Calls `found` for each text and number in `value`.
pub(super) fn leaves(value: &Value, pointer: &mut String, found: &mut dyn FnMut(&str, String)) {
    let length = pointer.len();
    match value {
        Value::String(text) => found(pointer, text.clone()),
        Value::Number(number) => found(pointer, number.to_string()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&at.to_string());
                leaves(item, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                leaves(field, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Inputs and metas with a name.
fn tags(html: &str, found: &mut Vec<(Place, String)>) {
    for (element, attribute) in TAGS {
        let open = format!("<{element}");
        for (at, _) in html.match_indices(&open) {
            let inner = &html[at + open.len()..];
            let Some(end) =
                inner.find('>').filter(|_| inner.starts_with(|first: char| first.is_ascii_whitespace()))
            else {
                continue;
            };
            let inner = &inner[..end];
            let (Some(name), Some(value)) = (quoted(inner, "name"), quoted(inner, attribute)) else {
                continue;
            };
            // What HTML has escaped is another text where it is sent.
            if name.quote == value.quote && !value.text.contains('&') {
                let tag = Tag {
                    element,
                    name: name.text.to_owned(),
                    attribute,
                    name_first: name.at < value.at,
                    quote: name.quote,
                };
                found.push((Place::Tag(tag), value.text.to_owned()));
            }
        }
    }
}

struct Quoted<'a> {
    at: usize,
    quote: char,
    text: &'a str,
}

/// The value of an attribute in quotes.
fn quoted<'a>(inner: &'a str, attribute: &str) -> Option<Quoted<'a>> {
    ['"', '\''].into_iter().find_map(|quote| {
        let open = format!("{attribute}={quote}");
        let at = inner
            .match_indices(&open)
            .map(|(at, _)| at)
            .find(|at| inner[..*at].ends_with(|before: char| before.is_ascii_whitespace()))?;
        let text = inner[at + open.len()..].split(quote).next()?;
        Some(Quoted { at, quote, text })
    })
}
