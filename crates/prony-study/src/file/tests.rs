//! Study files as people write them, right and wrong.

use std::path::Path;

use prony_model::{Metric, StudyMetric};

use super::{Overrides, StudyError};
use crate::study::{CellLoad, Launch, Order, Restart, Study};

const EXAMPLE: &str = include_str!("../../tests/data/example.toml");

fn with(text: &str, overrides: Overrides) -> Result<Study, StudyError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/example.toml");
    Study::read(&path, text, overrides)
}

fn read(text: &str) -> Study {
    with(text, Overrides::default()).expect("the file is right")
}

/// The load without which nothing is a study, and a target for it.
const LEAST: &str = "[targets.a]\nserve = 'null'\n[loads.x]\n";

/// Each mistake of `text` as "what stands there: what is wrong (what to try)".
fn mistakes(text: &str) -> Vec<String> {
    let error = with(text, Overrides::default()).expect_err(text);
    let line = |mistake: &super::Mistake| {
        let help = mistake.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}: {}{help}", &text[mistake.span.clone()], mistake.message)
    };
    error.mistakes.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(mistakes(text), expected, "{text}");
}

#[test]
fn the_example_is_read() {
    let study = read(EXAMPLE);
    assert_eq!((study.name.as_str(), study.repeats, study.seed), ("example", 6, 1));
    assert_eq!((study.order, study.restart, study.short), (Order::Random, Restart::Repeat, false));
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "kv · wrk · workers 1",
            "kv · wrk · workers 2",
            "kv · curl · workers 1",
            "kv · curl · workers 2",
            "rudy · wrk · workers 1",
            "rudy · curl · workers 1",
            "elsewhere · wrk",
        ]
    );
    let targets: Vec<&str> = study.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(targets, ["log", "kv", "kv", "rudy", "elsewhere"]);
    let Launch::Serve(words) = &study.targets[2].launch else { panic!("it is one of ours") };
    let words: Vec<&str> = words.iter().map(|word| word.0.as_str()).collect();
    assert_eq!(words, ["kv", "--workers", "2"]);
    assert_eq!(study.targets[2].needs, [0]);
    assert_eq!(study.cells[0].words, "GET /test, closed loop, 400 connections, 30 s");
    let pairs: Vec<(usize, usize)> = study.wanted.iter().map(|wanted| (wanted.a, wanted.b)).collect();
    assert_eq!(pairs, [(4, 0)], "only with one worker do both exist");
    assert_eq!((study.wanted[0].metric, study.wanted[0].margin), (Some(Metric::Rate), 0.05));
    assert_eq!(study.demands.iter().map(|demand| demand.cell).collect::<Vec<_>>(), [0, 1, 4, 6]);
    assert_eq!(study.demands[0].at_most, Some(50.0));
    assert_eq!(study.published.iter().map(|figure| figure.metric).collect::<Vec<_>>(), [StudyMetric::Rate]);
}

#[test]
fn the_short_form_is_laid_over_the_rest() {
    let short = with(EXAMPLE, Overrides { short: true, ..Overrides::default() }).expect("the file is right");
    assert_eq!((short.repeats, short.cells.len(), short.short), (1, 5, true));
    assert_eq!(short.cells[0].words, "GET /test, closed loop, 400 connections, 1 s");
}

#[test]
fn what_is_said_elsewhere_wins() {
    let overrides = Overrides { repeats: Some(3), seed: Some(9), ..Overrides::default() };
    let study = with(EXAMPLE, overrides).expect("the file is right");
    assert_eq!((study.repeats, study.seed), (3, 9));
    let fresh = Overrides { fresh_seed: 77, ..Overrides::default() };
    assert_eq!(with(LEAST, fresh).expect("the file is right").seed, 77);
}

#[test]
fn an_axis_named_like_a_key_sets_it() {
    let study = read(&format!("{LEAST}[matrix]\nconnections = [1, '2k']\nkeepalive = [true, false]"));
    let words: Vec<&str> = study.cells.iter().map(|cell| cell.words.as_str()).collect();
    assert_eq!(
        words,
        [
            "GET /, closed loop, 1 connection, 10 s",
            "GET /, closed loop, 1 connection, no keep-alive, 10 s",
            "GET /, closed loop, 2,000 connections, 10 s",
            "GET /, closed loop, 2,000 connections, no keep-alive, 10 s",
        ]
    );
    assert_eq!(study.cells[1].slug, "connections-1-keepalive-false");
}

#[test]
fn commands_need_no_target() {
    let study = read("[loads.t]\nkind = 'exec'\ncommand = \"awk '{{print}}'\"\nruns = 5\nmin-time = '1s'");
    let CellLoad::Exec { plan } = &study.cells[0].load else { panic!("it is a command") };
    assert_eq!(plan.commands[0].name, "awk '{print}'");
    assert_eq!((plan.runs.least, plan.runs.most, plan.shell.is_none()), (5, 5, true));
    assert_eq!(study.cells[0].target, None);
}

#[test]
fn unknown_keys() {
    check(
        &format!("{LEAST}conections = 5\n[short]\nlaods.x.duration = '1s'\n[matrix]\nexcluded = 1"),
        &[
            "conections: unknown key `conections` (did you mean `connections`?)",
            "laods: unknown key `laods` (did you mean `loads`?)",
        ],
    );
    check(
        "[targets.a]\nserve = 'null'\nready = { pth = '/' }\nprepare = [{ paht = '/' }]\n[loads.x]",
        &["pth: unknown key `pth` (did you mean `path`?)", "paht: unknown key `paht` (did you mean `path`?)"],
    );
}

#[test]
fn every_wrong_value_is_told() {
    check(
        &format!(
            "repeats = 0\n{LEAST}connections = true\nduration = 10\nrate = 'fast'\n[loads.y]\nkind = 'walk'"
        ),
        &[
            "0: 0 repeats measure nothing (use 1 or more; from 6 on differences can be judged)",
            "true: `true` is not a count (write a whole number such as 5000, 5k or 2M)",
            "10: `10` is not a duration (write a number with a unit, such as 10s, 250ms, 1m30s or 2h)",
            "'fast': `fast` is not a rate (write requests per second above 0, such as 500, 2.5, 10k or 600/min)",
            "'walk': there is no such kind of load (write \"run\", \"probe\" or \"exec\")",
        ],
    );
}

#[test]
fn toml_that_is_none() {
    let text = "name = 'a\nrepeats = 2\n[loads.x";
    assert!(mistakes(text).len() >= 2, "{:?}", mistakes(text));
}
