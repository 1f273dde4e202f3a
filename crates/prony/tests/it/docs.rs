//! Documents name files of this repository by paths that exist.

use std::fs;
use std::path::PathBuf;

use crate::repository::{files, root};

/// What stands in backquotes in `text` and looks like a path of a Rust file; `a/{b,c}.rs` is two.
fn paths(text: &str) -> Vec<String> {
    let is_path = |text: &&str| {
        text.strip_suffix(".rs").is_some()
            && text
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "_-./{},".contains(character))
    };
    let quoted = text.split('`').skip(1).step_by(2).filter(is_path);
    quoted
        .flat_map(|path| {
            match path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
                Some((before, (names, behind))) => {
                    names.split(',').map(|name| format!("{before}{}{behind}", name.trim())).collect()
                }
                None => vec![path.to_owned()],
            }
        })
        .collect()
}

#[test]
fn files_that_documents_name_exist() {
    let sources: Vec<PathBuf> = ["crates", "fuzz"].iter().flat_map(|folder| files(folder, "rs")).collect();
    let mut documents = files("docs", "md");
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/README.md"];
    documents.extend(others.map(|name| root().join(name)));
    let mut named = 0;
    let mut missing = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(document).expect("it exists");
        for path in paths(&text) {
            named += 1;
            // Whole parts of a path count: `ab.rs` is no `b.rs`.
            if !sources.iter().any(|source| source.ends_with(&path)) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(named > 100, "only {named} paths found");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn paths_are_found() {
    assert_eq!(paths("see `a/b.rs`, `c::d`; `x y.rs`"), ["a/b.rs"]);
    assert_eq!(paths("`e/{f,g}.rs`"), ["e/f.rs", "e/g.rs"]);
}
