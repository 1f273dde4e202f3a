//! What tasks wrote and what builds left, bounded on the page and whole behind a link.

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::File;
use crate::lab::Lab;
use crate::model::{BuildId, Task, TaskId};
use crate::store::{StoreError, Tx, builds, tasks};
use crate::web::error::WebError;
use crate::web::plain::Plain;
use crate::web::principal::Principal;

/// Of the beginning of an output on the page: what was run, and with what.
const HEAD_BYTES: usize = 8 << 10;
/// Of its end: where it says what went wrong.
const TAIL_BYTES: usize = 24 << 10;
/// Pieces read at once for the whole output: as many as a project's limit lets a task write, in the smallest pieces
/// that the worker makes of a flood.
const PIECES: u32 = 1 << 20;

/// The beginning and the end of what a task wrote as text, and how many bytes between them are left out.
pub(super) fn ends(tx: &mut Tx<'_>, task: &Task) -> Result<(String, u64), StoreError> {
    if task.output_bytes == 0 {
        return Ok((String::new(), 0));
    }
    let tail = tasks::tail(tx, task.id, HEAD_BYTES + TAIL_BYTES)?;
    let first = tail.first().map_or(0, |(piece, _)| *piece);
    let tail: Vec<u8> = tail.into_iter().flat_map(|(_, bytes)| bytes).collect();
    if tail.len() as u64 >= task.output_bytes && tail.len() <= HEAD_BYTES + TAIL_BYTES {
        return Ok((Plain::whole(&tail), 0));
    }
    // Whole lines, where there are any.
    let tail = &tail[tail.len().saturating_sub(TAIL_BYTES)..];
    let tail = tail.iter().position(|byte| *byte == b'\n').map_or(tail, |end| &tail[end + 1..]);
    let mut head = Vec::new();
    let mut after = 0;
    while head.len() < HEAD_BYTES {
        let Some((piece, bytes)) = tasks::output(tx, task.id, after, 1)?.into_iter().next() else { break };
        if piece >= first && !head.is_empty() {
            break;
        }
        after = piece;
        head.extend(bytes);
    }
    head.truncate(HEAD_BYTES);
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |end| end + 1);
    head.truncate(end);
    let left_out = task.output_bytes.saturating_sub((head.len() + tail.len()) as u64);
    Ok((format!("{}\n…\n\n{}", Plain::whole(&head), Plain::whole(tail)), left_out))
}

/// The files of a build.
pub(super) fn files(_: &mut Tx<'_>, _: BuildId) -> Result<Vec<File>, StoreError> {
    Ok(Vec::new())
}

/// Sends all that a task wrote, as it wrote it.
pub(crate) async fn whole(
    State(lab): State<Lab>,
    _: Principal,
    Path((id, name)): Path<(BuildId, String)>,
) -> Result<Response, WebError> {
    let wanted = name.clone();
    let found = lab
        .store
        .read(move |tx| {
            let Some(detail) = builds::one(tx, id)? else { return Ok(None) };
            let task: Option<TaskId> =
                detail.tasks.iter().find(|task| task.name == wanted).map(|task| task.id);
            let Some(task) = task else { return Ok(None) };
            let pieces = tasks::output(tx, task, 0, PIECES)?;
            Ok(Some(pieces.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>()))
        })
        .await?;
    let bytes = found.ok_or_else(|| WebError::Missing(format!("task {name} of build {id}")))?;
    let name =
        format!("inline; filename=\"build-{id}-{}.txt\"", utf8_percent_encode(&name, NON_ALPHANUMERIC));
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)], bytes)
        .into_response())
}
