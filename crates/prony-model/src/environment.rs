//! Where a run was made: what is needed to make it again, or to see why it can't be compared.

use serde::{Deserialize, Serialize};

/// The client machine and its limits. `None`: the system does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Prony's version.
    pub prony_version: String,
    /// Prony's commit, if it was built from one.
    pub prony_commit: Option<String>,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Open-file limit in force during the run.
    pub open_files_limit: Option<u64>,
    /// First and last local port.
    pub port_range: Option<(u16, u16)>,
    /// TCP congestion control.
    pub congestion_control: Option<String>,
    /// Load average over a minute, before the run.
    pub load_average_before: Option<f64>,
    /// Load average over a minute, after the run.
    pub load_average_after: Option<f64>,
    /// CPUs of the machine that are switched on, whether or not this process may use them.
    #[serde(default)]
    pub cpus_online: Option<u32>,
    /// Cores of the machine; two CPUs of one core share its execution units.
    #[serde(default)]
    pub cores: Option<u32>,
    /// CPUs that the control group may use on average (cgroup `cpu.max`); `None`: as many as there are.
    #[serde(default)]
    pub cpu_quota: Option<f64>,
    /// CPUs that the control group is bound to, as the kernel lists them (`0-3,8`).
    #[serde(default)]
    pub cpu_set: Option<String>,
    /// Memory that the control group may use (cgroup `memory.max`); `None`: all there is.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// The hypervisor under this machine (`KVM`, `VMware`, `unnamed`, …), or `none` on bare metal.
    #[serde(default)]
    pub virtualisation: Option<String>,
    /// The kind of container around this process (`docker`, `kubernetes`, …); `None`: no sign of one.
    #[serde(default)]
    pub container: Option<String>,
    /// Maker and product name of the machine.
    #[serde(default)]
    pub hardware: Option<String>,
    /// Changes with each start of the machine.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// When the kernel gives out huge pages without being asked: `always`, `madvise` or `never`.
    #[serde(default)]
    pub transparent_hugepages: Option<String>,
    /// Most connections that may wait for a listener of this machine (`net.core.somaxconn`).
    #[serde(default)]
    pub listen_backlog_limit: Option<u32>,
    /// Most connection requests that a listener of this machine remembers (`net.ipv4.tcp_max_syn_backlog`).
    #[serde(default)]
    pub syn_backlog_limit: Option<u32>,
    /// Whether ports in TIME-WAIT serve new connections early (`net.ipv4.tcp_tw_reuse`): 0 no, 1 yes, 2 on
    /// loopback.
    #[serde(default)]
    pub time_wait_reuse: Option<u32>,
    /// Speed of the link to the target, Mbit/s; `None` on this machine, and where the system does not say.
    #[serde(default)]
    pub link_mbit_per_s: Option<u32>,
}

impl Environment {
    /// A short name for this kind of machine in this state: equal where numbers may be compared, different
    /// where the hardware or the kernel is another one. 16 hexadecimal digits.
    ///
    /// It is FNV-1a (64 bits; Fowler, Noll, Vo) over a line `name=value` each, ended by a line feed, of:
    /// `cpu_model`, `cpus` (of the machine, not those that this process may use), `memory_gib` (to the nearest, because kernels keep a little for themselves),
    /// `architecture`, `virtualisation`, `kernel_release`; what the system does not say is empty. Host name,
    /// boot and load have no part in it.
    pub fn fingerprint(&self) -> String {
        let memory_gib = self.memory_bytes.map(|bytes| bytes.saturating_add(GIB_BYTES / 2) / GIB_BYTES);
        let parts = [
            ("cpu_model", self.cpu_model.clone().unwrap_or_default()),
            ("cpus", self.cpus_online.unwrap_or(self.cpus).to_string()),
            ("memory_gib", memory_gib.map(|gib| gib.to_string()).unwrap_or_default()),
            ("architecture", self.architecture.clone()),
            ("virtualisation", self.virtualisation.clone().unwrap_or_default()),
            ("kernel_release", self.kernel_release().to_owned()),
        ];
        let lines = parts.map(|(name, value)| format!("{name}={value}\n"));
        format!("{:016x}", fnv_1a(lines.concat().as_bytes()))
    }

    /// The second word of [`Self::kernel`].
    fn kernel_release(&self) -> &str {
        self.kernel.split(' ').nth(1).unwrap_or_default()
    }
}

const GIB_BYTES: u64 = 1 << 30;

/// FNV-1a with 64 bits; its basis and prime are those of the definition (RFC 9923).
fn fnv_1a(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Environment {
        Environment {
            kernel: "Linux 6.18.1 #1 SMP".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: Some("a CPU".to_owned()),
            cpus: 2,
            memory_bytes: Some(GIB_BYTES * 8 - 300_000_000),
            virtualisation: Some("KVM".to_owned()),
            ..Environment::default()
        }
    }

    fn check(change: fn(&mut Environment), is_same: bool) {
        let mut changed = machine();
        change(&mut changed);
        assert_eq!(changed.fingerprint() == machine().fingerprint(), is_same, "{changed:?}");
    }

    /// Calibrations are kept under it: it must never change for one machine.
    #[test]
    fn a_fingerprint_stays() {
        assert_eq!(machine().fingerprint(), "83ac2a32a52206ea");
        assert_eq!(Environment::default().fingerprint(), "bc7466ca9bc5e9be");
    }

    #[test]
    fn another_machine_has_another_fingerprint() {
        check(|machine| machine.cpu_model = None, false);
        check(|machine| machine.cpus = 4, false);
        check(|machine| machine.memory_bytes = Some(GIB_BYTES * 16), false);
        check(|machine| machine.architecture = "aarch64".to_owned(), false);
        check(|machine| machine.virtualisation = None, false);
        check(|machine| machine.kernel = "Linux 6.18.2 #1 SMP".to_owned(), false);
    }

    #[test]
    fn another_moment_has_the_same() {
        check(|machine| machine.kernel = "Linux 6.18.1 #2 SMP".to_owned(), true);
        check(|machine| machine.memory_bytes = Some(GIB_BYTES * 8 - 310_000_000), true);
        check(|machine| machine.boot_id = Some("another".to_owned()), true);
        check(|machine| machine.load_average_before = Some(7.0), true);
        check(|machine| machine.open_files_limit = Some(64), true);
    }

    #[test]
    fn the_hash_is_the_one_of_the_definition() {
        // Test vectors of RFC 9923.
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
