//! Whether processes live.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// Whether there is such a process.
pub(crate) fn is_alive(process: Pid) -> bool {
    test_kill_process(process).is_ok()
}

/// Waits until `process`, which need not be a child of this one, has ended.
pub(crate) fn await_end(process: Pid) {
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return };
    let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ended =
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)).expect("it can be waited for");
    assert_eq!(ended, 1, "process {process} still lives after a minute");
}

/// A named pipe in `folder`, in which a script names its processes.
pub(crate) fn pipe(folder: &Path) -> PathBuf {
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is a mkfifo").success());
    pipe
}

/// The first processes that a script names in `pipe`, a line each, when it has.
pub(crate) fn named<const NUMBER: usize>(pipe: &Path) -> [Pid; NUMBER] {
    let mut lines = BufReader::new(File::open(pipe).expect("it is there")).lines();
    std::array::from_fn(|_| {
        let line = lines.next().expect("one more").expect("text");
        Pid::from_raw(line.parse().expect("a number")).expect("above 0")
    })
}

/// Every process below `process` in the tree of all.
pub(crate) fn descendants(process: Pid) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = std::fs::read_dir("/proc")
        .expect("/proc is there")
        .flatten()
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (_, after_name) = stat.rsplit_once(')')?;
            Some((pid, Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)?))
        })
        .collect();
    let mut found = vec![process];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}
