//! What is seen in a sandbox: a new root, made of what is listed here and nothing else.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The system, where a link is one inside, too.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs need to know of the system, and nothing of who uses it.
const ETC: [&str; 20] = [
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "os-release",
    "pki",
    "protocols",
    "services",
    "ssl",
    "timezone",
    "xml",
];
/// How many cores there are: runtimes ask for it here.
const CORES: &str = "/sys/devices/system/cpu";
/// Shared memory of a build: more than databases of tests ask for; it is memory that no process seems to have.
const SHARED_MEMORY_BYTES: u64 = 256 << 20;
/// Sockets and lists of processes.
const RUN_BYTES: u64 = 16 << 20;

/// The arguments of bubblewrap that make a root.
#[derive(Debug, Clone, Default)]
pub(super) struct View(Vec<OsString>);

impl View {
    /// The system, the files of `etc` in the place of who uses it, and `tmp` for temporary files.
    pub(super) fn of_system(etc: &Path, tmp: &Path) -> Self {
        let mut view = Self::default();
        view.read_only(Path::new("/usr"));
        for path in SYSTEM.map(Path::new) {
            match fs::read_link(path) {
                Ok(target) => view.add(&[&"--symlink", &target, &path]),
                Err(_) if path.is_dir() => view.read_only(path),
                Err(_) => {}
            }
        }
        view.add(&[&"--perms", &"0755", &"--dir", &"/etc"]);
        for path in ETC.map(|name| Path::new("/etc").join(name)) {
            view.add(&[&"--ro-bind-try", &path, &path]);
        }
        for (name, _) in super::etc::FILES {
            view.add(&[&"--ro-bind", &etc.join(name), &Path::new("/etc").join(name)]);
        }
        view.add(&[&"--bind", &tmp, &"/tmp"]);
        view.add(&[&"--perms", &"0755", &"--size", &RUN_BYTES.to_string(), &"--tmpfs", &"/run"]);
        view.add(&[&"--perms", &"0755", &"--dir", &"/var", &"--symlink", &"../tmp", &"/var/tmp"]);
        view.add(&[&"--symlink", &"../run", &"/var/run"]);
        view.read_only(Path::new(CORES));
        view
    }

    /// Shows `path` as it is outside, and lets nobody change it.
    pub(super) fn read_only(&mut self, path: &Path) {
        self.ancestors(path);
        self.add(&[&"--ro-bind-try", &path, &path]);
    }

    /// Shows `path`, to be changed.
    pub(super) fn writable(&mut self, path: &Path) {
        self.ancestors(path);
        self.add(&[&"--bind", &path, &path]);
    }

    /// Shows `path`, to be changed, at `place`: a folder that is in view already.
    pub(super) fn writable_at(&mut self, path: &Path, place: &Path) {
        self.add(&[&"--bind", &path, &place]);
    }

    /// Shows the socket `path`, to be connected to, also by the name `name`, which is shorter.
    pub(super) fn socket(&mut self, path: &Path, name: &str) {
        self.writable(path);
        self.add(&[&"--symlink", &path, &name]);
    }

    /// The folders above `path`, closed to nobody: bubblewrap would copy their modes from outside.
    fn ancestors(&mut self, path: &Path) {
        let mut above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
        above.pop();
        for folder in above.iter().rev() {
            self.add(&[&"--perms", &"0755", &"--dir", folder]);
        }
    }

    /// With devices and processes of its own. Nothing can be written in the root itself: that would be memory.
    pub(super) fn finished(mut self) -> Vec<OsString> {
        self.add(&[&"--proc", &"/proc", &"--dev", &"/dev"]);
        self.add(&[&"--size", &SHARED_MEMORY_BYTES.to_string(), &"--tmpfs", &"/dev/shm"]);
        self.add(&[&"--remount-ro", &"/dev", &"--remount-ro", &"/"]);
        self.0
    }

    /// With the devices and processes of this machine, for somebody who makes a sandbox in there.
    pub(super) fn for_a_second_one(mut self) -> Vec<OsString> {
        self.add(&[&"--bind", &"/proc", &"/proc", &"--dev-bind", &"/dev", &"/dev"]);
        self.0
    }

    fn add(&mut self, words: &[&dyn AsRef<Path>]) {
        self.0.extend(words.iter().map(|word| word.as_ref().as_os_str().to_owned()));
    }
}
