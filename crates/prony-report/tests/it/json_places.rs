//! Places in stored results, as JSON pointers: for tests that put something else there.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Text that would be markup if a page did not escape it.
const FOREIGN: &str = "<script>alert('1')</script>\"><img src=x onerror=alert(1)>&\u{202e}\u{0}\u{fffe}]]>";

/// All places below `value`.
pub(crate) fn places(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    add_places(value, "", &mut all);
    all
}

fn add_places(value: &Value, place: &str, all: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(values) => {
            values.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in below {
        let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
        add_places(value, &place, all);
        all.push(place);
    }
}

/// The places of all values below `value` that are `wanted`.
pub(crate) fn places_of(value: &Value, wanted: fn(&Value) -> bool) -> Vec<String> {
    let mut all = places(value);
    all.retain(|place| value.pointer(place).is_some_and(wanted));
    all
}

/// `result` with foreign text in place of each of its own that may be any; and how many those are. Names of formats,
/// metrics and moments may not.
pub(crate) fn with_foreign_text<T: Serialize + DeserializeOwned>(result: &T) -> (T, usize) {
    let mut stored = serde_json::to_value(result).expect("JSON");
    let mut replaced = 0;
    for place in places_of(&stored, Value::is_string) {
        let mut changed = stored.clone();
        *changed.pointer_mut(&place).expect("a place") = json!(FOREIGN);
        if serde_json::from_value::<T>(changed.clone()).is_ok() {
            stored = changed;
            replaced += 1;
        }
    }
    (serde_json::from_value(stored).expect("a result"), replaced)
}
