//! The schema of study files, and the check of every key against it: both come from the structs of `keys.rs`.

use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use prony_model::nearest;

use super::keys::StudyKeys;
use super::mistake::Mistakes;
use super::tree::in_order;

/// Keys that are listed where none is near; more would hide what is wrong.
const MOST_LISTED: usize = 16;

/// The JSON Schema of a study file, as in docs/schema/study-v1.json. It is about JSON with the keys of the TOML.
pub fn study_file_json_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<StudyKeys>();
    let text = serde_json::to_string_pretty(&schema).expect("invariant: a schema has string keys only");
    text + "\n"
}

/// Tells every key of the file that means nothing there.
pub(super) fn check_keys(root: &DeTable<'_>, mistakes: &mut Mistakes) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<StudyKeys>();
    let schema = schema.as_value();
    check_table(root, schema, schema, mistakes);
}

fn check_table(table: &DeTable<'_>, schema: &Value, root: &Value, mistakes: &mut Mistakes) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let Some(each) = schema.get("additionalProperties") else { return };
        for value in table.values() {
            check_value(value.get_ref(), each, root, mistakes);
        }
        return;
    };
    let is_open = schema.get("additionalProperties").is_none_or(|more| *more != Value::Bool(false));
    for (key, value) in in_order(table) {
        match properties.get(key.get_ref().as_ref()) {
            Some(schema) => check_value(value.get_ref(), schema, root, mistakes),
            None if is_open => {}
            None => {
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                let message = format!("unknown key `{}`", key.get_ref());
                mistakes.add(key.span(), message, help(key.get_ref(), &names));
            }
        }
    }
}

fn check_value(value: &DeValue<'_>, schema: &Value, root: &Value, mistakes: &mut Mistakes) {
    // The short form has the shape of the whole file.
    let schema = if schema.get("$ref").is_some_and(|there| there == "#") { root } else { schema };
    // What may be absent is one of several shapes, of which one is null.
    let shapes = schema.get("anyOf").and_then(Value::as_array);
    let schema = shapes
        .and_then(|shapes| shapes.iter().find(|shape| shape.get("properties").is_some()))
        .unwrap_or(schema);
    match value {
        DeValue::Table(table) => check_table(table, schema, root, mistakes),
        DeValue::Array(items) => {
            let Some(each) = schema.get("items") else { return };
            for item in items {
                check_value(item.get_ref(), each, root, mistakes);
            }
        }
        _ => {}
    }
}

/// What may be meant by an unknown key or name.
pub(super) fn help(typed: &str, names: &[&str]) -> String {
    match nearest(typed, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.len() <= MOST_LISTED => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            if names.is_empty() { String::new() } else { format!("there is {}", names.join(", ")) }
        }
        None => "docs/study.md has every key".to_owned(),
    }
}
