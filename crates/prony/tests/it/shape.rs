//! The shape of a report: what remains of it without its numbers. The shapes are kept as snapshots, and compared
//! with the real tools where those are installed.

use std::process::{Command, Stdio};

use crate::binary::prony;

/// Lines of a table whose numbers stand in columns: their length counts, too.
const IN_COLUMNS: [&str; 8] =
    ["Connect:", "Processing:", "Waiting:", "Total:", "Latency ", "Req/Sec", "% ", "/sec:"];
/// Lines of ab that follow from what was asked for and from what the server sends, not from time.
const COUNTS: [&str; 12] = [
    "Server Software:",
    "Server Port:",
    "Document Path:",
    "Document Length:",
    "Concurrency Level:",
    "Complete requests:",
    "Failed requests:",
    "(Connect:",
    "Non-2xx responses:",
    "Keep-Alive requests:",
    "Total ",
    "HTML transferred:",
];

/// Runs `prony TOOL WORDS…` and, where it is installed, `TOOL WORDS…`; both must have the shape of the snapshot, and
/// the same counts.
pub(crate) fn check(name: &str, tool: &str, words: &[&str]) {
    let words: Vec<&str> = words.to_vec();
    let ours = prony(&[&[tool], words.as_slice()].concat());
    let (counted, ours) = (counts(&ours.out), shape(&ours.out));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, ours);
    });
    if let Some(theirs) = real(tool, &words) {
        assert_eq!(ours, shape(&theirs), "{tool} {words:?}: ours left, theirs right");
        assert_eq!(counted, counts(&theirs), "{tool} {words:?}: ours left, theirs right");
    }
}

/// The lines of a report whose numbers are the same each time.
fn counts(report: &str) -> Vec<String> {
    let is_count = |line: &&str| COUNTS.iter().any(|label| line.trim_start().starts_with(label));
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    report.lines().filter(is_count).map(plain).collect()
}

/// What the real tool prints; `None` if it isn't installed.
fn real(tool: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(words).stdin(Stdio::null()).output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).expect("text")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            prony_testing::skip_without(tool, &format!("prony {tool} compared with {tool}"));
            None
        }
        Err(error) => panic!("{tool}: {error}"),
    }
}

/// `report` line for line with `#` for each number; without the banner, which names the program, and without
/// ab's doubts about its mean, which depend on the numbers.
fn shape(report: &str) -> String {
    let mut lines = Vec::new();
    let mut doubt = 0;
    for line in report.lines() {
        if line.starts_with("WARNING: The median") || line.starts_with("ERROR: The median") {
            doubt = 2;
        }
        if doubt > 0 {
            doubt -= 1;
        } else if !is_banner(line) {
            lines.push(without_numbers(line));
        }
    }
    lines.join("\n")
}

fn is_banner(line: &str) -> bool {
    ["This is ApacheBench", "Copyright", "Licensed", "Measured by Prony", "Prony's own verdict"]
        .iter()
        .any(|start| line.trim_start().starts_with(start))
}

fn without_numbers(line: &str) -> String {
    let mut shape = String::with_capacity(line.len());
    let mut characters = line.replace("-nan", "0").chars().collect::<Vec<char>>().into_iter().peekable();
    while let Some(character) = characters.next() {
        // A unit belongs to its number, for it is chosen by it.
        let is_number =
            character.is_ascii_digit() && !shape.ends_with(|last: char| last.is_ascii_alphabetic());
        if !is_number {
            shape.push(character);
            continue;
        }
        while characters.peek().is_some_and(|next| next.is_ascii_digit() || *next == '.') {
            characters.next();
        }
        let unit: String = characters.clone().take_while(char::is_ascii_alphabetic).collect();
        if ["us", "ms", "s", "m", "k", "M", "G", "B", "KB", "MB", "GB"].contains(&unit.as_str()) {
            characters.nth(unit.len() - 1);
        }
        shape.push('#');
    }
    let words = shape.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.contains('<') {
        // Cells hold numbers at their right.
        words
    } else if IN_COLUMNS.iter().any(|label| line.contains(label)) {
        format!("{words} [{} columns]", line.len())
    } else {
        shape
    }
}
