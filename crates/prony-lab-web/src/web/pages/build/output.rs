//! What tasks wrote and what builds left, bounded on the page and whole behind a link.

use std::io::Read as _;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::{Channel, Sender};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::File;
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use crate::web::guard::StoredPage;
use crate::web::pages::format;
use prony_lab_core::ansi_stripper::{self, AnsiStripper};
use prony_lab_core::capacity::Reservation;
use prony_lab_core::lab::Lab;
use prony_lab_model::{BuildId, Task};
use prony_lab_store::{StoreError, Tx, builds, files, tasks};

/// Of the beginning of an output on the page: what was run, and with what.
const HEAD_BYTES: usize = 8 << 10;
/// Of its end: where it reports what went wrong.
const TAIL_BYTES: usize = 24 << 10;
/// Pieces of the whole output that are in memory at once.
const PIECES: u32 = 8;
const PIECES_BYTES: u64 = PIECES as u64 * tasks::PIECE_BYTES_MAX as u64;
/// Of a file that is sent at once.
const PIECE_BYTES: usize = 64 << 10;

/// What a path of an address takes as it is, folders included.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// The beginning and the end of what a task wrote.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) text: String,
    /// Bytes between the two that are left out.
    pub(super) left_out: u64,
    /// Whether it was written so long ago that it is no longer kept.
    pub(super) is_removed: bool,
}

/// What of a task's output stands on the page.
pub(super) fn ends(tx: &mut Tx<'_>, task: &Task) -> Result<Ends, StoreError> {
    if task.output_bytes == 0 {
        return Ok(Ends::default());
    }
    let tail = tasks::tail(tx, task.id, HEAD_BYTES + TAIL_BYTES)?;
    if tail.is_empty() {
        return Ok(Ends { is_removed: true, ..Ends::default() });
    }
    let first = tail.first().map_or(0, |(piece, _)| *piece);
    let tail: Vec<u8> = tail.into_iter().flat_map(|(_, bytes)| bytes).collect();
    if tail.len() as u64 >= task.output_bytes && tail.len() <= HEAD_BYTES + TAIL_BYTES {
        return Ok(Ends { text: AnsiStripper::whole(&tail), ..Ends::default() });
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
    let text = format!("{}\n…\n\n{}", AnsiStripper::whole(&head), AnsiStripper::whole(tail));
    Ok(Ends { text, left_out, is_removed: false })
}

/// The files of a build.
pub(super) fn files(tx: &mut Tx<'_>, id: BuildId) -> Result<Vec<File>, StoreError> {
    let made = |info: files::FileInfo| File {
        address: utf8_percent_encode(&info.name, IN_PATH).to_string(),
        size: format::bytes(info.size_bytes),
        name: ansi_stripper::line(&info.name),
    };
    Ok(files::of_build(tx, id)?.into_iter().map(made).collect())
}

/// Sends a file that a build left. A report is shown, with an origin of its own; everything else is downloaded.
pub(crate) async fn file(
    State(lab): State<Lab>,
    _: Principal,
    PathParam((id, name)): PathParam<(BuildId, String)>,
) -> Result<Response, WebError> {
    let wanted = name.clone();
    let found = lab.store.read(move |tx| files::stored_bytes(tx, id, &wanted)).await?;
    let missing = || WebError::Missing(format!("file {} of build {id}", ansi_stripper::line(&name)));
    let stored_bytes = found.ok_or_else(missing)?;
    // What is stored, what the database copies of it, and pieces on their way.
    let reservation = lab.downloads.reserve(2 * stored_bytes + (4 * PIECE_BYTES) as u64).await?;
    let wanted = name.clone();
    let found = lab.store.read(move |tx| files::stored(tx, id, &wanted)).await?;
    let file = found.ok_or_else(missing)?;
    let is_page = file.info.media_type.starts_with("text/html");
    let last = file.info.name.rsplit('/').next().unwrap_or_default();
    let place = if is_page { "inline" } else { "attachment" };
    // RFC 8187: whatever the name, it can't leave its place.
    let disposition =
        format!("{place}; filename*=UTF-8''build-{id}-{}", utf8_percent_encode(last, NON_ALPHANUMERIC));
    let headers = [
        (CONTENT_TYPE, file.info.media_type.clone()),
        (CONTENT_DISPOSITION, disposition),
        (CONTENT_LENGTH, file.info.size_bytes.to_string()),
    ];
    let (sender, body) = Channel::<Bytes, std::io::Error>::new(1);
    tokio::spawn(send(file, sender, reservation));
    let mut response = (headers, Body::new(body)).into_response();
    if is_page {
        response.extensions_mut().insert(StoredPage);
    }
    Ok(response)
}

/// Sends a file piece by piece, as it was before it was deflated.
async fn send(file: files::Stored, mut sender: Sender<Bytes, std::io::Error>, reservation: Reservation) {
    let mut reader = file.reader();
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        match reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece) {
            Ok(0) => break,
            Ok(_) if sender.send_data(Bytes::from(piece)).await.is_ok() => {}
            Ok(_) => break,
            // It cuts the answer off, and the client sees that.
            Err(error) => return sender.abort(error),
        }
    }
    drop(reservation);
}

/// Sends all that a task wrote, as it wrote it, piece by piece.
pub(crate) async fn whole(
    State(lab): State<Lab>,
    _: Principal,
    PathParam((id, name)): PathParam<(BuildId, String)>,
) -> Result<Response, WebError> {
    let wanted = name.clone();
    let found = lab.store.read(move |tx| builds::one(tx, id)).await?;
    let task = found.and_then(|detail| detail.tasks.into_iter().find(|task| task.name == wanted));
    let missing = || WebError::Missing(format!("task {} of build {id}", ansi_stripper::line(&name)));
    let task = task.ok_or_else(missing)?.id;
    let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(1);
    tokio::spawn(async move {
        let mut after = 0;
        // An error of the store cuts the answer off, and the client sees that.
        while let Ok(reservation) = lab.downloads.reserve(2 * PIECES_BYTES).await
            && let Ok(pieces) = lab.store.read(move |tx| tasks::output(tx, task, after, PIECES)).await
        {
            let Some((last, _)) = pieces.last() else { return };
            after = *last;
            let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
            if sender.send_data(reservation.filled(bytes)).await.is_err() {
                return;
            }
        }
        sender.abort(std::io::Error::other("the store does not answer"));
    });
    let name =
        format!("inline; filename*=UTF-8''build-{id}-{}.txt", utf8_percent_encode(&name, NON_ALPHANUMERIC));
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, Body::new(body)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildRequest, Definition};
    use prony_lab_store as store;
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::projects;

    /// The first task of a build, when it has written `pieces`.
    fn task(store: &store::Store, pieces: Vec<Vec<u8>>) -> Task {
        let task = store.write_blocking(move |tx| {
            let text = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
            let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
            let definition = Definition::read(text).expect("a definition");
            let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("good");
            let id = builds::accept(tx, &new)?;
            let task = tasks::of(tx, id)?[0].id;
            for piece in pieces {
                tasks::write(tx, id, task, &piece, Moment(6))?;
            }
            Ok(tasks::of(tx, id)?.remove(0))
        });
        task.expect("written")
    }

    fn shown(store: &store::Store, task: &Task) -> Ends {
        store.read_blocking(|tx| ends(tx, task)).expect("read")
    }

    #[test]
    fn a_short_output_is_there_whole_and_of_a_long_one_both_ends() {
        on_both(|store| {
            assert_eq!(shown(store, &task(store, Vec::new())), Ends::default());
            let short = shown(store, &task(store, vec![b"one\n".to_vec(), b"two\n".to_vec()]));
            assert_eq!((short.text.as_str(), short.left_out), ("one\ntwo\n", 0));
            let lines = |from: u32, to: u32| {
                (from..to).map(|n| format!("line {n:05}\n")).collect::<Vec<_>>().concat()
            };
            let pieces = (0..20).map(|piece| lines(piece * 500, (piece + 1) * 500).into_bytes()).collect();
            let long = shown(store, &task(store, pieces));
            assert!(long.text.starts_with("line 00000\n") && long.text.ends_with("line 09999\n"));
            assert!(
                long.text.lines().all(|line| ["", "…"].contains(&line) || line.len() == 10),
                "whole lines"
            );
            let kept = long.text.lines().filter(|line| line.len() == 10).count() as u64 * 11;
            assert_eq!(kept + long.left_out, 10_000 * 11);
            assert!(kept < (HEAD_BYTES + TAIL_BYTES) as u64);
        });
    }

    #[test]
    fn a_removed_output_is_shown_as_removed() {
        on_both(|store| {
            let mut gone = task(store, Vec::new());
            gone.output_bytes = 5;
            assert!(shown(store, &gone).is_removed);
        });
    }
}
