//! Descriptions as scenarios.

use prony_model::{Step, StepBody};
use proptest::prelude::*;

use super::read_openapi;
use crate::Context;
use crate::json::{self, Json};

const SHOP: &str = include_str!("../../tests/data/shop.openapi.json");
const CONTEXT: Context<'static> = Context { name: "shop", variables: &[] };

#[test]
fn a_whole_description() {
    let imported = read_openapi(SHOP, &CONTEXT).expect("a description");
    assert_eq!(imported.base.as_deref(), Some("http://127.0.0.1:3000/api"));
    assert_eq!(imported.unset, ["login", "token"]);
    let steps: Vec<&Step> = imported.scenario.flows.iter().map(|flow| &flow.steps[0]).collect();
    let shown: Vec<(&str, &str, &str)> =
        steps.iter().map(|step| (step.name.as_str(), step.method.as_str(), step.path.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("getItem", "GET", "/items/{item_id}?fields={fields}&fields={fields_3}"),
            ("delete-items-item-id", "DELETE", "/items/{item_id}"),
            ("add-item", "POST", "/items"),
            ("put-photos", "PUT", "/photos"),
        ]
    );
    let variables = |flow: usize| {
        let all = imported.scenario.flows[flow].variables.iter();
        all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(variables(0), ["X-Kind=pot", "fields=name", "fields_3=price", "item_id=5", "token="]);
    let header = |step: usize| {
        steps[step].headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    assert_eq!(header(0), ["X-Kind: {X-Kind}", "Authorization: Bearer {token}"]);
    assert_eq!(header(1), ["X-Kind: {X-Kind}", "Authorization: Basic {base64(login)}"]);
    assert_eq!(header(3), [""; 0]);
    let codes = |step: usize| steps[step].checks.status.0.clone();
    assert_eq!(
        (codes(0), codes(1), codes(2)),
        (vec![(200, 200), (304, 304)], vec![(200, 299)], vec![(201, 201)])
    );
    let StepBody::Json(body) = &steps[2].body else { panic!("{:?}", steps[2].body) };
    assert!(
        body.starts_with(r#"{"name": "a {{cup}} of \"tea\"", "price": 1.5, "tags": ["new"], "parent": {"#),
        "{body}"
    );
    assert!(body.ends_with(r#""made": {"at": "2026-01-31", "by": "kim"}}"#), "{body}");
    assert_eq!(steps[3].body, StepBody::None);
    let left_out: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    for expected in [
        "line 9: the value of item id left out: no example is given: it is made up",
        "the value of token left out: set it with --variable, or under `variables`",
        "the body, image/png left out: no example is given: it is sent empty",
    ] {
        assert!(left_out.iter().any(|line| line.ends_with(expected)), "{expected}: {left_out:#?}");
    }
}

#[test]
fn a_value_that_is_typed_replaces_the_example() {
    let variables = [("token".to_owned(), "t".to_owned()), ("item id".to_owned(), "9".to_owned())];
    let imported =
        read_openapi(SHOP, &Context { name: "shop", variables: &variables }).expect("a description");
    assert_eq!(imported.unset, ["login"]);
    assert!(imported.scenario.flows[0].variables.contains(&("item_id".to_owned(), "9".to_owned())));
}

#[test]
fn samples_are_bounded() {
    // Each schema has two of the next one, and the last has the first: 2^64 values and more.
    let schema = |at: u32| {
        let next = (at + 1) % 64;
        let one = format!("{{\"$ref\": \"#/components/schemas/S{next}\"}}");
        format!("\"S{at}\": {{\"type\": \"object\", \"properties\": {{\"a\": {one}, \"b\": {one}}}}}")
    };
    let schemas: Vec<String> = (0..64).map(schema).collect();
    let text = format!(
        "{{\"openapi\": \"3.0.3\", \"paths\": {{\"/\": {{\"post\": {{\"requestBody\": {{\"content\": \
         {{\"application/json\": {{\"schema\": {{\"$ref\": \"#/components/schemas/S0\"}}}}}}}}}}}}}}, \
         \"components\": {{\"schemas\": {{{}}}}}}}",
        schemas.join(",")
    );
    let imported = read_openapi(&text, &CONTEXT).expect("a description");
    let StepBody::Json(body) = &imported.scenario.flows[0].steps[0].body else { panic!("a body") };
    assert!(body.len() < 100_000);
    assert!(matches!(
        json::parse(&body.replace("{{", "{")).map(|node| node.value),
        Ok(Json::Object(_)) | Err(_)
    ));
}

#[test]
fn what_is_no_description_is_refused() {
    let refused = |text: &str| read_openapi(text, &CONTEXT).expect_err(text).to_string();
    assert!(refused("{\"swagger\": \"2.0\"}").starts_with("this is Swagger 2.0"));
    assert!(refused("{\"openapi\": \"4.0.0\"}").starts_with("OpenAPI 4.0.0 is not supported"));
    assert!(refused("{\"openapi\": \"3.0.0\", \"paths\": {}}").starts_with("there is no operation"));
    assert!(refused("openapi: 3.0.0").starts_with("there is no operation"));
    assert!(refused("{openapi: 3.0.0}").starts_with("line 1: this is not JSON"));
    assert!(refused("openapi: 3.0.0\n paths: {}\n").starts_with("line 2: this is not YAML"));
}

proptest! {
    #[test]
    fn changed_descriptions_are_read_or_refused(at in 0_usize..5000, byte in any::<u8>()) {
        let mut bytes = SHOP.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(imported) = read_openapi(&text, &CONTEXT)
        {
            prop_assert!(imported.scenario.problems().is_empty());
            prop_assert!(!imported.to_toml().is_empty());
        }
    }
}

#[test]
fn the_same_description_as_yaml_is_the_same_scenario() {
    let yaml = include_str!("../../tests/data/shop.openapi.yaml");
    let [from_yaml, from_json] =
        [yaml, SHOP].map(|text| read_openapi(text, &CONTEXT).expect("a description"));
    assert_eq!(from_yaml.scenario, from_json.scenario);
    assert_eq!((from_yaml.base, from_yaml.unset), (from_json.base, from_json.unset));
    let without_line = |left_out: &[crate::LeftOut]| {
        let mut all: Vec<String> =
            left_out.iter().map(|part| format!("{}: {}", part.what, part.instead)).collect();
        all.sort();
        all
    };
    assert_eq!(without_line(&from_yaml.left_out), without_line(&from_json.left_out));
    let line =
        from_yaml.left_out.iter().find(|part| part.what == "the value of item id").map(|part| part.line);
    let place = yaml.lines().position(|line| line.contains("name: item id")).map(|index| index + 1);
    assert_eq!(line, place);
}

#[test]
fn what_is_elsewhere_is_listed() {
    let text = "\
openapi: 3.2.0
servers: [{url: /v2}]
paths:
  /a:
    servers: [{url: http://other.example}]
    get:
      parameters:
        - $ref: parameters.yaml#/page
        - {name: q, in: query, required: true, content: {application/json: {example: {a: 1}}}}
  /b:
    query:
      servers: [{url: http://third.example}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/None'}}}}
";
    let imported = read_openapi(text, &CONTEXT).expect("a description");
    let left_out: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "line 2: the server /v2 left out: it names no host: give it with --base, and this path behind it",
            "line 5: the servers of /a left out: all requests go to that of the whole file",
            "line 8: what parameters.yaml#/page refers to left out: it is not in this file",
            "line 12: the servers of /b left out: all requests go to that of the whole file",
            "line 13: what #/components/schemas/None refers to left out: it is not in this file",
        ]
    );
    let flows = &imported.scenario.flows;
    assert_eq!(flows[0].variables, [("q".to_owned(), r#"{"a": 1}"#.to_owned())]);
    assert_eq!(flows[1].steps[0].method, "QUERY");
}

#[test]
fn operations_beyond_the_most_are_listed_at_once() {
    let operations: Vec<String> =
        (0..50_000).map(|n| format!("  /{n}: {{get: {{operationId: same}}}}\n")).collect();
    let text = format!("openapi: 3.1.0\npaths:\n{}", operations.concat());
    let imported = read_openapi(&text, &CONTEXT).expect("a description");
    assert_eq!(imported.scenario.flows.len(), 256);
    let last = imported.left_out.last().expect("the others").to_string();
    assert_eq!(last, "line 259: 49744 operations from here on left out: a scenario has up to 256");
}
