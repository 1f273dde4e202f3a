//! The socket in a lab's folder, by which commands at the machine reach a lab that runs. Anyone who may write the folder may
//! use it: the file is its user's alone, and the kernel identifies the other end.
//!
//! One exchange for each connection, in JSON: the client sends a [`Request`] and ends its side, the lab sends the answer.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prony_model::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::Command;
use crate::actions::AccessError;
use crate::lab::Lab;
use prony_lab_store::background::Background;

/// The socket's name in the lab's folder.
const FILE: &str = "admin.sock";
/// Bytes of one message: a policy or a list of users is far below.
const MESSAGE_BYTES_MAX: u64 = 16 << 20;
/// How long the other side may take to send or take what is due.
const EXCHANGE: Duration = Duration::from_secs(30);
/// Connections that are answered at once.
const AT_ONCE_MAX: usize = 8;
/// How long the end of a lab waits for them.
const PATIENCE: Duration = Duration::from_secs(2);
/// Where no connection can be accepted, for want of descriptors: how long those that are there have.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    /// Who asks, for the audit log.
    by: String,
    command: Command,
}

/// A lab's side, until it is dropped.
pub struct LocalSocket {
    thread: Background,
    data: PathBuf,
    turns: Arc<Turns>,
}

/// Connections that are being answered, each by a thread of its own: what waits for the store keeps nobody from stopping
/// agents.
#[derive(Default)]
struct Turns {
    taken: Mutex<usize>,
    changed: Condvar,
}

/// One of them.
struct Turn(Arc<Turns>);

impl Turns {
    /// Waits until fewer than `most` are taken, at most for `patience`.
    fn wait(&self, most: usize, patience: Duration) -> MutexGuard<'_, usize> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(taken, patience, |taken| *taken >= most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn take(self: &Arc<Self>) -> Turn {
        // Each ends with its exchange.
        *self.wait(AT_ONCE_MAX, 2 * EXCHANGE) += 1;
        Turn(Arc::clone(self))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

impl LocalSocket {
    /// Answers commands at the machine from now on.
    pub fn start(lab: &Lab) -> io::Result<Self> {
        let path = lab.options.data.join(FILE);
        // The store is ours: what a lab left here that was killed is nobody's.
        if UnixStream::connect(&path).is_err() {
            let _ = std::fs::remove_file(&path);
        }
        let listener = in_folder(&lab.options.data, |path| UnixListener::bind(path))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let (lab, data) = (lab.clone(), lab.options.data.clone());
        let turns = Arc::new(Turns::default());
        let taken = Arc::clone(&turns);
        // It waits in the kernel: what the lab measures on this machine feels nothing of it.
        let thread = Background::start("lab-admin", move || match listener.accept() {
            Ok((stream, _)) => {
                let (turn, lab) = (taken.take(), lab.clone());
                let answer = move || {
                    // What a client breaks off is its own affair.
                    let _ = serve(&lab, &stream);
                    drop((lab, turn));
                };
                let started = std::thread::Builder::new().name("lab-command".to_owned()).spawn(answer);
                if started.is_ok() { Duration::ZERO } else { AFTER_FAILURE }
            }
            Err(_) => AFTER_FAILURE,
        })?;
        Ok(Self { thread, data, turns })
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        self.thread.finish();
        // A connection that asks for nothing wakes the thread up, which then ends.
        drop(connect(&self.data));
        // What is in the middle of something ends with it.
        drop(self.turns.wait(1, PATIENCE));
        let _ = std::fs::remove_file(self.data.join(FILE));
    }
}

/// Answers the one request of a connection.
fn serve(lab: &Lab, mut stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(EXCHANGE))?;
    stream.set_write_timeout(Some(EXCHANGE))?;
    let peer = rustix::net::sockopt::socket_peercred(stream)?.uid;
    if !peer.is_root() && peer != rustix::process::geteuid() {
        return Ok(());
    }
    let mut text = String::new();
    stream.take(MESSAGE_BYTES_MAX).read_to_string(&mut text)?;
    let answer: Result<Value, Problem> = match serde_json::from_str::<Request>(&text) {
        Ok(Request { by, command }) => {
            let (is_stop, is_lift) =
                (matches!(command, Command::StopAgents), matches!(command, Command::LiftAgents));
            if is_stop {
                // Before it is written down, which may have to wait.
                lab.stop_agents_at_once(&by);
            }
            let done = command.execute(&lab.store, &lab.options.data, &by);
            if is_lift && done.is_ok() {
                lab.lift_agents_at_once();
            }
            lab.access.forget();
            done.map_err(|error| error.problem())
        }
        Err(error) => Err(Problem::new(
            format!("read what was asked ({error})"),
            "use the same version of prony as the lab",
        )),
    };
    stream.write_all(serde_json::to_string(&answer)?.as_bytes())
}

/// A connection to the lab that runs with the folder `data`, if there is one.
pub(super) fn connect(data: &Path) -> Option<UnixStream> {
    in_folder(data, |path| UnixStream::connect(path)).ok()
}

/// Has the lab at the other end do `command`.
pub(super) fn ask(mut stream: &UnixStream, by: &str, command: Command) -> Result<Value, AccessError> {
    let failed = |error: &dyn std::fmt::Display| AccessError::Answer(error.to_string());
    let request =
        serde_json::to_string(&Request { by: by.to_owned(), command }).map_err(|error| failed(&error))?;
    let mut exchange = || -> io::Result<String> {
        stream.set_read_timeout(Some(EXCHANGE))?;
        stream.set_write_timeout(Some(EXCHANGE))?;
        stream.write_all(request.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.take(MESSAGE_BYTES_MAX).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().map_err(|error| failed(&error))?;
    let answer: Result<Value, Problem> = serde_json::from_str(&answer).map_err(|error| failed(&error))?;
    answer.map_err(AccessError::AtLab)
}

/// Does something with the socket's path. A socket's address holds 107 bytes, fewer than a folder's name may have: the
/// path goes through a descriptor of the folder.
fn in_folder<T>(data: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let folder = std::fs::File::open(data)?;
    work(Path::new(&format!("/proc/self/fd/{}/{FILE}", folder.as_raw_fd())))
}
