//! `prony calibrate`, and what it reports on the runs that follow. Rates depend on the machine: none is compared here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use prony_model::{Calibration, FindingCode};

use crate::binary::{ProgramOutput, command, program_output};
use crate::folder::Folder;
use crate::server::Server;

/// One connection, with its floors, and kept however busy the machine is.
const SHORT: [&str; 6] = ["calibrate", "--connections", "1", "--quick", "--force", "--quiet"];

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Calls prony with a folder for its state of its own.
fn prony_in(state: &Path, words: &[&str]) -> ProgramOutput {
    program_output(command().env("XDG_STATE_HOME", state).args(words).output().expect("the binary was built"))
}

/// The one file in `state`, with what it contains.
fn stored(state: &Path) -> (PathBuf, Calibration) {
    let files: Vec<PathBuf> = fs::read_dir(state.join("prony"))
        .expect("a folder for calibrations")
        .map(|entry| entry.expect("a name").path())
        .collect();
    let [file] = files.as_slice() else { panic!("one file: {files:?}") };
    let text = fs::read_to_string(file).expect("it can be read");
    (file.clone(), Calibration::from_json(&text).expect("a calibration"))
}

#[test]
fn it_is_measured_kept_shown_and_used() {
    let folder = Folder::new("calibrate");
    let state = folder.0.join("state");
    let calibrated = prony_in(&state, &SHORT);
    assert_eq!((calibrated.code, calibrated.err.as_str()), (Some(0), ""), "{calibrated:?}");
    let (file, calibration) = stored(&state);
    assert!(calibrated.out.contains("answers of 12 B"), "{calibrated:?}");
    assert!(calibrated.out.contains(&format!("kept in {}", file.display())), "{calibrated:?}");
    assert!(
        calibrated.out.lines().take_while(|line| !line.starts_with("kept")).all(|l| l.chars().count() <= 80)
    );
    assert!(file.ends_with(format!("prony/calibration-{}.json", calibration.fingerprint)), "{file:?}");
    assert_eq!(calibration.points.len(), 2, "one connection, and the floor of open loops: {calibration:?}");
    assert!(calibration.points.iter().all(|point| point.rate_per_s > 0.0 && point.p50_ms > Some(0.0)));

    let shown = prony_in(&state, &["calibrate", "--show"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{shown:?}");
    assert!(shown.out.contains("\nmeasured ") && shown.out.contains("min"), "{shown:?}");
    let json = prony_in(&state, &["calibrate", "--show", "--json", "-"]);
    assert_eq!(Calibration::from_json(&json.out).expect("only JSON on stdout"), calibration);

    let server = Server::good();
    let run = ["-n", "200", "-c", "1", "-o", "json", server.url.as_str()];
    let result = prony_model::from_json(&prony_in(&state, &run).out).expect("a result");
    let used = result.calibration.expect("one connection is calibrated");
    assert_eq!((used.connections, used.threads), (1, 1));
    assert!(used.share > 0.0 && used.floor_p50_ms > Some(0.0), "{used:?}");

    let ignored: Vec<&str> = run.iter().copied().chain(["--no-calibration"]).collect();
    let result = prony_model::from_json(&prony_in(&state, &ignored).out).expect("a result");
    assert_eq!(result.calibration, None);
}

/// What is known of other settings stays.
#[test]
fn a_second_calibration_adds_to_the_first() {
    let folder = Folder::new("adds");
    prony_in(&folder.0, &SHORT);
    let more = ["calibrate", "-c", "3", "--no-keepalive", "--quick", "--force", "--quiet"];
    assert_eq!(prony_in(&folder.0, &more).code, Some(0));
    let (_, calibration) = stored(&folder.0);
    let settings: Vec<(u32, bool)> = calibration
        .points
        .iter()
        .map(|point| (point.setting.connections, point.setting.keep_alive))
        .collect();
    assert_eq!(settings, [(1, true), (16, true), (3, false), (1, false), (16, false)]);
}

/// The report of a plain run, whose first lines have the verdict.
#[test]
fn a_run_near_the_limit_is_evaluated_by_it() {
    let folder = Folder::new("evaluated");
    prony_in(&folder.0, &SHORT);
    let (file, mut calibration) = stored(&folder.0);
    // As if this client could do next to nothing: any run is beyond that.
    for point in &mut calibration.points {
        point.rate_per_s = 0.001;
        point.p50_ms = Some(1e6);
    }
    fs::write(&file, calibration.to_json()).expect("the file can be written");
    let server = Server::good();
    let output = prony_in(&folder.0, &[&server.url, "-n", "200", "-c", "1", "-o", "json"]);
    let result = prony_model::from_json(&output.out).expect("a result");
    let codes: Vec<FindingCode> = result.findings.iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&FindingCode::NearClientLimit), "{codes:?}");
    assert!(codes.contains(&FindingCode::NearClientFloor), "{codes:?}");
    // As if it could do anything: the line beside the verdict says so, if nothing else is wrong with the run.
    for point in &mut calibration.points {
        point.rate_per_s = 1e12;
        point.client_cpu_share = 1.0;
        point.p50_ms = Some(1e-9);
    }
    fs::write(&file, calibration.to_json()).expect("the file can be written");
    let fine = prony_in(&folder.0, &[&server.url, "-n", "200", "-c", "1"]);
    // In one line, however it is wrapped.
    let text: Vec<&str> = fine.out.split_whitespace().collect();
    let says_so = text.join(" ").contains("against the null server it reaches");
    assert_eq!(says_so, fine.out.contains("\nVALID"), "{fine:?}");
}

#[test]
fn a_file_that_is_no_calibration_is_ignored_with_a_word() {
    let folder = Folder::new("damaged");
    prony_in(&folder.0, &SHORT);
    let (file, calibration) = stored(&folder.0);
    let other = Calibration { fingerprint: "0123456789abcdef".to_owned(), ..calibration.clone() };
    let server = Server::good();
    for (text, why) in [
        (calibration.to_json()[..300].to_owned(), "not JSON"),
        ("{\"format\": \"k6\"}".to_owned(), "it has no \"format\""),
        (other.to_json(), "another machine"),
    ] {
        fs::write(&file, text).expect("the file can be written");
        let run = prony_in(&folder.0, &[&server.url, "-n", "20", "-c", "1", "-o", "json"]);
        assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
        assert_eq!(prony_model::from_json(&run.out).expect("a result").calibration, None);
        assert!(run.err.starts_with(&format!("warning: the calibration {} (", file.display())), "{run:?}");
        assert!(run.err.contains(why) && run.err.ends_with("`prony calibrate` makes a new one\n"), "{run:?}");
        assert_eq!(run.err.lines().count(), 2, "{run:?}");
    }
    let again = prony_in(&folder.0, &SHORT);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(stored(&folder.0).1.fingerprint, calibration.fingerprint);
}

#[test]
fn a_null_server_elsewhere_is_for_runs_against_its_host() {
    let folder = Folder::new("elsewhere");
    let server = Server::good();
    let words: Vec<&str> = SHORT.iter().copied().chain(["--target", &server.url]).collect();
    let calibrated = prony_in(&folder.0, &words);
    assert_eq!(calibrated.code, Some(0), "{calibrated:?}");
    let (_, calibration) = stored(&folder.0);
    assert!(calibration.points.iter().all(|point| point.setting.host.as_deref() == Some("127.0.0.1")));
    assert!(calibration.points.iter().all(|point| point.server_cpu_share.is_none()));
}

#[test]
fn nothing_to_show() {
    let folder = Folder::new("nothing");
    let shown = prony_in(&folder.0, &["calibrate", "--show"]);
    assert_eq!((shown.code, shown.out.as_str()), (Some(2), ""), "{shown:?}");
    assert_eq!(
        shown.err,
        "error: this machine has not been calibrated\n       `prony calibrate` does it, in under a minute\n"
    );
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn what_cant_be_measured_is_reported_before_anything_is() {
    let folder = Folder::new("refused");
    let refused = |words: &[&str]| {
        let output = prony_in(&folder.0, words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
        output.err
    };
    assert!(refused(&["calibrate", "-c", "2", "-t", "4"]).contains("4 threads can't share 2 connections"));
    assert!(refused(&["calibrate", "--duration", "0"]).contains("a duration of 0"));
    assert!(refused(&["calibrate", "--response-bytes", "1GiB"]).contains("--response-bytes: choose"));
    assert!(refused(&["calibrate", "--request-bytes", "1GiB"]).contains("--request-bytes: choose"));
    let file = folder.0.join("state");
    fs::write(&file, "").expect("a file");
    let output = prony_in(&file, &["calibrate"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("set XDG_STATE_HOME"), "{output:?}");
}

/// Ctrl-C leaves what was known as it was.
#[test]
fn an_interrupted_calibration_is_not_kept() {
    let folder = Folder::new("interrupted");
    let server = Server::good();
    let child = command()
        .env("XDG_STATE_HOME", &folder.0)
        .args(["calibrate", "-c", "1", "--duration", "1m", "--quiet", "--target", &server.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    for _ in 0..100 {
        server.requests.recv_timeout(PATIENCE).expect("requests arrive");
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("the child lives");
    let output = program_output(child.wait_with_output().expect("the child ends"));
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(output.out.ends_with("stopped by hand: nothing was kept\n"), "{output:?}");
    let kept = fs::read_dir(folder.0.join("prony")).expect("a folder for calibrations");
    assert_eq!(kept.count(), 0);
}
