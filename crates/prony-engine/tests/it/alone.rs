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
    let limited = ["sh", "-c", "ulimit -n \"$1\" && shift && exec \"$@\"", "sh", &open_files.to_string()];
    start(&limited, name, argument);
}

/// Runs `body` like [`alone`], in a network namespace that only has a loopback interface, switched off.
///
/// Where the system lets nobody make one it says so and does nothing; in CI, as root, it fails instead.
pub(crate) fn in_a_network_of_its_own(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some_and(|child| child == name) {
        return body();
    }
    let ways: [&[&str]; 2] = [&["unshare", "--user", "--map-root-user", "--net"], &["unshare", "--net"]];
    let works = |way: &&&[&str]| {
        Command::new(way[0]).args(&way[1..]).arg("true").output().is_ok_and(|output| output.status.success())
    };
    if let Some(way) = ways.iter().find(works) {
        return start(way, name, "");
    }
    let must = std::env::var_os("CI").is_some() && rustix::process::geteuid().is_root();
    assert!(!must, "{name}: root can't make a network namespace here (unshare --net)");
    prony_testing::skip(name, "no network namespace can be made here (unshare --user --net)");
}

/// Runs the test `name` in a child process that `command` starts.
fn start(command: &[&str], name: &str, argument: &str) {
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(std::env::current_exe().expect("a test has a path"))
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, name)
        .env("PRONY_TEST_ARGUMENT", argument)
        .output()
        .expect("the command is there");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{name}: {stdout}{stderr}");
}
