//! The fields of a form or a query.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::http::WebError;

/// Names and values as they were sent, in their order; a field of several values stands there several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// The first value of a field, without what surrounds it; empty if there is none.
    pub(crate) fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.trim())
    }

    /// The same as it was typed, with what surrounds it: a password.
    pub(crate) fn whole(&self, name: &str) -> &str {
        self.0.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.as_str())
    }

    /// Every value of a field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.trim())
    }

    /// A value that is one of a few words or a number, where one was given. The error of what can't be read names the field.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, WebError> {
        match self.one(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let shown: String = text.chars().take(64).collect();
                WebError::Query(format!("`{shown}` is no {name}"))
            }),
        }
    }
}

/// The query of an address.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueryParams(pub(crate) Fields);

impl<S: Send + Sync> FromRequestParts<S> for QueryParams {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        let read = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(fields) = read.map_err(|_| WebError::Query("the address can't be read".to_owned()))?;
        Ok(Self(Fields(fields)))
    }
}

/// The parameters in an address's path; what can't be read leads nowhere.
#[derive(Debug, Clone)]
pub(crate) struct PathParam<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParam<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(found)| Self(found)).map_err(|_| WebError::Missing("page here".to_owned()))
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        let read = axum::extract::Form::<Vec<(String, String)>>::from_request(request, state).await;
        let form = read.map_err(|error| WebError::Form(error.body_text()))?;
        Ok(Self(form.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let fields = Fields(
            [("a", " 1 "), ("b", "x"), ("a", "2"), ("c", "")]
                .map(|(n, v)| (n.to_owned(), v.to_owned()))
                .into(),
        );
        assert_eq!((fields.one("a"), fields.one("c"), fields.one("d")), ("1", "", ""));
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.parsed::<u32>("a").expect("a number"), Some(1));
        assert_eq!(fields.parsed::<u32>("c").expect("nothing"), None);
        assert!(fields.parsed::<u32>("b").expect_err("no number").to_string().contains("`x` is no b"));
    }
}
