//! Hurl files as scenarios.

use std::time::Duration;

use prony_model::{BodyCheck, ExpectedValue, ExtractionSource, PartContent, StepBody, Think};
use proptest::prelude::*;

use super::read_hurl;
use crate::{Context, ImportedScenario};

const SHOP: &str = include_str!("../../tests/data/shop.hurl");

fn read(text: &str) -> ImportedScenario {
    let variables = [("page".to_owned(), "2".to_owned())];
    read_hurl(text, &Context { name: "shop", variables: &variables })
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// The words of the problem that `text` has.
fn refused(text: &str) -> String {
    read_hurl(text, &Context { name: "shop", variables: &[] }).expect_err(text).to_string()
}

#[test]
fn a_whole_session() {
    let imported = read(SHOP);
    assert_eq!((imported.base, imported.unset.as_slice()), (None, [].as_slice()));
    let [flow] = imported.scenario.flows.as_slice() else { panic!("one session") };
    let variables: Vec<_> =
        flow.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(variables, [("page", "2"), ("user", "kim"), ("user_basic", "admin:{user}")]);
    let paths: Vec<&str> = flow.steps.iter().map(|step| step.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/login?from=a%20b",
            "/items/{raw(first)}?q=green%20tea%20%26%20more&page={page}",
            "/orders",
            "/notes/1",
            "/xml",
            "/upload",
            "/items/{raw(first)}",
        ]
    );
    let names: Vec<&str> = flow.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        ["POST-login", "GET-items", "POST-orders", "PUT-notes-1", "POST-xml", "POST-upload", "DELETE-items"]
    );

    let login = &flow.steps[0];
    assert_eq!(login.redirects, 3);
    let fields =
        [("name", "{user}"), ("password", "p")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(login.body, StepBody::Form(fields.to_vec()));
    assert_eq!(login.checks.status.0, [(200, 200)]);
    let expected =
        [("/ok", ExpectedValue::Logical(true)), ("/user", ExpectedValue::Text("{user}".to_owned()))];
    assert_eq!(login.checks.json, expected.map(|(pointer, value)| (pointer.to_owned(), value)));
    let from: Vec<&ExtractionSource> = login.extract.iter().map(|extraction| &extraction.from).collect();
    assert_eq!(
        from,
        [
            &ExtractionSource::Json("/session/token".to_owned()),
            &ExtractionSource::Json("/items/0/id".to_owned()),
            &ExtractionSource::Cookie("sid".to_owned()),
        ]
    );
    assert_eq!(login.think, Think::Constant { time: Duration::from_millis(1_500) }, "the delay of the next");

    let item = &flow.steps[1];
    let headers = [("Authorization", "Bearer {token}"), ("Cookie", "theme=dark")];
    assert_eq!(item.headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(item.checks.status.0, [(200, 299)]);
    assert_eq!(item.checks.contains, ["tea {{x}}"]);
    assert_eq!(
        item.extract[0].from,
        ExtractionSource::Regex { pattern: r"id=(\d+)/end".to_owned(), group: 1 }
    );

    let StepBody::Json(order) = &flow.steps[2].body else { panic!("{:?}", flow.steps[2].body) };
    assert!(order.contains(r#""id": "{uuid}""#) && order.contains(r#""item": {raw(first)},"#), "{order}");
    assert!(order.contains(r#""a \"quoted\" {{word}} of {user}""#) && order.ends_with('}'), "{order}");
    assert_eq!(flow.steps[3].body, StepBody::Text("line one of {again}\nline two\n".to_owned()));
    let StepBody::Text(xml) = &flow.steps[4].body else { panic!("{:?}", flow.steps[4].body) };
    assert!(xml.ends_with("</order>]]></order>"), "{xml}");
    assert_eq!(flow.steps[4].checks.body, Some(BodyCheck::Exact("done".to_owned())));
    let StepBody::Multipart(parts) = &flow.steps[5].body else { panic!("{:?}", flow.steps[5].body) };
    assert!(matches!(&parts[1].content, PartContent::File(file) if file.path == "photo.png"), "{parts:?}");
    assert_eq!(parts[1].content_type.as_deref(), Some("image/png"));
    let basic = &flow.steps[6].headers[0];
    assert_eq!(basic, &("Authorization".to_owned(), "Basic {base64(user_basic)}".to_owned()));

    let left_out: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "line 19: jsonpath \"$.items\" count == 2 left out: not checked",
            "line 21: duration < 1000 left out: not checked: --threshold 'response.max < …' does it for the run",
            "line 33: retry left out: a failure is counted, not sent again",
            "line 38: header \"ETag\" exists left out: not checked",
            "line 42: next: header \"Link\" regex \"<(.*)>\" left out: not extracted",
        ]
    );
}

#[test]
fn requests_in_short() {
    let path = |text: &str| read(text).scenario.flows[0].steps[0].path.clone();
    assert_eq!(path("GET http://a"), "/");
    assert_eq!(path("GET http://a?x=1"), "/?x=1");
    assert_eq!(path("  GET http://a/b\\#c # comment\r\n\r\n"), "/b");
    assert_eq!(read("GET http://a:80/b\nHTTP 200").base.as_deref(), Some("http://a:80"));
    assert_eq!(read("GET localhost:8000/b").base.as_deref(), Some("http://localhost:8000"));
    let with_base = read("GET {{base}}/b\n[Options]\nvariable: base=http://h/api");
    assert_eq!(with_base.base.as_deref(), Some("http://h/api"));
    let steps = |text: &str| read(text).scenario.flows[0].steps.len();
    assert_eq!(steps("GET http://a/1\nGET http://a/2\n[Options]\nskip: true\nGET http://a/3"), 2);
}

#[test]
fn bodies() {
    let body = |text: &str| {
        read(&format!("POST http://a/\n{text}\nHTTP 200")).scenario.flows[0].steps[0].body.clone()
    };
    let text = |text: &str| StepBody::Text(text.to_owned());
    let json = |text: &str| StepBody::Json(text.to_owned());
    assert_eq!(body("`a\\`b\\n{{newDate}}`"), text("a`b\n{time}"));
    assert_eq!(body("```\na\n```"), text("a\n"));
    assert_eq!(body("```one line```"), text("one line"));
    assert_eq!(body("```json\n{\"a\": {{page}}}\n```"), json("{\"a\": {raw(page)}}\n"));
    assert_eq!(body("```graphql\n{ a(b: \"c\") }\n```"), json("{\"query\":\"{ a(b: \\\"c\\\") }\"}"));
    assert_eq!(body("base64,aGk=;"), text("hi"));
    assert_eq!(body("hex,6869;"), text("hi"));
    assert_eq!(body("[1, \"]\", {\"a\": \"}\"}]"), json("[1, \"]\", {\"a\": \"}\"}]"));
    assert_eq!(body("true"), json("true"));
    assert_eq!(body("-1.5"), json("-1.5"));
    assert_eq!(body("\"{{page}}\""), json("\"{page}\""));
    assert!(matches!(body("file,a b.bin;"), StepBody::File(file) if file.path == "a b.bin"));
}

#[test]
fn what_has_no_value_is_named() {
    let imported = read("GET http://a/{{id}}\nX: {{token}}");
    assert_eq!(imported.unset, ["id", "token"]);
    assert_eq!(imported.left_out.len(), 2);
    assert!(imported.left_out[0].to_string().starts_with("line 1: the value of {{id}} left out"));
}

#[test]
fn a_check_can_not_use_what_its_own_step_extracts() {
    let imported = read(
        "GET http://a/\nHTTP 200\n[Captures]\nid: header \"X-Id\"\n[Asserts]\nheader \"Y\" == \"{{id}}\"\n\
         GET http://a/{{id}}\nHTTP 200\n[Asserts]\nheader \"Y\" == \"{{id}}\"\n",
    );
    let steps = &imported.scenario.flows[0].steps;
    assert!(steps[0].checks.headers.is_empty());
    assert_eq!(steps[1].checks.headers, [("Y".to_owned(), "{id}".to_owned())]);
    assert_eq!(imported.left_out.len(), 1);
    assert_eq!(imported.left_out[0].line, 6);
}

#[test]
fn what_would_be_another_load_is_refused_with_its_line() {
    let check = |text: &str, words: &str| {
        let problem = refused(text);
        assert!(problem.starts_with(words), "{text}\n{problem}");
    };
    check("", "there is no request in this file");
    check("# only a comment\n", "there is no request in this file");
    check("\nget http://a", "line 2: `get http://a` is not the beginning of a request");
    check("GET http://a/\nGET http://b/", "line 2: http://b is another server than http://a");
    check(
        "GET http://a/\nHTTP 200\n[Captures]\nx: xpath \"//a\"\nGET http://a/{{x}}",
        "line 5: {{x}} has no value: line 4 captures it with xpath",
    );
    check("GET http://a/\n[Options]\nproxy: localhost:1", "line 3: a load can't have the option `proxy`");
    check("GET http://a/{{x", "line 1: {{ has no }}");
    check("POST http://a/\n{\"a\": ", "line 2: the body that begins with JSON has no end");
    check("POST http://a/\n```\nabc", "line 2: the body that begins with ``` has no end");
    check("POST http://a/\n<a><b></a>", "line 2: the body that begins with XML has no end");
    check("POST http://a/\nhex,fffe;", "line 2: this body is not text");
    check("POST http://a/\n{} x", "line 2: `x` stands behind a body");
    check("POST http://a/\n{\"a\":{{{x}}}}", "line 2: ");
    check("GET http://a/\nHTTP 99", "line 2: `99` is not a status code");
    check("GET http://a/\nHTTP 200\n[Asserts]\nstatus == 404", "line 2: no status code passes");
    check("GET http://a/\nno colon", "line 2: `no colon` is not a name and a value");
    check("GET http://a/\nHTTP 200\n[Query]\na: b", "line 4: this section belongs to a request");
    check("GET http://a/\nA\\u{zz}: b", "line 2: `\\u` is not an escape");
}

proptest! {
    #[test]
    fn whatever_is_read_has_a_file(text in "(GET|POST|HTTP|\\[Asserts\\]|\\[Captures\\]|\\[Form\\]|[ -~é]{0,12}|\n|\\{\\{a\\}\\}| http://a/|200|```|:|\"){0,24}") {
        if let Ok(imported) = read_hurl(&text, &Context { name: "x", variables: &[] }) {
            prop_assert!(imported.scenario.problems().is_empty());
            prop_assert!(imported.to_toml().contains("[[flow.step]]"));
        }
    }
}

#[test]
fn names_and_passwords_in_urls_are_sent_as_curl_sends_them() {
    let imported = read("GET http://kim%40h:s%3Aecret@h:1/a\nGET http://h:1/a\nGET http://kim@h:1/\n");
    assert_eq!(imported.base.as_deref(), Some("http://h:1"));
    let steps = &imported.scenario.flows[0].steps;
    let authorization = |step: usize| steps[step].headers.first().map(|(_, value)| value.as_str());
    // A password with a colon in it, and a name without a password.
    assert_eq!(authorization(0), Some("Basic a2ltQGg6czplY3JldA=="));
    assert_eq!((authorization(1), authorization(2)), (None, Some("Basic a2ltOg==")));

    for url in ["\"http://h/\"", "http://h> ", "http://h\\/a", "{{}}"] {
        let problem = refused(&format!("GET {url}\n"));
        assert!(problem.starts_with("line 1: `"), "{url}: {problem}");
    }
}

#[test]
fn fixed_values_stand_for_names_and_options() {
    let imported = read(
        "GET http://h/\nX-{{page}}: a\n[Options]\nvariable: wait=2s\nHTTP 200\n\
         GET http://h/b\n[Options]\ndelay: {{wait}}\n",
    );
    let steps = &imported.scenario.flows[0].steps;
    assert_eq!(steps[0].headers, [("X-2".to_owned(), "a".to_owned())]);
    assert_eq!(steps[0].think, Think::Constant { time: Duration::from_secs(2) });
    assert!(refused("GET http://h/\nX-{{page}}: a\n").contains("a name can't have a value in it"));
}

#[test]
fn bodies_with_escapes_and_with_variables() {
    let imported = read(
        "POST http://h/\n```escape\na\\tb\n```\nPOST http://h/\n```graphql\nquery Q($id: Int) { item(id: $id) { \
         name } }\nvariables {\n  \"id\": {{page}}\n}\n```\nPOST http://h/\n```graphql\n{ variables { id } }\n```\n",
    );
    let steps = &imported.scenario.flows[0].steps;
    assert_eq!(steps[0].body, StepBody::Text("a\tb\n".to_owned()));
    let graphql = r#"{"query":"query Q($id: Int) { item(id: $id) { name } }","variables":{"#.to_owned()
        + "\n  \"id\": {raw(page)}\n}}";
    assert_eq!(steps[1].body, StepBody::Json(graphql));
    assert_eq!(steps[2].body, StepBody::Json(r#"{"query":"{ variables { id } }"}"#.to_owned()));
    let imported = read(
        "POST http://h/\n```json,escape\n{\"a\": \"\\u{e9}{{page}}\"}\n```\n\
         POST http://h/\n```escape,novariable\n\\t{{page}}\n```\n",
    );
    let steps = &imported.scenario.flows[0].steps;
    assert_eq!(steps[0].body, StepBody::Json("{\"a\": \"é{page}\"}\n".to_owned()));
    assert_eq!(steps[1].body, StepBody::Text("\t{{{page}}}\n".to_owned()));
}

#[test]
fn checks_above_the_response_are_refused() {
    let problem = refused("GET http://h/\n[Asserts]\nstatus == 200\n");
    assert!(problem.starts_with("line 3: this section belongs to a response"), "{problem}");
    assert_eq!(read("GET http://h/\n[Captures]\n").scenario.flows[0].steps.len(), 1);
}

#[test]
fn thousands_of_entries_are_refused_soon() {
    let problem = refused(&"GET http://h/a\n".repeat(9_000));
    assert!(problem.contains("9000 steps are more than the 256"), "{problem}");
}
