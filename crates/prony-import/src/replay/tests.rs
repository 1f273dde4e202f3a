//! Whole files: what is replayed of them, when, and what is left out.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use prony_model::{Moments, Replay, StepBody};
use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A file with `content`, which is gone when this is dropped.
fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(content).expect("it can be written");
    file
}

fn read_log(content: &[u8], format: Option<&str>, selection: &Selection) -> Result<Recording, ReplayError> {
    let file = file(content);
    let format = format.map(|text| match FormatChoice::parse(text).expect("a format") {
        FormatChoice::Log(format) => format,
        other => panic!("{other:?}"),
    });
    log::read(&mut open(file.path()).expect("it is there"), format.as_ref(), selection)
}

fn planned(recording: Recording, speed: f64, seed: u64) -> Planned {
    let options =
        ReplayOptions { file: "a.log".to_owned(), sha256: String::new(), speed, seed, headers: Vec::new() };
    recording.plan(&options).expect("a plan")
}

fn everything() -> Selection {
    Selection { methods: Vec::new(), ..Selection::default() }
}

/// The targets in the order of their moments.
fn targets(planned: &Planned) -> Vec<String> {
    let data = &planned.scenario.feeds[0].data;
    let rows = &planned.replay.rows;
    let target = |row: &u32| data.value(*row as usize, 0).expect("a target");
    rows.requests.iter().map(|row| String::from_utf8_lossy(target(row)).into_owned()).collect()
}

/// A line of the common log format.
fn line(second: u32, request: &str, status: &str) -> String {
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("::1 - - [10/Oct/2000:{hour:02}:{minute:02}:{:02} +0000] \"{request}\" {status} 5\n", second % 60)
}

#[test]
fn what_is_left_out_is_counted_by_reason_and_line() {
    let content = [
        line(0, "GET /a?token=secret HTTP/1.1", "200"),
        "garbage\n".to_owned(),
        line(3, "POST /a HTTP/1.1", "201"),
        line(2, "HEAD /b HTTP/1.1", "404"),
        "\n# comment\r\n".to_owned(),
        line(3, "-", "400"),
        line(3, "OPTIONS * HTTP/1.1", "200"),
        "[10/Oct/2000:25:00:00 +0000]\n".to_owned(),
        line(4, "GET /a?token=secret HTTP/1.1", "200"),
    ]
    .concat();
    let recording = read_log(content.as_bytes(), None, &Selection::default()).expect("a log");
    assert_eq!((recording.format.as_str(), recording.lines, recording.len()), ("common", 10, 3));
    let reasons = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        pairs.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
    };
    let expected = reasons(&[
        ("comment", 1),
        ("empty line", 1),
        ("method POST", 1),
        ("no path (CONNECT, *)", 1),
        ("no request in the line", 1),
        ("not in the format", 2),
    ]);
    assert_eq!(recording.left_out, expected);
    assert_eq!(recording.unreadable_lines, [2, 9]);
    assert_eq!((recording.out_of_order, recording.jump_back), (1, 1_000_000_000));
    let planned = planned(recording, 1.0, 1);
    assert_eq!(targets(&planned), ["/a?token=secret", "/b", "/a?token=secret"]);
    assert_eq!(planned.replay.routes, ["GET /a", "HEAD /b"]);
    assert_eq!(planned.replay.rows.statuses, [200, 404, 200]);
    let stored =
        serde_json::to_string(&(&planned.replay, &planned.scenario, &planned.recorded)).expect("JSON");
    assert!(!stored.contains("secret"), "no query is stored: {stored}");
}

#[test]
fn a_window_is_a_part_of_the_log() {
    let content: String = (0..10).map(|second| line(second, "GET / HTTP/1.1", "200")).collect();
    let at = |second: i64| Some((971_136_000 + second) * SECOND.cast_signed());
    let check = |selection: Selection, expected: usize| {
        let recording = read_log(content.as_bytes(), None, &selection).expect("a log");
        assert_eq!(recording.len(), expected, "{selection:?}");
        let left: u64 = recording.left_out.values().sum();
        assert_eq!(left + expected as u64, recording.lines);
    };
    check(Selection { since: at(3), ..Selection::default() }, 7);
    check(Selection { until: at(3), ..Selection::default() }, 3);
    let length = Some(Duration::from_secs(2));
    check(Selection { since: at(3), length, ..Selection::default() }, 2);
    let hosts = vec!["a.example".to_owned()];
    let refused = read_log(content.as_bytes(), None, &Selection { hosts, ..Selection::default() });
    let problem = refused.expect_err("no host in a log").problem();
    assert!(problem.what.contains("is a log, whose lines name no host"), "{}", problem.what);
    let nothing = read_log(content.as_bytes(), None, &Selection { since: at(99), ..Selection::default() });
    let problem = nothing.expect_err("nothing").problem();
    assert!(problem.what.contains("none of the 10 lines"), "{problem}");
    assert!(problem.advice.expect("advice").contains("--since"));
}

#[test]
fn whole_seconds_are_spread_in_the_order_of_the_log() {
    let content: String = (0..200).map(|n| line(n / 100, &format!("GET /{n} HTTP/1.1"), "200")).collect();
    let plan =
        |seed| planned(read_log(content.as_bytes(), None, &Selection::default()).expect("a log"), 1.0, seed);
    let one = plan(1);
    assert_eq!(one.replay.made_up_moments, 200);
    let in_order: Vec<String> = (0..200).map(|n| format!("/{n}")).collect();
    assert_eq!(targets(&one), in_order);
    let moments = one.recorded.moments.as_slice();
    assert_eq!(moments[0], 0, "it begins with the first request");
    assert!(moments[99] < SECOND && moments[199] < 2 * SECOND && moments.is_sorted());
    // Uniform: a half of each second has 50 of 100 requests on average, 25 and 75 are five standard deviations away.
    let first_half = moments.iter().filter(|moment| **moment < SECOND / 2).count();
    assert!((25..=75).contains(&first_half), "{first_half}");
    assert_eq!(plan(1), one, "a seed is a schedule");
    assert_ne!(plan(2).recorded.moments, one.recorded.moments);
}

#[test]
fn a_log_with_durations_is_replayed_by_the_beginnings() {
    let format = "$msec $request_time \"$request\" $status";
    let content = "100.500 0.500 \"GET /first HTTP/1.1\" 200\n100.400 0.100 \"GET /third HTTP/1.1\" 200\n\
                   101.000 0.900 \"GET /second HTTP/1.1\" 200\n";
    let plan = |speed| {
        planned(read_log(content.as_bytes(), Some(format), &Selection::default()).expect("a log"), speed, 1)
    };
    assert_eq!(targets(&plan(1.0)), ["/first", "/second", "/third"]);
    assert_eq!(plan(1.0).recorded.moments, Moments::new(vec![0, SECOND / 10, 3 * SECOND / 10]));
    assert_eq!(plan(2.0).recorded.moments, Moments::new(vec![0, SECOND / 20, 3 * SECOND / 20]));
    assert_eq!(plan(1.0).replay.made_up_moments, 0);
    let options = ReplayOptions {
        file: String::new(),
        sha256: String::new(),
        speed: 0.0,
        seed: 1,
        headers: Vec::new(),
    };
    let recording = read_log(content.as_bytes(), Some(format), &Selection::default()).expect("a log");
    assert!(recording.plan(&options).is_err());
}

#[test]
fn compressed_logs_and_logs_of_one_line() {
    let content = line(0, "GET / HTTP/1.1", "200");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(content.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    for content in [content.as_bytes(), content.trim_end().as_bytes(), &gzip] {
        let planned = planned(read_log(content, None, &Selection::default()).expect("a log"), 1.0, 1);
        assert_eq!((planned.recorded.count, planned.recorded.last_ns()), (1, 0));
    }
    let cut = read_log(&gzip[..gzip.len() - 10], None, &Selection::default());
    assert!(matches!(cut, Err(ReplayError::Unreadable { .. })), "{cut:?}");
}

#[test]
fn what_is_no_log_is_refused_without_its_secrets() {
    let check = |content: &[u8], format: Option<&str>, expected: &str| {
        let problem = read_log(content, format, &Selection::default()).expect_err("no log").problem();
        assert!(problem.what.contains(expected), "{problem}");
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    };
    check(b"", None, "has no lines");
    check(b"\n\n", None, "has no lines");
    check(b"GET /?password=hunter2 now\n", None, "line 1 of");
    check(b"GET /?password=hunter2 now\n", Some("combined"), "no line of");
    check(line(0, "POST / HTTP/1.1", "200").as_bytes(), None, "method POST: 1");
    check(&vec![b'x'; 1 << 20], None, "line 1 of");
}

#[test]
fn rare_routes_share_one() {
    let content: String = (0..500)
        .map(|n| {
            let name: String =
                format!("{n:03}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
            line(n, &format!("GET /{name} HTTP/1.1"), "200")
        })
        .collect();
    let planned = planned(read_log(content.as_bytes(), None, &Selection::default()).expect("a log"), 1.0, 1);
    assert_eq!(planned.replay.routes.len(), Replay::ROUTES_MAX + 1);
    assert_eq!(planned.scenario.flows.len(), Replay::ROUTES_MAX + 1);
    let others = planned.scenario.flows.last().map(|flow| flow.weight as usize);
    assert_eq!(others, Some(500 - Replay::ROUTES_MAX));
    assert!(planned.scenario.problems().is_empty(), "{:?}", planned.scenario.problems());
}

/// An archive with these entries.
fn archive(entries: &[&str]) -> Vec<u8> {
    format!("{{\"log\": {{\"version\": \"1.2\", \"entries\": [{}]}}}}", entries.join(",")).into_bytes()
}

fn entry(at: &str, method: &str, url: &str, more: &str) -> String {
    format!(
        "{{\"startedDateTime\": \"2026-11-23T10:00:{at}Z\", \"time\": 5, \"request\": {{\"method\": \"{method}\", \
         \"url\": \"{url}\", \"headers\": [{{\"name\": \"accept\", \"value\": \"text/html\"}}, {{\"name\": \"Cookie\", \
         \"value\": \"hunter2\"}}]{more}}}, \"response\": {{\"status\": 200, \"content\": {{\"text\": \"ignored\"}}}}}}"
    )
}

#[test]
fn archives_have_bodies_and_hosts() {
    let post = |data: &str| format!(", \"bodySize\": 5, \"postData\": {data}");
    let entries = [
        entry("00.000", "GET", "https://shop.example/", ""),
        entry(
            "02.250",
            "POST",
            "https://shop.example/b",
            &post(r#"{"mimeType": "image/png", "encoding": "base64", "text": "AP8KDQ=="}"#),
        ),
        entry(
            "01.000",
            "POST",
            "https://shop.example/f",
            &post(
                r#"{"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "1%262"}]}"#,
            ),
        ),
        entry("01.500", "PUT", "https://shop.example/lost", ", \"bodySize\": 5"),
        entry("01.000", "GET", "wss://shop.example/live", ""),
        entry("01.000", "GET", "data:image/png;base64,AAAA", ""),
        entry("01.000", "GET", "blob:https://shop.example/1", ""),
        entry("01.000", "GET", "https://cdn.example/x.js", ""),
        entry("never", "GET", "https://shop.example/", ""),
    ];
    let content = archive(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let file = file(&content);
    let mut opened = open(file.path()).expect("it is there");
    assert!(har::is_archive(&mut opened).expect("it can be read"));
    let recording = har::read(&mut opened, &everything()).expect("an archive");
    let left: Vec<(&str, u64)> =
        recording.left_out.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(
        left,
        [
            ("another host", 1),
            ("data: URL", 1),
            ("no http URL", 1),
            ("not in the format", 1),
            ("the body is not in the archive", 1),
            ("websocket", 1),
        ]
    );
    let planned = planned(recording, 1.0, 1);
    assert_eq!(targets(&planned), ["/", "/f", "/b"]);
    assert_eq!(planned.recorded.moments, Moments::new(vec![0, SECOND, 9 * SECOND / 4]));
    let data = &planned.scenario.feeds[0].data;
    let body = |at: usize| data.value(planned.replay.rows.requests[at] as usize, har::BODY).expect("a value");
    assert_eq!((body(0), body(1), body(2)), (&b""[..], &b"a%20b=1%262"[..], &b"\0\xff\n\r"[..]));
    assert!(planned.scenario.problems().is_empty(), "{:?}", planned.scenario.problems());
    let bodies = planned.scenario.steps().filter(|(_, step)| step.body != StepBody::None).count();
    assert_eq!(bodies, 2);
    let stored = serde_json::to_string(&(&planned.replay, &planned.scenario)).expect("JSON");
    assert!(!stored.contains("hunter2") && !format!("{planned:?}").contains("hunter2"));
}

#[test]
fn what_is_no_archive_is_refused_with_its_place() {
    let check = |content: &[u8], expected: &str| {
        let file = file(content);
        let read = har::read(&mut open(file.path()).expect("it is there"), &everything());
        let problem = read.expect_err("no archive").problem();
        assert!(problem.what.contains(expected), "{problem}");
    };
    let whole = archive(&[&entry("00", "GET", "http://a/", "")]);
    check(&whole[..whole.len() / 2], "ends too early (line 1, column");
    check(b"{\"log\": 1}", "is not an HTTP archive");
    check(&archive(&[]), "none of the 0 requests");
    check(&archive(&[&entry("00", "GET", "data:,x", "")]), "data: URL: 1");
}

#[test]
fn moments_of_a_file_are_numbers_of_seconds() {
    let read = |content: &[u8]| {
        let file = file(content);
        arrivals::read(&mut open(file.path()).expect("it is there"))
    };
    let found = read(b"# start\n0.5\n\n 0.25 \n1e0\r\n").expect("moments");
    assert_eq!(found.moments, Moments::new(vec![SECOND / 4, SECOND / 2, SECOND]));
    for (content, expected) in [
        (&b"0\nx\n"[..], "line 2"),
        (b"-1\n", "line 1"),
        (b"NaN\n", "line 1"),
        (b"inf\n", "line 1"),
        (b"", "no moments"),
        (b"1e30\n", "line 1"),
        (&[b'1'; 1000], "line 1"),
    ] {
        let problem = read(content).expect_err("no moments").problem();
        assert!(problem.what.contains(expected), "{problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_line_is_lost(
        lines in prop::collection::vec(
            prop_oneof![
                "[ -~]{0,40}",
                (0_u32..5000, "(GET|POST|HEAD) /[a-z?=]{0,6}").prop_map(|(second, request)| {
                    line(second, &format!("{request} HTTP/1.1"), "200").trim_end().to_owned()
                }),
            ],
            0..60,
        ),
        speed in 0.1_f64..10.0,
    ) {
        let content = lines.join("\n");
        let Ok(recording) = read_log(content.as_bytes(), Some("common"), &Selection::default()) else { return Ok(()) };
        let left: u64 = recording.left_out.values().sum();
        prop_assert_eq!(recording.len() as u64 + left, recording.lines);
        let count = recording.len();
        let planned = planned(recording, speed, 7);
        let moments = planned.recorded.moments.as_slice();
        prop_assert!(moments.len() == count && moments.is_sorted() && moments[0] == 0);
        prop_assert_eq!(planned.replay.rows.requests.len(), count);
        let weights: u64 = planned.scenario.flows.iter().map(|flow| u64::from(flow.weight)).sum();
        prop_assert_eq!(weights, count as u64, "each request has a route");
        prop_assert!((0..count).all(|row| planned.replay.rows.at(row).is_some()));
    }
}
