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
    assert!(refused("openapi: 3.0.0").starts_with("line 1: this is not JSON"));
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
