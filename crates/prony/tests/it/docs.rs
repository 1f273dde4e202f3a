//! Documents name files of this repository by paths that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below `folder` with this extension, by their paths from the root.
fn files(folder: &str, extension: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let is_built = path.ends_with("target") || path.ends_with("node_modules");
            if path.is_dir() && !is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                let path = path.strip_prefix(root()).expect("it is below the root");
                found.insert(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

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
    let sources: BTreeSet<String> =
        ["crates", "fuzz"].iter().flat_map(|folder| files(folder, "rs")).collect();
    let mut documents = files("docs", "md");
    documents
        .extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/README.md"].map(str::to_owned));
    let mut named = 0;
    let mut missing = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(root().join(document)).expect("it exists");
        for path in paths(&text) {
            named += 1;
            let end = format!("/{path}");
            if !sources.iter().any(|source| *source == path || source.ends_with(&end)) {
                missing.push(format!("{document}: {path}"));
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
