//! Help, manual, completions, version.

use crate::binary::prony;
use crate::folder::Folder;

/// A terminal of this size shows a help whole.
const COLUMNS: usize = 80;
const LINES: usize = 30;

fn fits(words: &[&str]) -> String {
    let output = prony(words);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words:?}");
    let lines: Vec<&str> = output.out.lines().collect();
    assert!(lines.len() <= LINES, "{words:?} has {} lines:\n{}", lines.len(), output.out);
    for line in &lines {
        assert!(line.chars().count() <= COLUMNS, "{words:?}: {line}");
    }
    output.out
}

#[test]
fn every_help_fits_a_screen() {
    for words in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["run", "--help"],
        &["http://127.0.0.1/", "--help"],
        &["probe", "--help"],
        &["compare", "--help"],
        &["capacity", "--help"],
        &["overload", "--help"],
        &["exec", "--help"],
        &["study", "--help"],
        &["report", "--help"],
        &["serve", "--help"],
        &["serve", "null", "--help"],
        &["serve", "rudy", "--help"],
        &["serve", "bottleneck", "--help"],
        &["serve", "queue", "--help"],
        &["serve", "dashboard", "--help"],
        &["serve", "kv", "--help"],
        &["serve", "express", "--help"],
        &["agent", "--help"],
        &["agent", "nats-config", "--help"],
        &["calibrate", "--help"],
        &["demo", "--help"],
        &["self-test", "--help"],
        &["ab", "-h"],
        &["wrk", "--help"],
        &["completions", "--help"],
        &["explain", "--help"],
        &["help", "serve", "rudy"],
    ] {
        fits(words);
    }
}

#[test]
fn the_main_helps_show_three_examples() {
    for words in [
        &["--help"][..],
        &["run", "--help"],
        &["probe", "--help"],
        &["compare", "--help"],
        &["capacity", "--help"],
        &["overload", "--help"],
        &["exec", "--help"],
        &["study", "--help"],
        &["report", "--help"],
        &["serve", "--help"],
    ] {
        let help = fits(words);
        let examples = help.split("Examples:\n").nth(1).expect("examples");
        assert_eq!(examples.lines().filter(|line| line.starts_with("  prony ")).count(), 3, "{help}");
    }
}

#[test]
fn everything_else_is_in_help_all() {
    let short = prony(&["run", "--help"]).out;
    let all = prony(&["run", "--help-all"]).out;
    for flag in
        ["--poisson", "--pipeline", "--http1.0", "--unix", "--source", "--driver", "--expect-body-regex"]
    {
        assert!(all.contains(flag) && !short.contains(flag), "{flag}");
    }
    for page in [&all, &prony(&["--help-all"]).out] {
        for code in ["0    good", "2    usage", "3    invalid run", "4    target failed", "130  interrupted"]
        {
            assert!(page.contains(code), "{code}\n{page}");
        }
    }
}

/// Those who mistype a flag are sent here.
#[test]
fn the_whole_help_has_every_flag_of_a_run() {
    let of_run = prony(&["run", "--help-all"]).out;
    let flags: Vec<&str> =
        of_run.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2).collect();
    let all = prony(&["--help-all"]).out;
    assert!(flags.len() > 40, "{flags:?}");
    for flag in flags {
        assert!(all.contains(flag), "{flag}");
    }
}

#[test]
fn help_is_about_the_command_that_is_named() {
    for words in [&["run"][..], &["serve", "kv"], &["lab", "gate"]] {
        let help = prony(&[&["help"], words].concat());
        assert_eq!(help.out, prony(&[words, &["--help"]].concat()).out, "{words:?}");
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn the_version_names_the_commit() {
    for words in [&["--version"][..], &["-V"]] {
        let output = prony(words);
        assert_eq!(output.code, Some(0));
        assert!(output.out.starts_with(concat!("prony ", env!("CARGO_PKG_VERSION"))), "{output:?}");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = prony(&["completions", shell]);
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{shell}");
        assert!(
            output.out.contains("connect-timeout") && output.out.contains("serve"),
            "{shell}: {}",
            output.out
        );
    }
}

/// The script offers what `completed` gives it: asked as bash asks.
#[test]
fn bash_completes_commands_and_the_flags_behind_a_url() {
    let script = prony(&["completions", "bash"]).out;
    // An argument would be too long.
    let folder = Folder::new("completions");
    std::fs::write(folder.0.join("completions"), &script).expect("room");
    let completed = |words: &str, at: usize, word: &str, before: &str| {
        let ask = format!(
            ". completions; COMP_WORDS=({words}); COMP_CWORD={at}; _prony prony {word} {before}; echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = std::process::Command::new("bash");
        let output = bash.args(["-c", &ask]).current_dir(&folder.0).output().expect("bash is there");
        String::from_utf8(output.stdout).expect("words").trim().to_owned()
    };
    assert_eq!(completed("prony http://h/ --du", 2, "--du", "http://h/"), "--duration");
    assert_eq!(completed("prony cal", 1, "cal", "prony"), "calibrate");
    assert_eq!(completed("prony compare --pai", 2, "--pai", "compare"), "--pairs");
    assert!(!script.contains("truth-log"), "hidden commands are offered");
}

#[test]
fn every_flag_in_the_manual_has_a_text() {
    let manual = prony(&["man"]).out;
    let lines: Vec<&str> = manual.lines().collect();
    let mut flags = 0;
    for three in lines.windows(3).filter(|three| three[0] == ".TP") {
        flags += 1;
        assert!(!three[2].is_empty() && !three[2].starts_with('.'), "{}: {}", three[1], three[2]);
    }
    assert!(flags > 300, "{flags}");
}

#[test]
fn every_finding_is_explained() {
    let list = prony(&["explain"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    for code in ["no-success", "run-queue-wait", "littles-law", "memory-growth"] {
        assert!(
            list.out.contains(&format!("\n{code} ")) || list.out.starts_with(code),
            "{code}: {}",
            list.out
        );
        let output = prony(&["explain", code]);
        assert!(output.out.starts_with(code) && output.out.contains("\nWhat to do: "), "{output:?}");
    }
    let unknown = prony(&["explain", "stael"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("did you mean `prony explain steal`?"), "{unknown:?}");
}

#[test]
fn the_manual_has_every_command() {
    let output = prony(&["man"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    for part in
        [".TH prony 1", "PRONY RUN", "PRONY SERVE RUDY", "\\-\\-connect\\-timeout", "\\-\\-when\\-full"]
    {
        assert!(output.out.contains(part), "{part}\n{}", output.out);
    }
}
