//! The entries of an HTTP archive (HAR 1.2), one by one: however large an archive is, a reader holds what it keeps of it and one
//! entry.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A request, when it was sent, and what its reader wants of the response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry<R> {
    pub(crate) started_date_time: String,
    /// Milliseconds that it took.
    #[serde(default)]
    pub(crate) time: Option<f64>,
    pub(crate) request: HarRequest,
    pub(crate) response: Option<R>,
    #[serde(rename = "_resourceType", default)]
    pub(crate) resource_type: Option<String>,
}

/// A request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HarRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) headers: Vec<Named>,
    #[serde(default)]
    pub(crate) post_data: Option<PostData>,
    #[serde(default)]
    pub(crate) body_size: Option<f64>,
}

/// A header or a parameter.
#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) value: String,
}

/// A body that was sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostData {
    #[serde(default)]
    pub(crate) mime_type: Option<String>,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default, alias = "_encoding")]
    encoding: Option<String>,
    #[serde(default)]
    pub(crate) params: Vec<Named>,
}

impl PostData {
    /// Whether its text stands for bytes, in base64.
    pub(crate) fn is_base64(&self) -> bool {
        self.encoding.as_deref() == Some("base64")
    }
}

/// Hands each entry of the archive that `json` has to `each`, until that fails.
///
/// # Errors
/// JSON that is no archive.
pub(crate) fn read<'de, R, J, E>(
    json: J,
    mut each: impl FnMut(Entry<R>) -> Result<(), E>,
) -> Result<Result<(), E>, serde_json::Error>
where
    R: DeserializeOwned,
    J: serde_json::de::Read<'de>,
{
    let mut failed = None;
    let mut keep = |entry| each(entry).map_err(|error| failed = Some(error)).is_ok();
    let mut json = serde_json::Deserializer::new(json);
    let log = Member {
        name: "log",
        of: Member { name: "entries", of: Entries { each: &mut keep, of: PhantomData } },
    };
    let read = log.deserialize(&mut json).and_then(|()| json.end());
    match failed {
        Some(error) => Ok(Err(error)),
        None => read.map(Ok),
    }
}

/// Reads one member of an object.
struct Member<S> {
    name: &'static str,
    of: S,
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for Member<S> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Member<S> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with `{}`", self.name)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut wanted = Some(self.of);
        while let Some(name) = map.next_key::<String>()? {
            if name == self.name {
                let of = wanted.take().ok_or_else(|| M::Error::duplicate_field(self.name))?;
                map.next_value_seed(of)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if wanted.is_some() { Err(M::Error::missing_field(self.name)) } else { Ok(()) }
    }
}

/// The list of entries.
struct Entries<'a, R> {
    /// Returns whether to go on.
    each: &'a mut dyn FnMut(Entry<R>) -> bool,
    of: PhantomData<R>,
}

impl<'de, R: DeserializeOwned> DeserializeSeed<'de> for Entries<'_, R> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, R: DeserializeOwned> Visitor<'de> for Entries<'_, R> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            if !(self.each)(entry) {
                return Err(A::Error::custom("an entry was refused"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Status {
        status: f64,
    }

    /// The URLs of an archive with their statuses.
    fn check(text: &str, expected: Result<&[(&str, Option<f64>)], &str>) {
        let mut found = Vec::new();
        let read = read(serde_json::de::StrRead::new(text), |entry: Entry<Status>| {
            found.push((entry.request.url, entry.response.map(|response| response.status)));
            Ok::<(), Infallible>(())
        });
        let found: Vec<(&str, Option<f64>)> = found.iter().map(|(url, status)| (&**url, *status)).collect();
        match (read, expected) {
            (Ok(Ok(())), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (read, _) => panic!("{read:?} of {text}"),
        }
    }

    #[test]
    fn entries_are_read_wherever_they_stand() {
        let entry = |url: &str, more: &str| {
            format!(r#"{{"startedDateTime": "x", "request": {{"method": "GET", "url": "{url}"}}{more}}}"#)
        };
        let (first, second) =
            (entry("/a", r#", "response": {"status": 200, "content": {"text": "x"}}"#), entry("/b", ""));
        check(
            &format!(
                r#"{{"a": [1], "log": {{"pages": [{{}}], "entries": [{first}, {second}], "x": null}}}} "#
            ),
            Ok(&[("/a", Some(200.0)), ("/b", None)]),
        );
        check(r#"{"log": {"entries": []}}"#, Ok(&[]));
        check("{}", Err("missing field `log`"));
        check(r#"{"log": {}}"#, Err("missing field `entries`"));
        check(r#"{"log": []}"#, Err("an object with `entries`"));
        check(r#"{"log": {"entries": {}}}"#, Err("a list of entries"));
        check(r#"{"log": {"entries": []}, "log": {"entries": []}}"#, Err("duplicate field `log`"));
        check(r#"{"log": {"entries": []}} {}"#, Err("trailing characters"));
        check(r#"{"log": {"entries": [{}]}}"#, Err("missing field"));
        check(&format!(r#"{{"log": {{"entries": [{first}"#), Err("EOF while parsing a list"));
    }

    #[test]
    fn a_refusal_ends_the_reading() {
        let entry = r#"{"startedDateTime": "x", "request": {"method": "GET", "url": "/"}}"#;
        let text = format!(r#"{{"log": {{"entries": [{entry}, {entry}, {entry}"#);
        let mut count = 0;
        let read = read(serde_json::de::StrRead::new(&text), |_: Entry<Status>| {
            count += 1;
            if count == 2 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((count, read.expect("it was refused before its end")), (2, Err("enough")));
    }
}
