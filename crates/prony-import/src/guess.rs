//! What a text is.

use crate::{hurl, openapi, postman};

/// Files that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Hurl file.
    Hurl,
    /// A Postman collection.
    Postman,
    /// An OpenAPI description as JSON or YAML.
    OpenApi,
}

/// What `text` seems to be; `None` if it is none of these.
pub fn guess(text: &str) -> Option<Kind> {
    if hurl::begins(text) {
        return Some(Kind::Hurl);
    }
    let root = openapi::parse(text).ok()?;
    if openapi::is_description(&root) {
        return Some(Kind::OpenApi);
    }
    postman::is_collection(&root).then_some(Kind::Postman)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let shop = include_str!("../tests/data/shop.hurl");
        assert_eq!(guess(shop), Some(Kind::Hurl));
        assert_eq!(guess(include_str!("../tests/data/shop.postman_collection.json")), Some(Kind::Postman));
        assert_eq!(guess(include_str!("../tests/data/shop.openapi.json")), Some(Kind::OpenApi));
        assert_eq!(guess("{\"a\": 1}"), None);
        assert_eq!(guess("# a comment\nopenapi: 3.0.0\npaths: {}\n"), Some(Kind::OpenApi));
        assert_eq!(guess("'openapi': 3.0.0\n"), Some(Kind::OpenApi));
        assert_eq!(guess("a: 1\n"), None);
        assert_eq!(guess(""), None);
    }
}
