//! The server's control group: which one it is, and what it has counted.
//!
//! Version 2 only (Documentation/admin-guide/cgroup-v2.rst); where the controllers are those of version 1, /proc has
//! all that matters.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use prony_model::{CgroupUse, Problem};

/// Groups below a group that are looked into.
const GROUPS_MAX: usize = 256;

/// A control group that is watched.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// As in /proc/PID/cgroup.
    path: String,
    first: Counts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    cpu_us: Option<u64>,
    user_us: Option<u64>,
    system_us: Option<u64>,
    throttled: Option<u64>,
    throttled_us: Option<u64>,
    disk_bytes: Option<(u64, u64)>,
}

impl Cgroup {
    /// The group that is named, as a path in the file system or within the tree.
    pub(super) fn named(name: &Path) -> Result<Self, Problem> {
        let mount = mount(&read_to_string("/proc/self/mountinfo").unwrap_or_default());
        let inside = mount.map(|mount| mount.join(name.strip_prefix("/").unwrap_or(name)));
        let folder = [Some(name.to_owned()), inside]
            .into_iter()
            .flatten()
            .find(|folder| folder.join("cgroup.procs").is_file())
            .ok_or_else(|| {
                Problem::new(
                    format!("`{}` is not a control group", name.display()),
                    "name a folder below /sys/fs/cgroup that has a file cgroup.procs",
                )
            })?;
        let first = Counts::read(&folder);
        Ok(Self { path: name.display().to_string(), folder, first })
    }

    /// The group of the process `pid`, if it has no other processes than `own`.
    pub(super) fn own(pid: u32, own: &BTreeSet<u32>) -> Option<Self> {
        let path = path(&read_to_string(format!("/proc/{pid}/cgroup")).ok()?)?.to_owned();
        let mount = mount(&read_to_string("/proc/self/mountinfo").ok()?)?;
        let folder = mount.join(path.strip_prefix('/')?);
        let group = Self { first: Counts::read(&folder), path, folder };
        let pids = group.pids();
        (!pids.is_empty() && pids.iter().all(|pid| own.contains(pid))).then_some(group)
    }

    /// The processes in it and below it.
    pub(super) fn pids(&self) -> Vec<u32> {
        let mut pids = Vec::new();
        let mut folders = vec![self.folder.clone()];
        let mut seen = 0;
        while let Some(folder) = folders.pop().filter(|_| seen < GROUPS_MAX) {
            seen += 1;
            let text = read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid > 0));
            let inner = read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(inner.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
        pids
    }

    /// Sets the beginning to now.
    pub(super) fn begin(&mut self) {
        self.first = Counts::read(&self.folder);
    }

    /// What it counted since the beginning.
    pub(super) fn summary(&self) -> CgroupUse {
        let (first, last) = (&self.first, Counts::read(&self.folder));
        let grown = |first: Option<u64>, last: Option<u64>| Some(last?.saturating_sub(first?));
        let seconds = |first, last| grown(first, last).map(|us| us as f64 / 1e6);
        let number = |name: &str| read_to_string(self.folder.join(name)).ok()?.trim().parse().ok();
        let disk = first.disk_bytes.zip(last.disk_bytes);
        CgroupUse {
            path: self.path.clone(),
            cpu_s: seconds(first.cpu_us, last.cpu_us),
            user_s: seconds(first.user_us, last.user_us),
            system_s: seconds(first.system_us, last.system_us),
            throttled: grown(first.throttled, last.throttled),
            throttled_s: seconds(first.throttled_us, last.throttled_us),
            memory_peak_bytes: number("memory.peak"),
            memory_end_bytes: number("memory.current"),
            read_bytes: disk.map(|(first, last)| last.0.saturating_sub(first.0)),
            written_bytes: disk.map(|(first, last)| last.1.saturating_sub(first.1)),
        }
    }

    /// What it can't say, for want of controllers.
    pub(super) fn shortcoming(&self) -> Option<String> {
        let lacks = |file: &str| !self.folder.join(file).exists();
        let missing: Vec<&str> = [("memory", "memory.current"), ("io", "io.stat")]
            .into_iter()
            .filter_map(|(controller, file)| lacks(file).then_some(controller))
            .collect();
        (!missing.is_empty()).then(|| {
            format!(
                "the control group {} has no controller for {}: /proc was used",
                self.path,
                missing.join(" and ")
            )
        })
    }
}

impl Counts {
    fn read(folder: &Path) -> Self {
        let text = |name: &str| read_to_string(folder.join(name)).unwrap_or_default();
        Self { disk_bytes: disk_bytes(&text("io.stat")), ..Self::of_cpu(&text("cpu.stat")) }
    }

    /// Reads a cpu.stat. Without the controller it has times, but nothing on throttling.
    fn of_cpu(text: &str) -> Self {
        let number = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
        };
        Self {
            cpu_us: number("usage_usec"),
            user_us: number("user_usec"),
            system_us: number("system_usec"),
            throttled: number("nr_throttled"),
            throttled_us: number("throttled_usec"),
            disk_bytes: None,
        }
    }
}

/// The path in version 2's tree, from /proc/PID/cgroup. The root is nobody's own.
fn path(text: &str) -> Option<&str> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    (path.len() > 1 && path.starts_with('/') && !path.contains("..")).then_some(path)
}

/// Where version 2's tree is mounted, from /proc/self/mountinfo.
fn mount(text: &str) -> Option<PathBuf> {
    text.lines().find_map(|line| {
        // `36 35 98:0 /root /mount/point options - type source options`
        let (before, after) = line.split_once(" - ")?;
        let is_it = after.split(' ').next()? == "cgroup2";
        is_it.then(|| before.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// Bytes read and written on all disks, from io.stat: `8:0 rbytes=1 wbytes=2 …`.
fn disk_bytes(text: &str) -> Option<(u64, u64)> {
    let sum = |name: &str| {
        let words =
            text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        words.fold(None, |sum: Option<u64>, bytes| Some(sum.unwrap_or(0).saturating_add(bytes)))
    };
    sum("rbytes=").zip(sum("wbytes="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_mounts() {
        assert_eq!(path("9:cpu:/a\n0::/system.slice/x y.service\n"), Some("/system.slice/x y.service"));
        for text in ["", "0::/\n", "0::/../other\n", "1:cpu:/a\n", "0::\n"] {
            assert_eq!(path(text), None, "{text}");
        }
        let text = "25 30 0:23 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                    36 25 0:31 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount(text), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount("36 25 0:31 / /x rw - cgroup cgroup rw\nnonsense\n"), None);
    }

    #[test]
    fn counts() {
        let text = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_throttled 3\nthrottled_usec 77\n";
        let counts = Counts::of_cpu(text);
        assert_eq!((counts.cpu_us, counts.throttled, counts.throttled_us), (Some(1500), Some(3), Some(77)));
        assert_eq!(Counts::of_cpu("usage_usec_x 1\nnonsense"), Counts::default());
        assert_eq!(disk_bytes("8:0 rbytes=1 wbytes=2 rios=9\n8:16 rbytes=10 wbytes=20\n"), Some((11, 22)));
        assert_eq!(disk_bytes(""), None);
    }

    #[test]
    fn what_is_no_group() {
        let why = Cgroup::named(Path::new("/no/such/group")).expect_err("there is none");
        assert!(why.to_string().contains("cgroup.procs"), "{why}");
    }
}
