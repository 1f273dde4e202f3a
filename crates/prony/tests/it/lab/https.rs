//! Builds whose study loads a server over https, with a certificate that an authority in the repository has signed.

use std::fs;

use prony_lab::model::{BuildState, TaskState};
use prony_model::{from_json, study_from_json};

use super::checkout::git;
use super::worker::Bench;
use crate::folder::Folder;

/// A lab whose project has a study of a server over https, reached with `tls`.
fn bench(name: &str, tls: &str) -> Bench {
    let folder = Folder::new(&format!("lab-https-{name}"));
    let repository = folder.0.join("repository");
    fs::create_dir(&repository).expect("room");
    git(&repository, &["init", "--quiet"]);
    for file in ["ca.pem", "unknown-ca.pem", "server.pem"] {
        let certificates = concat!(env!("CARGO_MANIFEST_DIR"), "/../prony-engine/tests/certificates");
        fs::copy(format!("{certificates}/{file}"), repository.join(file)).expect("it is there");
    }
    let study = format!(
        "name = \"secure\"\nrepeats = 1\nretries = 0\n\
         [targets.secure]\nserve = \"null --tls-cert server.pem --tls-key server.pem\"\ntls = {tls}\n\
         ready = {{ path = \"/\", within = \"3s\" }}\n\
         [loads.short]\nconnections = 2\nrequests = 50\n"
    );
    fs::write(repository.join("prony.toml"), study).expect("room");
    git(&repository, &["add", "--all"]);
    git(&repository, &["commit", "--quiet", "--message", "Serve over https"]);
    let definition = format!("repository = \"{}\"\nstudy = \"prony.toml\"\n", repository.display());
    Bench::with(folder, repository, &definition)
}

#[test]
fn a_study_trusts_an_authority_of_its_repository() {
    let bench = bench("trusted", "{ cacert = \"ca.pem\", sni = \"localhost\" }");
    let build = bench.finished(bench.submit(|_| ()));
    let log = bench.output(&build, "study");
    assert!(matches!(build.build.state, BuildState::Completed | BuildState::Degraded), "{log} {build:#?}");
    let file = |name: &str| bench.lab().file(build.build.id, name).expect("read").expect("it was taken in");
    let text = |name: &str| String::from_utf8(file(name)).expect("text");
    let report = study_from_json(&text("report.json")).expect("a study");
    let run = report.cells[0].runs.first().expect("a run");
    let run = from_json(&text(&run.file)).expect("a result");
    assert_eq!((run.requests.done, run.requests.failed), (50, 0), "{:?}", run.errors);
    let tls = run.tls.expect("it was over TLS");
    assert!(tls.verified && tls.handshakes.failed == 0, "{tls:?}");
    let asked = run.plan.target.tls.expect("it was over TLS");
    assert_eq!(asked.server_name.as_deref(), Some("localhost"));
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn a_certificate_that_is_refused_fails_the_study_and_says_why() {
    let bench = bench("refused", "{ cacert = \"unknown-ca.pem\" }");
    let build = bench.finished(bench.submit(|_| ()));
    let study = build.tasks.iter().find(|task| task.name == "study").expect("there");
    let log = bench.output(&build, "study");
    assert_eq!((build.build.state, study.state), (BuildState::Failed, TaskState::Failed), "{log} {build:#?}");
    assert!(log.contains("signed by an unknown authority"), "{log}");
}

#[test]
fn a_certificate_that_nobody_verifies_is_found_in_the_report() {
    let bench = bench("insecure", "{ insecure = true }");
    let build = bench.finished(bench.submit(|_| ()));
    let report = bench.lab().file(build.build.id, "report.json").expect("read").expect("it was taken in");
    assert!(String::from_utf8(report).expect("text").contains("not-verified"));
}
