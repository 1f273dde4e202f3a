//! Tells the binary which commit it was built from (a build outside a git checkout has none), and links it small.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    link_small();
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

/// The first glibc whose loader reads packed relocations (DT_RELR), as major and minor number.
const PACKED_RELOCATIONS_SINCE: (u32, u32) = (2, 36);

/// Folds functions whose code is the same, and packs the relocations of a release, where linker and loader can: rustc links
/// with its own lld for this target only.
fn link_small() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    if target != "x86_64-unknown-linux-gnu" || variable("PROFILE") != "release" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    if target == variable("HOST") && glibc().is_some_and(|version| version >= PACKED_RELOCATIONS_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
