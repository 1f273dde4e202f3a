//! How often the CPU quota of our control group ran out (cpu.stat, versions 1 and 2).

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Where control groups are mounted, by every system that is in use (file-hierarchy(7)).
const MOUNT: &str = "/sys/fs/cgroup";
/// Groups above ours that are looked at: containers within containers are some six deep.
const DEPTH_MAX: usize = 32;

/// The files that count for our group and for those above it, whose quotas hold us back as well.
pub(crate) fn quota_files() -> Vec<PathBuf> {
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let counts = |file: &PathBuf| read_to_string(file).is_ok_and(|text| count(&text).is_some());
    candidates(&own).into_iter().filter(counts).collect()
}

/// Times that a group of `files` was held back until its next period.
pub(crate) fn throttled(files: &[PathBuf]) -> Option<u64> {
    let counts: Vec<u64> = files.iter().filter_map(|file| count(&read_to_string(file).ok()?)).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// Where the counts may be. `own` is /proc/self/cgroup: lines of `number:controllers:path`, without controllers
/// for version 2. In a container the path may be that of the host, of which only the mount itself is seen.
fn candidates(own: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            "" => Path::new(MOUNT).to_owned(),
            controllers if controllers.split(',').any(|name| name == "cpu") => {
                Path::new(MOUNT).join(controllers)
            }
            _ => continue,
        };
        let groups = Path::new(path.trim_start_matches('/')).ancestors().take(DEPTH_MAX);
        files.extend(groups.map(|group| mount.join(group).join("cpu.stat")));
    }
    files
}

/// `nr_throttled` of a cpu.stat; the root of version 2 has none.
fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: &str, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(candidates(own), expected, "{own}");
    }

    #[test]
    fn our_group_and_those_above() {
        check(
            "0::/user.slice/session-1.scope\n",
            &[
                "/sys/fs/cgroup/user.slice/session-1.scope/cpu.stat",
                "/sys/fs/cgroup/user.slice/cpu.stat",
                "/sys/fs/cgroup/cpu.stat",
            ],
        );
        check("0::/\n", &["/sys/fs/cgroup/cpu.stat"]);
        check(
            "4:memory:/box\n3:cpu,cpuacct:/box\n2:cpuset:/\n",
            &["/sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "/sys/fs/cgroup/cpu,cpuacct/cpu.stat"],
        );
        check("", &[]);
        check("nonsense\n", &[]);
    }

    #[test]
    fn times_held_back() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(count(text), expected, "{text}");
        check("nr_periods 70\nnr_throttled 12\nthrottled_time 900\n", Some(12));
        check("usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 0\nnr_throttled 0\n", Some(0));
        check("usage_usec 5\nuser_usec 3\nsystem_usec 2\n", None);
        assert_eq!(throttled(&[]), None);
        assert_eq!(throttled(&[PathBuf::from("/proc/self/status")]), None);
    }
}
