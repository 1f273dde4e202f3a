//! The tutorials, followed as they are printed, but with short loads and on free ports.
//!
//! A block ` ```sh server ` is a server that the later lines load, ` ```toml NAME ` or ` ```text NAME ` a file, ` ```sh ` lines to type.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::binary::{ProgramOutput, command, program_output};
use crate::folder::Folder;
use crate::repository::{files, root};
use crate::servers::Served;

/// A block of code: the words behind its fence, and its lines.
struct Block<'a> {
    info: &'a str,
    text: &'a str,
}

fn blocks(document: &str) -> Vec<Block<'_>> {
    let fenced = document.split("\n```").skip(1).step_by(2);
    fenced
        .map(|block| {
            let (info, text) = block.split_once('\n').expect("a fence ends its line");
            Block { info, text }
        })
        .collect()
}

/// Loads of a second prove as much here as those of ten, and the self-test has tests of its own.
fn shortened(text: &str) -> String {
    text.replace("--duration 10s", "--duration 1s")
        .replace("duration = \"2s\"", "duration = \"300ms\"")
        .replace("--time 20s", "--time 10s")
        .replace("--before 3s --pulse 3s --after 12s", "--before 1s --pulse 1s --after 3s")
        .replace("--time 30s", "--time 20s")
        .replace("prony self-test", "prony self-test --help")
        .replace("prony calibrate ", "prony calibrate -c 2 --quick --force ")
}

/// A reader at a terminal, in a folder of their own.
struct Reader {
    folder: Folder,
    /// By the port that the tutorial gives it.
    servers: BTreeMap<String, Served>,
}

impl Reader {
    fn serve(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let ["prony", "serve", flags @ ..] = &words[..] else { panic!("it is no server: {line}") };
        let at = flags.iter().position(|word| *word == "--port").expect("a tutorial chooses the port");
        let others: Vec<&str> = [&flags[..at], &flags[at + 2..]].concat();
        self.servers.insert(flags[at + 1].to_owned(), Served::start(&others));
    }

    fn run(&self, line: &str) -> ProgramOutput {
        let mut line = shortened(line);
        for (port, server) in &self.servers {
            line = line.replace(&format!("http://127.0.0.1:{port}"), server.url.trim_end_matches('/'));
        }
        let own = command();
        let binary = Path::new(own.get_program()).parent().expect("it is in a folder");
        let path = std::env::var("PATH").expect("there is a PATH");
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &line])
            .current_dir(&self.folder.0)
            .env("PATH", format!("{}:{path}", binary.display()));
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        // Where `prony calibrate` keeps what it found.
        shell.env("XDG_STATE_HOME", self.folder.0.join("state"));
        program_output(shell.output().expect("there is a bash"))
    }
}

fn follow(name: &str) {
    let document = fs::read_to_string(root().join("docs/tutorials").join(name)).expect("it is there");
    let mut reader = Reader { folder: Folder::new(&format!("tutorial-{name}")), servers: BTreeMap::new() };
    let (lines, servers): (Vec<Block<'_>>, Vec<Block<'_>>) =
        blocks(&document).into_iter().partition(|block| block.info != "sh server");
    for server in &servers {
        reader.serve(server.text);
    }
    let mut followed = 0;
    for block in lines {
        match block.info.split_once(' ') {
            Some(("toml" | "text", file)) => {
                fs::write(reader.folder.0.join(file), shortened(block.text)).expect("room");
            }
            None if block.info == "sh" => {
                for line in block.text.lines() {
                    let output = reader.run(line);
                    // 3: a busy machine gives no valid figures; 1: what is required is missed there.
                    let is_done = matches!(output.code, Some(0 | 1 | 3));
                    assert!(is_done && !output.err.contains("panicked"), "{name}: {line}: {output:?}");
                    followed += 1;
                }
            }
            _ => assert_eq!(block.info, "text", "{name}: a block that nobody runs"),
        }
    }
    assert!(followed >= 3, "{name}: only {followed} lines");
    for file in reader.folder.names() {
        let length = fs::metadata(reader.folder.0.join(&file)).expect("it is there").len();
        assert!(length > 0, "{name}: {file} is empty");
    }
}

#[test]
fn a_developer_follows_theirs() {
    follow("developer.md");
}

#[test]
fn an_owner_of_a_pipeline_follows_theirs() {
    follow("ci.md");
}

#[test]
fn a_planner_follows_theirs() {
    follow("capacity.md");
}

#[test]
fn a_researcher_follows_theirs() {
    follow("research.md");
}

#[test]
fn every_tutorial_is_followed() {
    let own = include_str!("tutorials.rs");
    for file in files("docs/tutorials", "md") {
        let name = file.file_name().expect("it has a name").to_string_lossy().into_owned();
        assert!(own.contains(&format!("follow(\"{name}\")")), "{name}");
    }
}

/// The book has every document once.
#[test]
fn the_book_has_every_document() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("the book has one");
    let mut documents = files("docs", "md");
    documents.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)),
    );
    documents.extend(["bench/README.md", "studies/README.md"].map(|name| root().join(name)));
    documents.retain(|document| !document.ends_with("SUMMARY.md"));
    for document in documents {
        let path = match document.strip_prefix(root().join("docs")) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => {
                format!("../{}", document.strip_prefix(root()).expect("it is of this repository").display())
            }
        };
        assert_eq!(summary.matches(&format!("]({path})")).count(), 1, "{path} in docs/SUMMARY.md");
    }
}
