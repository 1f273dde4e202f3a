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
    let pairs: Vec<(usize, usize)> = study.comparisons.iter().map(|spec| (spec.a, spec.b)).collect();
    assert_eq!(pairs, [(4, 0)], "only with one worker do both exist");
    assert_eq!((study.comparisons[0].metric, study.comparisons[0].margin), (Some(Metric::Rate), 0.05));
    assert_eq!(study.thresholds.iter().map(|threshold| threshold.cell).collect::<Vec<_>>(), [0, 1, 4, 6]);
    assert_eq!(study.thresholds[0].threshold.to_string(), "response.p99 <= 50ms");
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
            "1: the axis `excluded` is no list of values (write excluded = [1, 2])",
        ],
    );
    check(
        "[targets.a]\nserve = 'null'\nready = { pth = '/' }\nprepare = [{ paht = '/' }]\n[loads.x]",
        &["pth: unknown key `pth` (did you mean `path`?)", "paht: unknown key `paht` (did you mean `path`?)"],
    );
}

#[test]
fn every_wrong_value_is_reported() {
    check(
        &format!(
            "repeats = 0\n{LEAST}connections = true\nduration = 10\nrate = 'fast'\n[loads.y]\nkind = 'walk'"
        ),
        &[
            "0: 0 repeats measure nothing (use 1 or more; differences need 6 or more)",
            "true: `true` is not a count (write a whole number such as 5000, 5k or 2M)",
            "10: `10` is not a duration (write a number with a unit, such as 10s, 250ms, 1m30s or 2h)",
            "'fast': `fast` is not a rate (write requests per second above 0, such as 500, 2.5, 10k or 600/min)",
            "'walk': there is no such kind of load (write \"run\", \"probe\", \"exec\" or \"capacity\")",
        ],
    );
}

#[test]
fn toml_that_is_none() {
    let text = "name = 'a\nrepeats = 2\n[loads.x";
    assert!(mistakes(text).len() >= 2, "{:?}", mistakes(text));
}

#[test]
fn unknown_keys_hide_nothing() {
    check(
        &format!("{LEAST}path = 'x'\nconections = 5"),
        &[
            "'x': `x` is not a path (write it as /test?a=b; the target says where)",
            "conections: unknown key `conections` (did you mean `connections`?)",
        ],
    );
}

#[test]
fn names_that_mean_nothing() {
    check(
        "[targets.a]\nserve = 'kv --workers {wrokers}'\n[loads.x]\n[matrix]\nworkers = [1]\nload = ['y']",
        &["'y': there is no load `y` (there is `x`)"],
    );
    check(
        "[targets.a]\nserve = 'kv --workers {wrokers}'\n[loads.x]\n[matrix]\nworkers = [1]",
        &[
            "'kv --workers {wrokers}': nothing is called {wrokers} (did you mean `workers`?)",
            "workers: nothing uses the axis `workers` (write {workers} in a target or a load, or name the axis like a key of the loads)",
        ],
    );
    check(
        "[targets.a]\nserve = 'null'\n[loads.x]\nkind = 'exec'\ncommand = 'psql {db.url}'\n[services.db]\nserve = 'truth'",
        &["'psql {db.url}': `a` does not need the service of {db.url} (add needs = [\"db\"] to [targets.a])"],
    );
    check(
        "[services.a]\nserve = 'x {b.url}'\n[services.b]\nserve = 'x {a.url}'\n[loads.x]\nkind='exec'\ncommand='true'",
        &["a: `a` needs itself (services can't go round)"],
    );
}

#[test]
fn points_of_the_matrix() {
    check(
        &format!("{LEAST}[matrix]\nconnections = [1, 1]\nport = [2]\nrequests = 5"),
        &[
            "1: `1` stands twice on the axis `connections` (leave out one)",
            "port: `port` can't be the name of an axis (an axis is a word of letters, digits, - and _ that begins with a letter; port and url are taken)",
            "5: the axis `requests` is no list of values (write requests = [1, 2])",
        ],
    );
    check(
        &format!(
            "{LEAST}[matrix]\nconnections = [1, 2]\nexclude = [{{ connections = 3 }}, {{ connections = 2 }}, {{ connections = 2 }}]\ninclude = [{{ target = 'a', load = 'x', connections = 1 }}]"
        ),
        &[
            "3: `3` is not on the axis `connections` (there is `1`, `2`)",
            "{ connections = 2 }: this excludes nothing (an entry before it excludes the same: leave out this one)",
            "{ target = 'a', load = 'x', connections = 1 }: this point is in the matrix already (leave it out)",
        ],
    );
    let many: Vec<String> = (0..101).map(|value| value.to_string()).collect();
    let many = many.join(",");
    let text = format!("{LEAST}[matrix]\nconnections = [{many}]\nthreads = [{many}]");
    check(
        &text,
        &[
            "matrix: the matrix has 1 × 1 × 101 × 101 points, and 10000 are the most (use shorter lists, or several studies)",
        ],
    );
}

#[test]
fn selectors() {
    check(
        &format!(
            "{LEAST}[[threshold]]\nmetric = 'p99'\nwhere = {{ target = 'b' }}\nat-most = '5ms'\n[[published]]\nmetric = 'wall'\nvalue = 5\n[[compare]]\na = {{ target = 'a' }}"
        ),
        &[
            "{ target = 'b' }: `b` is not on the axis `target` (there is `a`)",
            "[[published]]: none of these cells has a load of kind exec (name other cells, or another metric)",
            "[[compare]]: this comparison has no b (add b = { … })",
        ],
    );
    check(
        &format!(
            "{LEAST}[[threshold]]\nmetric = 'p98'\nat-most = 1\n[[threshold]]\nmetric = 'rate'\nat-least = '5 parsecs'"
        ),
        &[
            "'p98': `p98` is not a metric (did you mean `p90`?)",
            "'5 parsecs': `5 parsecs` is not a rate (write 5000 or \"5k\")",
        ],
    );
    check(
        &format!(
            "thresholds = ['respnse.p99 < 1ms', 'rate > 5ms', 'wall < 1s', 'rate > 1']\n{LEAST}[[threshold]]\nrequire = \"checks > 99\"\n[[threshold]]\nrequire = 'rate > 1'\nat-most = 5"
        ),
        &[
            "['respnse.p99 < 1ms', 'rate > 5ms', 'wall < 1s', 'rate > 1']: none of these cells has a load of kind exec (name other cells, or another metric)",
            "respnse.p99: `respnse.p99` is not a figure (did you mean `response.p99`?)",
            "5ms: `5ms` is not a rate (write it as 500, 5k or 5k/s)",
            "99: `99` has no unit, and a share needs one (write it as 99.9%)",
            "'rate > 1': this threshold is written in two ways (leave out metric, at-least and at-most, or require)",
        ],
    );
}

#[test]
fn what_must_exist_is_looked_for() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").canonicalize().expect("it is there");
    let folder = folder.display();
    check(
        "[targets.a]\ncommand = './nothing'\n[targets.b]\ncommand = 'x'\nfolder = 'nowhere'\n[targets.c]\ncommand = './made'\nbuild = 'make'\n[loads.x]\nbody-file = 'none'\n[matrix]\nload = ['x']",
        &[
            &format!(
                "'./nothing': there is no program {folder}/./nothing (it begins at the target's folder; what must be built first goes to `build`)"
            ),
            &format!("'nowhere': there is no folder {folder}/nowhere (it begins at the study file)"),
            "'none': can't read the body from none (No such file or directory (os error 2)) (paths begin at the study file)",
        ],
    );
}

#[test]
fn contradictions_speak_of_keys() {
    check(
        &format!("{LEAST}duration = '1s'\nrequests = 5"),
        &["'1s': `duration` and `requests` both say when the run ends (leave out one of them)"],
    );
    check(
        &format!("{LEAST}[matrix]\nconnections = [0]"),
        &["0: 0 connections can't carry a request (use `connections` 1 or more)"],
    );
    check(
        &format!("{LEAST}reuse = true"),
        &["reuse: a load of kind run has no `reuse` (leave it out, or write kind = \"probe\")"],
    );
}

/// Limits are shown as they were typed, whatever the unit of the figure.
#[test]
fn limits_keep_their_unit() {
    for (metric, limit, shown) in [
        ("p50", "at-least = '1ns'", "response.p50 >= 1ns"),
        ("p99", "at-most = '1.5s'", "response.p99 <= 1.5s"),
        ("p99", "at-most = 50", "response.p99 <= 50ms"),
        ("rate", "at-least = '5k'", "rate >= 5000"),
    ] {
        let study = read(&format!("{LEAST}[[threshold]]\nmetric = '{metric}'\n{limit}\n"));
        assert_eq!(study.thresholds[0].threshold.to_string(), shown);
    }
}

#[test]
fn the_form_that_was_not_asked_for_is_checked_too() {
    check(
        &format!("{LEAST}[short]\nloads.x.connections = 0"),
        &["0: 0 connections can't carry a request (use `connections` 1 or more)"],
    );
}

/// `text` with the part `from` of it put in at `to`, in place of as many characters if `drop` is 1.
pub(in crate::file) fn mixed_up(text: &str, from: std::ops::Range<usize>, to: usize, drop: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let part = |range: std::ops::Range<usize>| -> String {
        letters.iter().take(range.end).skip(range.start).collect()
    };
    let rest = part(to + drop * from.len()..letters.len());
    format!("{}{}ü{rest}", part(0..to), part(from))
}

proptest::proptest! {
    /// What is cut out of the example, and put in where it does not belong, is refused or read, and its mistakes stand
    /// in the text.
    #[test]
    fn no_text_is_too_odd(from in 0_usize..2000, length in 0_usize..60, to in 0_usize..2000, drop in 0_usize..2) {
        let text = mixed_up(EXAMPLE, from..from + length, to, drop);
        if let Err(error) = with(&text, Overrides::default()) {
            for mistake in error.mistakes {
                proptest::prop_assert!(text.get(mistake.span.clone()).is_some(), "{}: {:?}", mistake.message, mistake.span);
            }
        }
    }
}

/// The agents of each cell, in words.
fn agents(text: &str) -> Vec<String> {
    let cells = read(text).cells;
    let of = |load: &CellLoad| match load {
        CellLoad::Run { agents: Some(agents), .. } | CellLoad::Capacity { agents: Some(agents), .. } => {
            agents.to_string()
        }
        _ => "none".to_owned(),
    };
    cells.iter().map(|cell| of(&cell.load)).collect()
}

#[test]
fn agents_are_those_of_the_load_or_of_the_study() {
    let top = |of_study: &str, more: &str| agents(&format!("agents = {of_study}\n{LEAST}{more}"));
    assert_eq!(agents(LEAST), ["none"]);
    assert_eq!(top("2", ""), ["2 agents"]);
    assert_eq!(top("['b', 'a']", ""), ["agents b, a"]);
    assert_eq!(top("'a'", "agents = 0\n[loads.y]\n[loads.z]\nkind = 'probe'\n"), ["none", "agent a", "none"]);
    let axis = format!("{LEAST}[matrix]\nagents = [0, 'a', 'a,b']\n");
    assert_eq!(agents(&axis), ["none", "agent a", "agents a, b"]);
    let measured = agents(&format!("server-agent = 't'\n{axis}"));
    assert_eq!(measured, ["none", "agent a, server measured by t", "agents a, b, server measured by t"]);
    let study = read(&format!("nats = 'nats://192.0.2.1:4222'\n{axis}"));
    assert_eq!(study.nats.as_deref(), Some("nats://192.0.2.1:4222"));
    let asked: Vec<String> = study.agents().iter().map(ToString::to_string).collect();
    assert_eq!(asked, ["agent a", "agents a, b"], "each choice once");
    assert!(study.cells[2].words.ends_with("by agents a, b"), "{}", study.cells[2].words);
}

#[test]
fn agents_that_cannot_share_a_load() {
    let load = |keys: &str| format!("{LEAST}{keys}");
    check(
        &load("agents = ['a', 'a']\n"),
        &["['a', 'a']: the agent a is named twice (write names with commas, or how many: a,b or 3)"],
    );
    let mistakes_of = |keys: &str| mistakes(&load(keys)).concat();
    for (keys, expected) in [
        ("agents = -1\n", "`-1` is no name of an agent"),
        ("agents = []\n", "no agent makes no load"),
        ("agents = 3\nconnections = 2\n", "3 agents can't share 2 connections"),
        ("agents = 3\nconnections = 5\nthreads = 2\n", "use 6 or more"),
        ("agents = 20000\n", "20000 agents are too many"),
        ("agents = 2\nsource = '127.0.0.2'\n", "`source` is about one machine"),
        ("kind = 'probe'\nagents = 2\n", "a load of kind probe has no `agents`"),
    ] {
        let found = mistakes_of(keys);
        assert!(found.contains(expected), "{keys}: {found}");
    }
    for (top, expected) in [
        ("server-agent = 't'\n", "no load has `agents`"),
        ("server-agent = '7'\n", "`7` is no name of an agent"),
        ("agents = 'a,t'\nserver-agent = 't'\n", "the agent t can't load the server and measure it"),
    ] {
        let found = mistakes(&format!("{top}{LEAST}")).concat();
        assert!(found.contains(expected), "{top}: {found}");
    }
}

/// A search, and a target for it.
const SEARCH: &str = "[targets.a]\nserve = 'null'\n[loads.x]\nkind = 'capacity'\n";

#[test]
fn a_search_has_the_keys_of_a_run_but_for_its_load() {
    let text = format!(
        "{SEARCH}slo = ['response.p99 < 50ms', 'success > 99.9%']\nerrors = '< 0.5%'\npeak = '2k'\nfrom = 100\n\
         to = 5000\ntime = '3m'\nmethod = 'POST'\nbody = 'x'\npath = '/launch'\npoisson = true\n\
         [[compare]]\na = {{ path = '/launch' }}\nb = {{ path = '/other' }}\n\
         [[threshold]]\nrequire = 'capacity > 2000'\n[matrix]\npath = ['/launch', '/other']\n"
    );
    let study = read(&text);
    assert_eq!(
        study.cells[0].words,
        "POST /launch, capacity with response.p99 < 50ms and success > 99.9%, at most 0.5 % without a good answer, \
         Poisson arrivals, at most 1,000 connections, 3 min at most"
    );
    let CellLoad::Capacity { options, search, .. } = &study.cells[0].load else { panic!("a search") };
    assert_eq!((options.request.method.as_deref(), options.poisson), (Some("POST"), true));
    assert_eq!((search.errors, search.objectives.len()), (Some(0.005), 2));
    assert_eq!(study.comparisons[0].kind, prony_model::LoadKind::Capacity);
    assert_eq!(study.thresholds.len(), 2);
}

#[test]
fn searches_that_find_nothing_are_refused() {
    let with = |lines: &str, expected: &[&str]| check(&format!("{SEARCH}{lines}"), expected);
    let slo = "slo = 'p99 < 50ms'\n";
    with("", &["x: a capacity needs `slo` (say what every request must get, as in 'response.p99 < 50ms')"]);
    with("slo = 'p98 < 50ms'", &["p98: `p98` is not a figure (did you mean `response.p90`?)"]);
    with(
        "slo = ['p99 < 50ms', 'rate > 5']",
        &[
            "['p99 < 50ms', 'rate > 5']: `slo` `rate > 5` does not bound what grows worse with the load (bound a time, \
           errors, success or the server's use: response.p99 < 50ms, success > 99.9%, server.cpu < 80%)",
        ],
    );
    with(
        "slo = 'step.buy.success > 1%'",
        &[
            "'step.buy.success > 1%': `slo` `step.buy.success > 1%` is about a step that the load does not have (steps are \
           those of a scenario)",
        ],
    );
    let rate = "rate: a load of kind capacity has no `rate` (leave it out, or write kind = \"run\")";
    with(&format!("{slo}rate = 5"), &[rate]);
    with(
        &format!("{slo}time = '5s'"),
        &["'5s': `time` must be 10s to 24h (10m are enough for most searches)"],
    );
    with(
        &format!("{slo}from = 9\nto = 9"),
        &["9: `from` is not below `to` (leave out one of them, or exchange them)"],
    );
    with(
        &format!("{slo}from = 10\ntime = '1m'"),
        &[
            "'1m': at about 10 /s a trial needs 110 s for its quantiles, and the search has 60 s (require a lower quantile, \
           or give it more time: 28m)",
        ],
    );
    with(
        &format!("{slo}errors = '100%'"),
        &["'100%': `errors` must be 0% or more, and less than 100% (for example 0.1%)"],
    );
    with(
        &format!("{slo}agents = 3\nconnections = 2"),
        &["2: 3 agents can't share 2 connections (each of their threads needs one: use 3 or more)"],
    );
    with(
        &format!("{slo}agents = 2\nsource = '127.0.0.2'"),
        &[
            "'127.0.0.2': `source` is about one machine, and agents are on others (leave it out, or the agents)",
        ],
    );
    check(
        &format!("{LEAST}slo = 'p99 < 5ms'"),
        &["slo: a load of kind run has no `slo` (leave it out, or write kind = \"capacity\")"],
    );
    check(
        &format!("{LEAST}[[threshold]]\nrequire = 'capacity > 5'"),
        &[
            "[[threshold]]: none of these cells has a load of kind capacity (name other cells, or another metric)",
        ],
    );
}

#[test]
fn searches_have_agents_as_runs_have() {
    let search = format!("{SEARCH}slo = 'p50 < 50ms'\n");
    assert_eq!(agents(&search), ["none"]);
    assert_eq!(agents(&format!("agents = 2\n{search}")), ["2 agents"]);
    assert_eq!(agents(&format!("agents = 2\n{search}agents = 0\n")), ["none"]);
    let axis = format!("server-agent = 't'\n{search}[matrix]\nagents = ['a', 'a,b']\n");
    assert_eq!(agents(&axis), ["agent a, server measured by t", "agents a, b, server measured by t"]);
    let study = read(&axis);
    assert_eq!(study.agents().len(), 2, "they are looked for before anything is loaded");
    assert!(study.cells[1].words.ends_with("10 min at most, by agents a, b"), "{}", study.cells[1].words);
}
