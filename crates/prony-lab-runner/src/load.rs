//! A load by itself: a URL and how much of it, nothing built.

use std::ffi::OsString;
use std::net::SocketAddr;

use prony_model::from_json;
use prony_supervisor::{Limits, QUIET_POLL_INTERVAL};

use super::agents;
use super::build::{Done, Job, Source};
use super::sandbox::{Network, Scope};
use super::study::Study;
use super::task::{self, Log, Manner};
use prony_lab_model::{AdHocLoad, BuildVerdict, TaskState};

/// The result's file.
const RESULT: &str = "run.json";
/// A run of hours with all its parts has some MiB.
const RESULT_BYTES_MAX: u64 = 64 << 20;

/// Runs the load, and takes in its result.
pub(super) fn run(job: &mut Job<'_>, log: &mut Log<'_>) -> Done {
    let Some(load) = &job.detail.load else { return Done::failed("it is not known what to load") };
    if let Some(agents) = &load.agents {
        return agents::run(job, load, agents, log);
    }
    let path = job.workspace.path().join(RESULT);
    let mut words = vec![job.tools.starter.program.clone().into_os_string(), "run".into()];
    words.extend(flags(load));
    // What the name resolves to now is checked, and the load goes there and nowhere else, whatever it means in a second.
    match job.tools.lab.check_load_blocking(load, &job.detail.build.requested_by) {
        Ok(addresses) => words.extend(pinned(&addresses)),
        Err(reason) => return Done::failed(reason),
    }
    words.extend(["--json".into(), path.clone().into_os_string(), "--quiet".into(), "--".into()]);
    words.push(load.url.clone().into());
    let source = Source { folder: job.workspace.path().to_owned(), commit: String::new() };
    let manner = Manner {
        scope: Scope::Measure,
        // What it loads was checked.
        network: Network::Machine,
        tree: false,
        limits: Limits { poll_interval: QUIET_POLL_INTERVAL, ..job.limits(std::time::Duration::MAX) },
        secrets: &[],
        egress: None,
        caches: &[],
    };
    let done = task::run(job, words, &source, manner, log);
    let bytes = job.workspace.open().and_then(|workspace| workspace.read(RESULT, RESULT_BYTES_MAX));
    let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
    let is_invalid = match from_json(&text) {
        Ok(result) => result.verdict == prony_model::Verdict::Invalid,
        Err(_) if done.state == TaskState::Success => {
            return Done::failed("the load left no result that can be read");
        }
        Err(_) => return done,
    };
    job.study = Some(Study {
        files: vec![(RESULT.to_owned(), text.into_bytes())],
        verdict: Some(if is_invalid { BuildVerdict::Invalid } else { BuildVerdict::NoBaseline }),
        is_doubtful: is_invalid,
        words: is_invalid.then(|| "the numbers are unusable: see the output".to_owned()),
        ..Study::default()
    });
    match done.exit_code {
        Some(3) => Done {
            state: TaskState::Success,
            reason: job.study.as_ref().and_then(|study| study.words.clone()),
            ..done
        },
        _ => done,
    }
}

fn flags(load: &AdHocLoad) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec![
        "--connections".into(),
        load.connections.to_string().into(),
        "--duration".into(),
        format!("{}s", load.duration_s).into(),
    ];
    if let Some(rate) = load.rate_per_s {
        flags.extend(["--rate".into(), rate.to_string().into()]);
    }
    flags
}

fn pinned(addresses: &[SocketAddr]) -> [OsString; 2] {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    ["--connect-to".into(), addresses.join(",").into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_becomes_flags() {
        let mut load = AdHocLoad {
            url: "http://127.0.0.1/".to_owned(),
            connections: 8,
            rate_per_s: None,
            duration_s: 2.5,
            agents: None,
        };
        assert_eq!(flags(&load), ["--connections", "8", "--duration", "2.5s"]);
        load.rate_per_s = Some(100.0);
        assert_eq!(flags(&load)[4..], ["--rate", "100"]);
        let addresses = ["127.0.0.1:80", "[::1]:80"].map(|text| text.parse().expect(text));
        assert_eq!(pinned(&addresses), ["--connect-to", "127.0.0.1:80,[::1]:80"]);
    }
}
