//! Edges within the lab, beside those of `edges`: what each of its crates may name, the layers of modules within two of
//! them, and SQL in the store alone. ARCHITECTURE.md explains why.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::edges::{Graph, code, sources};
use crate::repository::root;

/// Crates with modules in layers, each of which may use those before it.
const LAYERS: [(&str, &[&str]); 2] = [("prony-lab-core", &CORE_LAYERS), ("prony-lab-web", &WEB_LAYERS)];
/// What is known and who may do what, what follows from results, what people do.
const CORE_LAYERS: [&str; 24] = [
    "ansi_stripper",
    "policy",
    "quantity",
    "definitions",
    "search",
    "secrets",
    "health",
    "metrics",
    "event_cursor",
    "journal",
    "egress",
    "history",
    "bisect",
    "hooks",
    "monitor",
    "capacity",
    "lab_error",
    "fleet",
    "access",
    "lab",
    "actions",
    "local_calls",
    "admin",
    "example",
];
/// What both share, what scripts see, what people see.
const WEB_LAYERS: [&str; 3] = ["http", "api", "web"];

/// What only some crates of the lab may name in their manifests, for building them: the databases, the server, the study.
const LAB_OWNERS: [(&str, &[&str]); 9] = [
    ("rusqlite", &["prony-lab-store"]),
    ("postgres", &["prony-lab-store"]),
    ("axum", &["prony-lab-web"]),
    ("hyper", &["prony-lab-web"]),
    ("tower", &["prony-lab-web"]),
    ("prony-study", &["prony-lab-runner"]),
    ("prony-lab-runner", &["prony-lab"]),
    ("prony-lab-web", &["prony-lab"]),
    ("ureq", &["prony-lab", "prony-lab-core"]),
];

/// Where the unit tests of a file begin: at its end. They may use anything.
const UNIT_TESTS: &str = "#[cfg(test)]\nmod tests {";

#[test]
fn modules_use_those_below_them() {
    for (name, layers) in LAYERS {
        let source = root().join("crates").join(name).join("src");
        let mut wrong = Vec::new();
        let mut edges = 0;
        for file in sources() {
            let Ok(path) = file.strip_prefix(&source) else { continue };
            let module =
                path.iter().next().and_then(|name| name.to_str()).expect("a name").trim_end_matches(".rs");
            if module == "lib" || is_test(&file) {
                continue;
            }
            let place = |name: &str| layers.iter().position(|layer| *layer == name);
            let Some(own) = place(module) else { panic!("{name}: {} is in no layer", path.display()) };
            for used in used_modules(&built(&file)) {
                edges += 1;
                if place(&used).is_none_or(|other| other > own) {
                    wrong.push(format!("{} uses {used}", path.display()));
                }
            }
        }
        assert!(edges > 30, "{name}: only {edges} uses found");
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

#[test]
fn parts_of_the_lab_have_what_is_theirs_alone() {
    let graph = Graph::read();
    for (used, owners) in LAB_OWNERS {
        let lab = graph.members.iter().filter(|name| name.starts_with("prony-lab"));
        let users: Vec<&str> =
            lab.filter(|name| graph.direct(name).any(|direct| direct == used)).map(String::as_str).collect();
        assert_eq!(users, owners, "who uses {used}");
    }
}

/// A transaction takes any statement, so that tests of other crates can look at what is kept; only they do.
#[test]
fn sql_stands_in_the_store_alone() {
    let is_sql = |text: &str| {
        ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM "]
            .iter()
            .any(|word| text.contains(&format!("\"{word}")))
    };
    let mut stored = 0;
    for file in sources().into_iter().filter(|file| !is_test(file)) {
        let source = fs::read_to_string(&file).expect("source is UTF-8");
        let source = source.split(UNIT_TESTS).next().unwrap_or_default();
        let name = file.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        if name.starts_with("crates/prony-lab-store/") {
            stored += usize::from(is_sql(source));
        } else if name.starts_with("crates/prony-lab") {
            assert!(!is_sql(source), "{name} has SQL, which belongs to prony-lab-store");
        }
    }
    assert!(stored > 10, "only {stored} files with SQL found");
}

/// What `tests` need of a crate is no part of the program.
#[test]
fn helpers_of_tests_are_not_built_into_the_program() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "tree",
            "--package",
            "prony",
            "--edges",
            "normal,build,features",
            "--prefix",
            "none",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("prony-lab-store"), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!tree.contains("feature \"testing\""), "{tree}");
}

/// Whether all of `file` is for tests.
fn is_test(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let files = ["tests.rs", "status_tests.rs", "fixture.rs", "past.rs", "plans.rs"];
    files.contains(&name) || file.iter().any(|part| part == "faults" || part == "tests")
}

/// The code of `file` that is built into the program, without comments and texts.
fn built(file: &Path) -> String {
    let text = code(&fs::read_to_string(file).expect("source is UTF-8"));
    text.split(UNIT_TESTS).next().unwrap_or_default().to_owned()
}

/// The modules at the root of a crate that `source` names: `crate::NAME` and `use crate::{NAME, …}`.
fn used_modules(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, path) in source.match_indices("crate::") {
        let rest = &source[at + path.len()..];
        if !rest.starts_with('{') {
            found.insert(rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default());
            continue;
        }
        let mut depth = 0;
        let mut is_first = true;
        for part in rest.split_inclusive(['{', '}', ',']) {
            let name = part.trim_end_matches(['{', '}', ',']).trim();
            if depth == 1 && is_first && !name.is_empty() {
                found.insert(name.split("::").next().unwrap_or_default());
            }
            match part.chars().last() {
                Some('{') => (depth, is_first) = (depth + 1, depth == 0),
                Some('}') if depth == 1 => break,
                Some('}') => depth -= 1,
                _ => is_first = depth == 1,
            }
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

#[test]
fn uses_are_found() {
    let source = "use crate::a::B;\nuse crate::{c, d::{E, F}, g};\nfn f() { crate::h::i(); }";
    assert_eq!(used_modules(source), ["a", "c", "d", "g", "h"].map(str::to_owned).into());
}
