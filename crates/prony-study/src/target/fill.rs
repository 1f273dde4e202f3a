//! Placeholders that are known only when targets run.

use std::collections::BTreeMap;

use crate::study::Template;

/// What placeholders stand for, by their names without braces: `port`, `url`, `database.url`.
pub(crate) type Values = BTreeMap<String, String>;

impl Template {
    /// The text with `values` in the place of their names. Other braces stay as they are: JSON has them, too.
    pub(crate) fn filled(&self, values: &Values) -> String {
        fill(&self.0, values)
    }
}

/// `text` with `values` in the place of their names.
pub(crate) fn fill(text: &str, values: &Values) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let named = from[1..].split_once('}').and_then(|(name, after)| Some((values.get(name)?, after)));
        rest = if let Some((value, after)) = named {
            filled.push_str(value);
            after
        } else {
            filled.push('{');
            &from[1..]
        };
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_nothing_else() {
        let values = [("port", "10001"), ("database.url", "postgres://{port}")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let check = |text: &str, expected: &str| {
            assert_eq!(Template(text.to_owned()).filled(&values), expected);
        };
        check("http://127.0.0.1:{port}/", "http://127.0.0.1:10001/");
        check("{database.url}{port}", "postgres://{port}10001");
        check("{\"a\": {}, \"b\": \"{port}\"}", "{\"a\": {}, \"b\": \"10001\"}");
        check("{x} {port", "{x} {port");
        check("", "");
    }
}
