//! Control groups, version 2 (cgroups(7)): limits that the kernel itself keeps, where they are delegated to us.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::Limits;

/// Where Linux has them, unless somebody mounted them elsewhere.
const ROOT: &str = "/sys/fs/cgroup";
/// Without both of these, a group limits nothing that matters here.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The kernel counts threads: so many for each process that a command may have.
pub(crate) const THREADS_EACH: u64 = 4;
/// The group that this process moves to: one with members can't give controllers to those below it.
const OWN: &str = "prony-lab";

/// Where groups for commands can be made, or why nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroups {
    parent: Result<PathBuf, String>,
}

impl Cgroups {
    /// Looks whether the group of this process was delegated to it.
    pub fn detect() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self { parent: delegated(Path::new(ROOT), &own, std::process::id()) }
    }

    /// None at all, because of `reason`.
    pub fn none(reason: &str) -> Self {
        Self { parent: Err(reason.to_owned()) }
    }

    /// Why there are none.
    pub fn missing(&self) -> Option<&str> {
        self.parent.as_ref().err().map(String::as_str)
    }

    /// A group within `limits`, where there are any.
    pub(crate) fn make(&self, limits: &Limits) -> io::Result<Option<Group>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Ok(parent) = &self.parent else { return Ok(None) };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = Group(parent.join(format!("prony-{}-{number}", std::process::id())));
        fs::create_dir(&group.0)?;
        group.write("memory.max", &limits.memory_bytes.to_string())?;
        group.write("pids.max", &(u64::from(limits.processes) * THREADS_EACH).to_string())?;
        // All of it or nothing: half a build is none. Swap is missing where the kernel has none.
        let _ = group.write("memory.oom.group", "1");
        let _ = group.write("memory.swap.max", "0");
        Ok(Some(group))
    }
}

/// The group of this process, able to give its controllers to groups below.
fn delegated(root: &Path, own: &str, pid: u32) -> Result<PathBuf, String> {
    let path =
        own.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("this system has no cgroup v2")?;
    let folder = root.join(path);
    let list = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let has_all = |list: &str| CONTROLLERS.iter().all(|name| list.split_whitespace().any(|one| one == *name));
    if !has_all(&list("cgroup.controllers")) {
        return Err("no cgroup v2 with the controllers memory and pids is delegated to it".to_owned());
    }
    if has_all(&list("cgroup.subtree_control")) {
        return Ok(folder);
    }
    let members = list("cgroup.procs");
    if members.split_whitespace().any(|member| member != pid.to_string()) {
        return Err("it shares its cgroup with other processes".to_owned());
    }
    let failed = |error: io::Error| format!("its cgroup is not delegated to it: {error}");
    let inner = folder.join(OWN);
    match fs::create_dir(&inner) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    fs::write(inner.join("cgroup.procs"), pid.to_string()).map_err(failed)?;
    fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").map_err(failed)?;
    Ok(folder)
}

/// A group of one command. Dropped, it is gone, with whatever was left in it.
#[derive(Debug)]
pub(crate) struct Group(PathBuf);

impl Group {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the kernel killed something in it because its memory was used up.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.read("memory.events")
            .lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// The most memory that it had, bytes.
    pub(crate) fn peak_memory_bytes(&self) -> Option<u64> {
        self.read("memory.peak").trim().parse().ok()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.0.join(name), text)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is empty as a rule: the guardian has seen to that.
        let _ = self.write("cgroup.kill", "1");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Moves this process into the group `path`.
pub(crate) fn enter(path: &Path) -> io::Result<()> {
    fs::write(path.join("cgroup.procs"), "0")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What the kernel would show of a group.
    fn group(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).expect("room");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("room");
        }
    }

    #[test]
    fn a_delegated_group_is_found_and_others_are_left_alone() {
        let root = tempfile::tempdir().expect("room");
        let check = |own: &str| delegated(root.path(), own, 7);
        assert_eq!(check("1:name=systemd:/\n"), Err("this system has no cgroup v2".to_owned()));
        assert!(check("0::/\n").expect_err("none").starts_with("no cgroup v2 with the controllers"));
        let all = [("cgroup.controllers", "cpu memory pids\n"), ("cgroup.procs", "7\n8\n")];
        group(&root.path().join("shared"), &all);
        assert!(check("0::/shared\n").expect_err("shared").contains("shares its cgroup"));
        group(&root.path().join("own/prony-lab"), &[]);
        group(&root.path().join("own"), &[all[0], ("cgroup.procs", "7\n")]);
        assert_eq!(check("0::/own\n"), Ok(root.path().join("own")));
        let read = |name: &str| fs::read_to_string(root.path().join("own").join(name)).expect("written");
        assert_eq!(
            (read("prony-lab/cgroup.procs"), read("cgroup.subtree_control")),
            ("7".into(), "+memory +pids".into())
        );
    }

    #[test]
    fn a_group_has_the_limits_of_its_command() {
        let root = tempfile::tempdir().expect("room");
        let limits = Limits {
            time: Duration::ZERO,
            grace: Duration::ZERO,
            memory_bytes: 1 << 30,
            disk_bytes: 0,
            output_bytes: 0,
            processes: 10,
            poll_interval: Duration::ZERO,
        };
        assert!(Cgroups::none("x").make(&limits).expect("nothing to do").is_none());
        let groups = Cgroups { parent: Ok(root.path().to_owned()) };
        let group = groups.make(&limits).expect("made").expect("there are groups");
        let read = |name: &str| fs::read_to_string(group.path().join(name)).expect("written");
        assert_eq!((read("memory.max"), read("pids.max")), ("1073741824".into(), "40".into()));
        assert!(!group.is_out_of_memory());
        fs::write(group.path().join("memory.events"), "oom 1\noom_kill 3\n").expect("room");
        assert!(group.is_out_of_memory());
        enter(group.path()).expect("room");
        assert_eq!(read("cgroup.procs"), "0");
    }
}
