//! What descends from a process, as far as /proc shows.

use std::fs;
use std::path::Path;

use rustix::param::page_size;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process as it was when /proc was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its number, which may be another's by now.
    pub pid: Pid,
    /// Its parent's number; none where that is outside of what can be seen.
    pub parent: Option<Pid>,
    /// The name of its program, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Memory that it has in RAM, bytes; what several processes share counts for each of them.
    pub resident_bytes: u64,
    /// Whether it has ended and only waits for its parent to see that.
    pub is_over: bool,
    /// When it started, clock ticks since boot: with the number, this identifies a process.
    started: u64,
}

impl Member {
    /// From /proc/PID/stat (proc_pid_stat(5)).
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        // A name can hold any byte, also `)`.
        let (name, fields) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        Some(Self {
            pid: Pid::from_raw(pid.parse().ok()?)?,
            parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
            name: name.to_owned(),
            resident_bytes: fields.get(21)?.parse::<u64>().ok()?.saturating_mul(page_size() as u64),
            is_over: matches!(*fields.first()?, "Z" | "X"),
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn read(folder: &Path) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&fs::read(folder.join("stat")).ok()?))
    }

    /// Sends `signal` to this very process, never to another that got its number meanwhile.
    pub fn signal(&self, signal: Signal) {
        let Ok(handle) = pidfd_open(self.pid, PidfdFlags::empty()) else { return };
        // Looked at after the handle was made: if it is the same now, the handle is its own.
        let now = Self::read(Path::new(&format!("/proc/{}", self.pid.as_raw_nonzero())));
        if now.is_some_and(|now| now.started == self.started) {
            // It may just have ended.
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}

/// Every process that descends from `root`, parents before children.
pub fn below(root: Pid) -> Vec<Member> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let is_process = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit();
    let mut others: Vec<Member> =
        entries.flatten().filter(is_process).filter_map(|entry| Member::read(&entry.path())).collect();
    let (mut found, mut parents) = (Vec::new(), vec![root]);
    // A generation at a time; each process is moved once, so this ends.
    while !parents.is_empty() {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|member| member.parent.is_some_and(|of| parents.contains(&of)));
        parents = children.iter().map(|member| member.pid).collect();
        found.extend(children);
        others = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::getpid;

    use super::*;

    #[test]
    fn a_line_of_proc_is_read() {
        let stat = "4711 (a ) (b) S 17 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 9999 1000000 25 18446744073709551615";
        let member = Member::parse(stat).expect("it is whole");
        let pid = |number| Pid::from_raw(number).expect("above 0");
        assert_eq!((member.pid, member.parent, member.name.as_str()), (pid(4711), Some(pid(17)), "a ) (b"));
        assert_eq!((member.resident_bytes, member.started), (25 * page_size() as u64, 9999));
        assert!(!member.is_over && Member::parse("1 (init) Z").is_none() && Member::parse("").is_none());
    }

    #[test]
    fn descendants_are_found_and_reached() {
        let mut child = Command::new("sh").args(["-c", "sleep 1000; :"]).spawn().expect("there is a shell");
        let shell = Pid::from_child(&child);
        let mut tree = Vec::new();
        // The shell may take a moment to start what it is to wait for.
        for _ in 0..1000 {
            tree = below(getpid());
            if tree.iter().any(|member| member.parent == Some(shell)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(tree.iter().any(|member| member.pid == shell && member.resident_bytes > 0), "{tree:?}");
        let sleeper = tree.iter().find(|member| member.parent == Some(shell)).expect("a sleep").clone();
        let other = Member { started: sleeper.started + 1, ..sleeper.clone() };
        other.signal(Signal::KILL);
        // It may have become `sleep` meanwhile, with another name and other memory.
        let is_sleeper = |member: &Member| (member.pid, member.started) == (sleeper.pid, sleeper.started);
        assert!(below(shell).iter().any(is_sleeper), "a number alone is not enough");
        sleeper.signal(Signal::KILL);
        assert!(child.wait().expect("it is ours").success());
        assert!(below(getpid()).iter().all(|member| member.pid != shell));
    }
}
