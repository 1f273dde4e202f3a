//! Where builds run: in a sandbox made by bubblewrap where that works, else not, and the reason is told.
//!
//! The network stays that of the machine: a study needs loopback between its processes, and builds fetch what they
//! depend on. Linux's own names for that are in namespaces(7).

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::room::Room;
use crate::clock;

/// A sandbox is made within milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between looks whether it is done.
const PAUSE: Duration = Duration::from_millis(5);
/// What is shown of what bubblewrap complains about.
const MOST_REASON_BYTES: u64 = 300;
/// Shared memory of a build: more than databases of tests ask for; it is memory that no process seems to have.
const SHARED_MEMORY_BYTES: u64 = 256 << 20;
/// Whoever reaches one of these is as good as root on the machine, or as the user of the lab.
const MACHINE: [&str; 5] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/user",
];
/// Where people keep what is theirs alone, from their home on.
const SECRETS: [&str; 13] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".config/git",
    ".config/gh",
    ".config/gcloud",
];

/// How builds are kept from the rest of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// bubblewrap, or why there is none.
    program: Result<PathBuf, String>,
    /// Builds see nothing of these.
    hidden: Vec<PathBuf>,
    /// Builds see these even if they lie in what is hidden.
    shown: Vec<PathBuf>,
}

impl Sandbox {
    /// Finds out whether there is one, by making one. `data` is the lab's own folder, `home` that of its user, `program`
    /// what builds need to see wherever it is.
    pub fn detect(search_path: &str, data: &Path, home: Option<&Path>, program: &Path) -> Self {
        let found = std::env::split_paths(search_path)
            .map(|folder| folder.join("bwrap"))
            .find(|path| path.is_file())
            .ok_or_else(|| "bubblewrap is not installed (Debian: apt-get install bubblewrap)".to_owned());
        let secrets = home.into_iter().flat_map(|home| SECRETS.map(|name| home.join(name)));
        let hidden = std::iter::once(data.to_owned()).chain(MACHINE.map(PathBuf::from)).chain(secrets);
        let mut sandbox = Self { program: found, hidden: hidden.collect(), shown: vec![program.to_owned()] };
        if let Err(reason) = sandbox.try_out(data) {
            sandbox.program = Err(reason);
        }
        sandbox
    }

    /// None at all, because of `reason`.
    pub fn none(reason: &str) -> Self {
        Self { program: Err(reason.to_owned()), hidden: Vec::new(), shown: Vec::new() }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.program.is_ok()
    }

    /// How builds run, in a sentence for people.
    pub fn told(&self) -> String {
        match &self.program {
            Ok(_) => "Builds run in a sandbox (bubblewrap): they see the system read-only and nothing of the lab's \
                      data, and have processes of their own. They share the network with this machine, which studies \
                      need."
                .to_owned(),
            Err(reason) => format!(
                "Builds run without a sandbox, as the user of the lab, and can read and change whatever that user \
                 can: {reason}."
            ),
        }
    }

    /// The words that run `words` in `folder` of `room`, in the sandbox if there is one.
    pub fn wrapped(&self, room: &Room, folder: &Path, words: Vec<OsString>) -> Vec<OsString> {
        let Ok(program) = &self.program else { return words };
        let mut all: Vec<OsString> = vec![program.into()];
        let mut add = |more: &[&dyn AsRef<Path>]| {
            all.extend(more.iter().map(|word| word.as_ref().as_os_str().to_owned()));
        };
        add(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev", &"--proc", &"/proc"]);
        add(&[&"--size", &SHARED_MEMORY_BYTES.to_string(), &"--tmpfs", &"/dev/shm"]);
        add(&[&"--bind", &room.tmp(), &"/tmp"]);
        for hidden in &self.hidden {
            // Behind a link there is what it leads to.
            let Ok(real) = fs::canonicalize(hidden) else { continue };
            if real.is_dir() {
                add(&[&"--tmpfs", &real]);
            } else {
                add(&[&"--ro-bind", &"/dev/null", &real]);
            }
        }
        for shown in &self.shown {
            add(&[&"--ro-bind-try", shown, shown]);
        }
        add(&[&"--bind", &room.path(), &room.path()]);
        add(&[&"--unshare-pid", &"--unshare-ipc", &"--unshare-uts", &"--hostname", &"prony-lab"]);
        add(&[&"--new-session", &"--die-with-parent", &"--cap-drop", &"ALL", &"--chdir", &folder, &"--"]);
        all.extend(words);
        all
    }

    /// Makes one, and looks from inside whether it hides what it is to hide.
    fn try_out(&self, data: &Path) -> Result<(), String> {
        let Ok(_) = &self.program else { return self.program.clone().map(drop) };
        let failed = |error: &dyn std::fmt::Display| format!("bubblewrap could not be tried out ({error})");
        let room = Room::make(data, "sandbox-trial").map_err(|error| failed(&error))?;
        let marker = data.join("sandbox-marker");
        let tried = fs::write(&marker, "").map_err(|error| failed(&error)).and_then(|()| {
            let script = "test ! -e \"$0\" && test -w \"$1\" && test ! -w /usr";
            let words = ["/bin/sh", "-c", script].map(OsString::from).into_iter();
            let words = words.chain([marker.clone().into(), room.home().into()]).collect();
            Self::finish(self.wrapped(&room, room.path(), words))
        });
        let _ = fs::remove_file(marker);
        let _ = room.remove();
        tried
    }

    fn finish(words: Vec<OsString>) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("bubblewrap does not work here ({error})");
        let mut words = words.into_iter();
        let program = words.next().expect("invariant: the program comes first");
        let mut child = Command::new(program)
            .args(words)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let until = clock::steady() + PATIENCE;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if clock::steady() < until => std::thread::sleep(PAUSE),
                Ok(None) | Err(_) => {
                    // It may just have ended.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(&format!("nothing came of it within {} s", PATIENCE.as_secs())));
                }
            }
        };
        if status.success() {
            return Ok(());
        }
        let mut said = String::new();
        let stderr = child.stderr.take().map(|stderr| stderr.take(MOST_REASON_BYTES));
        let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut said));
        let first = said.lines().next().unwrap_or("what it is to hide can be seen");
        Err(failed(&first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_bubblewrap_the_reason_is_told() {
        let data = tempfile::tempdir().expect("room");
        let sandbox = Sandbox::detect("/no/such/folder", data.path(), None, Path::new("/bin/true"));
        assert!(!sandbox.is_there());
        assert!(sandbox.told().contains("without a sandbox") && sandbox.told().contains("not installed"));
        let room = Room::make(data.path(), "7").expect("room");
        let words = vec![OsString::from("true")];
        assert_eq!(sandbox.wrapped(&room, room.path(), words.clone()), words);
    }

    #[test]
    fn a_bubblewrap_that_does_not_hide_is_none() {
        let folder = tempfile::tempdir().expect("room");
        let fake = folder.path().join("bwrap");
        // Runs its command in no sandbox: what stands behind `--`.
        fs::write(&fake, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n")
            .expect("room");
        fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        let data = tempfile::tempdir().expect("room");
        let search_path = folder.path().to_str().expect("text");
        let sandbox = Sandbox::detect(search_path, data.path(), None, Path::new("/bin/true"));
        assert!(sandbox.told().contains("what it is to hide can be seen"), "{}", sandbox.told());
        fs::write(&fake, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n").expect("room");
        let sandbox = Sandbox::detect(search_path, data.path(), None, Path::new("/bin/true"));
        assert!(sandbox.told().contains("(bwrap: No permissions)"), "{}", sandbox.told());
        assert!(fs::read_dir(data.path()).expect("there").next().is_none(), "nothing is left of the trial");
    }
}
