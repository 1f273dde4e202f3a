//! Edges between crates that must never exist, and `unsafe` outside its owners. ARCHITECTURE.md explains why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::repository::{files, is_in, root};

/// How far an edge reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Named in the crate's own manifest, for building it.
    Direct,
    /// Over any number of other crates.
    Any,
    /// Over any number of other crates, where the first step may also be for tests only.
    AnyAlsoInTests,
}

/// From, to, how far, and what would be lost.
const NEVER: [(&str, &str, Reach, &str); 49] = [
    ("prony-engine", "tokio", Reach::Any, "a runtime would sit between the worker loop and its sockets"),
    ("prony-engine", "serde", Reach::Direct, "the engine stores nothing: file formats are prony-model's"),
    ("prony-engine", "prony-study", Reach::Any, "the engine knows one plan, not why it is run"),
    ("prony-engine", "prony-report", Reach::Any, "the engine prints nothing"),
    ("prony-engine", "prony-lab", Reach::Any, "the engine stores nothing"),
    ("prony-engine", "prony-fleet", Reach::Any, "agents run engines, not the other way round"),
    ("prony-model", "prony-stats", Reach::Any, "words and units compute nothing"),
    ("prony-stats", "prony-model", Reach::Any, "statistics know numbers, not formats"),
    ("prony-stats", "prony-http", Reach::Any, "statistics know numbers, not protocols"),
    ("prony-summary", "prony-engine", Reach::Any, "results of agents are merged where no engine is"),
    ("prony-summary", "prony-http", Reach::Any, "summaries know values, not protocols"),
    ("prony-report", "prony-engine", Reach::Any, "a report is drawn from a stored result alone"),
    ("prony-report", "prony-http", Reach::Any, "a report is drawn from a stored result alone"),
    ("prony-study", "prony-engine", Reach::Any, "a study knows runners, which the binary plugs in"),
    ("prony-fleet", "prony-engine", Reach::Any, "agents know runners, which the binary plugs in"),
    ("prony-fleet", "prony-lab-core", Reach::Any, "what an agent may do is the binary's to plug in"),
    ("prony-fleet", "prony-report", Reach::Any, "results pass through it as bytes"),
    ("prony-engine", "async-nats", Reach::Any, "only agents and their controller speak to a broker"),
    ("prony-study", "async-nats", Reach::Any, "only agents and their controller speak to a broker"),
    ("prony-lab", "prony-engine", Reach::Any, "the lab knows results and runners"),
    ("prony-targets", "prony-engine", Reach::AnyAlsoInTests, "a shared fault would cancel itself out"),
    ("prony-targets", "prony-http", Reach::AnyAlsoInTests, "a shared fault would cancel itself out"),
    ("prony-targets", "prony-stats", Reach::Any, "servers count, clients evaluate"),
    ("prony-push", "prony-engine", Reach::Any, "metrics are made of results"),
    ("prony-push", "prony-report", Reach::Any, "metrics are made of results"),
    ("prony-engine", "prony-push", Reach::Any, "the engine sends nothing but its load"),
    ("prony-engine", "prony-targets", Reach::Any, "only tests of the engine need a server"),
    ("prony-report", "prony-targets", Reach::Any, "a report needs no server"),
    ("prony-http", "prony-model", Reach::Any, "the protocol core knows bytes alone"),
    ("prony-http", "prony-stats", Reach::Any, "the protocol core knows bytes alone"),
    ("prony-exec", "prony-engine", Reach::Any, "commands are timed without a load engine"),
    ("prony-exec", "prony-report", Reach::Any, "what times commands prints nothing"),
    ("prony-engine", "prony-supervisor", Reach::Any, "the engine starts no processes"),
    ("prony-exec", "prony-supervisor", Reach::Any, "a guardian's time would be measured with the command's"),
    ("prony-supervisor", "prony-model", Reach::Any, "it keeps processes, whatever they are for"),
    ("prony-supervisor", "prony-study", Reach::Any, "it keeps processes, whatever they are for"),
    ("prony-supervisor", "prony-lab", Reach::Any, "it keeps processes, whatever they are for"),
    ("prony-report", "prony-exec", Reach::Any, "a report is drawn from a stored result alone"),
    ("prony-lab-model", "tokio", Reach::Any, "words and states do no I/O"),
    ("prony-lab-model", "prony-lab-store", Reach::Any, "words and states are kept by others"),
    (
        "prony-lab-store",
        "prony-lab-core",
        Reach::Any,
        "the store keeps what it is handed, and decides nothing",
    ),
    ("prony-lab-core", "prony-lab-runner", Reach::Any, "actions and jobs start no builds"),
    ("prony-lab-core", "prony-lab-web", Reach::Any, "actions don't know who shows them"),
    ("prony-lab-core", "axum", Reach::Any, "actions don't know how they are called"),
    ("prony-lab-core", "prony-study", Reach::Any, "only the runner measures"),
    ("prony-lab-runner", "prony-lab-web", Reach::Any, "what runs builds answers no requests"),
    ("prony-lab-runner", "axum", Reach::Any, "what runs builds answers no requests"),
    ("prony-lab-web", "prony-lab-runner", Reach::Any, "what answers requests starts no processes"),
    ("prony-lab-web", "prony-study", Reach::Any, "what answers requests starts no processes"),
];

/// All that the protocol core may be built from: none of it opens a socket. For TLS, rustls reads the clock when it
/// verifies a certificate, and rustls-native-certs reads files before the load.
const HTTP_MAY_USE: [&str; 8] = [
    "brotli-decompressor",
    "flate2",
    "httparse",
    "memchr",
    "ruzstd",
    "rustls",
    "rustls-native-certs",
    "thiserror",
];

/// The owners of `unsafe`: a folder, and files that need not exist.
const UNSAFE_OWNERS: [&str; 3] =
    ["crates/prony-engine/src/sys/", "crates/prony-supervisor/src/sys.rs", "crates/prony-targets/src/sys.rs"];

/// The crates of this workspace, and what each package is built from.
pub(crate) struct Graph {
    /// Names of the workspace's crates.
    pub(crate) members: BTreeSet<String>,
    /// Names of what a package needs to be built.
    build: BTreeMap<String, BTreeSet<String>>,
    /// The same for its tests.
    tests: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// What cargo reports, for the platform that Prony runs on.
    pub(crate) fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform])
            .current_dir(root())
            .output()
            .expect("cargo can be run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata failed; `cargo fetch` may help: {complaint}");
        Self::of(&serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// What the answer of `cargo metadata` means. Versions of one name are one package here.
    fn of(metadata: &Value) -> Self {
        let name_of: BTreeMap<&str, &str> = list(&metadata["packages"])
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let members = list(&metadata["workspace_members"]).map(|id| name_of[text(id)].to_owned()).collect();
        let mut graph = Self { members, build: BTreeMap::new(), tests: BTreeMap::new() };
        for node in list(&metadata["resolve"]["nodes"]) {
            let from = name_of[text(&node["id"])];
            for dependency in list(&node["deps"]) {
                let to = name_of[text(&dependency["pkg"])];
                for kind in list(&dependency["dep_kinds"]) {
                    let edges = if kind["kind"] == "dev" { &mut graph.tests } else { &mut graph.build };
                    edges.entry(from.to_owned()).or_default().insert(to.to_owned());
                }
            }
        }
        graph
    }

    /// What `name` names in its manifest, for building it.
    pub(crate) fn direct(&self, name: &str) -> impl Iterator<Item = &str> {
        self.build.get(name).into_iter().flatten().map(String::as_str)
    }

    /// A way from `from` to `to`, if there is one.
    fn way(&self, from: &str, to: &str, reach: Reach) -> Option<Vec<String>> {
        let mut ways: Vec<Vec<String>> = vec![vec![from.to_owned()]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            let last = way.last().expect("a way begins somewhere");
            if way.len() > 1 && last == to {
                return Some(way);
            }
            let is_first = way.len() == 1;
            if (reach == Reach::Direct && !is_first) || !seen.insert(last.clone()) {
                continue;
            }
            let for_tests = self.tests.get(last).filter(|_| is_first && reach == Reach::AnyAlsoInTests);
            let next = self.direct(last).chain(for_tests.into_iter().flatten().map(String::as_str));
            let next: Vec<_> =
                next.map(|name| way.iter().cloned().chain([name.to_owned()]).collect()).collect();
            ways.extend(next);
        }
        None
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has text here")
}

#[test]
fn forbidden_edges_do_not_exist() {
    let graph = Graph::read();
    for name in ["prony", "prony-engine", "prony-http", "prony-model", "prony-report", "prony-targets"] {
        assert!(graph.members.contains(name), "{name} is gone: are the rules of this test still right?");
    }
    // The edges that are meant to exist are seen, near and far.
    assert!(graph.way("prony", "prony-engine", Reach::Direct).is_some());
    assert!(graph.way("prony-engine", "serde", Reach::Any).is_some());
    for (from, to, reach, why) in NEVER {
        if let Some(way) = graph.way(from, to, reach) {
            panic!("{from} must not depend on {to} ({why}), and does: {}", way.join(" -> "));
        }
    }
}

#[test]
fn protocol_core_is_made_of_bytes_alone() {
    let used: BTreeSet<String> = Graph::read().direct("prony-http").map(str::to_owned).collect();
    let more: Vec<_> = used.iter().filter(|name| !HTTP_MAY_USE.contains(&name.as_str())).collect();
    assert!(more.is_empty(), "prony-http may use {HTTP_MAY_USE:?} only, and uses {more:?}");
}

#[test]
fn nothing_depends_on_the_binary() {
    let graph = Graph::read();
    for name in &graph.members {
        let both = [graph.build.get(name), graph.tests.get(name)];
        let found = both.into_iter().flatten().any(|used| used.contains("prony"));
        assert!(!found, "{name} depends on prony, where everything is put together");
    }
}

#[test]
fn ways_are_found() {
    let edges = |pairs: &[(&str, &str)]| {
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in pairs {
            edges.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        edges
    };
    let graph = Graph {
        members: BTreeSet::new(),
        build: edges(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]),
        tests: edges(&[("b", "d"), ("e", "d")]),
    };
    let check = |from, to, reach, expected: Option<&str>| {
        assert_eq!(
            graph.way(from, to, reach).map(|way| way.join(" ")).as_deref(),
            expected,
            "{from} to {to}"
        );
    };
    check("a", "c", Reach::Any, Some("a b c"));
    check("a", "c", Reach::Direct, None);
    check("a", "b", Reach::Direct, Some("a b"));
    check("a", "d", Reach::AnyAlsoInTests, None);
    check("e", "c", Reach::Any, None);
    check("e", "c", Reach::AnyAlsoInTests, Some("e d a b c"));
}

#[test]
fn unsafe_stays_with_its_owners() {
    let root = root();
    let mut owned = 0;
    for file in sources() {
        let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        let source = fs::read_to_string(&file).expect("sources can be read");
        let lines = unsafe_lines(&source);
        if UNSAFE_OWNERS.iter().any(|owner| name.starts_with(owner)) {
            owned += lines.len();
        } else {
            assert!(
                lines.is_empty(),
                "{name} has `unsafe` in line(s) {lines:?}: it belongs to {UNSAFE_OWNERS:?}"
            );
        }
    }
    assert!(owned > 0, "the engine's sys is gone: is this test still right?");
}

/// The lints that deny `unsafe` and unnamed clocks hold only in crates that ask for them.
#[test]
fn every_crate_has_the_workspaces_lints() {
    for member in fs::read_dir(root().join("crates")).expect("there are crates").flatten() {
        let manifest = member.path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a crate has a manifest");
        assert!(text.contains("[lints]\nworkspace = true"), "{} has lints of its own", manifest.display());
    }
}

/// Every file that is compiled into what people run. Tests may have an `unsafe` with its reason.
pub(crate) fn sources() -> Vec<PathBuf> {
    let is_source = |file: &PathBuf| ["src", "examples", "build.rs"].iter().any(|part| is_in(file, part));
    files("crates", "rs").into_iter().filter(is_source).collect()
}

/// The lines with an `unsafe` that the compiler would see.
fn unsafe_lines(source: &str) -> Vec<usize> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let code = code(source);
    let lines = code.lines().zip(1..);
    let found =
        lines.filter(|(line, _)| line.split(|character| !is_word(character)).any(|word| word == "unsafe"));
    found.map(|(_, number)| number).collect()
}

/// `source` without comments, strings and characters; lines stay where they are.
pub(crate) fn code(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let hidden = hidden(rest);
        let (kept, from) = if hidden == 0 { (first, first.len_utf8()) } else { (' ', hidden) };
        code.push(kept);
        code.extend(rest[..hidden].matches('\n'));
        rest = &rest[from..];
    }
    code
}

/// The length of the comment, string or character that `rest` begins with; 0 for none.
fn hidden(rest: &str) -> usize {
    let end =
        |from: usize, close: &str| rest[from..].find(close).map_or(rest.len(), |at| from + at + close.len());
    let raw = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - raw.len();
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if let Some(after) = raw.strip_prefix('r').filter(|_| prefix <= 1) {
        let hashes = after.len() - after.trim_start_matches('#').len();
        if after[hashes..].starts_with('"') {
            return end(prefix + hashes + 2, &format!("\"{}", "#".repeat(hashes)));
        }
    }
    if let Some(text) = rest.strip_prefix('"') {
        let mut escaped = false;
        let close = text.find(|character| {
            let closes = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            closes
        });
        return close.map_or(rest.len(), |at| at + 2);
    }
    let Some(character) = rest.strip_prefix('\'') else { return 0 };
    let mut characters = character.chars();
    match (characters.next(), characters.next()) {
        (Some('\\'), Some(escaped)) => end(2 + escaped.len_utf8(), "'"),
        (Some(only), Some('\'')) => only.len_utf8() + 2,
        _ => 0, // a lifetime
    }
}

/// The length of the comment that `rest` begins with. They nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[test]
fn only_code_counts_as_unsafe() {
    let check = |source: &str, expected: &[usize]| assert_eq!(unsafe_lines(source), expected, "{source}");
    check("fn f() {\n    unsafe { g() }\n}", &[2]);
    check("unsafe impl Send for T {}\nunsafe_code();", &[1]);
    check("// unsafe\n/* unsafe /* unsafe\n*/ unsafe */ unsafe", &[3]);
    check("\"unsafe \\\" unsafe\" + r#\"unsafe \" unsafe\"# + br\"unsafe\\\"", &[]);
    check("'\"' unsafe '\"'\n'\\'' unsafe '\\\\' 'é' \"unsafe\"", &[1, 2]);
    check("fn f<'a>(x: &'a str) { unsafe { g('a') } }", &[1]);
    check("\"a\nb\" unsafe", &[2]);
}
