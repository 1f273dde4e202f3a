//! What YAML becomes, and what is refused.

use proptest::prelude::*;

use super::parse;
use crate::json::Json;

fn written(text: &str) -> String {
    parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}")).written()
}

fn refused(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    let check = |text: &str, expected: &str| assert_eq!(written(text), expected, "{text}");
    check("", "null");
    check("[~, null, Null, NULL, ]", "[null, null, null, null]");
    check("[true, True, FALSE, yes, no, on]", r#"[true, true, false, "yes", "no", "on"]"#);
    check("[1, -12, +7, 0o17, 0x1F, 007]", "[1, -12, 7, 15, 31, 7]");
    check("[1.5, -0.5, .5, 1., 6e2, 1e400]", r#"[1.5, -0.5, 0.5, 1, 6e2, "1e400"]"#);
    check(
        "[.inf, .nan, 1_000, 1-2, 0x+1, 2026-01-31, 12:30]",
        r#"[".inf", ".nan", "1_000", "1-2", "0x+1", "2026-01-31", "12:30"]"#,
    );
    check("['1', \"true\", !!str 5]", r#"["1", "true", "5"]"#);
    check("a: |\n  one\n  two\nb: >-\n  one\n  two\n", r#"{"a": "one\ntwo\n", "b": "one two"}"#);
    check("200: ok\n404: 'no'\ntrue: 1\n", r#"{"200": "ok", "404": "no", "true": 1}"#);
    check("\u{feff}---\na: {}\n...\n", r#"{"a": {}}"#);
}

#[test]
fn values_know_their_lines() {
    let node = parse("# a comment\na:\n  - 1\n  - b: x\n\nc: {d: 2}\n").expect("YAML");
    assert_eq!(node.line, 2);
    let items = node.field("a").expect("a list").items();
    assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(node.field("c").and_then(|c| c.field("d")).map(|d| d.line), Some(6));
}

#[test]
fn aliases_and_merges_are_filled_in() {
    assert_eq!(written("a: &x [1]\nb: *x\n"), r#"{"a": [1], "b": [1]}"#);
    assert_eq!(
        written("base: &b {p: 1, q: 2}\nmore: &m {q: 3, r: 4}\none: {<<: *b, q: 5}\ntwo: {<<: [*b, *m]}\n"),
        r#"{"base": {"p": 1, "q": 2}, "more": {"q": 3, "r": 4}, "one": {"q": 5, "p": 1}, "two": {"p": 1, "q": 2, "r": 4}}"#
    );
    assert_eq!(written("&k a: 1\nb: {*k : 2}\n"), r#"{"a": 1, "b": {"a": 2}}"#);
}

#[test]
fn aliases_of_aliases_are_bounded() {
    // Ten of the line before in each line: 10^30 values.
    let mut text = "l0: &l0 x\n".to_owned();
    for level in 1..30 {
        let before = vec![format!("*l{}", level - 1); 10].join(", ");
        text.extend([format!("l{level}: &l{level} [{before}]\n")]);
    }
    assert!(
        refused(&text).contains("the aliases up to here stand for more than 16 MiB"),
        "{}",
        refused(&text)
    );
    // The same with a long text, and with merges.
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
    assert!(refused(&long).starts_with("line 2: the aliases"));
    let mut merges = "l0: &l0 {a0: 1}\n".to_owned();
    for level in 1..30 {
        let inner = vec![format!("<<: *l{}", level - 1); 2].join(", ");
        merges.extend([format!("l{level}: &l{level} {{a{level}: {{{inner}}}, b{level}: {{{inner}}}}}\n")]);
    }
    assert!(refused(&merges).contains("the aliases up to here"));
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    for (text, begin) in [
        ("a: 1\n b: 2\n", "line 2: this is not YAML: "),
        ("a: [1,\n", "line 2: this is not YAML: "),
        ("a: \"x\n", "line 1: this is not YAML: "),
        ("a: *b\n", "line 1: this is not YAML: "),
        ("a: &b [*b]\n", "line 1: this alias stands for what it is part of"),
        ("a: 1\n---\nb: 2\n", "line 2: a second document begins here"),
        ("? [1]\n: 2\n", "line 1: a list or a mapping is a key here"),
    ] {
        assert!(refused(text).starts_with(begin), "{text}: {}", refused(text));
    }
    for deep in ["[", "{a: ", "- ", "? "] {
        assert!(parse(&deep.repeat(100_000)).is_err(), "{deep}");
    }
    let indented: Vec<String> = (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let indented = indented.concat();
    assert!(refused(&indented).contains("too deep"), "{}", refused(&indented));
}

proptest! {
    #[test]
    fn json_is_read_as_json_is(text in r#"[\[\]{},:" a1.\-null]{0,40}"#) {
        if let Ok(json) = crate::json::parse(&text) {
            let yaml = parse(&text);
            // A colon without a space behind it is something else.
            if let Ok(yaml) = yaml && !text.contains(':') {
                prop_assert_eq!(yaml.written(), json.written());
            }
        }
    }

    #[test]
    fn anything_is_read_or_refused(text in r#"[\[\]{},:"'&*!|>?%@#~<a1.\-\n ]{0,60}"#) {
        if let Ok(node) = parse(&text) {
            prop_assert!(matches!(node.value, Json::Null) || !node.written().is_empty());
        }
    }
}
