//! `/push/PROJECT`: where code hosts notify of pushes. A notification is accepted where it is signed with the
//! secret that the project's definition names.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::fields::PathParam;
use crate::http::WebError;
use prony_lab_core::access::spawn_blocking;
use prony_lab_core::actions::requests::Asker;
use prony_lab_core::lab::{Lab, Refused};
use prony_lab_core::secrets;
use prony_lab_model::BuildRequest;
use prony_lab_model::auth::{Digest, PushProof};
use prony_lab_store::projects;

/// In whose name builds are requested.
const BY: &str = "a push";

/// The parts of a push of GitHub, GitLab, Gitea and Forgejo that are read.
#[derive(Debug, Deserialize)]
struct Push {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    after: String,
}

/// Takes a code host's notification.
pub(super) async fn accept(
    State(lab): State<Lab>,
    PathParam(name): PathParam<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, String), WebError> {
    let missing = || WebError::Missing("project with such a trigger".to_owned());
    let wanted = name.clone();
    let project = lab.store.read_few(move |tx| projects::by_name(tx, &wanted)).await?;
    let project = project.filter(|project| project.archived_at.is_none()).ok_or_else(missing)?;
    let definition = lab.definitions.of(&project).map_err(|_| missing())?;
    let secret = definition.triggers.push.clone().ok_or_else(missing)?;
    let (store, data) = (lab.store.clone(), lab.options.data.clone());
    let found = spawn_blocking(move || secrets::values(&store, &data, &[secret])).await?;
    // Why there is none is for the administrator's eyes, who sees it in the log of a build.
    let secret = found.ok().and_then(|mut found| found.pop()).map(|(_, value)| value).ok_or_else(missing)?;
    if !proof(&headers).is_some_and(|proof| proof.holds(&secret, &body)) {
        return Err(WebError::BadSignature);
    }
    let nothing = |why: &str| Ok((StatusCode::ACCEPTED, format!("nothing to do: {why}\n")));
    if !is_push(&headers) {
        return nothing("not a push");
    }
    let push = read(&headers, &body)?;
    let Some(branch) = push.reference.strip_prefix("refs/heads/") else {
        return nothing("not a branch");
    };
    if push.after.bytes().all(|digit| digit == b'0') {
        return nothing("the branch is gone");
    }
    if !definition.triggers.wants(branch, &definition.branch) {
        return nothing("another branch");
    }
    let request = BuildRequest { project: name, reference: push.after.clone(), ..BuildRequest::default() };
    // A code host that got no answer sends it again.
    let key = format!("{} {branch} {}", project.name, push.after);
    let digest = Digest(Sha256::digest(key.as_bytes()).into());
    let asker = Asker { by: BY.to_owned(), key: Some((key, digest)) };
    match lab.request_pushed_build(request, branch.to_owned(), asker).await {
        Ok((new, true)) => Ok((StatusCode::CREATED, format!("build {}\n", new.build.id))),
        Ok((known, false)) => {
            Ok((StatusCode::OK, format!("build {}, which was requested before\n", known.build.id)))
        }
        Err(Refused::Store(error)) => Err(error.into()),
        Err(Refused::Target(refusal)) => Err(WebError::Query(refusal.to_string())),
        Err(Refused::Fields(_) | Refused::KeyReused) => {
            Err(WebError::Query("no such commit can be meant".to_owned()))
        }
    }
}

/// The proof that came along, whoever's kind it is.
fn proof(headers: &HeaderMap) -> Option<PushProof<'_>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    ["x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature"]
        .into_iter()
        .find_map(text)
        .map(PushProof::Signature)
        .or_else(|| text("x-gitlab-token").map(PushProof::Token))
}

fn is_push(headers: &HeaderMap) -> bool {
    let events = ["x-github-event", "x-gitlab-event", "x-gitea-event", "x-forgejo-event"];
    let event = events.into_iter().find_map(|name| headers.get(name)).and_then(|value| value.to_str().ok());
    matches!(event, Some("push" | "Push Hook"))
}

/// The push, as JSON or in the field `payload` of a form.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Push, WebError> {
    let unreadable = |why: String| WebError::Query(format!("the push can't be read ({why})"));
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let field = url::form_urlencoded::parse(body).find(|(name, _)| name == "payload");
        let (_, text) = field.ok_or_else(|| unreadable("there is no payload".to_owned()))?;
        return serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()));
    }
    serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))
}
