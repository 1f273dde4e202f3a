//! What the files of /proc/PID mean (proc_pid_stat(5) and its neighbours): functions of their texts.

use crate::clock::Nanos;

/// What is read of /proc/PID/stat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    /// The program's name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// `R`, `S`, `Z`, …
    pub state: char,
    pub parent: u32,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Times in ticks of the kernel, a hundredth of a second each.
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Of children that ended and were waited for, user and system together.
    pub children_ticks: u64,
    pub threads: u32,
    /// Ticks since boot: with the number, this distinguishes one process from another.
    pub started_ticks: u64,
    pub resident_pages: u64,
}

impl Stat {
    /// Reads the text of /proc/PID/stat.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let name_from = text.find('(')? + 1;
        // A name can hold any byte, also `)` and spaces: the last one ends it.
        let name_to = text.rfind(')').filter(|to| *to >= name_from)?;
        let fields: Vec<&str> = text[name_to + 1..].split_ascii_whitespace().collect();
        // The first of them is field 3 of proc_pid_stat(5).
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name: text[name_from..name_to].to_owned(),
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(4)?).ok()?,
            minor_faults: number(10)?,
            major_faults: number(12)?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_ticks: number(16)?.checked_add(number(17)?)?,
            threads: u32::try_from(number(20)?).ok()?,
            started_ticks: number(22)?,
            resident_pages: number(24)?,
        })
    }

    /// Whether it has ended and only waits for its parent to notice.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// CPU time of a thread and the time that it waited for a CPU, from /proc/PID/task/TID/schedstat
/// (Documentation/scheduler/sched-stats.rst).
pub(super) fn schedstat(text: &str) -> Option<(Nanos, Nanos)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// What is read of /proc/PID/status, or of a thread's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub peak_bytes: Option<u64>,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    /// CPUs that it may run on.
    pub cpus: Option<u32>,
}

impl Status {
    /// Reads the text of a `status`.
    pub(super) fn parse(text: &str) -> Self {
        let value = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let number = |name: &str| value(name)?.parse().ok();
        Self {
            peak_bytes: value("VmHWM")
                .and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)),
            voluntary_switches: number("voluntary_ctxt_switches"),
            involuntary_switches: number("nonvoluntary_ctxt_switches"),
            cpus: value("Cpus_allowed_list").and_then(cpu_count),
        }
    }
}

/// How many CPUs a list such as `0-3,8` names.
fn cpu_count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |count, range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        count.checked_add(to.checked_sub(from)?.checked_add(1)?)
    })
}

/// Bytes read from disks and written to them, from /proc/PID/io.
pub(super) fn disk_bytes(text: &str) -> Option<(u64, u64)> {
    let number =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)?.parse().ok();
    Some((number("read_bytes:")?, number("write_bytes:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str =
        "S 17 4711 4711 0 -1 4194560 101 5 3 7 40 30 20 10 20 0 3 0 9999 1000000 25 18446744073709551615";

    #[test]
    fn names_with_spaces_and_parentheses() {
        for name in ["rudy", "a ) (b", "", ")", "(sd-pam)", "S 1 2", "ngin\u{fffd}x: worker"] {
            let stat = Stat::parse(&format!("4711 ({name}) {REST}\n")).expect("it is whole");
            let expected = Stat {
                name: name.to_owned(),
                state: 'S',
                parent: 17,
                minor_faults: 101,
                major_faults: 3,
                user_ticks: 40,
                system_ticks: 30,
                children_ticks: 30,
                threads: 3,
                started_ticks: 9999,
                resident_pages: 25,
            };
            assert_eq!(stat, expected);
        }
    }

    #[test]
    fn what_is_no_stat() {
        for text in ["", "1", "1 (init", "1 init) S 1", ")(", "1 (init) Z 0 1", "1 (init)"] {
            assert_eq!(Stat::parse(text), None, "{text}");
        }
        assert!(Stat::parse(&format!("1 (a) {}", REST.replace('S', "Z"))).expect("whole").is_over());
    }

    #[test]
    fn scheduler_times() {
        assert_eq!(schedstat("123 45 6\n"), Some((123, 45)));
        for text in ["", "1", "a b c", "-1 2 3"] {
            assert_eq!(schedstat(text), None, "{text}");
        }
    }

    #[test]
    fn status_lines() {
        let text = "Name:\tvoluntary_ctxt_switches: 9\nVmPeak:\t 10 kB\nVmHWM:\t   2048 kB\nCpus_allowed:\tff\n\
                    Cpus_allowed_list:\t0-1,4\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        let expected = Status {
            peak_bytes: Some(2 << 20),
            voluntary_switches: Some(150),
            involuntary_switches: Some(545),
            cpus: Some(3),
        };
        assert_eq!(Status::parse(text), expected);
        // A kernel thread has no memory.
        assert_eq!(Status::parse("Name:\tkworker/0:1\n"), Status::default());
        assert_eq!(
            [cpu_count("0"), cpu_count("3-1"), cpu_count("x"), cpu_count("")],
            [Some(1), None, None, None]
        );
    }

    #[test]
    fn disks() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        assert_eq!(disk_bytes(text), Some((4096, 8192)));
        assert_eq!(disk_bytes("read_bytes: 1\n"), None);
    }
}
