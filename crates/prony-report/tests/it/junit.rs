//! JUnit XML: what CI servers read, by the rules of their schema.

use std::collections::BTreeMap;

use prony_model::{
    FindingCode, Interval, RunResult, Severity, StudyFailure, StudyResult, Threshold, ThresholdOutcome,
    Verdict,
};
use prony_report::{junit, markdown};
use roxmltree::{Document, Node};

use crate::fixtures::{closed, finding, tailed};
use crate::study_fixture::{journal, threshold};

/// The rules of Jenkins' schema for JUnit reports: the elements in each element, the attributes that each must and may
/// have.
type Rules = [(&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]); 9];
const RULES: Rules = [
    (
        "testsuites",
        &["testsuite"],
        &[],
        &["name", "tests", "failures", "errors", "skipped", "disabled", "time"],
    ),
    (
        "testsuite",
        &["properties", "testcase", "system-out", "system-err"],
        &["name", "tests"],
        &["failures", "errors", "skipped", "disabled", "time", "timestamp", "hostname", "id", "package"],
    ),
    ("properties", &["property"], &[], &[]),
    ("property", &[], &["name", "value"], &[]),
    (
        "testcase",
        &["skipped", "error", "failure", "system-out", "system-err"],
        &["name", "classname"],
        &["time", "assertions", "status", "file", "line"],
    ),
    ("skipped", &[], &[], &["message"]),
    ("error", &[], &[], &["message", "type"]),
    ("failure", &[], &[], &["message", "type"]),
    ("system-out", &[], &[], &[]),
];

/// Checks `text` by the rules; the cases by name, with the element that tells what became of each.
fn checked(text: &str) -> BTreeMap<String, String> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    for node in root.descendants().filter(Node::is_element) {
        check_element(node);
    }
    for node in root.descendants().filter(|node| matches!(node.tag_name().name(), "testsuites" | "testsuite"))
    {
        check_counts(node);
    }
    let cases = root.descendants().filter(|node| node.has_tag_name("testcase"));
    let outcome = |case: Node<'_, '_>| {
        let child = case.first_element_child().map(|child| child.tag_name().name().to_owned());
        (case.attribute("name").expect("it must have one").to_owned(), child.unwrap_or_default())
    };
    cases.map(outcome).collect()
}

fn check_element(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, children, must, may) =
        RULES.iter().find(|(rule, ..)| *rule == name).unwrap_or_else(|| panic!("no element {name}"));
    let mut last = 0;
    for child in node.children().filter(Node::is_element) {
        let place = children.iter().position(|known| *known == child.tag_name().name());
        let place = place.unwrap_or_else(|| panic!("{} in {name}", child.tag_name().name()));
        assert!(place >= last, "the order of the elements of {name}");
        last = place;
    }
    for attribute in node.attributes() {
        let known = attribute.name();
        assert!(must.contains(&known) || may.contains(&known), "{known} of {name}");
    }
    for required in *must {
        assert!(node.attribute(*required).is_some(), "{name} without {required}");
    }
    if let Some(stamp) = node.attribute("timestamp") {
        let shape: String = stamp.chars().map(|at| if at.is_ascii_digit() { '0' } else { at }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00");
    }
    if let Some(time) = node.attribute("time") {
        assert!(time.parse::<f64>().is_ok_and(|time| time >= 0.0), "{time}");
    }
}

/// What is counted is there.
fn check_counts(node: Node<'_, '_>) {
    let count = |element: &str| {
        let cases = node.descendants().filter(|node| node.has_tag_name("testcase"));
        cases
            .filter(|case| element.is_empty() || case.children().any(|child| child.has_tag_name(element)))
            .count()
    };
    for (attribute, element) in
        [("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
    {
        assert_eq!(node.attribute(attribute), Some(count(element).to_string().as_str()), "{attribute}");
    }
}

fn run(thresholds: &[&str]) -> RunResult {
    let mut result = closed(&tailed(2_000, 2.0));
    let evaluate = |text: &&str| text.parse::<Threshold>().expect(text).evaluate(&result);
    result.thresholds = thresholds.iter().map(evaluate).collect();
    result
}

#[test]
fn a_case_for_each_threshold_of_a_run() {
    let result = run(&["response.p50 < 1s", "response.p50 > 1s", "response.p99.99 < 1s", "checks == 100%"]);
    let cases = checked(&junit::runs(&[("", &result)]));
    let expected = [
        ("GET http://127.0.0.1:3000/ is measured", "system-out"),
        ("response.p50 < 1s", "system-out"),
        ("response.p50 > 1s", "failure"),
        ("response.p99.99 < 1s", "skipped"),
        ("checks == 100%", "system-out"),
    ];
    assert_eq!(cases, expected.map(|(name, found)| (name.to_owned(), found.to_owned())).into());
    let text = junit::runs(&[("", &result)]);
    assert!(text.contains("fewer than 10 requests lie above it"), "{text}");
}

#[test]
fn an_invalid_run_is_an_error_and_nothing_of_it_is_a_success() {
    let mut result = closed(&tailed(2_000, 2.0));
    result.verdict = Verdict::Invalid;
    result.findings = vec![finding(FindingCode::SendLag, Severity::Invalid, "late <&\">\u{1b}[2J", "a\nb")];
    let threshold: Threshold = "p50 < 1s".parse().expect("a threshold");
    result.thresholds = vec![threshold.evaluate(&result)];
    let text = junit::runs(&[("one.json", &result), ("two.json", &run(&[]))]);
    let cases = checked(&text);
    assert_eq!(cases["response.p50 < 1s"], "skipped");
    assert_eq!(
        cases.values().filter(|found| *found == "error").count(),
        0,
        "two runs of one name: {cases:?}"
    );
    assert_eq!(text.matches("<error ").count(), 1);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_case_for_each_cell_and_threshold_of_a_study() {
    let mut result: StudyResult = journal();
    let first = result.cells[0].name.clone();
    result.failures = vec![StudyFailure {
        cell: 0,
        repeat: 2,
        why: "it ended <early>".to_owned(),
        log_tail: "line one\nline \u{0} two".to_owned(),
    }];
    for run in &mut result.cells[1].runs {
        run.verdict = Verdict::Invalid;
    }
    let second = result.cells[1].name.clone();
    let mut close = threshold(2, "rate > 5k", Some(5_100.0), ThresholdOutcome::Met);
    close.evaluated.interval = Some(Interval { low: 4_900.0, high: 5_300.0, indicative: false });
    close.evaluated.is_close = true;
    result.thresholds.push(close);
    let text = junit::study(&result);
    let cases = checked(&text);
    assert_eq!(cases.len(), result.cells.len() + result.thresholds.len());
    assert_eq!(cases[&format!("{first} is measured")], "error");
    assert_eq!(cases[&format!("{second} is measured")], "error");
    let of = |found: &str| cases.values().filter(|outcome| *outcome == found).count();
    assert_eq!((of("failure"), of("skipped")), (1, 1));
    assert!(text.contains("close: the bound is within the interval"), "{text}");
}

#[test]
fn markdown_begins_with_the_table_of_thresholds() {
    let text = markdown::run(&run(&["response.p50 < 1s", "response.p50 > 1s", "response.p99.99 < 1s"]));
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).take(4).collect();
    assert_eq!(table[0], "| | required | measured | 95 % interval | n |  |");
    assert!(table[1].starts_with("| met | `response.p50 < 1s` | "), "{table:?}");
    assert!(table[2].starts_with("| **MISSED** | `response.p50 > 1s` | "), "{table:?}");
    assert!(
        table[3].starts_with("| **UNDECIDED** | `response.p99.99 < 1s` | – | – | 2,000 | fewer than 10"),
        "{table:?}"
    );
}

/// A stored result can be written by anybody: no text of it ends a cell, a code span or an element.
#[test]
fn hostile_texts_stay_where_they_are() {
    let mut result = run(&["response.p50 < 1s"]);
    result.thresholds[0].text = "` | <script>\n# x \u{202e}".to_owned();
    result.thresholds[0].reason = Some("]]> | <b>\n* y".to_owned());
    let drawn = markdown::run(&result);
    let row = drawn.lines().find(|line| line.contains("script")).expect("a row");
    assert_eq!((row.matches('|').count(), row.matches('`').count()), (8, 2), "{row}");
    assert!(!drawn.lines().any(|line| line.starts_with("# x") || line.starts_with("* y")), "{drawn}");
    checked(&junit::runs(&[("a<b>.json", &result)]));
}
