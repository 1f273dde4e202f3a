//! Help, manual, completions, version.

use crate::binary::prony;

/// A terminal of this size shows a help whole.
const COLUMNS: usize = 80;
const LINES: usize = 30;

fn fits(words: &[&str]) -> String {
    let said = prony(words);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines.len() <= LINES, "{words:?} has {} lines:\n{}", lines.len(), said.out);
    for line in &lines {
        assert!(line.chars().count() <= COLUMNS, "{words:?}: {line}");
    }
    said.out
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
        &["exec", "--help"],
        &["study", "--help"],
        &["report", "--help"],
        &["serve", "--help"],
        &["serve", "null", "--help"],
        &["serve", "rudy", "--help"],
        &["serve", "bottleneck", "--help"],
        &["serve", "dashboard", "--help"],
        &["serve", "kv", "--help"],
        &["serve", "express", "--help"],
        &["calibrate", "--help"],
        &["demo", "--help"],
        &["ab", "-h"],
        &["wrk", "--help"],
        &["completions", "--help"],
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

#[test]
fn the_version_names_the_commit() {
    for words in [&["--version"][..], &["-V"]] {
        let said = prony(words);
        assert_eq!(said.code, Some(0));
        assert!(said.out.starts_with(concat!("prony ", env!("CARGO_PKG_VERSION"))), "{said:?}");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = prony(&["completions", shell]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{shell}");
        assert!(said.out.contains("connect-timeout") && said.out.contains("serve"), "{shell}: {}", said.out);
    }
}

#[test]
fn the_manual_has_every_command() {
    let said = prony(&["man"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    for part in
        [".TH prony 1", "PRONY RUN", "PRONY SERVE RUDY", "\\-\\-connect\\-timeout", "\\-\\-when\\-full"]
    {
        assert!(said.out.contains(part), "{part}\n{}", said.out);
    }
}
