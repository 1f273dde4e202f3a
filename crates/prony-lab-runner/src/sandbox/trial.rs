//! Whether a sandbox works here: one is made, and checked from inside.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Network, Sandbox, Scope, Use, etc};
use crate::workspace::Workspace;
use prony_lab_model::clock;

/// A sandbox is made within milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between polls whether it is done.
const PAUSE: Duration = Duration::from_millis(5);
/// What is shown of what bubblewrap complains about.
const REASON_BYTES_MAX: u64 = 300;
/// Whether what is to be hidden is, what is to be read-only is, what is to be written can be, and no more rights can be
/// had.
const SCRIPT: &str = "test ! -e \"$0\" && test -w \"$1\" && test ! -w /usr && ! touch /x 2>/dev/null && \
                      ! unshare -U true 2>/dev/null";

impl Sandbox {
    /// Makes one, and checks from inside whether it hides what it is to hide.
    pub(super) fn try_out(&self, data: &Path) -> Result<(), String> {
        if self.program.is_err() {
            return Err("bubblewrap is not installed (Debian: apt-get install bubblewrap)".to_owned());
        }
        let failed = |error: &dyn std::fmt::Display| format!("bubblewrap could not be tried out ({error})");
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        etc::write(&self.etc, self.user.map_or(own, |user| (user, user))).map_err(|error| failed(&error))?;
        let workspace = Workspace::make(data, "sandbox-trial", self.user).map_err(|error| failed(&error))?;
        let marker = data.join("sandbox-marker");
        let tried = fs::write(&marker, "").map_err(|error| failed(&error)).and_then(|()| {
            let words = ["/bin/sh", "-c", SCRIPT].map(OsString::from).into_iter();
            let words = words.chain([marker.clone().into(), workspace.home().into()]).collect();
            let used = nothing_special();
            finish(self.wrapped(&workspace, &workspace.home(), used, words))
        });
        let _ = fs::remove_file(marker);
        let _ = workspace.remove();
        tried
    }
}

/// A task that is shown nothing but its own.
fn nothing_special() -> Use<'static> {
    Use { scope: Scope::Task, network: Network::Own, sources: &[], expose: &[], egress: None, caches: &[] }
}

fn finish(words: Vec<OsString>) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("bubblewrap does not work here ({error})");
    let mut words = words.into_iter();
    let program = words.next().expect("invariant: the program comes first");
    let mut child = Command::new(program)
        .args(words)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
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
    let mut errors = String::new();
    let stderr = child.stderr.take().map(|stderr| stderr.take(REASON_BYTES_MAX));
    let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut errors));
    let first = errors.lines().next().unwrap_or("what it is to hide can be seen");
    Err(failed(&first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::options::SandboxMode;

    fn detect(mode: SandboxMode, search_path: &str, data: &Path) -> Sandbox {
        Sandbox::detect(mode, search_path, data, Path::new("/bin/true"), None)
    }

    #[test]
    fn without_bubblewrap_the_reason_is_described() {
        let data = tempfile::tempdir().expect("room");
        let sandbox = detect(SandboxMode::Auto, "/no/such/folder", data.path());
        assert!(!sandbox.is_there() && sandbox.user().is_none());
        let description = sandbox.describe();
        assert!(
            description.contains("without a sandbox") && description.contains("not installed"),
            "{description}"
        );
        let workspace = Workspace::make(data.path(), "7", None).expect("room");
        let words = vec![OsString::from("true")];
        let used = nothing_special();
        assert_eq!(sandbox.wrapped(&workspace, workspace.path(), used, words.clone()), words);
        assert!(
            sandbox.refusal(SandboxMode::Require, false).expect("refused").what.contains("--sandbox require")
        );
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(sandbox.refusal(SandboxMode::Auto, false).is_some(), is_root);
        assert!(
            sandbox.refusal(SandboxMode::Auto, true).expect("refused").sentence().contains("--sandbox off")
        );
    }

    #[test]
    fn whoever_wants_none_gets_none() {
        let data = tempfile::tempdir().expect("room");
        let sandbox = detect(SandboxMode::Off, &std::env::var("PATH").expect("there is one"), data.path());
        assert!(!sandbox.is_there() && sandbox.refusal(SandboxMode::Off, true).is_none());
        assert!(sandbox.describe().contains("--sandbox off"), "{}", sandbox.describe());
    }

    #[test]
    fn a_bubblewrap_that_does_not_hide_is_none() {
        let folder = tempfile::tempdir().expect("room");
        let fake = folder.path().join("bwrap");
        // Runs its command in no sandbox: what stands behind the last `--`.
        let script =
            "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n";
        fs::write(&fake, script).expect("room");
        fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        let data = tempfile::tempdir().expect("room");
        let search_path = folder.path().to_str().expect("text");
        let sandbox = detect(SandboxMode::Auto, search_path, data.path());
        assert!(sandbox.describe().contains("what it is to hide can be seen"), "{}", sandbox.describe());
        fs::write(&fake, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n").expect("room");
        let sandbox = detect(SandboxMode::Auto, search_path, data.path());
        assert!(sandbox.describe().contains("(bwrap: No permissions)"), "{}", sandbox.describe());
        let left: Vec<_> = fs::read_dir(data.path()).expect("there").flatten().collect();
        assert_eq!(left.len(), 1, "nothing is left of the trial but the files of /etc: {left:?}");
    }
}
