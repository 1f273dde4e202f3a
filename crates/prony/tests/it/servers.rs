//! `prony serve`: a line to wait for, a port to take, an end that counts.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::binary::{command, prony};

#[test]
fn it_says_where_it_listens_and_at_the_end_what_it_did() {
    for words in [&["null"][..], &["rudy", "--delay", "0"], &["rudy", "--model", "pool", "--keepalive"]] {
        let mut server = command()
            .arg("serve")
            .args(words)
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        let mut line = String::new();
        let stdout = server.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line.strip_prefix("listening on ").expect("the ready line").trim_end();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{line}");
        let load = prony(&[url, "-n", "7", "-c", "1"]);
        assert!(load.is_measured() && load.out.contains("SUCCESS   100 %     7 of 7 requests"), "{load:?}");
        let id = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the server lives");
        let mut told = String::new();
        server.stderr.take().expect("it is piped").read_to_string(&mut told).expect("text");
        assert!(told.starts_with("7 requests answered on "), "{words:?}: {told}");
        assert_eq!(server.wait().expect("it ends").code(), Some(0), "{words:?}");
    }
}

#[test]
fn other_machines_are_kept_out() {
    let said = prony(&["serve", "null", "--listen", "0.0.0.0", "--port", "0"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("--allow-remote"), "{said:?}");
}

#[test]
fn a_taken_port() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let said = prony(&["serve", "rudy", "--port", &port]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(
        said.err.contains("is taken\n       stop the other server, or take a free port: --port 0"),
        "{said:?}"
    );
}

/// The numbers of the lesson come from the two runs.
#[test]
fn the_demonstration_ends_with_its_lesson() {
    let said = prony(&["demo", "--duration", "1s", "--connections", "4"]);
    assert!(said.is_measured(), "{said:?}");
    assert_eq!(said.out.matches("\nSUCCESS").count(), 2, "{said:?}");
    let lesson = said.out.split("What this shows\n").nth(1).expect("a lesson");
    for part in ["4 clients", "One at a time: ", "All at once: ", "use --rate."] {
        assert!(lesson.contains(part), "{part}: {lesson}");
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said:?}");
}
