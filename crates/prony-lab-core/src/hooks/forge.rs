//! Sends the status of a commit to a forge.
//!
//! The token is read from the lab's secrets for each try: the outbox holds none, and what a forge answers is never
//! kept with it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::{HeaderMap, StatusCode};

use super::failure::Failure;
use crate::egress;
use crate::secrets;
use prony_lab_model::{CommitState, Definition, Forge, ProjectId, SecretName, StatusReport, StatusTarget};
use prony_lab_store::{Store, projects};

/// What is read of an answer that refuses a status: a sentence as JSON.
const ANSWER_BYTES_MAX: u64 = 16 << 10;
/// What is shown of it.
const MESSAGE_CHARS_MAX: usize = 200;
/// GitLab refuses a longer link.
const LINK_CHARS_MAX: usize = 255;

/// A request that sets a status.
struct StatusRequest {
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// Sends the status `body`, a [`StatusReport`], to the forge that the definition of `project` names now.
pub(super) fn send(
    store: &Store,
    data: &Path,
    project: ProjectId,
    body: &str,
    timeout: Duration,
) -> Result<(), Failure> {
    let project = store
        .read_blocking(|tx| projects::by_id(tx, project))
        .map_err(|error| Failure::passing(error.to_string()))?;
    let definition = project.and_then(|project| Definition::read(&project.definition).ok());
    let target = definition
        .and_then(|definition| definition.status)
        .ok_or_else(|| Failure::lasting("the definition of its project has no [status] any more"))?;
    let report: StatusReport = serde_json::from_str(body)
        .map_err(|error| Failure::lasting(format!("damaged in the store ({error})")))?;
    let token = token(store, data, &target.token)?;
    let request = request(&target, &report, &token);
    let client =
        egress::client_of_lab(store, timeout).map_err(|error| Failure::passing(error.to_string()))?;
    let mut post = client.post(&request.url).header("content-type", "application/json");
    for (name, value) in &request.headers {
        post = post.header(*name, value);
    }
    let mut answer = post
        .send(request.body.to_string().as_bytes())
        .map_err(|error| Failure::passing(egress::words(&error).replace(&token, "***")))?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    if status.is_success() {
        return Ok(());
    }
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().unwrap_or_default();
    let message = message(&text).replace(&token, "***");
    if is_set_already(target.forge, &report, status, &message) {
        return Ok(());
    }
    Err(refusal(&target, status, &headers, &message))
}

/// The token that is stored as `name`.
fn token(store: &Store, data: &Path, name: &SecretName) -> Result<String, Failure> {
    // It may be stored later, or again.
    let found = secrets::values(store, data, std::slice::from_ref(name))
        .map_err(|error| Failure::passing(format!("failed to {error}")))?;
    let value = found.into_iter().next().map(|(_, value)| value).unwrap_or_default();
    let text = String::from_utf8(value).unwrap_or_default().trim().to_owned();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::passing(format!(
            "the secret {name} is no token, which is one word: store it again with `prony lab secret set {name}`"
        )));
    }
    Ok(text)
}

fn request(target: &StatusTarget, report: &StatusReport, token: &str) -> StatusRequest {
    let StatusTarget { forge, api, repository, .. } = target;
    let (base, status) = (format!("{api}{}", forge.api_path()), &report.status);
    let commit = status.commit.as_deref().unwrap_or_default();
    let mut body = json!({ "state": state(*forge, report), "description": status.description });
    let (url, headers) = match forge {
        Forge::GitHub => (
            format!("{base}/repos/{repository}/statuses/{commit}"),
            vec![
                ("authorization", format!("Bearer {token}")),
                ("accept", "application/vnd.github+json".to_owned()),
                ("x-github-api-version", "2022-11-28".to_owned()),
            ],
        ),
        Forge::GitLab => (
            format!("{base}/projects/{}/statuses/{commit}", repository.replace('/', "%2F")),
            vec![("private-token", token.to_owned())],
        ),
        Forge::Gitea => (
            format!("{base}/repos/{repository}/statuses/{commit}"),
            vec![("authorization", format!("token {token}"))],
        ),
    };
    let context = if *forge == Forge::GitLab { "name" } else { "context" };
    body[context] = json!(status.context);
    let link = &status.target_url;
    if link.starts_with("http") && link.chars().count() <= LINK_CHARS_MAX {
        body["target_url"] = json!(link);
    }
    StatusRequest { url, headers, body }
}

/// The state in the words of the forge: GitLab tells what runs from what waits, and failures not from errors.
fn state(forge: Forge, report: &StatusReport) -> &'static str {
    match (forge, report.status.state) {
        (Forge::GitLab, CommitState::Pending) if report.is_running => "running",
        (Forge::GitLab, CommitState::Failure | CommitState::Error) => "failed",
        (_, state) => state.name(),
    }
}

/// GitLab refuses a status that it shows already; of one that is not over nothing else is to be done.
fn is_set_already(forge: Forge, report: &StatusReport, status: StatusCode, message: &str) -> bool {
    forge == Forge::GitLab
        && report.status.state == CommitState::Pending
        && status == StatusCode::BAD_REQUEST
        && message.contains("Cannot transition status")
}

/// Why the forge did not take it, and what to do.
fn refusal(target: &StatusTarget, status: StatusCode, headers: &HeaderMap, message: &str) -> Failure {
    let advice = match status.as_u16() {
        300..=399 => {
            "; the lab follows no redirects: correct the repository's address, or `status.api`".to_owned()
        }
        401 => format!("; check the secret {}", target.token),
        403 | 404 => format!(
            "; check that the token {} may set statuses of {}, and that the commit is there",
            target.token, target.repository
        ),
        _ => String::new(),
    };
    let message = if message.is_empty() { String::new() } else { format!(" ({message})") };
    let why = format!("the forge answered {status}{message}{advice}");
    if is_lasting(status, headers) { Failure::lasting(why) } else { Failure::passing(why) }
}

/// Whether the same request will get the same answer.
fn is_lasting(status: StatusCode, headers: &HeaderMap) -> bool {
    // So does GitHub refuse when too much was asked of it.
    let is_limited = headers.contains_key("retry-after")
        || headers.get("x-ratelimit-remaining").is_some_and(|left| left.as_bytes() == b"0");
    match status.as_u16() {
        408 | 409 | 423 | 425 | 429 => false,
        403 => !is_limited,
        code => (300..500).contains(&code),
    }
}

/// What a forge says about a refusal, in a short line.
fn message(text: &str) -> String {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let message = match answer.get("message").or_else(|| answer.get("error")) {
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    prony_report::clean(&message).chars().take(MESSAGE_CHARS_MAX).collect()
}
