//! The pages of the lab as people meet them: in a browser with scripts and without, in a text browser, and before the
//! rules of HTML. `./test` installs what is needed beside Rust.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::command;
use crate::folder::Folder;

/// Builds of the example: enough for a change to be found, so that every part of every page is there.
const BUILDS: &str = "60";

/// Pages of the example that everybody may see.
const PAGES: [&str; 20] = [
    "/",
    "/?before=20",
    "/?project=example&state=failed&variant=release",
    "/?project=nothing",
    "/list_max_id/20",
    "/build/60",
    "/build/59",
    "/build/4",
    "/add_job",
    "/add_job?project=example&reference=%3Cb%3E&tests=study",
    "/compare?a=38&b=41&c=45",
    "/compare",
    "/history/example",
    "/history/example/3",
    "/alerts",
    "/projects",
    "/monitors",
    "/agents",
    "/search",
    "/search?q=example+state%3Acompleted",
];

/// A lab, ended with the test.
struct Lab {
    process: Child,
    out: BufReader<ChildStdout>,
    /// Without the `/` at its end.
    base: String,
}

impl Lab {
    fn start(words: &[&str]) -> Self {
        let mut process = command().args(words).stdout(Stdio::piped()).spawn().expect("the binary was built");
        let mut out = BufReader::new(process.stdout.take().expect("it is piped"));
        let line = line(&mut out);
        let base =
            line.strip_prefix("listening on ").expect("the ready line").trim_end_matches('/').to_owned();
        Self { process, out, base }
    }

    fn example() -> Self {
        Self::start(&["serve", "lab", "--port", "0", "--builds", BUILDS])
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

fn line(out: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

/// Where `./test` puts what npm has for these tests.
fn installed() -> PathBuf {
    let tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tests.parent().expect("a target folder").join("browser");
    assert!(folder.join("done").exists(), "{} is missing: ./test installs it", folder.display());
    folder
}

/// Runs a script of the browser's tests; it prints what is wrong on stderr.
fn script(name: &str, words: &[&str]) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prony-lab/browser");
    let output = Command::new("node")
        .arg(scripts.join(name))
        .args(words)
        .env("NODE_PATH", installed().join("node_modules"))
        .stdin(Stdio::null())
        .output()
        .expect("there is node; ./test installs it");
    assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_page_is_whole_with_scripts_and_without() {
    let folder = Folder::new("lab-pages");
    let lab = Lab::example();
    let place = folder.0.to_str().expect("text");
    script("pages.js", &[&[lab.base.as_str(), place][..], &PAGES].concat());
    let names = folder.names();
    assert_eq!(names.len(), PAGES.len(), "{names:?}");
    validate(&folder.0);
}

/// Routes of pages: `GET /build/{id}`.
fn routes() -> Vec<String> {
    let source = include_str!("../../../prony-lab-web/src/web/routes.rs");
    let mut routes = Vec::new();
    for line in source.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")) {
        let (pattern, handlers) = line.split_once('"').expect("a pattern ends");
        for (method, word) in [("GET", "get("), ("POST", "post(")] {
            if handlers.contains(word) {
                routes.push(format!("{method} {pattern}"));
            }
        }
    }
    assert!(routes.len() > 60, "{routes:?}");
    routes
}

#[test]
fn every_page_is_readable_in_every_form() {
    let folder = Folder::new("lab-every");
    let data = folder.0.join("data");
    let example = prony_lab::Lab::open(prony_lab::LabOptions::new(data.clone())).expect("room");
    example.fill_example(60).expect("filled");
    drop(example);
    let words = ["lab", "--data", data.to_str().expect("text"), "--listen", "127.0.0.1:0", "--no-worker"];
    let mut lab = Lab::start(&words);
    let first = line(&mut lab.out);
    let link = first.strip_prefix("log in first at ").expect("a new lab has a link");
    let routes = routes();
    let routes: Vec<&str> = routes.iter().map(String::as_str).collect();
    script("every.js", &[&[lab.base.as_str(), link][..], &routes].concat());
}

/// Holds every page in `folder` against the rules of HTML.
fn validate(folder: &Path) {
    let pages = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("a page").path());
    // It ends before a better compiler and a parallel collector have earned what they cost: half of its CPU time.
    let output = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m", "-jar"])
        .arg(installed().join("node_modules/vnu-jar/build/dist/vnu.jar"))
        .args(pages)
        .output()
        .expect("there is Java; ./test installs it");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaints.contains("warning"), "{complaints}");
}

#[test]
fn somebody_comes_to_a_new_lab_and_stays_for_a_while() {
    let folder = Folder::new("lab-visit");
    let (data, tiny) = (folder.0.join("data"), folder.0.join("tiny"));
    let make = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/make-tiny-repository");
    let made = Command::new(make).arg(&tiny).output().expect("there is a sh");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let definition = folder.0.join("definition.toml");
    fs::write(&definition, &made.stdout).expect("the target folder can be written");
    let mut lab = Lab::start(&["lab", "--data", data.to_str().expect("text"), "--listen", "127.0.0.1:0"]);
    let first = line(&mut lab.out);
    let link = first.strip_prefix("log in first at ").expect("a new lab has a link");
    // Nothing listens on a port that was free a moment ago; who takes it now speaks no HTTP to the lab's monitor.
    let dead = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let dead = format!("http://{dead}/");
    let pages = folder.0.join("pages");
    fs::create_dir(&pages).expect("the folder can be written");
    let [definition, kept] = [&definition, &pages].map(|path| path.to_str().expect("text"));
    script("visit.js", &[&lab.base, link, definition, &dead, kept]);
    validate(&pages);
}

#[test]
fn pages_can_be_read_in_a_text_browser() {
    let lab = Lab::example();
    for (name, path) in [
        ("overview", "/?before=6"),
        ("build", "/build/60"),
        ("request", "/add_job"),
        ("compare", "/compare?a=38&b=41"),
        ("history", "/history/example"),
        ("alerts", "/alerts"),
    ] {
        let output = Command::new("w3m")
            .args(["-dump", "-cols", "150", "-o", "accept_language=en"])
            .arg(format!("{}{path}", lab.base))
            .env("HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .expect("there is w3m; ./test installs it");
        let text = without_moments(&String::from_utf8(output.stdout).expect("text"));
        insta::assert_snapshot!(format!("lab_pages_{name}"), text);
    }
}

/// `text` with the same moment everywhere.
fn without_moments(text: &str) -> String {
    const FORM: &str = "0000-00-00 00:00:00";
    let is_moment = |found: &str| {
        found.len() == FORM.len()
            && found.bytes().zip(FORM.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == form,
            })
    };
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.get(..FORM.len()).is_some_and(is_moment) {
            shown.push_str(FORM);
            rest = &rest[FORM.len()..];
        } else {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}
