//! The schema of study files, and the check of every key against it: both come from the structs of `keys.rs`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use prony_model::nearest;

use super::keys::StudyKeys;
use super::mistake::Mistakes;

/// Keys that are listed where none is near; more would hide what is wrong.
const LISTED_MAX: usize = 16;

/// The JSON Schema of a study file, as in docs/schema/study-v1.json. It is about JSON with the keys of the TOML.
pub fn study_file_json_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<StudyKeys>();
    let text = serde_json::to_string_pretty(&schema).expect("invariant: a schema has string keys only");
    text + "\n"
}

/// Reports every key of the file that means nothing in a `Keys`, and takes it away. `manual` says where all are listed.
pub(super) fn check_keys<Keys: JsonSchema>(root: &mut DeTable<'_>, manual: &str, mistakes: &mut Mistakes) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<Keys>();
    let whole = Whole { schema: schema.as_value(), manual };
    check_table(root, whole.schema, whole, mistakes);
}

/// What a whole file is.
#[derive(Clone, Copy)]
struct Whole<'a> {
    schema: &'a Value,
    manual: &'a str,
}

fn check_table(table: &mut DeTable<'_>, schema: &Value, root: Whole<'_>, mistakes: &mut Mistakes) {
    let none = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let more = schema.get("additionalProperties");
    let is_closed = more == Some(&Value::Bool(false));
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let entries = std::mem::take(table).into_iter().filter_map(|(key, mut value)| {
        let known = properties.get(key.get_ref().as_ref()).or(more.filter(|_| !is_closed));
        if let Some(schema) = known {
            check_value(value.get_mut(), schema, root, mistakes);
        } else if is_closed {
            let message = format!("unknown key `{}`", key.get_ref());
            mistakes.add(key.span(), message, help_or(key.get_ref(), &names, root.manual));
        }
        (!is_closed || known.is_some()).then_some((key, value))
    });
    *table = entries.collect();
}

fn check_value(value: &mut DeValue<'_>, schema: &Value, root: Whole<'_>, mistakes: &mut Mistakes) {
    // The short form has the shape of the whole file.
    let schema = if schema.get("$ref").is_some_and(|there| there == "#") { root.schema } else { schema };
    // What may be absent is one of several shapes, of which one is null.
    let shapes = schema.get("anyOf").and_then(Value::as_array);
    let schema = shapes
        .and_then(|shapes| shapes.iter().find(|shape| shape.get("properties").is_some()))
        .unwrap_or(schema);
    match value {
        DeValue::Table(table) => check_table(table, schema, root, mistakes),
        DeValue::Array(items) => {
            let Some(each) = schema.get("items") else { return };
            for item in items.iter_mut() {
                check_value(item.get_mut(), each, root, mistakes);
            }
        }
        _ => {}
    }
}

/// What may be meant by an unknown key or name.
pub(super) fn help(typed: &str, names: &[&str]) -> String {
    help_or(typed, names, "docs/study.md has every key")
}

/// The same, with advice where none is near and there are many.
fn help_or(typed: &str, names: &[&str], otherwise: &str) -> String {
    match nearest(typed, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.len() <= LISTED_MAX => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            if names.is_empty() { String::new() } else { format!("there is {}", names.join(", ")) }
        }
        None => otherwise.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the keys: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-study`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/study-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, study_file_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/study-v1.json can be read");
        assert!(
            published == study_file_json_schema(),
            "docs/schema/study-v1.json is out of date: see this test"
        );
    }

    #[test]
    fn the_example_fits_the_schema() {
        let schema = serde_json::from_str(&study_file_json_schema()).expect("a schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        let example: Value =
            toml::from_str(include_str!("../../tests/data/example.toml")).expect("the example is TOML");
        let errors: Vec<String> = validator.iter_errors(&example).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert!(!validator.is_valid(&serde_json::json!({"conections": 5})));
    }
}
