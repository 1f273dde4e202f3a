//! The limits of the control group that this process is in, and of those above it, which hold as well.
//!
//! Version 2 has one tree (Documentation/admin-guide/cgroup-v2.rst), version 1 one for each controller
//! (Documentation/admin-guide/cgroup-v1); a machine may have both. Mounted where systemd mounts them.

use super::Read;

const MOUNT: &str = "/sys/fs/cgroup";
/// Version 1 says "no limit on memory" with the greatest multiple of a page below 2^63.
const NO_MEMORY_LIMIT_BYTES: u64 = 1 << 62;

/// What the control groups allow; `None` where they set no limit.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Limits {
    /// CPUs on average.
    pub cpu_quota: Option<f64>,
    /// As the kernel lists CPUs: `0-3,8`.
    pub cpu_set: Option<String>,
    pub memory_bytes: Option<u64>,
}

/// The limits that hold for this process.
pub(super) fn limits(read: Read<'_>) -> Limits {
    let memberships = read("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Limits::default();
    for folder in memberships.lines().filter_map(membership).flat_map(folders) {
        let text = |name: &str| read(&format!("{folder}/{name}"));
        let quota = text("cpu.max").as_deref().and_then(cpu_max).or_else(|| {
            let (quota, period) = text("cpu.cfs_quota_us").zip(text("cpu.cfs_period_us"))?;
            cpu_max(&format!("{} {}", quota.trim(), period.trim()))
        });
        limits.cpu_quota = least(limits.cpu_quota, quota, f64::min);
        let memory = text("memory.max").or_else(|| text("memory.limit_in_bytes"));
        let memory = memory.and_then(|text| text.trim().parse().ok());
        let memory = memory.filter(|bytes| *bytes < NO_MEMORY_LIMIT_BYTES);
        limits.memory_bytes = least(limits.memory_bytes, memory, u64::min);
        // Inner groups come first, and have a part of what the outer ones have.
        let cpus = || text("cpuset.cpus.effective").or_else(|| text("cpuset.effective_cpus"));
        limits.cpu_set = limits.cpu_set.or_else(|| cpus().map(|cpus| cpus.trim().to_owned()));
    }
    limits.cpu_set = limits.cpu_set.filter(|cpus| !cpus.is_empty());
    limits
}

/// The tree and the path within it of one line of /proc/self/cgroup, `NUMBER:CONTROLLERS:PATH`.
fn membership(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    // A group outside of what this process may see is shown as `/../…`.
    (path.starts_with('/') && !path.contains("..")).then_some((controllers, path))
}

/// The folders of a group and of all above it, the innermost first.
fn folders((controllers, path): (&str, &str)) -> Vec<String> {
    let tree = if controllers.is_empty() { MOUNT.to_owned() } else { format!("{MOUNT}/{controllers}") };
    let mut folders = Vec::new();
    let mut path = path.trim_end_matches('/');
    while let Some((above, _)) = path.rsplit_once('/') {
        folders.push(format!("{tree}{path}"));
        path = above;
    }
    folders.push(tree);
    folders
}

/// The CPUs that `QUOTA PERIOD` allows, both in microseconds; `max` and -1 are no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

fn least<T>(known: Option<T>, other: Option<T>, lesser: fn(T, T) -> T) -> Option<T> {
    match (known, other) {
        (Some(known), Some(other)) => Some(lesser(known, other)),
        (known, other) => known.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::system;
    use super::*;

    fn check(files: &[(&str, &str)], cpu_quota: Option<f64>, cpu_set: Option<&str>, memory: Option<u64>) {
        let expected = Limits { cpu_quota, cpu_set: cpu_set.map(str::to_owned), memory_bytes: memory };
        assert_eq!(limits(&system(files)), expected, "{files:?}");
    }

    #[test]
    fn no_groups_no_limits() {
        check(&[], None, None, None);
        check(&[("/proc/self/cgroup", "0::/\n")], None, None, None);
        check(&[("/proc/self/cgroup", "nonsense\n\n::\n")], None, None, None);
    }

    #[test]
    fn version_2() {
        let mut files = vec![
            ("/proc/self/cgroup", "0::/system.slice/prony.service\n"),
            ("/sys/fs/cgroup/system.slice/prony.service/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/system.slice/prony.service/memory.max", "max\n"),
            ("/sys/fs/cgroup/system.slice/prony.service/cpuset.cpus.effective", "0-1\n"),
            ("/sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0-3\n"),
        ];
        check(&files, None, Some("0-1"), None);
        files.push(("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n"));
        files.push(("/sys/fs/cgroup/system.slice/memory.max", "1073741824\n"));
        check(&files, Some(1.5), Some("0-1"), Some(1 << 30));
    }

    #[test]
    fn the_least_of_nested_limits_holds() {
        let files = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.max", "2000\n"),
        ];
        check(&files, Some(0.5), None, Some(1000));
    }

    #[test]
    fn version_1() {
        let files = [
            ("/proc/self/cgroup", "5:memory:/jobs/7\n4:cpuset:/\n3:cpu,cpuacct:/jobs/7\n0::/\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "25000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"),
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0,2\n"),
        ];
        check(&files, Some(0.25), Some("0,2"), Some(4096));
    }

    #[test]
    fn a_group_out_of_sight() {
        let files = [("/proc/self/cgroup", "0::/../other\n"), ("/sys/fs/cgroup/cpu.max", "1 1\n")];
        check(&files, None, None, None);
    }
}
