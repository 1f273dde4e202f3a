//! A first definition of a project, from what its files show: for people to correct, never registered by itself.

use std::collections::BTreeMap;

use super::{Name, Origin};

/// Files that show how something is built and tested.
const MANIFESTS: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "go.mod",
    "pyproject.toml",
    "requirements.txt",
    "setup.py",
    "Makefile",
    "makefile",
    "GNUmakefile",
];
/// Where a first study goes.
const STUDY: &str = "prony.toml";
/// Where to search for studies.
const STUDIES: [&str; 5] = [STUDY, "study.toml", "bench/prony.toml", "benches/prony.toml", "perf/prony.toml"];

/// What could be written down of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// A name for it, fit for addresses.
    pub name: String,
    /// Its definition, as TOML.
    pub definition: String,
    /// What was found, in words.
    pub found: Vec<String>,
    /// A first study, as TOML, where the files have none.
    pub study: Option<String>,
}

/// The files from which a project is known. Nothing else of it is read.
pub fn project_files() -> impl Iterator<Item = &'static str> {
    MANIFESTS.into_iter().chain(STUDIES)
}

/// A task that is proposed.
struct Task {
    name: &'static str,
    command: String,
    /// Whether the study can't do without it.
    always: bool,
    network: bool,
}

/// What one kind of project is built with.
#[derive(Default)]
struct Parts {
    found: Vec<String>,
    tasks: Vec<Task>,
    /// How its server is started, where that can be guessed.
    start: Option<String>,
}

impl Proposal {
    /// Of a project from `origin`, whose [`project_files`] are `files`, by name.
    pub fn of(origin: &Origin, branch: &str, files: &BTreeMap<String, String>) -> Self {
        let mut parts = Parts::default();
        for of_kind in [cargo, npm, go, python, make] {
            of_kind(files, &mut parts);
        }
        let study = STUDIES.iter().find(|name| is_study(files, name));
        if let Some(study) = study {
            parts.found.push(format!("a study ({study})"));
        }
        let name = name(origin);
        let definition = definition(&name, origin, branch, study.copied(), &parts.tasks);
        let start = parts.start.as_deref().unwrap_or("./server --port {port}");
        Self {
            study: study.is_none().then(|| first_study(&name, start)),
            name,
            definition,
            found: parts.found,
        }
    }
}

/// The last part of where it is, as a name.
fn name(origin: &Origin) -> String {
    let place = match origin {
        Origin::Repository(address) => address.trim_end_matches('/').trim_end_matches(".git").to_owned(),
        Origin::Folder(path) => path.display().to_string(),
    };
    let last = place.rsplit(['/', ':', '\\']).next().unwrap_or_default().to_lowercase();
    let fits =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let name: String = last.chars().map(fits).take(40).collect();
    let name = name.trim_start_matches(['-', '_', '.']).to_owned();
    if name.parse::<Name>().is_ok() { name } else { "project".to_owned() }
}

fn is_study(files: &BTreeMap<String, String>, name: &str) -> bool {
    let Some(text) = files.get(name) else { return false };
    toml::from_str::<toml::Table>(text)
        .is_ok_and(|table| table.contains_key("targets") && table.contains_key("loads"))
}

fn cargo(files: &BTreeMap<String, String>, parts: &mut Parts) {
    let Some(manifest) = files.get("Cargo.toml") else { return };
    let locked = if files.contains_key("Cargo.lock") { " --locked" } else { "" };
    parts.found.push("a Rust project (Cargo.toml)".to_owned());
    parts.tasks.push(task("compile", format!("cargo build --release{locked}"), true, true));
    parts.tasks.push(task("test", format!("cargo test{locked}"), false, true));
    let package = toml::from_str::<toml::Table>(manifest)
        .ok()
        .and_then(|table| Some(table.get("package")?.get("name")?.as_str()?.to_owned()));
    parts.start = package.map(|name| format!("target/release/{name} --port {{port}}"));
}

fn npm(files: &BTreeMap<String, String>, parts: &mut Parts) {
    let Some(manifest) = files.get("package.json") else { return };
    let read: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let has = |script: &str| read["scripts"][script].is_string();
    let install = if files.contains_key("package-lock.json") { "npm ci" } else { "npm install" };
    parts.found.push("a Node.js project (package.json)".to_owned());
    parts.tasks.push(task("install", install.to_owned(), true, true));
    if has("build") {
        parts.tasks.push(task("build", "npm run build".to_owned(), true, false));
    }
    if has("test") {
        parts.tasks.push(task("test", "npm test".to_owned(), false, false));
    }
    let start = if has("start") { "npm start" } else { "node ." };
    parts.start.get_or_insert_with(|| format!("env PORT={{port}} {start}"));
}

fn go(files: &BTreeMap<String, String>, parts: &mut Parts) {
    if !files.contains_key("go.mod") {
        return;
    }
    parts.found.push("a Go project (go.mod)".to_owned());
    parts.tasks.push(task("compile", "go build -o server .".to_owned(), true, true));
    parts.tasks.push(task("test", "go test ./...".to_owned(), false, true));
    parts.start.get_or_insert_with(|| "env PORT={port} ./server".to_owned());
}

fn python(files: &BTreeMap<String, String>, parts: &mut Parts) {
    let what = ["pyproject.toml", "setup.py", "requirements.txt"];
    let Some(found) = what.iter().find(|name| files.contains_key(**name)) else { return };
    let what = if *found == "requirements.txt" { "-r requirements.txt" } else { "." };
    parts.found.push(format!("a Python project ({found})"));
    let install = format!("python3 -m venv .venv && .venv/bin/pip install --quiet {what}");
    parts.tasks.push(task("install", install, true, true));
    if files.values().any(|text| text.contains("pytest")) {
        parts.tasks.push(task("test", ".venv/bin/python -m pytest".to_owned(), false, false));
    }
    parts.start.get_or_insert_with(|| "env PORT={port} .venv/bin/python app.py".to_owned());
}

fn make(files: &BTreeMap<String, String>, parts: &mut Parts) {
    let Some(text) = ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| files.get(*name)) else {
        return;
    };
    parts.found.push("a makefile".to_owned());
    // What another tool builds is mostly what make would call.
    if !parts.tasks.is_empty() {
        return;
    }
    let has = |target: &str| {
        text.lines()
            .any(|line| line.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with(':')))
    };
    parts.tasks.push(task("compile", "make".to_owned(), true, false));
    if let Some(target) = ["test", "check"].into_iter().find(|target| has(target)) {
        parts.tasks.push(task("test", format!("make {target}"), false, false));
    }
}

fn task(name: &'static str, command: String, always: bool, network: bool) -> Task {
    Task { name, command, always, network }
}

/// `text` as a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn definition(name: &str, origin: &Origin, branch: &str, study: Option<&str>, tasks: &[Task]) -> String {
    let from = match origin {
        Origin::Repository(address) => format!("repository = {}", quoted(address)),
        Origin::Folder(path) => format!("folder = {}", quoted(&path.display().to_string())),
    };
    let study = match study {
        Some(study) => format!("study = {}", quoted(study)),
        None => {
            format!("# study = {}    # once it is among the files: it says what is measured", quoted(STUDY))
        }
    };
    let mut text = format!("title = {}\n{from}\nbranch = {}\n{study}\n", quoted(name), quoted(branch));
    if tasks.iter().any(|task| task.network) {
        text.push_str("# expose = [\"/opt/toolchain\"]    # a toolchain outside of /usr, which builds don't see otherwise\n");
    }
    let unknown = [task("build", "true    # write what builds and tests it".to_owned(), true, false)];
    for task in if tasks.is_empty() { &unknown } else { tasks } {
        text.push_str("\n[[task]]\n");
        for (key, value) in [("name", task.name), ("command", &task.command)] {
            text.extend([key, " = ", &quoted(value), "\n"]);
        }
        if task.always {
            text.push_str("always = true     # the study needs it\n");
        }
        if task.network {
            text.push_str("network = true    # it fetches what the project depends on\n");
        }
    }
    text
}

/// A study that loads one page in two ways.
fn first_study(name: &str, start: &str) -> String {
    format!(
        "title = {}\nrepeats = 10\n\n[targets.server]\ncommand = {}\nready = {{ path = \"/\" }}\n\n\
         [loads.alone]\npath = \"/\"\nconnections = 1\nwarmup = \"500ms\"\nduration = \"2s\"\n\n\
         [loads.steady]\npath = \"/\"\nrate = 100\nwarmup = \"500ms\"\nduration = \"5s\"\n\n\
         [[threshold]]\nmetric = \"success\"\nat-least = \"99%\"\n",
        quoted(&format!("{name}: how fast does it answer?")),
        quoted(start)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definition;

    fn of(address: &str, files: &[(&str, &str)]) -> Proposal {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let proposal = Proposal::of(&Origin::Repository(address.to_owned()), "main", &files);
        let read = Definition::read_new(&proposal.definition);
        let read = read.unwrap_or_else(|error| panic!("{error}: {}", proposal.definition));
        assert_eq!(read.origin, Origin::Repository(address.to_owned()));
        proposal
    }

    fn commands(proposal: &Proposal) -> Vec<String> {
        let read = Definition::read(&proposal.definition).expect("a definition");
        read.tasks.into_iter().map(|task| task.command).collect()
    }

    #[test]
    fn tools_are_known_by_their_files() {
        let rust = of(
            "https://example.org/team/Web.Shop.git",
            &[("Cargo.toml", "[package]\nname = \"shop\"\n"), ("Cargo.lock", ""), ("Makefile", "all:\n")],
        );
        assert_eq!(rust.name, "web.shop");
        assert_eq!(commands(&rust), ["cargo build --release --locked", "cargo test --locked"]);
        assert!(rust.study.expect("a first one").contains("target/release/shop --port {port}"));
        let node = of(
            "git@example.org:team/api",
            &[
                ("package.json", "{\"scripts\":{\"test\":\"jest\",\"start\":\"node .\"}}"),
                ("package-lock.json", "{}"),
            ],
        );
        assert_eq!((node.name.as_str(), commands(&node)), ("api", vec!["npm ci".into(), "npm test".into()]));
        let go = of("https://example.org/go", &[("go.mod", "module x")]);
        assert_eq!(commands(&go)[1], "go test ./...");
        let python = of("https://example.org/p", &[("requirements.txt", "flask\npytest\n")]);
        assert_eq!(commands(&python).len(), 2);
        let make = of("/srv/c", &[("Makefile", "server: server.c\n\ncheck: server\n\t./check\n")]);
        assert_eq!(commands(&make), ["make", "make check"]);
    }

    #[test]
    fn a_study_that_is_there_is_taken() {
        let study = "[targets.a]\n[loads.b]\n";
        let with = of("/srv/a", &[("Makefile", ""), ("bench/prony.toml", study)]);
        let read = Definition::read(&with.definition).expect("a definition");
        assert_eq!(
            (read.study.as_deref(), with.study),
            (Some(std::path::Path::new("bench/prony.toml")), None)
        );
        let other = of("/srv/a", &[("prony.toml", "title = 'not a study'")]);
        assert!(other.study.is_some());
    }

    #[test]
    fn whatever_stands_there_makes_a_definition() {
        let odd = of(
            "/srv/\"; rm -rf / #\u{e9}",
            &[("package.json", "[1, 2"), ("Cargo.toml", "= ="), ("prony.toml", "[")],
        );
        assert_eq!(odd.found.len(), 2);
        let nothing = of("https://example.org/..", &[]);
        assert_eq!((nothing.name.as_str(), nothing.found.len()), ("project", 0));
        assert_eq!(commands(&nothing).len(), 1);
    }
}
