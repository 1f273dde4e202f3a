//! The parts of the lab that start processes, with the built binary as their guardian.

mod ask;
mod attacks;
mod caches;
mod capacity;
mod checkout;
mod faults;
mod https;
mod killed;
mod logging;
mod memory;
mod process;
mod running;
mod sandbox;
mod tiny;
mod triggers;
mod worker;

use std::ffi::OsString;
use std::time::Duration;

use prony_lab::work::Workspace;
use prony_supervisor::{Cancel, CommandOutcome, CommandSpec, Limits, POLL_INTERVAL, Starter};

use crate::folder::Folder;

/// What no test reaches unless it means to.
const AMPLE: Limits = Limits {
    time: Duration::from_mins(2),
    grace: Duration::from_mins(1),
    memory_bytes: 1 << 30,
    disk_bytes: 1 << 30,
    output_bytes: 1 << 20,
    processes: 100,
    poll_interval: POLL_INTERVAL,
};

/// A room with all that is needed to run commands in it.
struct Bench {
    #[expect(dead_code, reason = "its end removes it")]
    folder: Folder,
    room: Workspace,
    starter: Starter,
    bounds: Limits,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("lab-{name}"));
        let room = Workspace::make(&folder.0, "7", None).expect("the target folder can be written");
        let starter = Starter::new(env!("CARGO_BIN_EXE_prony"));
        Self { folder, room, starter, bounds: AMPLE }
    }

    /// What a shell does with `script`.
    fn order(&self, script: &str) -> CommandSpec {
        let search_path = std::env::var("PATH").expect("there is one");
        CommandSpec {
            words: ["/bin/sh", "-c", script].map(OsString::from).to_vec(),
            folder: self.room.path().to_owned(),
            environment: self.room.environment(&search_path, &[("PRONY_COMMIT", "abc".to_owned())]),
            disk: self.room.path().to_owned(),
            tree: true,
            limits: self.bounds,
        }
    }

    fn run(&self, order: &CommandSpec) -> (CommandOutcome, String) {
        let mut output = Vec::new();
        let ran = self.starter.run(order, &Cancel::default(), &mut |piece| output.extend_from_slice(piece));
        (ran.expect("the binary was built"), String::from_utf8_lossy(&output).into_owned())
    }

    fn sh(&self, script: &str) -> (CommandOutcome, String) {
        self.run(&self.order(script))
    }

    /// The processes whose working folder is in the room.
    fn left(&self) -> Vec<String> {
        let in_room = |entry: &std::fs::DirEntry| {
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.room.path()))
        };
        let processes = std::fs::read_dir("/proc").expect("it is there").flatten().filter(in_room);
        processes
            .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
            .collect()
    }
}
