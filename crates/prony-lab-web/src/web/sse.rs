//! Live changes of an open page, as server-sent events: one stream for a page, read on from the store's own events,
//! so that a stream that breaks goes on where it was.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::{Channel, Sender};
use serde_json::{Value, json};

use super::fields::{PathParam, QueryParams};
use crate::http::{Principal, WebError};
use prony_lab_core::access::Shown;
use prony_lab_core::ansi_stripper::AnsiStripper;
use prony_lab_core::capacity::Share;
use prony_lab_core::lab::Lab;
use prony_lab_model::{BuildId, EventId, TaskId};
use prony_lab_store::{StoreError, Tx, builds, events, tasks};

/// Between two messages: more than two a second nobody reads.
const PACE: Duration = Duration::from_millis(500);
/// Silence after which a comment shows that the stream lives, in paces: 15 s, half of what proxies wait for.
const SILENT_PACES: u32 = 30;
/// After so many paces (an hour) a stream ends; the page opens another if it is still open.
const PACES_MAX: u32 = 7_200;
/// Events read at once.
const EVENTS: u32 = 256;
/// Of one task's output in one message; what is beyond is in the whole output.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Messages that wait for a slow reader; then nothing is read for it.
const WAITING: usize = 2;

/// What happens to a build: `change` where the page should be loaded again, `output` with what a task wrote, `end`.
pub(crate) async fn build(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
    headers: HeaderMap,
    QueryParams(query): QueryParams,
) -> Result<Response, WebError> {
    lab.store.read(move |tx| builds::state(tx, id)).await?;
    let seen = seen(&headers, query.parsed("after")?);
    Ok(stream(lab, &principal, Some(id), seen))
}

/// What happens to any build: `change`.
pub(crate) async fn all(
    State(lab): State<Lab>,
    principal: Principal,
    headers: HeaderMap,
    QueryParams(query): QueryParams,
) -> Result<Response, WebError> {
    let seen = seen(&headers, query.parsed("after")?);
    Ok(stream(lab, &principal, None, seen))
}

/// A client that reconnects sends the last id; a new one begins where its page was drawn.
fn seen(headers: &HeaderMap, after: Option<EventId>) -> EventId {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    last.and_then(|text| text.parse().ok()).or(after).unwrap_or(EventId(0))
}

fn stream(lab: Lab, principal: &Principal, build: Option<BuildId>, seen: EventId) -> Response {
    let Some(share) = lab.live.take(&principal.name) else {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            [(RETRY_AFTER, "60")],
            "too many live pages: reload by hand\n",
        )
            .into_response();
    };
    let (sender, body) = Channel::<Bytes>::new(WAITING);
    let (shown, changes) = (principal.shown.clone(), lab.access.changes());
    let watch = Watch { lab, build, seen, version: 0, plain: HashMap::new(), shown, changes };
    tokio::spawn(watch.send(sender, share));
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::new(body)).into_response()
}

/// One open page.
struct Watch {
    lab: Lab,
    build: Option<BuildId>,
    seen: EventId,
    /// Of the store when it was read last.
    version: u64,
    /// What the reader showed, and the state of permissions for which it was good.
    shown: Option<Shown>,
    changes: u64,
    /// The output of each task, whose codes may be cut by the ends of pieces.
    plain: HashMap<TaskId, AnsiStripper>,
}

impl Watch {
    async fn send(mut self, mut sender: Sender<Bytes>, _share: Share) {
        let mut message = "retry: 2000\n\n".to_owned();
        let mut silent = 0;
        for _ in 0..PACES_MAX {
            if !self.may_read().await {
                return;
            }
            let is_over = match self.news().await {
                Ok((text, is_over)) => {
                    message.push_str(&text);
                    is_over
                }
                // The store may be there again when the page comes back.
                Err(_) => return,
            };
            silent = if message.is_empty() { silent + 1 } else { 0 };
            if silent == SILENT_PACES {
                message.push_str(": still there\n\n");
                silent = 0;
            }
            // Nobody reads any more.
            if !message.is_empty()
                && sender.send_data(Bytes::from(std::mem::take(&mut message))).await.is_err()
            {
                return;
            }
            if is_over {
                return;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Whether the reader is still allowed.
    async fn may_read(&mut self) -> bool {
        let changes = self.lab.access.changes();
        let Some(shown) = &self.shown else { return true };
        if changes == self.changes {
            return true;
        }
        self.changes = changes;
        // Where the store doesn't answer, the page asks again.
        matches!(self.lab.who(shown).await, Ok(Some(_)))
    }

    /// What is new, and whether nothing more will come.
    async fn news(&mut self) -> Result<(String, bool), StoreError> {
        let version = self.lab.store.version();
        if version == self.version {
            return Ok((String::new(), false));
        }
        let (build, seen) = (self.build, self.seen);
        let read = self.lab.store.read(move |tx| News::read(tx, build, seen)).await?;
        if read.is_all {
            self.version = version;
        }
        self.seen = read.last;
        let mut text = String::new();
        for (task, pieces) in read.outputs {
            let plain = self.plain.entry(task).or_insert_with(|| {
                let mut plain = AnsiStripper::default();
                // What the page shows already: the end of a code may be all that is missing of it.
                plain.take(&pieces.before);
                plain
            });
            let shown = plain.take(&pieces.new);
            if !shown.is_empty() {
                let data = json!({ "task": task, "text": shown, "cut": pieces.is_cut });
                message(&mut text, "output", self.seen, &data);
            }
        }
        if read.is_changed || read.is_over {
            message(&mut text, if read.is_over { "end" } else { "change" }, self.seen, &json!({}));
        }
        Ok((text, read.is_over))
    }
}

/// By the HTML standard, 9.2.6; JSON has no line ends.
fn message(text: &mut String, kind: &str, id: EventId, data: &Value) {
    // Writing to a `String` can't fail.
    let _ = write!(text, "id: {id}\nevent: {kind}\ndata: {data}\n\n");
}

struct News {
    last: EventId,
    /// Whether there was no more to read.
    is_all: bool,
    /// Whether something but outputs changed.
    is_changed: bool,
    is_over: bool,
    outputs: BTreeMap<TaskId, Pieces>,
}

#[derive(Default)]
struct Pieces {
    before: Vec<u8>,
    new: Vec<u8>,
    is_cut: bool,
}

impl News {
    fn read(tx: &mut Tx<'_>, build: Option<BuildId>, seen: EventId) -> Result<Self, StoreError> {
        let found = events::after(tx, seen, build, EVENTS)?;
        let mut first: BTreeMap<TaskId, i64> = BTreeMap::new();
        let mut is_changed = false;
        for event in &found {
            if event.kind != "task.output" {
                is_changed = true;
            } else if build.is_some()
                && let Ok(body) = serde_json::from_str::<Value>(&event.body)
                && let (Some(task), Some(piece)) = (body["task"].as_i64(), body["piece"].as_i64())
            {
                first.entry(TaskId(task)).or_insert(piece);
            }
        }
        let mut outputs = BTreeMap::new();
        for (task, first) in first {
            outputs.insert(task, Pieces::read(tx, task, first)?);
        }
        let is_all = found.len() < EVENTS as usize;
        let is_over = match build {
            Some(build) => is_all && builds::state(tx, build)?.is_final(),
            None => false,
        };
        Ok(Self { last: found.last().map_or(seen, |event| event.id), is_all, is_changed, is_over, outputs })
    }
}

impl Pieces {
    /// From piece `first` on, and the one before it.
    fn read(tx: &mut Tx<'_>, task: TaskId, first: i64) -> Result<Self, StoreError> {
        let mut pieces = Self::default();
        for (number, bytes) in tasks::output(tx, task, first.saturating_sub(2), EVENTS)? {
            if number < first {
                pieces.before = bytes;
            } else if pieces.new.len() + bytes.len() <= TEXT_BYTES_MAX {
                pieces.new.extend(bytes);
            } else {
                pieces.is_cut = true;
                break;
            }
        }
        Ok(pieces)
    }
}
