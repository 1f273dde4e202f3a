//! For tests of agents: a broker, agents and runs as processes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::binary::{ProgramOutput, command, program_output};
use crate::folder::Folder;
use crate::repository::root;

/// The broker, where it is installed.
pub(crate) fn nats_server() -> Option<PathBuf> {
    let own = root().join("target/tools/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([own]);
    folders.map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}

/// A process that is ended with the test, and its lines.
pub(crate) struct Process<R> {
    pub(crate) child: Child,
    pub(crate) lines: BufReader<R>,
}

impl<R: std::io::Read> Process<R> {
    /// Reads lines until one has `text`, and returns that.
    pub(crate) fn await_line(&mut self, text: &str) -> String {
        let mut before = String::new();
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("text");
            assert!(read > 0, "no line with `{text}`, but:\n{before}");
            if line.contains(text) {
                return line;
            }
            before.push_str(&line);
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn kill(&mut self) {
        kill_process(self.pid(), Signal::KILL).expect("it is there");
        self.child.wait().expect("it ended");
    }
}

impl<R> Drop for Process<R> {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for keys and states, a broker, agents.
pub(crate) struct Fleet {
    pub(crate) program: PathBuf,
    pub(crate) folder: Folder,
    pub(crate) port: u16,
    pub(crate) config: Option<PathBuf>,
    pub(crate) broker: Option<Process<ChildStderr>>,
}

impl Fleet {
    /// Without agents; `None` where there is no nats-server.
    pub(crate) fn new(what: &str) -> Option<Self> {
        let Some(program) = nats_server() else {
            prony_testing::skip_without("nats-server", what);
            return None;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        Some(Self { program, folder: Folder::new(&what.replace(' ', "-")), port, config: None, broker: None })
    }

    pub(crate) fn with_broker(what: &str) -> Option<Self> {
        let mut fleet = Self::new(what)?;
        fleet.start_broker();
        Some(fleet)
    }

    pub(crate) fn start_broker(&mut self) {
        let mut broker = Command::new(&self.program);
        match &self.config {
            Some(config) => broker.arg("-c").arg(config),
            None => broker.args(["-a", "127.0.0.1", "-p", &self.port.to_string()]),
        };
        let mut child =
            broker.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it can be started");
        let lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut broker = Process { child, lines };
        broker.await_line("Server is ready");
        self.broker = Some(broker);
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Prony with keys and states of this fleet.
    pub(crate) fn prony(&self) -> Command {
        let mut prony = command();
        prony.env("XDG_CONFIG_HOME", self.folder.0.join("config"));
        prony.env("XDG_STATE_HOME", self.folder.0.join("state"));
        prony
    }

    pub(crate) fn agent(&self, name: &str, more: &[&str]) -> Process<ChildStdout> {
        let mut agent = self.prony();
        agent.args(["agent", "--name", name, "--nats", &self.url()]).args(more);
        let mut child = agent.stdout(Stdio::piped()).spawn().expect("it can be started");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Process { child, lines }
    }

    pub(crate) fn connected(&self, name: &str) -> Process<ChildStdout> {
        let mut agent = self.agent(name, &[]);
        agent.await_line("connected");
        agent
    }

    pub(crate) fn run(&self, url: &str, agents: &str, more: &[&str]) -> Command {
        let mut run = self.prony();
        run.args(["run", url, "--agents", agents, "--nats", &self.url()]).args(more);
        run.stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    }

    pub(crate) fn output(&self, url: &str, agents: &str, more: &[&str]) -> ProgramOutput {
        program_output(self.run(url, agents, more).output().expect("the binary was built"))
    }

    pub(crate) fn result_file(&self) -> String {
        self.folder.0.join("fleet.json").to_str().expect("UTF-8").to_owned()
    }
}

/// A run whose stderr is read while it is on.
pub(crate) fn started(mut run: Command) -> Process<ChildStderr> {
    let mut child = run.spawn().expect("it can be started");
    let lines = BufReader::new(child.stderr.take().expect("a pipe"));
    Process { child, lines }
}

/// How it ended, and the rest of its output.
pub(crate) fn ended(mut run: Process<ChildStderr>) -> (Option<i32>, String) {
    let mut rest = String::new();
    run.lines.read_to_string(&mut rest).expect("text");
    (run.child.wait().expect("it ended").code(), rest)
}

pub(crate) fn json(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("the file is there")).expect("JSON")
}
