//! Collections as scenarios.

use prony_model::{PartContent, StepBody};
use proptest::prelude::*;

use super::read_postman;
use crate::Context;

const SHOP: &str = include_str!("../../tests/data/shop.postman_collection.json");
const CONTEXT: Context<'static> = Context { name: "shop", variables: &[] };

#[test]
fn a_whole_collection() {
    let imported = read_postman(SHOP, &CONTEXT).expect("a collection");
    assert_eq!(imported.base.as_deref(), Some("http://127.0.0.1:3000/api"));
    assert_eq!(imported.unset, ["part_id", "secret", "token"]);
    let [flow] = imported.scenario.flows.as_slice() else { panic!("one session") };
    let variables: Vec<_> =
        flow.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        variables,
        [("part_id", ""), ("secret", ""), ("token", ""), ("user", "kim"), ("user_basic", "{user}:{secret}")]
    );
    let steps: Vec<(&str, &str, &str)> = flow
        .steps
        .iter()
        .map(|step| (step.name.as_str(), step.method.as_str(), step.path.as_str()))
        .collect();
    assert_eq!(
        steps,
        [
            ("Log-in", "POST", "/login"),
            ("Items-One", "GET", "/items/7/{raw(part_id)}?q=green%20tea&at={time(unix)}"),
            ("Items-Add", "POST", "/items"),
            ("Items-Upload", "PUT", "/upload"),
            ("Query", "POST", "/graphql"),
            ("Short", "GET", "/short"),
        ]
    );
    let header = |step: usize, name: &str| {
        let found = flow.steps[step].headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(header(0, "X-Trace"), Some("{uuid}"));
    assert_eq!((header(0, "X-Off"), header(0, "Authorization")), (None, None));
    assert_eq!(header(1, "Authorization"), Some("Bearer {token}"));
    assert_eq!(header(2, "Authorization"), Some("Basic {base64(user_basic)}"));
    assert_eq!(header(4, "Authorization"), None);
    assert_eq!(flow.steps[0].body, StepBody::Form(vec![("name".to_owned(), "{user}".to_owned())]));
    let json = r#"{"name": "{user}", "count": {random(0,1000)}, "note": "{{plain}}"}"#;
    assert_eq!(flow.steps[2].body, StepBody::Json(json.to_owned()));
    let StepBody::Multipart(parts) = &flow.steps[3].body else { panic!("{:?}", flow.steps[3].body) };
    let files: Vec<&str> = parts
        .iter()
        .filter_map(|part| match &part.content {
            PartContent::File(file) => Some(file.path.as_str()),
            PartContent::Text(_) => None,
        })
        .collect();
    assert_eq!((parts.len(), files.as_slice()), (3, ["a.png", "b.png"].as_slice()));
    let graphql = r#"{"query": "query($n: Int) {\n  a(n: $n)\n}", "variables": {"n": 3}}"#;
    assert_eq!(flow.steps[4].body, StepBody::Json(graphql.to_owned()));
    let left_out: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    for expected in [
        "line 20: a test script left out: it is not run",
        "line 85: the file of none left out: none is chosen",
        "line 96: authorization by oauth2 left out: the request is sent without it",
    ] {
        assert!(left_out.iter().any(|line| line == expected), "{expected}: {left_out:#?}");
    }
    assert!(!left_out.iter().any(|line| line.contains("prerequest")), "an empty script: {left_out:#?}");
}

#[test]
fn what_is_no_collection_is_refused() {
    let refused = |text: &str| read_postman(text, &CONTEXT).expect_err(text).to_string();
    assert!(refused("{}").starts_with("this is not a Postman collection"));
    assert!(refused("{\n  \"info\"").starts_with("line 2: this is not JSON"));
    let schema =
        r#""info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}"#;
    assert!(refused(&format!("{{{schema}, \"item\": []}}")).starts_with("there is no request"));
    let two = r#"[{"request": "http://a/1"}, {"request": "http://b/"}]"#;
    assert!(
        refused(&format!("{{{schema},\n\"item\": {two}}}")).starts_with("line 2: http://b is another server")
    );
}

proptest! {
    #[test]
    fn cut_or_changed_collections_are_read_or_refused(cut in 0_usize..5000, byte in any::<u8>()) {
        let mut bytes = SHOP.as_bytes().to_vec();
        let at = cut % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(imported) = read_postman(&text, &CONTEXT)
        {
            prop_assert!(imported.scenario.problems().is_empty());
            prop_assert!(!imported.to_toml().is_empty());
        }
    }
}
