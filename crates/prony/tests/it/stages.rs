//! Stages and bursts from the command line and in study files, and the examples of docs/stages.md.

use std::fs;

use serde_json::Value;

use crate::binary::prony;
use crate::servers::Served;

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_can_not_be_is_refused() {
    let check = |words: &[&str], what: &str, advice: &str| {
        let output = prony(&[&["run", "http://127.0.0.1:9/"], words].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        let err = flat(&output.err);
        assert!(err.contains(what) && err.contains(advice), "{words:?}: {err}");
    };
    check(&["--stages", "100"], "`100` is not a stage", "100/s:30s");
    check(
        &["--stages", "30s:100"],
        "`30s:100` has its time first",
        "100:30s stays at it, ..100:30s ramps up to it",
    );
    check(&["--stages", "0:3s"], "all at a rate of 0 send nothing", "a rate above 0");
    check(&["--stages", "1:1s,2:0"], "stage 2 has a duration of 0", "a jump needs none");
    check(&["--stages", "a=1:1s,a=2:1s"], "two stages are named `a`", "a name of its own");
    check(
        &["--stages", "1:1s", "--rate", "5"],
        "--rate and --stages both say how high",
        "leave out one of them",
    );
    check(
        &["--stages", "1:1s", "-d", "5s"],
        "--duration and --stages both say when",
        "leave out one of them",
    );
    check(&["--stages", "1:1s", "-n", "5"], "--requests and --stages both say when", "leave out one of them");
    check(&["--stages", "1:100h,1:100h"], "a duration over 168 hours", "several runs");
    check(
        &["--stages", "a=1:1s,2:1s", "--threshold", "stage.b.response.p99 < 1s"],
        "`stage.b.response.p99 < 1s` is about a stage that the load does not have",
        "its stages are a, 2",
    );
    check(
        &["--rate", "5", "--threshold", "step.buy.success > 99%"],
        "is about a step that the load does not have",
        "steps are those of a scenario",
    );
    check(&["--arrivals", "poisson"], "there is no rate", "add --rate 500, or --stages");
    check(
        &["--rate", "5", "--poisson", "--arrivals", "poisson"],
        "both say how requests arrive",
        "leave out",
    );
    check(&["--rate", "5", "--arrivals", "often"], "`often` is no way", "constant, poisson or bursty");
    check(&["--rate", "5", "--arrivals", "bursty:1x,1s"], "bursts must be above the rate", "more than 1x");
    check(&["--rate", "5", "--arrivals", "bursty:5x,1ms"], "bursts below 10 ms", "bursty:5x,1s");
    check(&["--rate", "1", "--arrivals", "bursty:2x,100ms"], "less than one request", "longer bursts");
}

#[test]
fn every_report_has_the_stages() {
    let server = Served::start(&["null"]);
    let stages = ["--stages", "50/s:400ms,spike=200/s:300ms,0:100ms", "--warmup", "100ms", "-q"];
    let output = prony(&[&["run", &server.url, "-o", "json"], &stages[..]].concat());
    let result: Value = serde_json::from_str(&output.out).expect("a result");
    let found: Vec<_> = result["stages"]
        .as_array()
        .expect("stages")
        .iter()
        .map(|stage| (stage["name"].as_str().unwrap_or_default(), stage["requests"]["intended"].as_u64()))
        .collect();
    assert_eq!(found, [("1", Some(20)), ("spike", Some(60)), ("3", Some(0))], "{}", output.err);
    let file = std::env::temp_dir().join(format!("prony-stages-{}.json", std::process::id()));
    fs::write(&file, &output.out).expect("it can be written");
    let path = file.to_str().expect("a path");
    for (format, words) in [
        ("text", "stage spike"),
        ("markdown", "| stage spike |"),
        ("csv", ",stage.spike.response,"),
        ("html", "id=\"stages-1\""),
    ] {
        let output = prony(&["report", path, "-o", format]);
        assert!(output.out.contains(words), "{format}: {output:?}");
    }
    fs::remove_file(&file).expect("it is there");
}

/// The commands of docs/stages.md, with the server's own port.
#[test]
fn the_examples_of_the_documentation_run() {
    const URL: &str = "http://127.0.0.1:3000/";
    let text = fs::read_to_string(crate::repository::root().join("docs/stages.md")).expect("it is there");
    let example = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let mut commands = example.lines().map(|line| line.split(" #").next().unwrap_or_default());
    let serve: Vec<&str> = commands.next().expect("a server").split_whitespace().skip(2).collect();
    let server = Served::start(&serve);
    let mut run = 0;
    for command in commands {
        // One argument is quoted.
        let mut words = Vec::new();
        for (index, part) in command.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        let words: Vec<&str> =
            words.into_iter().skip(1).map(|word| if word == URL { &server.url } else { word }).collect();
        let output = prony(&words);
        assert!(matches!(output.code, Some(0 | 3)), "{words:?} {output:?}");
        assert_eq!(words.contains(&"--stages"), output.out.contains("asked /s"), "{words:?} {output:?}");
        run += 1;
    }
    assert!(run >= 5, "{example}");
}
