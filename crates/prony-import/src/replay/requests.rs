//! Each distinct request of a recording, once.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

use hashbrown::HashTable;
use prony_model::{FeedRows, FeedRowsError};

/// Bytes of a path with its query: as much as servers take by default.
pub(super) const TARGET_BYTES_MAX: usize = 8 * 1024;

/// Distinct requests, numbered in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The methods that occur.
    methods: Vec<String>,
    /// By request: the number of its method.
    method_of: Vec<u8>,
    /// By request: its target and, in an archive, its headers and body.
    values: FeedRows,
    known: HashTable<u32>,
    hasher: RandomState,
}

impl Requests {
    /// None yet, of so many values each, of which the first is the target.
    pub(super) fn new(columns: usize) -> Self {
        Self { values: FeedRows::new(columns), ..Self::default() }
    }

    /// The number of the request with this method and these values.
    pub(super) fn add(&mut self, method: &str, values: &[&[u8]]) -> Result<u32, FeedRowsError> {
        let method = self.method(method);
        let hash = self.hash(method, values);
        let is_same = |request: &u32| {
            let row = *request as usize;
            self.method_of[row] == method
                && values
                    .iter()
                    .enumerate()
                    .all(|(column, value)| self.values.value(row, column) == Some(value))
        };
        if let Some(request) = self.known.find(hash, is_same) {
            return Ok(*request);
        }
        let request = u32::try_from(self.method_of.len()).map_err(|_| FeedRowsError::TooLarge)?;
        self.values.push(values)?;
        self.method_of.push(method);
        let Self { known, method_of, values, hasher, .. } = self;
        known.insert_unique(hash, request, |other| {
            let row = *other as usize;
            let columns = (0..).map_while(|column| values.value(row, column));
            hash_of(hasher, method_of[row], columns)
        });
        Ok(request)
    }

    /// The number of a method; of those beyond 255, which nobody selects by name, the last one.
    fn method(&mut self, method: &str) -> u8 {
        let at = self.methods.iter().position(|known| known == method).unwrap_or_else(|| {
            self.methods.push(method.to_owned());
            self.methods.len() - 1
        });
        u8::try_from(at).unwrap_or(u8::MAX)
    }

    fn hash(&self, method: u8, values: &[&[u8]]) -> u64 {
        hash_of(&self.hasher, method, values.iter().copied())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.method_of.len()
    }

    /// The method of `request`.
    pub(super) fn method_of(&self, request: usize) -> &str {
        &self.methods[usize::from(self.method_of[request])]
    }

    /// A value of `request`; empty where there is none.
    pub(super) fn value(&self, request: usize, column: usize) -> &[u8] {
        self.values.value(request, column).unwrap_or_default()
    }

    /// The rows of a feed.
    pub(super) fn into_rows(self) -> FeedRows {
        self.values
    }
}

fn hash_of<'a>(hasher: &RandomState, method: u8, values: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut state = hasher.build_hasher();
    method.hash(&mut state);
    for value in values {
        value.hash(&mut state);
    }
    state.finish()
}

/// A target as it is sent: path and query, without the server; or why there is none.
pub(crate) fn target(raw: &[u8]) -> Result<Cow<'_, [u8]>, &'static str> {
    if raw.is_empty() {
        return Err("no request in the line");
    }
    let raw = raw.split(|byte| *byte == b'#').next().unwrap_or_default();
    let path = match without_server(raw) {
        Some(path) => path,
        None => raw,
    };
    if path.len() > TARGET_BYTES_MAX {
        return Err("path longer than 8 KiB");
    }
    if path.is_empty() {
        return Ok(b"/".into());
    }
    if path[0] == b'?' {
        return Ok([b"/", path].concat().into());
    }
    if path[0] != b'/' {
        return Err("no path (CONNECT, *)");
    }
    if path.iter().all(u8::is_ascii_graphic) {
        return Ok(path.into());
    }
    let mut encoded = String::new();
    for byte in path {
        if byte.is_ascii_graphic() {
            encoded.push(char::from(*byte));
        } else {
            let _written = write!(encoded, "%{byte:02X}");
        }
    }
    Ok(encoded.into_bytes().into())
}

/// What stands behind the server of an absolute URL.
fn without_server(raw: &[u8]) -> Option<&[u8]> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let (own, rest) = raw.split_at_checked(scheme.len())?;
        own.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
    })?;
    let path = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    Some(&rest[path..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_have_no_server_and_only_visible_characters() {
        let check = |raw: &[u8], expected: Result<&str, &str>| {
            let found = target(raw);
            let found = found.as_ref().map(|target| std::str::from_utf8(target).expect("text"));
            assert_eq!(found.map_err(|error| *error), expected, "{}", String::from_utf8_lossy(raw));
        };
        check(b"/a?b=c#d", Ok("/a?b=c"));
        check(b"http://example.com/a", Ok("/a"));
        check(b"HTTPS://example.com?x", Ok("/?x"));
        check(b"https://example.com", Ok("/"));
        check(b"//host/a", Ok("//host/a"));
        check("/é b\r\nX: 1".as_bytes(), Ok("/%C3%A9%20b%0D%0AX:%201"));
        check(b"", Err("no request in the line"));
        check(b"*", Err("no path (CONNECT, *)"));
        check(b"example.com:443", Err("no path (CONNECT, *)"));
        check(&[b"/".to_vec(), vec![b'x'; TARGET_BYTES_MAX]].concat(), Err("path longer than 8 KiB"));
    }

    proptest! {
        #[test]
        fn each_request_has_one_number(paths in prop::collection::vec("(GET|HEAD) /[a-c]{0,3}", 0..200)) {
            let mut requests = Requests::new(1);
            let mut seen: Vec<&str> = Vec::new();
            for path in &paths {
                let (method, target) = path.split_once(' ').expect("two words");
                let number = requests.add(method, &[target.as_bytes()]).expect("room") as usize;
                let expected = seen.iter().position(|known| known == path).unwrap_or(seen.len());
                if expected == seen.len() {
                    seen.push(path);
                }
                prop_assert_eq!(number, expected);
                prop_assert_eq!(requests.method_of(number), method);
                prop_assert_eq!(requests.value(number, 0), target.as_bytes());
            }
            prop_assert_eq!(requests.len(), seen.len());
        }
    }
}
