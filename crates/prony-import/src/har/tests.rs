//! Visits with known tokens: what is extracted where, and what is only kept.

use prony_model::{Extraction, ExtractionSource, StatusSet, StepBody, Think};
use serde_json::{Value, json};

use super::*;

/// A visit in which a login form has a token, the login sets another, and an order has a number.
fn visit(csrf: &str, bearer: &str, order: u32, unknown: &str) -> Vec<Value> {
    let entry = |second: f64, method: &str, path: &str, headers: Value, body: Value, response: Value| {
        json!({
            "startedDateTime": format!("2026-11-23T10:00:{second:06.3}Z"),
            "time": 100.0,
            "request": {
                "method": method,
                "url": format!("https://shop.example{path}"),
                "headers": headers,
                "postData": body,
            },
            "response": response,
        })
    };
    let response = |headers: Value, mime: &str, text: String| json!({"status": 200, "headers": headers, "content": {"mimeType": mime, "text": text}});
    let form = format!("<form><input type=\"hidden\" name=\"csrf.t\" value=\"{csrf}\"></form>");
    let token = json!({"auth": {"token": bearer}, "user": "ann"}).to_string();
    let made = json!({"orders": [{"id": order}]}).to_string();
    let authorization = json!([
        {"name": "authorization", "value": format!("Bearer {bearer}")},
        {"name": "Cookie", "value": "session=secret"},
        {"name": "User-Agent", "value": "a browser"},
        {"name": "accept", "value": "application/json"},
    ]);
    let none = || json!(null);
    vec![
        entry(0.0, "GET", "/login", json!([]), none(), response(json!([]), "text/html", form)),
        entry(
            0.05,
            "GET",
            "/style.css?v=1",
            json!([]),
            none(),
            response(json!([]), "text/css", String::new()),
        ),
        entry(
            2.1,
            "POST",
            "/login",
            json!([]),
            json!({"mimeType": "application/x-www-form-urlencoded", "text": format!("name=ann&csrf={csrf}")}),
            response(
                json!([{"name": "Set-Cookie", "value": "session=x; Path=/"}]),
                "application/json",
                token,
            ),
        ),
        entry(
            2.2,
            "POST",
            "/orders",
            authorization.clone(),
            json!({"mimeType": "application/json", "text": format!("{{\"item\": {{\"n\": 17}}, \"nonce\": \"{unknown}\"}}")}),
            response(json!([]), "application/json", made),
        ),
        entry(
            2.3,
            "GET",
            &format!("/orders/{order}?view=full"),
            authorization,
            none(),
            json!({"status": 404}),
        ),
    ]
}

fn archive(entries: &[Value]) -> String {
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

fn read(recordings: &[String]) -> Result<ImportedScenario, Problem> {
    read_har(recordings, HarOptions::default(), &Context { name: "shop", variables: &[] })
}

fn extraction(name: &str, from: ExtractionSource) -> Vec<Extraction> {
    vec![Extraction { name: name.to_owned(), from, default: None }]
}

#[test]
fn one_recording_is_a_session_with_pauses() {
    let imported = read(&[archive(&visit("c1", "b1", 1001, "u1"))]).expect("a scenario");
    assert_eq!(imported.base.as_deref(), Some("https://shop.example"));
    let steps = &imported.scenario.flows[0].steps;
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["GET-login", "POST-login", "POST-orders", "GET-orders"]);
    assert_eq!(steps[0].think, Think::Constant { time: Duration::from_secs(2) });
    assert_eq!(steps[1].think, Think::None);
    assert_eq!(steps[1].body, StepBody::Text("name=ann&csrf=c1".to_owned()));
    assert_eq!(steps[3].checks.status, StatusSet(vec![(404, 404)]));
    assert_eq!(steps[2].headers, [("accept".to_owned(), "application/json".to_owned())]);
    assert!(steps.iter().all(|step| step.extract.is_empty()));
    let left: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    assert!(left.iter().any(|line| line.contains("1 images, styles, scripts and fonts")), "{left:?}");
    assert_eq!(left.iter().filter(|line| line.contains("Authorization")).count(), 2, "{left:?}");
    let toml = imported.to_toml();
    assert!(!toml.contains("secret") && !toml.contains("b1"), "{toml}");
    let options = HarOptions { assets: true };
    let all =
        read_har(&[archive(&visit("c", "b", 1, "u"))], options, &Context { name: "shop", variables: &[] });
    assert_eq!(all.expect("a scenario").scenario.steps().count(), 5);
}

#[test]
fn what_differs_and_comes_from_a_response_is_extracted() {
    let recordings = [archive(&visit("c1", "b1", 1001, "u1")), archive(&visit("c2", "b2", 2002, "u2"))];
    let imported = read(&recordings).expect("a scenario");
    let steps = &imported.scenario.flows[0].steps;
    let pattern = "<input[^>]*\\sname=\"csrf\\.t\"[^>]*\\svalue=\"([^\"]*)\"".to_owned();
    assert_eq!(steps[0].extract, extraction("csrf", ExtractionSource::Regex { pattern, group: 1 }));
    assert_eq!(steps[1].body, StepBody::Text("name=ann&csrf={percent(csrf)}".to_owned()));
    assert_eq!(
        steps[1].extract,
        extraction("authorization", ExtractionSource::Json("/auth/token".to_owned()))
    );
    assert_eq!(steps[2].headers[0], ("authorization".to_owned(), "Bearer {authorization}".to_owned()));
    assert_eq!(steps[2].extract, extraction("orders_id", ExtractionSource::Json("/orders/0/id".to_owned())));
    assert_eq!(steps[3].path, "/orders/{orders_id}?view=full");
    assert_eq!(steps[2].body, StepBody::Json("{\"item\": {\"n\": 17}, \"nonce\": \"u1\"}".to_owned()));
    let left: Vec<String> = imported.left_out.iter().map(ToString::to_string).collect();
    assert!(left.iter().any(|line| line.contains("/nonce nonce, which differs")), "{left:?}");
    assert!(
        !left.iter().any(|line| line.contains("u1") || line.contains("u2")),
        "no value is printed: {left:?}"
    );
}

#[test]
fn the_same_visit_twice_has_nothing_to_extract() {
    let one = archive(&visit("c1", "b1", 1001, "u1"));
    let imported = read(&[one.clone(), one]).expect("a scenario");
    assert!(imported.scenario.steps().all(|(_, step)| step.extract.is_empty()));
}

#[test]
fn another_visit_is_kept_as_it_was() {
    let other = archive(&visit("c2", "b2", 2002, "u2")[..1]);
    let imported = read(&[archive(&visit("c1", "b1", 1001, "u1")), other]).expect("a scenario");
    let lacking =
        imported.left_out.iter().filter(|one| one.what.contains("the other recording lacks")).count();
    assert_eq!(lacking, 3);
}

#[test]
fn what_is_no_archive_is_refused() {
    let check = |texts: &[String], expected: &str| {
        let problem = read(texts).expect_err("no archive");
        assert!(problem.what.contains(expected), "{problem}");
    };
    check(&[], "one recording, or of two");
    check(&["{".to_owned()], "line 1, column 1");
    check(&["{}".to_owned()], "no HTTP archive");
    check(&[archive(&[])], "no request in this archive");
    check(&[archive(&visit("c", "b", 1, "u")[1..2])], "no request in this archive");
}
