//! A lab without a worker, in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::command;

/// A good password.
pub(super) const PASSWORD: &str = "some good words";

/// A lab that runs until it is stopped, killed or dropped.
pub(super) struct Running {
    child: Child,
    pub(super) address: String,
    /// The path of the link of the first admin, where it was printed: at the first start in a folder, in whose test
    /// that admin logs in.
    pub(super) link: Option<String>,
}

impl Running {
    pub(super) fn start(data: &Path) -> Self {
        let mut child = command()
            .args(["lab", "--listen", "127.0.0.1:0", "--no-worker", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary was built");
        let mut lines =
            BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
        let line = lines.next().expect("it says where it is");
        let address =
            line.strip_prefix("listening on http://").expect(&line).trim_end_matches('/').to_owned();
        let link = (!data.join("known").exists()).then(|| lines.next().expect("a link"));
        std::fs::write(data.join("known"), "").expect("room");
        let link = link.map(|line| line.rsplit_once(&address).expect("its address").1.to_owned());
        Self { child, address, link }
    }

    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        assert!(self.child.wait().expect("it ends").success());
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
