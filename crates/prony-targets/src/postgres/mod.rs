//! A private PostgreSQL: made when it is wanted, reached by who made it alone, and gone afterwards.
//!
//! It is the PostgreSQL that is installed, with the settings it comes with, on a database of its own in a folder of
//! its own. It listens on a Unix socket in that folder, which is closed to other users, so nobody else needs to be asked
//! for a password. Where a port is wanted it listens on 127.0.0.1, too, for a user with a database of its own.
//!
//! It ends with the thread that started it, however that ends: the kernel signals it (PR_SET_PDEATHSIG). A folder that
//! a killed process left behind is removed by the next start in the same place.
//!
//! In reading order: `programs` (where PostgreSQL is), `owner` (as whom it runs), `folder`,
//! `tcp_access` (access by TCP), [`Postgres`], and [`DatabaseUrl`],
//! which names any PostgreSQL.

mod error;
mod folder;
mod owner;
mod programs;
mod tcp_access;
mod url;

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

pub use error::PostgresError;
pub use url::{DatabaseUrl, DatabaseUrlError};

use crate::clock::{SECOND_NS, monotonic_ns, to_timespec};
use crate::sys::end_with_parent;
use folder::Folder;
use owner::Owner;
use programs::Programs;

/// How long it may take until it answers. It takes less than a second; a machine busy with other work needs more.
const START_LIMIT_NS: u64 = 60 * SECOND_NS;
/// How often it is looked whether it answers.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long it may take to end before it is killed. It gives its own processes 5 s.
const STOP_LIMIT_NS: u64 = 10 * SECOND_NS;
/// The user of the database. It is known to this PostgreSQL alone.
const USER: &str = "prony";
/// The line of `postmaster.pid` that holds its state (`pidfile.h` of PostgreSQL 10 and later), counted from 0.
const STATUS_LINE: usize = 7;

/// What to start, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Folders in which the programs `initdb` and `postgres` are looked for first, such as those of `PATH`.
    pub programs: Vec<PathBuf>,
    /// The folder for temporary files, in which its own folder is made.
    pub temporary: PathBuf,
    /// A port on 127.0.0.1; without one nobody connects by the network.
    pub port: Option<u16>,
}

/// A PostgreSQL that runs. Dropping it ends it and removes its folder; so does the end of the thread that started
/// it, but for the folder.
#[derive(Debug)]
pub struct Postgres {
    server: Child,
    folder: Folder,
    port: Option<u16>,
}

impl Postgres {
    /// Makes a database and starts PostgreSQL on it: ready to be used when this returns.
    pub fn start(options: &Options) -> Result<Self, PostgresError> {
        let programs = Programs::find(&options.programs)?;
        let owner = Owner::find()?;
        let folder = Folder::make(&options.temporary, owner)?;
        let made = run(command(&programs.initdb, &folder, owner)?.args([
            "--pgdata=data",
            &format!("--username={USER}"),
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-instructions",
            // What is lost with the machine's power is of no use to anybody.
            "--no-sync",
        ]));
        let status =
            made.map_err(|source| PostgresError::Run { program: programs.initdb.clone(), source })?;
        if !status.success() {
            return Err(PostgresError::Failed { program: programs.initdb, output: folder.last_words() });
        }
        if options.port.is_some() {
            tcp_access::create(&programs.postgres, &folder, owner)?;
        }
        let mut server = command(&programs.postgres, &folder, owner)?;
        // The socket's folder is meant from within the data.
        server.args(["-D", "data", "-k", ".."]);
        match options.port {
            Some(port) => server.args(["-c", "listen_addresses=127.0.0.1", "-p", &port.to_string()]),
            None => server.args(["-c", "listen_addresses="]),
        };
        end_with_parent(&mut server, Signal::QUIT);
        let server = server
            .spawn()
            .map_err(|source| PostgresError::Run { program: programs.postgres.clone(), source })?;
        let mut postgres = Self { server, folder, port: options.port };
        postgres.wait_until_ready(programs.postgres)?;
        Ok(postgres)
    }

    /// The folder that its socket is in.
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// How to connect to it: as the user `prony` to the database `postgres`, without a password.
    pub fn url(&self) -> DatabaseUrl {
        DatabaseUrl::of_socket(self.socket_folder(), self.port, USER, "postgres")
    }

    /// How others connect to it by the network, where a port was wanted: to an empty database of its own.
    pub fn network_url(&self) -> Option<String> {
        self.port.map(tcp_access::url)
    }

    /// The number of its first process.
    pub fn process_id(&self) -> u32 {
        self.server.id()
    }

    fn wait_until_ready(&mut self, program: PathBuf) -> Result<(), PostgresError> {
        let file = self.folder.path().join("data/postmaster.pid");
        let deadline_ns = monotonic_ns() + START_LIMIT_NS;
        loop {
            // It may not be there yet.
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.lines().nth(STATUS_LINE).is_some_and(|status| status.trim_end() == "ready") {
                return Ok(());
            }
            if !matches!(self.server.try_wait(), Ok(None)) {
                return Err(PostgresError::Failed { program, output: self.folder.last_words() });
            }
            if monotonic_ns() >= deadline_ns {
                return Err(PostgresError::TooSlow { output: self.folder.last_words() });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends the signal that has it end at once: nothing of its data is wanted any more.
    fn end(&mut self) -> io::Result<()> {
        let process = Pid::from_child(&self.server);
        // Opened before the signal, while the number surely is this process's.
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        kill_process(process, Signal::QUIT)?;
        let deadline_ns = monotonic_ns() + STOP_LIMIT_NS;
        let mut left_ns = STOP_LIMIT_NS;
        let mut ended = [PollFd::new(&handle, PollFlags::IN)];
        while left_ns > 0 && ended[0].revents().is_empty() {
            // An interrupted wait goes on with what is left of it.
            let _ = poll(&mut ended, Some(&to_timespec(left_ns)));
            left_ns = deadline_ns.saturating_sub(monotonic_ns());
        }
        if ended[0].revents().is_empty() {
            self.server.kill()?;
        }
        self.server.wait().map(|_| ())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It fails when the process has ended already, and then there is nothing to end.
        let _ = self.end();
        let _ = self.server.try_wait();
    }
}

/// A program of PostgreSQL as it has to be run: in its folder, as its owner, with its output in its log, away from
/// the terminal's Ctrl-C, and with nothing of this process's environment.
fn command(program: &Path, folder: &Folder, owner: Option<Owner>) -> Result<Command, PostgresError> {
    let log = folder.log()?;
    let both = |log: &File| log.try_clone().map_err(|source| folder.fault(source));
    let mut command = Command::new(program);
    command
        .current_dir(folder.path())
        .env_clear()
        .envs([("LC_ALL", "C"), ("TZ", "UTC")])
        .stdin(Stdio::null())
        .stdout(both(&log)?)
        .stderr(log)
        .process_group(0);
    if let Some(owner) = owner {
        command.uid(owner.user).gid(owner.group);
    }
    Ok(command)
}

/// Runs a program to its end, which is no later than that of this thread.
fn run(command: &mut Command) -> io::Result<std::process::ExitStatus> {
    end_with_parent(command, Signal::KILL);
    command.status()
}
