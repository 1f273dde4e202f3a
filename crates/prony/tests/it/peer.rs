//! Servers that others have written, which end with their test.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A server and its folder.
pub(crate) struct Peer {
    process: Child,
    pub(crate) port: u16,
    folder: TempDir,
}

impl Peer {
    /// Starts `command`, a server that prints its port; `None`, with the reason, where `name` is missing for `what`.
    pub(crate) fn start(name: &str, what: &str, folder: TempDir, mut command: Command) -> Option<Self> {
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut process) = started else {
            prony_testing::skip_without(name, what);
            return None;
        };
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it prints its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("{name} ended: {line}"));
        Some(Self { process, port, folder })
    }

    /// nginx with these directives in its `http` block, the certificate and key in `folder`, and a server at `port`.
    pub(crate) fn nginx(what: &str, folder: TempDir, directives: &str, port: u16) -> Option<Self> {
        let path = |name: &str| in_folder(&folder, name);
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let places = places.map(|name| format!("{name}_temp_path {};\n", path(name))).concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{places}\
             ssl_certificate {};\nssl_certificate_key {};\n{directives}}}\n",
            path("pid"),
            path("cert.pem"),
            path("key.pem"),
        );
        fs::write(path("nginx.conf"), configuration).expect("the folder can be written");
        let process = Command::new("nginx")
            .args(["-p", &path(""), "-c", &path("nginx.conf"), "-e", "stderr"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = process else {
            prony_testing::skip_without("nginx", what);
            return None;
        };
        let mut peer = Self { process, port, folder };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = peer.process.try_wait().expect("it is ours");
            assert!(ended.is_none(), "nginx ended: {ended:?}");
            std::thread::yield_now();
        }
        Some(peer)
    }

    /// A file of its folder.
    pub(crate) fn path(&self, name: &str) -> String {
        in_folder(&self.folder, name)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder for a server.
pub(crate) fn new_folder() -> TempDir {
    tempfile::tempdir().expect("the folder for temporary files can be written")
}

/// A file of `folder`.
pub(crate) fn in_folder(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("a plain name").to_owned()
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.expect("a free port").port()
}
