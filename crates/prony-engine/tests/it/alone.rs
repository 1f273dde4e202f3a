//! Tests that need a process of their own, because what they change or count belongs to the whole process.

use std::process::Command;

/// Says to a child which test it is.
const CHILD: &str = "PRONY_TEST_ALONE";

/// Runs `body` in a child process that runs the test `name` only (its full path without the crate), with at
/// most `open_files` descriptors. The child gets `argument`.
pub(crate) fn alone(name: &str, open_files: u32, argument: &str, body: impl FnOnce(&str)) {
    if std::env::var_os(CHILD).is_some_and(|child| child == name) {
        return body(&std::env::var("PRONY_TEST_ARGUMENT").expect("set below"));
    }
    let output = Command::new("sh")
        .args(["-c", "ulimit -n \"$1\" && shift && exec \"$@\"", "sh", &open_files.to_string()])
        .arg(std::env::current_exe().expect("a test has a path"))
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, name)
        .env("PRONY_TEST_ARGUMENT", argument)
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{name}: {said}{complained}");
}
