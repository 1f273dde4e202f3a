//! `prony run --k8s --apply`: creates the bundle, follows its pods, fetches the result, and ends with the run's exit code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use prony_fleet::agent::sha256;
use prony_model::{FleetResult, fleet_from_json};
use prony_report::clean;
use prony_study::Led;
use serde_json::Value;

use super::bundle::{Bundle, PROGRAM, RESULTS};
use super::kubectl::Kubectl;
use crate::cli_error::CliError;
use crate::clock;
use crate::cmd::fleet::Report;
use crate::exit::Exit;
use crate::output::Destination;
use crate::{output, signals};

/// Between two looks at the pods.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Looks that may fail one after the other: two minutes without the API server, at most.
const FAILURES_MAX: u32 = 60;
/// A result is fetched so often: a connection to a pod may be cut.
const FETCHES_MAX: u32 = 5;
/// Beyond its deadline the cluster has this long to end the leader.
const DEADLINE_MARGIN: Duration = Duration::from_mins(2);
/// Lines of the leader's log that are shown where there is no result.
const LOG_LINES: &str = "--tail=20";
/// Why a pod never starts, whatever is waited for.
const HOPELESS: [&str; 3] = ["InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"];

/// Has the cluster run `bundle`, and makes `report` of it.
pub(super) fn apply(bundle: &Bundle, mut report: Report<'_>, quiet: bool) -> Result<Exit, CliError> {
    let kubectl = Kubectl::new(bundle.namespace.clone());
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    signals::on_interrupt(move || flag.store(true, Ordering::Release))?;
    let uid =
        kubectl.call(&["create", "-f", "-", "-o", "jsonpath={.metadata.uid}"], &bundle.leader.to_string())?;
    let follower = Follower { bundle, kubectl, interrupted, quiet, destination: report.destination.take() };
    if let Err(error) = follower.kubectl.call(&["create", "-f", "-"], &bundle.owned(uid.trim())) {
        follower.delete();
        return Err(error);
    }
    let Ended { exit, result } = follower.follow()?;
    if let Some(result) = result {
        // The verdict is the leader's; the report is drawn here, in the format that was typed.
        report.write(Led { fleet: Some(result), failure: None, interrupted: false, lost: Vec::new() })?;
    }
    Ok(exit)
}

/// How a run ended.
struct Ended {
    exit: Exit,
    result: Option<FleetResult>,
}

struct Follower<'a> {
    bundle: &'a Bundle,
    kubectl: Kubectl,
    interrupted: Arc<AtomicBool>,
    quiet: bool,
    /// Where the result is written, before the pod that has it may end.
    destination: Option<&'a Destination>,
}

impl Follower<'_> {
    /// Waits until the leader has ended, and collects the result as soon as it is there.
    fn follow(&self) -> Result<Ended, CliError> {
        let until = clock::monotonic() + Duration::from_secs(self.bundle.deadline_s) + DEADLINE_MARGIN;
        let (mut result, mut shown, mut failures) = (None, String::new(), 0);
        self.say(&format!("{} is created: kubectl get pods -l {}", self.bundle.name, self.bundle.selector()));
        while clock::monotonic() < until {
            if self.interrupted.load(Ordering::Acquire) {
                self.delete();
                output::write_stderr("the run is deleted, and its result with it\n");
                return Ok(Ended { exit: Exit::Interrupted, result: None });
            }
            let seen = match self.look() {
                Ok(seen) => seen,
                Err(error) if failures == FAILURES_MAX => return Err(error),
                Err(_) => {
                    failures += 1;
                    thread::sleep(POLL_INTERVAL);
                    continue;
                }
            };
            failures = 0;
            if seen.line != shown {
                self.say(&seen.line);
                shown = seen.line;
            }
            if let Some(why) = seen.hopeless {
                self.delete();
                return Err(CliError::target_failed(format!("a pod can't start: {}", clean(&why))));
            }
            if result.is_none() && seen.is_ready && seen.exit.is_none() {
                result = Some(self.collect()?);
            }
            if let Some(code) = seen.exit {
                return self.ended(code, result);
            }
            if seen.is_failed {
                return Err(CliError::target_failed(
                    "the Job of the leader has failed, and there is no pod to ask why",
                )
                .hint(format!("kubectl describe job {}-leader", self.bundle.name)));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(CliError::target_failed("the leader has not ended by its deadline"))
    }

    fn ended(&self, code: i64, result: Option<FleetResult>) -> Result<Ended, CliError> {
        if result.is_none() {
            let leader = format!("job/{}-leader", self.bundle.name);
            let log = self.kubectl.call(&["logs", &leader, "-c", "leader", LOG_LINES], "");
            output::write_stderr(&log.map_or_else(|error| error.text(), |log| clean_lines(&log)));
        }
        let exit = Exit::of_code(code).ok_or_else(|| {
            CliError::internal(format!("the leader was ended by the cluster (exit code {code})"))
                .hint(format!("kubectl describe pod -l {}", self.bundle.selector()))
        })?;
        Ok(Ended { exit, result })
    }

    /// Jobs and pods as they are now.
    fn look(&self) -> Result<Seen, CliError> {
        let json =
            self.kubectl.call(&["get", "jobs,pods", "-l", &self.bundle.selector(), "-o", "json"], "")?;
        let list = serde_json::from_str(&json).map_err(|error| {
            CliError::target_failed(format!("kubectl printed something that is no JSON ({error})"))
        })?;
        Ok(Seen::of(&list, self.bundle.agents))
    }

    /// Fetches the result and writes it; then the pod compares its digest, and may end.
    fn collect(&self) -> Result<FleetResult, CliError> {
        let leader = format!("job/{}-leader", self.bundle.name);
        let exec = ["exec", &leader, "-c", "leader", "--", PROGRAM, "k8s-result", RESULTS];
        let (mut last, mut to_write) = (None, self.destination);
        for _ in 0..FETCHES_MAX {
            let fetched = self.kubectl.call(&exec, "").and_then(|text| {
                let result = fleet_from_json(&text).map_err(|error| {
                    CliError::target_failed(format!("the result did not arrive whole ({error})"))
                })?;
                if let Some(destination) = to_write {
                    destination.write(&text)?;
                    to_write = None;
                }
                let digest = sha256(text.as_bytes());
                self.kubectl.call(&[&exec[..], &["--received", &digest]].concat(), "")?;
                Ok(result)
            });
            match fetched {
                Ok(result) => return Ok(result),
                Err(error) => last = Some(error),
            }
            thread::sleep(POLL_INTERVAL);
        }
        let error = last.unwrap_or_else(|| CliError::internal("no result was fetched"));
        Err(error.hint("it is in the leader's pod, and in its log an hour later: the run was not deleted"))
    }

    /// Ends what is left; all that the leader's Job owns goes with it.
    fn delete(&self) {
        let leader = format!("{}-leader", self.bundle.name);
        if let Err(error) = self.kubectl.call(&["delete", "job", &leader, "--wait=false"], "") {
            output::write_stderr(&error.text());
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            output::write_stderr(&format!("{}\n", clean(line)));
        }
    }
}

/// Foreign lines, each without control characters.
fn clean_lines(text: &str) -> String {
    text.lines().flat_map(|line| ["leader: ".to_owned(), clean(line), "\n".to_owned()]).collect()
}

/// What is known of a run from its jobs and pods.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// For people.
    line: String,
    /// Whether the leader has a result.
    is_ready: bool,
    /// The leader's exit code, once it has ended.
    exit: Option<i64>,
    /// Whether the leader's Job has failed.
    is_failed: bool,
    /// Why a pod never starts.
    hopeless: Option<String>,
}

impl Seen {
    fn of(list: &Value, agents: u32) -> Self {
        let mut seen = Self::default();
        let (mut running, mut waiting, mut leader) = (0_u32, None, "pending".to_owned());
        for object in list["items"].as_array().into_iter().flatten() {
            let is_leader = object["metadata"]["labels"]["app.kubernetes.io/component"] == "leader";
            let status = &object["status"];
            if object["kind"] == "Job" {
                let conditions = status["conditions"].as_array().into_iter().flatten();
                let failed =
                    |condition: &Value| condition["type"] == "Failed" && condition["status"] == "True";
                seen.is_failed |= is_leader && conditions.clone().any(failed);
                continue;
            }
            for container in containers(status) {
                let state = &container["state"];
                let reason = state["waiting"]["reason"].as_str();
                if let Some(reason) = reason.filter(|reason| *reason != "PodInitializing") {
                    waiting = Some(reason.to_owned());
                    if HOPELESS.contains(&reason) {
                        let message = state["waiting"]["message"].as_str().unwrap_or_default();
                        seen.hopeless = Some(format!("{reason}: {message}"));
                    }
                }
                if container["name"] == "leader" {
                    seen.is_ready = container["ready"] == true;
                    seen.exit = state["terminated"]["exitCode"].as_i64();
                }
            }
            let phase = status["phase"].as_str().unwrap_or("unknown").to_lowercase();
            if is_leader {
                leader = phase;
            } else if phase != "pending" {
                running += 1;
            }
        }
        let why = waiting.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let result = if seen.is_ready { ", has a result" } else { "" };
        seen.line = format!("agents started: {running} of {agents}; leader: {leader}{result}{why}");
        seen
    }
}

/// The states of all containers of a pod.
fn containers(status: &Value) -> impl Iterator<Item = &Value> {
    ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .flat_map(|name| status[name].as_array().into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(component: &str, phase: &str, container: &Value) -> Value {
        json!({
            "kind": "Pod",
            "metadata": { "labels": { "app.kubernetes.io/component": component } },
            "status": { "phase": phase, "containerStatuses": [container] },
        })
    }

    fn seen(items: &[Value]) -> Seen {
        Seen::of(&json!({ "items": items }), 2)
    }

    #[test]
    fn pods_are_followed_from_their_creation_to_the_exit_code() {
        let waiting = |reason: &str| json!({ "name": "agent", "state": { "waiting": { "reason": reason, "message": "m" } } });
        let leader = |ready: bool, state: Value| json!({ "name": "leader", "ready": ready, "state": state });
        assert_eq!(seen(&[]).line, "agents started: 0 of 2; leader: pending");
        let pulling = seen(&[
            pod("agents", "Pending", &waiting("ImagePullBackOff")),
            pod("agents", "Running", &json!({ "name": "agent", "state": { "running": {} } })),
            pod("leader", "Running", &leader(false, json!({ "running": {} }))),
        ]);
        assert_eq!(pulling.line, "agents started: 1 of 2; leader: running (ImagePullBackOff)");
        assert_eq!((pulling.is_ready, pulling.exit, &pulling.hopeless), (false, None, &None));
        assert_eq!(
            seen(&[pod("agents", "Pending", &waiting("InvalidImageName"))]).hopeless.as_deref(),
            Some("InvalidImageName: m")
        );
        assert!(seen(&[pod("leader", "Running", &leader(true, json!({ "running": {} })))]).is_ready);
        let ended =
            seen(&[pod("leader", "Failed", &leader(false, json!({ "terminated": { "exitCode": 3 } })))]);
        assert_eq!((ended.exit, ended.is_ready), (Some(3), false));
    }

    #[test]
    fn a_job_that_fails_without_a_pod_is_seen() {
        let job = |component: &str, status: &str| {
            json!({
                "kind": "Job",
                "metadata": { "labels": { "app.kubernetes.io/component": component } },
                "status": { "conditions": [{ "type": "Failed", "status": status }] },
            })
        };
        assert!(seen(&[job("leader", "True")]).is_failed);
        assert!(!seen(&[job("leader", "False")]).is_failed && !seen(&[job("agents", "True")]).is_failed);
    }

    #[test]
    fn exit_codes_are_those_of_prony() {
        for code in [0, 1, 2, 3, 4, 5, 130] {
            assert_eq!(Exit::of_code(code).map(|exit| exit as i64), Some(code));
        }
        // Killed for its memory.
        assert_eq!(Exit::of_code(137), None);
    }
}
