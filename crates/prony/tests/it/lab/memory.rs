//! What a lab takes of the machine's memory.

use super::faults::ask;
use super::running::Running;
use crate::folder::Folder;

/// Tries to log in, each with a name of its own: one address has more of them.
const LOGINS: u32 = 16;
/// What they may leave behind: two hashes of 19 MiB and what pages take. When the C library kept them it was eight.
const GROWTH_KB_MAX: u64 = 64 << 10;

/// Resident memory of a process.
fn resident_kb(process_id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn passwords_are_hashed_in_memory_that_is_given_back() {
    let folder = Folder::new("lab-memory");
    let lab = Running::start(&folder.0);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let login = |number: u32| {
        let body = format!("name=nobody{number}&password=wrong");
        let (status, ..) = ask(&lab.address, "POST", "/login", &form, &body).expect("answered");
        assert_eq!(status, 401);
    };
    login(0);
    let before = resident_kb(lab.process_id());
    (1..LOGINS).for_each(login);
    let after = resident_kb(lab.process_id());
    assert!(after < before + GROWTH_KB_MAX, "{before} kB before, {after} kB after");
    lab.stop();
}
