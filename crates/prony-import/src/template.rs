//! A template of a scenario under construction: literal text, in which braces stay braces, and values.

use prony_model::{Escape, Generated, Template, TemplatePiece as Piece, TemplateValue as Value};

/// A text with places for values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft(Vec<Piece>);

impl Draft {
    /// A text without values.
    pub(crate) fn literal(text: &str) -> Self {
        let mut draft = Self::default();
        draft.push(text);
        draft
    }

    /// Adds `text`, as it is.
    pub(crate) fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds what is called `name`.
    pub(crate) fn push_name(&mut self, name: &str, escape: Option<Escape>) {
        self.0.push(Piece::Value { value: Value::Named(name.to_owned()), escape });
    }

    /// Adds a value that is made.
    pub(crate) fn push_made(&mut self, made: Generated) {
        self.0.push(Piece::Value { value: Value::Generated(made), escape: None });
    }

    /// Adds all of `other`.
    pub(crate) fn append(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Text(text) => self.push(text),
                value @ Piece::Value { .. } => self.0.push(value.clone()),
            }
        }
    }

    /// The same with every literal text changed by `change`.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let mut draft = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => draft.push(&change(text)),
                value @ Piece::Value { .. } => draft.0.push(value.clone()),
            }
        }
        draft
    }

    /// Its text, if no value is in it.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Its text with `value` of each name; `None` where one has none.
    pub(crate) fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Value { value: Value::Named(name), .. } => value(name).map(str::to_owned),
            Piece::Value { .. } => None,
        };
        self.0.iter().map(piece).collect()
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { value: Value::Named(name), .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The template's text; `None` where it would be read as something else, as a value in braces of its own would.
    pub(crate) fn text(&self) -> Option<String> {
        let text: String = self.0.iter().map(written).collect();
        (Template::parse(&text).ok()? == Template(self.0.clone())).then_some(text)
    }
}

fn written(piece: &Piece) -> String {
    let (value, escape) = match piece {
        Piece::Text(text) => return doubled(text),
        Piece::Value { value, escape } => (value, escape),
    };
    let name = match value {
        Value::Named(name) => name.clone(),
        Value::Generated(made) => match made {
            Generated::Uuid => "uuid".to_owned(),
            Generated::Counter => "counter".to_owned(),
            Generated::Session => "session".to_owned(),
            Generated::Time => "time".to_owned(),
            Generated::UnixSeconds => "time(unix)".to_owned(),
            Generated::UnixMilliseconds => "time(unix-ms)".to_owned(),
            Generated::Whole { low, high } => format!("random({low},{high})"),
            Generated::Hex(length) => format!("random-hex({length})"),
            Generated::Letters(length) => format!("random-text({length})"),
        },
    };
    match escape {
        None => format!("{{{name}}}"),
        Some(Escape::Raw) => format!("{{raw({name})}}"),
        Some(Escape::Percent) => format!("{{percent({name})}}"),
        Some(Escape::Json) => format!("{{json({name})}}"),
        Some(Escape::Base64) => format!("{{base64({name})}}"),
    }
}

/// `text` with double braces around what would be a value.
fn doubled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let behind = &rest[open..];
        let close = behind.find('}').map(|close| close + 1);
        let inner = close.map(|close| &behind[..close]).filter(|inner| !inner[1..].contains('{'));
        let is_value = |inner: &str| match Template::parse(inner) {
            Ok(template) => template.as_static().is_none(),
            // An unknown function: it would be refused.
            Err(_) => true,
        };
        if let Some(inner) = inner.filter(|inner| is_value(inner)) {
            out.extend(["{", inner, "}"]);
            rest = &behind[inner.len()..];
        } else {
            out.push('{');
            rest = &behind[1..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn literal_text_stays_itself(text in "[{}a(,)1 \"é.-]{0,12}") {
            if let Some(written) = Draft::literal(&text).text() {
                let read = Template::parse(&written).expect("it was written so");
                prop_assert_eq!(read.as_static(), Some(text.as_str()));
            }
        }
    }

    #[test]
    fn braces_and_values() {
        let check = |draft: &Draft, expected: Option<&str>| assert_eq!(draft.text().as_deref(), expected);
        check(
            &Draft::literal(r#"{"a": {b}, "c": {random(1,2)}}"#),
            Some(r#"{"a": {{b}}, "c": {{random(1,2)}}}"#),
        );
        check(&Draft::literal("{{b}}"), Some("{{{b}}}"));
        check(&Draft::literal("{nothing(x)}"), Some("{{nothing(x)}}"));
        let mut draft = Draft::literal("a=");
        draft.push_name("token", Some(Escape::Raw));
        draft.push("&b=");
        draft.push_made(Generated::Uuid);
        check(&draft, Some("a={raw(token)}&b={uuid}"));
        let mut draft = Draft::literal("{");
        draft.push_name("token", None);
        draft.push("}");
        check(&draft, None);
    }
}
