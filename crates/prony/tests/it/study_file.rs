//! `prony study FILE --dry-run`: what a study file means, and what is wrong with one.

use std::fs;

use crate::binary::{ProgramOutput, prony};
use crate::folder::Folder;

/// What prony prints for `text` as a study file called `small.toml`.
fn dry(text: &str, more: &[&str]) -> ProgramOutput {
    let folder = Folder::new(&format!("study-file-{}", text.len()));
    let path = folder.0.join("small.toml");
    fs::write(&path, text).expect("the folder can be written");
    let path = path.to_string_lossy().into_owned();
    let mut words = vec!["study", path.as_str(), "--dry-run"];
    words.extend(more);
    prony(&words)
}

const SMALL: &str = "\
title = \"Two servers\"
seed = 4
repeats = 2
order = \"interleaved\"
pause = \"0\"

[targets.quick]
serve = \"null --workers {workers}\"

[targets.there]
url = \"http://127.0.0.1:1/\"

[loads.all]
connections = 8
duration = \"4s\"

[matrix]
target = [\"quick\"]
workers = [1, 2]
include = [{ target = \"there\", load = \"all\" }]

[short]
repeats = 1
";

#[test]
fn the_plan_of_a_study() {
    let output = dry(SMALL, &[]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert_eq!(
        output.out,
        "\
Two servers
3 cells × 2 repeats = 6 runs · repeat by repeat, in the order of the file · a fresh target for each repeat · seed 4
takes 30 s, and the time of 4 starts
up to 3 more runs per cell, if the machine makes runs invalid

targets
  quick (workers 1)  prony serve null --workers 1
  quick (workers 2)  prony serve null --workers 2
  there  http://127.0.0.1:1 (runs already)

axes
  target  quick, there
  load  all
  workers  1, 2

cells
  quick · workers 1  GET /, closed loop, 8 connections, 4 s
  quick · workers 2  GET /, closed loop, 8 connections, 4 s
  there              GET /, closed loop, 8 connections, 4 s

order
      1  quick · workers 1 · repeat 1
      2  quick · workers 2 · repeat 1
      3  there · repeat 1
      4  quick · workers 1 · repeat 2
      5  quick · workers 2 · repeat 2
      6  there · repeat 2
"
    );
    let short = dry(SMALL, &["--short", "--seed", "9"]);
    assert!(short.out.contains("3 cells × 1 repeat = 3 runs"), "{}", short.out);
    assert!(short.out.contains("the short form") && short.out.contains("seed 9"), "{}", short.out);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let text = SMALL.replace("connections = 8", "conections = 8").replace("null --w", "nul --w");
    let output = dry(&text, &[]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    for expected in
        ["small.toml:8:9", "small.toml:14:1", "conections = 8", "did you mean `connections`?", "`nul`"]
    {
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    }
    assert!(!output.err.contains('\u{1b}'), "nothing is coloured where nobody looks: {}", output.err);
}

#[test]
fn a_file_that_is_none() {
    let output = prony(&["study", "no-such-study.toml", "--dry-run"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.starts_with("error: can't read the study no-such-study.toml"), "{}", output.err);
}
