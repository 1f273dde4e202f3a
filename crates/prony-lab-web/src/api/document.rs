//! The OpenAPI 3.1 document, made of the table of routes.

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::BASE;
use super::call::Route;
use super::problem::Problem;

/// The document of `table`.
pub(super) fn document(table: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for route in table {
        let item = paths.entry(format!("{BASE}{}", route.path)).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "prony lab",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Everything the pages of a lab do. Moments are milliseconds since 1970-01-01 UTC. Lists are \
                            read on with the cursor that they answer; what was read can be asked for again with \
                            If-None-Match.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API token: `prony lab token add`.",
            } },
            "responses": { "Problem": {
                "description": "It was not done; the problem says why, and what to try (RFC 9457).",
                "content": { "application/problem+json": { "schema": problem } },
            } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = parameters("path", &(route.schemas.path)(generator));
    parameters.extend(self::parameters("query", &(route.schemas.query)(generator)));
    if route.takes_key {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "What the client calls this request: sent again with the same key within a week, it has no \
                            second effect and the same answer.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        }));
    }
    let answer = json!({ "application/json": { "schema": (route.schemas.answer)(generator) } });
    let mut responses = json!({
        route.status.as_str(): { "description": "It was done.", "content": answer },
        "default": { "$ref": "#/components/responses/Problem" },
    });
    if route.method == Method::GET {
        responses["304"] = json!({ "description": "It is as the client has it (If-None-Match)." });
    }
    if route.status.as_u16() != 200 {
        responses["200"] = json!({ "description": "It had been done before.", "content": answer });
    }
    for status in ["400", "401", "403", "404"] {
        responses[status] = json!({ "$ref": "#/components/responses/Problem" });
    }
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "description": format!("Needs the role {}.", route.least),
        "tags": [route.path.trim_start_matches('/').split('/').next().unwrap_or_default()],
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = route.schemas.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body(generator) } } });
    }
    operation
}

/// `get-builds-id-output`: method and path.
fn operation_id(route: &Route) -> String {
    let path = route.path.replace(['{', '}'], "").replace('/', "-");
    format!("{}{path}", route.method.as_str().to_ascii_lowercase())
}

/// The properties of a type as parameters.
fn parameters(place: &str, schema: &Schema) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    properties
        .into_iter()
        .map(|(name, schema)| {
            json!({
                "name": name,
                "in": place,
                "required": place == "path" || required.contains(&Value::String(name.clone())),
                "description": schema.get("description").cloned().unwrap_or_default(),
                "schema": schema,
            })
        })
        .collect()
}
