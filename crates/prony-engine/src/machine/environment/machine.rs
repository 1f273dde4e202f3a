//! What the machine is: cores, hypervisor, container. Read from the files that the kernel shows, and left open
//! where they don't say.

use super::Read;

/// How the hypervisors that people meet name the machines that they make, in maker and product.
const HYPERVISORS: [(&str, &str); 12] = [
    ("kvm", "KVM"),
    ("qemu", "KVM"),
    ("openstack", "KVM"),
    ("google compute engine", "KVM"),
    ("amazon ec2", "KVM"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("parallels", "Parallels"),
    ("bhyve", "bhyve"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("apple virtualization", "Apple Virtualization"),
    ("xen", "Xen"),
];
/// Clock sources that only guests of a hypervisor have. Small hypervisors show no product name, but these.
const GUEST_CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
/// What the first process's control group is called within containers.
const CONTAINERS: [(&str, &str); 5] = [
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("containerd", "containerd"),
];

/// The hypervisor under this machine, `unnamed` where it does not say its name, `none` on bare metal.
pub(super) fn virtualisation(read: Read<'_>) -> Option<String> {
    if let Some(kind) = read("/sys/hypervisor/type").filter(|kind| !kind.trim().is_empty()) {
        return Some(named(&kind.trim().to_lowercase(), &HYPERVISORS).unwrap_or(kind.trim()).to_owned());
    }
    let cpus = read("/proc/cpuinfo").unwrap_or_default();
    // Other architectures have no line of this name, and no such flag in theirs.
    let flags = value(&cpus, "flags");
    let is_guest = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let hardware = hardware(read).unwrap_or_default().to_lowercase();
    let clocks = read("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let name = named(&hardware, &HYPERVISORS)
        .or_else(|| named(clocks.as_deref().unwrap_or_default(), &GUEST_CLOCKS));
    match (is_guest, name) {
        // Clouds sell bare metal under the product names of their virtual machines.
        (Some(false), _) => Some("none".to_owned()),
        (_, Some(name)) => Some(name.to_owned()),
        (Some(true), None) => Some("unnamed".to_owned()),
        (None, None) => None,
    }
}

/// The kind of container around this process, if there is a sign of one.
pub(super) fn container(read: Read<'_>) -> Option<String> {
    if let Some(kind) = read("/run/systemd/container").filter(|kind| !kind.trim().is_empty()) {
        return Some(kind.trim().to_owned());
    }
    let group = read("/proc/1/cgroup").unwrap_or_default();
    named(&group, &CONTAINERS)
        .or_else(|| read("/run/.containerenv").map(|_| "podman"))
        .or_else(|| read("/.dockerenv").map(|_| "docker"))
        .map(str::to_owned)
}

/// Maker and product name, as the firmware names them.
pub(super) fn hardware(read: Read<'_>) -> Option<String> {
    let parts = ["sys_vendor", "product_name"].map(|name| read(&format!("/sys/class/dmi/id/{name}")));
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| part.trim().to_owned()).collect();
    let text = parts.join(" ").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// How many CPUs are switched on.
pub(super) fn cpus_online(read: Read<'_>) -> Option<u32> {
    let list = read("/sys/devices/system/cpu/online")?;
    list.trim().split(',').try_fold(0_u32, |count, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// How many cores they are on: pairs of a package and a core within it.
pub(super) fn cores(read: Read<'_>) -> Option<u32> {
    let cpus = read("/proc/cpuinfo")?;
    let places =
        cpus.split("\n\n").filter_map(|cpu| Some((value(cpu, "physical id")?, value(cpu, "core id")?)));
    let cores: std::collections::BTreeSet<_> = places.collect();
    u32::try_from(cores.len()).ok().filter(|cores| *cores > 0)
}

/// The word in brackets of a list such as `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

/// The value of the first line `name : value`.
pub(super) fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let named = |line: &'a str| line.split_once(':').filter(|(found, _)| found.trim_end() == name);
    text.lines().find_map(named).map(|(_, value)| value.trim())
}

/// The name that belongs to the first sign that stands in `text`.
fn named<'a>(text: &str, signs: &[(&str, &'a str)]) -> Option<&'a str> {
    signs.iter().find(|(sign, _)| text.contains(sign)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::system;
    use super::*;

    const BARE: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme\n");
    const GUEST: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor vme\n");
    const ARM: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
    const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "/sys/class/dmi/id/product_name";

    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(virtualisation(&system(files)).as_deref(), expected, "{files:?}");
    }

    #[test]
    fn hypervisors() {
        check(&[], None);
        check(&[BARE], Some("none"));
        check(&[BARE, (VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.metal\n")], Some("none"));
        check(&[GUEST], Some("unnamed"));
        check(&[GUEST, (CLOCKS, "tsc kvm-clock \n")], Some("KVM"));
        check(&[GUEST, (VENDOR, "VMware, Inc.\n"), (CLOCKS, "tsc\n")], Some("VMware"));
        check(&[GUEST, (VENDOR, "Microsoft Corporation\n"), (PRODUCT, "Virtual Machine\n")], Some("Hyper-V"));
        check(&[ARM], None);
        check(&[ARM, (PRODUCT, "QEMU Virtual Machine\n")], Some("KVM"));
        check(&[GUEST, ("/sys/hypervisor/type", "xen\n")], Some("Xen"));
        check(&[("/sys/hypervisor/type", "new\n")], Some("new"));
    }

    #[test]
    fn containers() {
        let check = |files: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(container(&system(files)).as_deref(), expected, "{files:?}");
        };
        check(&[], None);
        check(&[("/proc/1/cgroup", "0::/init.scope\n")], None);
        check(&[("/.dockerenv", "")], Some("docker"));
        check(&[("/run/.containerenv", "engine=\"podman-5\"\n")], Some("podman"));
        check(
            &[("/proc/1/cgroup", "4:memory:/kubepods/besteffort/pod1\n"), ("/.dockerenv", "")],
            Some("kubernetes"),
        );
        check(&[("/run/systemd/container", "systemd-nspawn\n")], Some("systemd-nspawn"));
    }

    #[test]
    fn cpus_and_cores() {
        let check = |list: &str, expected: Option<u32>| {
            let files = [("/sys/devices/system/cpu/online", list)];
            assert_eq!(cpus_online(&system(&files)), expected, "{list}");
        };
        check("0\n", Some(1));
        check("0-3,8,10-11\n", Some(7));
        check("", None);
        check("3-0", None);
        check("0-4294967295", None);
        let cpu =
            |package: u32, core: u32| format!("processor : 0\nphysical id : {package}\ncore id : {core}\n\n");
        let cpus = [cpu(0, 0), cpu(0, 0), cpu(0, 1), cpu(1, 1)].concat();
        assert_eq!(cores(&system(&[("/proc/cpuinfo", &cpus)])), Some(3));
        assert_eq!(cores(&system(&[ARM])), None);
    }

    #[test]
    fn values_and_choices() {
        assert_eq!(value("model\t\t: 17\nmodel name\t: AMD: EPYC\n", "model name"), Some("AMD: EPYC"));
        assert_eq!(value("model name\t: x\n", "model"), None);
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("never"), None);
    }
}
