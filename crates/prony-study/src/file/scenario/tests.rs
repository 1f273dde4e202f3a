use std::path::Path;

use prony_model::{
    BodyCheck, ExpectedValue, ExtractionSource, FeedEnd, FeedOrder, StatusSet, StepBody, Think,
};

use super::*;
use crate::file::tests::mixed_up;

const EXAMPLE: &str = include_str!("../../../tests/data/shop.toml");

/// `text` as a file beside the example, with its feeds.
fn with(text: &str) -> Result<ScenarioFile, StudyError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    ScenarioFile::read(&folder.join("shop.toml"), text)
}

/// Every mistake as `what it points at: message (help)`.
fn mistakes(text: &str) -> Vec<String> {
    let error = with(text).expect_err(text);
    let line = |mistake: &crate::Mistake| {
        let at = &text[mistake.span.clone()];
        let help = mistake.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{at}: {}{help}", mistake.message)
    };
    error.mistakes.iter().map(line).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(mistakes(text), expected, "{text}");
}

#[test]
fn retries() {
    let flow = "[[flow]]\nname = 'f'\n[[flow.step]]\npath = '/'\n";
    let read = |keys: &str| with(&format!("{flow}[retries]\n{keys}")).expect(keys).retries;
    assert_eq!(with(flow).expect("a scenario").retries, prony_model::RetryOptions::default());
    let all = read("max = 3\non = 'reset,503'\nbackoff = '5ms..1s'\nbudget = '20%'\nattempt-timeout = '2s'");
    assert_eq!((all.retries, all.on), (Some(3), prony_model::RetryOn::parse("reset,503").ok()));
    assert_eq!((all.backoff, all.budget), (prony_model::Backoff::parse("5ms..1s").ok(), Some(0.2)));
    assert_eq!(all.attempt_timeout, Some(std::time::Duration::from_secs(2)));
    assert_eq!(read("max = 0\non = 503").retries, Some(0));
    check(
        &format!("{flow}[retries]\n"),
        &[
            "retries: `retries` doesn't say how often (add max = 3)",
            "retries: `retries` doesn't say what is retried (add on = \"connect,reset,timeout,503\", or some of it)",
        ],
    );
    let wrong = mistakes(&format!("{flow}[retries]\nmax = 3\non = 'conect'"));
    assert!(wrong[0].starts_with("'conect': `conect` is no failure that can be retried"), "{wrong:?}");
    let unknown = mistakes(&format!("{flow}[retries]\nmax = 3\non = 503\nbackof = 0"));
    assert!(unknown[0].contains("backoff"), "{unknown:?}");
    check(
        &format!("retries = 3\n{flow}"),
        &["3: `retries` is not a table (write [retries] and its keys below)"],
    );
}

#[test]
fn an_example_of_everything() {
    let file = with(EXAMPLE).expect("the example is good");
    assert_eq!(file.base.as_deref(), Some("http://127.0.0.1:3000/api"));
    let scenario = file.scenario;
    assert_eq!((scenario.name.as_str(), scenario.cookies), ("shop", true));
    let feeds: Vec<_> = scenario
        .feeds
        .iter()
        .map(|feed| (feed.name.as_str(), feed.rows, feed.order, feed.at_end, feed.columns.join(" ")))
        .collect();
    assert_eq!(
        feeds,
        [
            ("users", 2, FeedOrder::Unique, FeedEnd::Stop, "name password".to_owned()),
            ("items", 3, FeedOrder::Random, FeedEnd::Repeat, "id name".to_owned()),
        ]
    );
    assert_eq!(scenario.feeds[0].data.value(1, 1), Some(&b"with, comma"[..]));
    let steps: Vec<_> =
        scenario.steps().map(|(_, step)| (step.name.as_str(), step.method.as_str())).collect();
    assert_eq!(
        steps,
        [("browse", "GET"), ("login", "POST"), ("search", "GET"), ("upload", "POST"), ("buy-4", "POST")]
    );
    let [browse, buy] = scenario.flows.as_slice() else { panic!("two flows") };
    assert_eq!((browse.weight, buy.weight), (3, 1));
    assert_eq!(buy.variables, [("order".to_owned(), "{uuid}".to_owned())]);
    let login = &buy.steps[0];
    assert!(matches!(&login.body, StepBody::Form(fields) if fields.len() == 2));
    assert_eq!(login.checks.status, StatusSet(vec![(200, 200)]));
    assert_eq!(login.checks.json, [("/ok".to_owned(), ExpectedValue::Logical(true))]);
    assert_eq!(login.extract[0].from, ExtractionSource::Json("/token".to_owned()));
    assert!(matches!(login.think, Think::Uniform { .. }));
    let search = &buy.steps[1];
    assert_eq!(
        search.headers,
        [("Accept", "text/html"), ("Authorization", "Bearer {token}")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert_eq!(search.checks.body, Some(BodyCheck::Regex("<ul>".to_owned())));
    assert_eq!(search.redirects, 3);
    assert!(matches!(&buy.steps[2].body, StepBody::Multipart(parts) if parts.len() == 2));
}

#[test]
fn an_empty_file_has_no_flow() {
    check("", &[": this scenario has no flow (add [[flow]] with a name, and [[flow.step]] below it)"]);
    check("[[flow]]\nname = 'a'", &["'a': the flow `a` has no step (add [[flow.step]] below it)"]);
    check("[[flow]]\n[[flow.step]]", &["[[flow]]: this flow has no name (add name = \"…\")"]);
}

#[test]
fn keys_are_suggested() {
    check(
        "[[flow]]\nname = 'a'\nwieght = 3\n[[flow.step]]\npaht = '/'\nextract.t = { jsn = '/x' }",
        &[
            "wieght: unknown key `wieght` (did you mean `weight`?)",
            "paht: unknown key `paht` (did you mean `path`?)",
            "{ jsn = '/x' }: `t` has to be taken from one place (write one of json = \"/token\", regex = '…', header = \"…\" and cookie = \"…\")",
            "jsn: unknown key `jsn` (did you mean `json`?)",
        ],
    );
}

const STEP: &str = "[[flow]]\nname = 'a'\n[[flow.step]]\n";

#[test]
fn names_are_known_before_they_are_used() {
    check(
        &format!(
            "{STEP}path = '/{{tokn}}'\nextract.token = {{ json = '/t' }}\n[[flow.step]]\npath = '/{{tokn}}'"
        ),
        &[
            "'/{tokn}': nothing is called {tokn} here (extract it in an earlier step, or write {{tokn}} for the braces)",
            "'/{tokn}': nothing is called {tokn} here (did you mean {token}?)",
        ],
    );
    check(
        &format!("{STEP}path = '/{{token}}'\nextract.token = {{ json = 'a.b' }}"),
        &[
            "'/{token}': nothing is called {token} here (a step can use what earlier steps of its flow extract)",
            "extract: `a.b` is not a JSON pointer (write it as /a/b)",
        ],
    );
    check(
        &format!(
            "{STEP}body = '{{radnom(1,2)}}'\nexpect-json = {{ '/a' = '{{users.nam}}' }}\n[feeds.users]\nfile = 'users.csv'"
        ),
        &[
            "'{radnom(1,2)}': no function is called `radnom` (did you mean {random(1,2)}?)",
            "{ '/a' = '{users.nam}' }: nothing is called {users.nam} here (did you mean {users.name}?)",
        ],
    );
}

#[test]
fn what_is_wrong_is_reported_at_once() {
    check(
        &format!("{STEP}paht = '/'\nbody = '{{users.nam}}'\n[feeds.users]\nfile = 'users.csv'\nordr = 1"),
        &[
            "paht: unknown key `paht` (did you mean `path`?)",
            "'{users.nam}': nothing is called {users.nam} here (did you mean {users.name}?)",
            "ordr: unknown key `ordr` (did you mean `order`?)",
        ],
    );
}

#[test]
fn requests_that_no_server_would_understand() {
    check(
        &format!(
            "{STEP}path = 'http://x/'\nmethod = 'GE T'\nheaders = {{ Content-Length = '5' }}\nbody = 'a'\njson = 'b'"
        ),
        &["'b': `body` and `json` are two bodies for one request (leave out one of them)"],
    );
    check(
        &format!(
            "{STEP}path = 'http://x/'\nmethod = 'GE T'\nheaders = {{ Content-Length = '5' }}\nredirects = 21"
        ),
        &[
            "'http://x/': a step has no server of its own (write the path alone; `base` and the command line name the server of all steps)",
            "'GE T': `GE T` is not an HTTP method (write one word such as GET, POST or DELETE)",
            "{ Content-Length = '5' }: `Content-Length` follows from the body (leave it out)",
            "21: 21 redirects are too many (20 are the most)",
        ],
    );
    check(
        &format!(
            "{STEP}extract.a = {{ regex = 'x', group = 1 }}\nextract.b = {{ regex = '(' }}\nextract.c = {{}}"
        ),
        &[
            "{ regex = 'x', group = 1 }: the expression of `a` has no group 1 (put ( and ) around the part that is meant, or write group = 0 for the whole match)",
            "{ regex = '(' }: this is not a regular expression (unclosed group)",
            "{}: `c` has to be taken from one place (write one of json = \"/token\", regex = '…', header = \"…\" and cookie = \"…\")",
        ],
    );
    check(
        &format!("{STEP}name = 'x'\nthink = {{ min = '3s', max = '1s' }}\n[[flow.step]]\nname = 'y'"),
        &[
            "{ min = '3s', max = '1s' }: this is no spread of times (write { min = \"1s\", max = \"3s\" }, or { mean = \"2s\" })",
        ],
    );
    check(
        &format!("{STEP}name = 'x'\n[[flow.step]]\nname = 'x'"),
        &["'x': two steps are called `x` (call one of them otherwise: figures go by this name)"],
    );
}

#[test]
fn feeds_are_read() {
    let feed = |keys: &str| format!("{STEP}[feeds.f]\n{keys}");
    check(
        &feed("file = 'none.csv'"),
        &[
            "'none.csv': can't read none.csv (No such file or directory (os error 2)) (paths begin at the scenario file)",
        ],
    );
    check(
        &feed("file = 'empty.csv'"),
        &["'empty.csv': empty.csv has no rows (add rows behind the line with the names of the columns)"],
    );
    check(
        &feed("file = 'uneven.csv'"),
        &["'uneven.csv': uneven.csv, line 4: 3 values for 2 columns (put values with a separator in quotes)"],
    );
    check(
        &feed("file = 'users.csv'\norder = 'unique'\nat-end = 'repeat'"),
        &["'repeat': a feed that is unique can't begin again (write at-end = \"stop\")"],
    );
    check(
        &feed("file = 'users.csv'\ncolumns = ['a']"),
        &["'users.csv': users.csv, line 1: 2 values for 1 columns (put values with a separator in quotes)"],
    );
    check(
        &feed("file = 'users.csv'\nseparator = ''"),
        &["'': a separator is one letter (write \";\" or \"\\t\")"],
    );
}

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/scenario-v1.json");
    if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
        std::fs::write(path, scenario_file_json_schema()).expect("docs/schema can be written");
    }
    let published = std::fs::read_to_string(path).expect("docs/schema/scenario-v1.json can be read");
    assert!(
        published == scenario_file_json_schema(),
        "docs/schema/scenario-v1.json is out of date: PRONY_WRITE_SCHEMA=1 cargo test -p prony-study"
    );
    let schema = serde_json::from_str(&published).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let example: serde_json::Value = toml::from_str(EXAMPLE).expect("the example is TOML");
    let errors: Vec<String> = validator.iter_errors(&example).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

proptest::proptest! {
    /// What is cut out of the example, and put in where it does not belong, is refused or read, and its mistakes stand
    /// in the text.
    #[test]
    fn no_text_is_too_odd(from in 0_usize..2000, length in 0_usize..60, to in 0_usize..2000, drop in 0_usize..2) {
        let text = mixed_up(EXAMPLE, from..from + length, to, drop);
        if let Err(error) = with(&text) {
            for mistake in error.mistakes {
                proptest::prop_assert!(text.get(mistake.span.clone()).is_some(), "{}: {:?}", mistake.message, mistake.span);
            }
        }
    }
}
