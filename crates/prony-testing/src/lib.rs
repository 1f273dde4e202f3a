//! What the tests of Prony's crates share: a test that can't run here reports that.
//!
//! `./test` names a file in `PRONY_TEST_SKIPPED`, prints what was written there in its summary, and counts it. Only tests
//! may depend on this crate.
#![expect(clippy::print_stderr, reason = "a test that does nothing must say so")]

use std::io::Write as _;

/// Where `./test` collects what was skipped.
const FILE: &str = "PRONY_TEST_SKIPPED";

/// Reports that `what` was not tested because this machine can't do it: `reason` is what is missing.
pub fn skip(what: &str, reason: &str) {
    let line = format!("{what}: {reason}\n");
    eprint!("SKIPPED {line}");
    let Some(path) = std::env::var_os(FILE) else { return };
    // One write for each line: tests of several processes append to this file.
    std::fs::File::options()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("can't write to {}: {error}", path.display()));
}

/// Reports that `what` was not tested because `tool` is missing, which `./test` installs. In CI that is a failure.
///
/// # Panics
///
/// If the environment variable `CI` is set.
pub fn skip_without(tool: &str, what: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "{what}: {tool} is not installed, and CI must have it (./test)"
    );
    skip(what, &format!("{tool} is not installed (./test installs it where it can)"));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Output};

    use super::*;

    /// Set in a child process.
    const CHILD: &str = "PRONY_TEST_CHILD";

    /// What [`in_a_child`] does where it is one: environment variables belong to the whole process.
    fn child(list: &Path, is_ci: bool) -> Output {
        let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
        command.args(["--exact", "tests::in_a_child", "--nocapture"]).env(CHILD, "yes").env(FILE, list);
        if is_ci {
            command.env("CI", "true")
        } else {
            command.env_remove("CI")
        };
        command.output().expect("this program can be run")
    }

    #[test]
    fn in_a_child() {
        if std::env::var_os(CHILD).is_some() {
            skip("the sea", "no ship");
            skip_without("rudder", "the way home");
        }
    }

    #[test]
    fn what_is_skipped_is_listed_and_in_ci_a_missing_tool_is_a_failure() {
        let list = std::env::temp_dir().join(format!("prony-testing-{}", std::process::id()));
        let output = child(&list, false);
        assert!(output.status.success(), "{output:?}");
        let here =
            "the sea: no ship\nthe way home: rudder is not installed (./test installs it where it can)\n";
        assert_eq!(std::fs::read_to_string(&list).expect("the list"), here);
        let output = child(&list, true);
        assert!(!output.status.success(), "{output:?}");
        assert_eq!(std::fs::read_to_string(&list).expect("the list"), format!("{here}the sea: no ship\n"));
        std::fs::remove_file(&list).expect("the list");
    }
}
