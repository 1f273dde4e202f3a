//! Where builds run: in a sandbox made by bubblewrap, or, where an administrator wants that, in none.
//!
//! Reading order: this file (which sandbox there is, and the words that make one), `view.rs` (what is seen in it), `etc.rs`
//! (who uses it), `trial.rs` (whether it holds). docs/security.md lists what it keeps builds from.

mod etc;
mod trial;
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prony_model::Problem;
use prony_study::Confinement;

use self::view::View;
use super::egress;
use super::workspace::Workspace;
use prony_lab_model::options::SandboxMode;

/// The user that builds become where the lab is root: of those that systemd gives to services without a name
/// (systemd.exec(5), DynamicUser).
const BUILD_USER: u32 = 61_993;
/// What it takes to become that user.
const RIGHTS: [&str; 3] = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"];

/// How builds are kept from the rest of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// bubblewrap, or why there is none.
    program: Result<PathBuf, Missing>,
    /// The lab's own /etc for builds.
    etc: PathBuf,
    /// Prony itself.
    prony: PathBuf,
    /// What is known of this machine, for what measures.
    state: Option<PathBuf>,
    /// The user that builds become, where that is not the lab's.
    user: Option<u32>,
}

/// Why there is no sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Missing {
    /// An administrator wants none.
    Unwanted,
    /// It does not work.
    Broken(String),
}

/// What a command in a sandbox is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A command of the project: it sees the files of the build, and its own home.
    Task,
    /// Prony itself, which measures: it sees all of the workspace, and can make a sandbox for what it measures.
    Measure,
}

/// What a command in a sandbox reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing but what runs in the same sandbox.
    Own,
    /// What this machine reaches.
    Machine,
}

/// One use of a sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// What for.
    pub scope: Scope,
    /// What it reaches.
    pub network: Network,
    /// Folders of the files of the build, in its workspace.
    pub sources: &'a [PathBuf],
    /// What else is shown, as an administrator configured; read-only.
    pub expose: &'a [PathBuf],
    /// The socket of its way out, if it has one.
    pub egress: Option<&'a Path>,
    /// Caches, for a task.
    pub caches: &'a [Mount],
}

/// A folder of the workspace that commands find elsewhere in it, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is.
    pub from: PathBuf,
    /// Where it is found: a folder that is there, and to which no link leads.
    pub to: PathBuf,
}

impl Sandbox {
    /// Finds out whether there is one, by making one. `data` is the lab's own folder, `prony` what builds need to see
    /// wherever it is, `state` where what is known of this machine is kept.
    pub fn detect(
        mode: SandboxMode,
        search_path: &str,
        data: &Path,
        prony: &Path,
        state: Option<&Path>,
    ) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let mut sandbox = Self {
            program: Err(Missing::Unwanted),
            etc: data.join("sandbox-etc"),
            prony: prony.to_owned(),
            state: state.map(|state| state.join("prony")),
            user: is_root.then_some(BUILD_USER),
        };
        if mode == SandboxMode::Off {
            sandbox.user = None;
            return sandbox;
        }
        let found = std::env::split_paths(search_path).map(|folder| folder.join("bwrap"));
        let found = found.into_iter().find(|path| path.is_file());
        let reason = "bubblewrap is not installed (Debian: apt-get install bubblewrap)";
        sandbox.program = found.ok_or_else(|| Missing::Broken(reason.to_owned()));
        if let Err(reason) = sandbox.try_out(data) {
            sandbox.program = Err(Missing::Broken(reason));
        }
        sandbox
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.program.is_ok()
    }

    /// The user that owns the files of builds, where that is not the lab's.
    pub fn user(&self) -> Option<u32> {
        self.user.filter(|_| self.is_there())
    }

    /// Why nothing of a build may run here at all: `has_strangers`: others than administrators may request
    /// builds.
    pub fn refusal(&self, mode: SandboxMode, has_strangers: bool) -> Option<Problem> {
        let Err(Missing::Broken(reason)) = &self.program else { return None };
        let because = match mode {
            SandboxMode::Require => "--sandbox require wants one",
            _ if self.user.is_some() => "the lab is root, and builds would be, too",
            _ if has_strangers => "others than administrators may request builds",
            _ => return None,
        };
        Some(Problem::new(
            format!("builds would have no sandbox ({reason}), and {because}"),
            "install bubblewrap 0.8 or newer and start the lab where it works, or accept what builds can then do with \
             --sandbox off",
        ))
    }

    /// How builds run, in words for people.
    pub fn describe(&self) -> String {
        match &self.program {
            Ok(_) => {
                let user = match self.user {
                    Some(user) => format!("as user {user}, who owns nothing else"),
                    None => "as the user of the lab, without rights".to_owned(),
                };
                format!(
                    "Builds run in a sandbox (bubblewrap), {user}: they see the system read-only, their own files, and \
                     processes and a network of their own. What measures them is out of their reach."
                )
            }
            Err(missing) => {
                let reason = match missing {
                    Missing::Unwanted => "the lab was started with --sandbox off",
                    Missing::Broken(reason) => reason,
                };
                let user = if rustix::process::geteuid().is_root() { "root" } else { "the user of the lab" };
                format!(
                    "Builds run without a sandbox, as {user}, can read and change whatever that user can, and can forge \
                     what is measured: {reason}."
                )
            }
        }
    }

    /// The words that run `words` in `folder` of `workspace`, in the sandbox if there is one.
    pub fn wrapped(
        &self,
        workspace: &Workspace,
        folder: &Path,
        used: Use<'_>,
        words: Vec<OsString>,
    ) -> Vec<OsString> {
        let Ok(program) = &self.program else { return words };
        let view = self.view(workspace, used);
        let mut all = Vec::new();
        if let Some(user) = self.user {
            let mut outer = view.clone();
            outer.read_only(&self.etc);
            all.extend(become_user(program, user, outer));
        }
        all.extend(own_spaces(program, used.network == Network::Own));
        if used.scope == Scope::Task {
            all.push("--disable-userns".into());
        }
        all.extend(view.finished());
        all.extend(["--chdir".into(), folder.as_os_str().to_owned(), "--".into()]);
        all.extend(words);
        all
    }

    /// The sandbox in which a study, which itself is in one for [`Scope::Measure`], runs what it measures: in the same
    /// network, and out of sight of what measures. By default where there is no sandbox.
    pub fn confinement(&self, workspace: &Workspace, sources: &[PathBuf], expose: &[PathBuf]) -> Confinement {
        let Ok(program) = &self.program else { return Confinement::default() };
        let used =
            Use { scope: Scope::Task, network: Network::Machine, sources, expose, egress: None, caches: &[] };
        let mut all = own_spaces(program, false);
        all.push("--disable-userns".into());
        all.extend(self.view(workspace, used).finished());
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        Confinement::new(all.iter().map(text).collect(), self.prony.to_string_lossy().into_owned())
    }

    fn view(&self, workspace: &Workspace, used: Use<'_>) -> View {
        let mut view = View::of_system(&self.etc, &workspace.tmp());
        for path in used.expose {
            view.read_only(path);
        }
        view.read_only(&self.prony);
        match used.scope {
            Scope::Task => {
                for path in used.sources.iter().chain([&workspace.home(), &workspace.tmp()]) {
                    view.writable(path);
                }
                for Mount { from, to } in used.caches {
                    // A second sandbox in there takes it from where it is.
                    view.writable(from);
                    view.writable_at(from, to);
                }
                if let Some(socket) = used.egress {
                    view.socket(socket, egress::SOCKET);
                }
            }
            Scope::Measure => {
                view.writable(workspace.path());
                view.read_only(&self.etc);
                view.read_only(Path::new("/sys"));
                if let Some(state) = &self.state {
                    view.read_only(state);
                }
            }
        }
        view
    }
}

/// Begins the words of a sandbox with spaces of its own for all that has one, without rights.
fn own_spaces(program: &Path, has_own_network: bool) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec![program.into()];
    let spaces =
        ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    all.extend(spaces.map(Into::into));
    if has_own_network {
        all.push("--unshare-net".into());
    }
    all.extend(
        ["--hostname", "prony-lab", "--new-session", "--die-with-parent", "--cap-drop", "ALL"]
            .map(Into::into),
    );
    all
}

/// The words that become `user`. As root, bubblewrap shows what only root may read in `view`; what that user then makes
/// of it is a sandbox of its own.
fn become_user(program: &Path, user: u32, view: View) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec![program.into(), "--die-with-parent".into()];
    all.extend(["--cap-drop", "ALL"].map(Into::into));
    all.extend(RIGHTS.iter().flat_map(|right| ["--cap-add", right]).map(Into::into));
    all.extend(view.for_a_second_one());
    let user = user.to_string();
    let words = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--no-new-privs"];
    all.extend(words.map(Into::into));
    all.extend(["--inh-caps=-all", "--bounding-set=-all"].map(Into::into));
    all
}
