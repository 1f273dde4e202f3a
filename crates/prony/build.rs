//! Tells the binary which commit it was built from; a build outside a git checkout has none.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The reflog changes with every commit and checkout; where there is none, nothing is watched.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let version = env!("CARGO_PKG_VERSION");
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) => {
            println!("cargo::rustc-env=PRONY_VERSION={version} ({commit})");
            println!("cargo::rustc-env=PRONY_COMMIT={commit}");
        }
        None => println!("cargo::rustc-env=PRONY_VERSION={version}"),
    }
}

/// What git says, if there is a git and it says anything.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
