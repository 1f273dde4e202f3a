//! An HTTP archive (HAR 1.2), as browsers and proxies write it.

use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::Problem;
use serde::Deserialize;
use serde_json::de::IoRead;

use super::error::ReplayError;
use super::lines::status;
use super::open::Opened;
use super::recording::{Recorded, Recording, Selection};
use super::stamp::stamp;
use crate::archive::{self, Entry, HarRequest, Named};

/// What is kept of a request: its target, and of an archive more.
pub(super) const COLUMNS: [&str; 4] = ["target", "accept", "type", "body"];
pub(super) const TARGET: usize = 0;
pub(super) const ACCEPT: usize = 1;
pub(super) const CONTENT_TYPE: usize = 2;
pub(super) const BODY: usize = 3;

/// What is kept of a response.
#[derive(Debug, Deserialize)]
struct HarResponse {
    #[serde(default)]
    status: f64,
}

/// Whether what is in a file is an archive, not a log: an object whose first line is no object of its own, or which has
/// a `log`.
///
/// # Errors
/// Files that can't be read.
pub fn is_archive(opened: &mut Opened) -> Result<bool, ReplayError> {
    let buffer = match opened.content.fill_buf() {
        Ok(buffer) => buffer,
        Err(error) => return Err(opened.unreadable(error)),
    };
    let text = buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(buffer).trim_ascii_start();
    if !text.starts_with(b"{") {
        return Ok(false);
    }
    let behind = text[1..].trim_ascii_start();
    Ok(behind.starts_with(b"\"log\""))
}

/// Reads an archive. Requests to other hosts than the first one are left out, unless `selection` names them.
///
/// # Errors
/// What is not an archive, or has no request that can be replayed.
pub fn read(opened: &mut Opened, selection: &Selection) -> Result<Recording, ReplayError> {
    skip_mark(opened)?;
    let mut recording = Recording::new("har", COLUMNS.len() - 1);
    let mut first_host = None;
    let read = archive::read(IoRead::new(&mut opened.content), |entry: Entry<HarResponse>| {
        recording.lines += 1;
        if first_host.is_none() {
            first_host = host(&entry.request.url).map(str::to_owned);
        }
        add(&mut recording, &entry, first_host.as_deref(), selection)
    });
    read.map_err(|error| {
        if error.is_io() {
            return opened.unreadable(error.into());
        }
        let place = format!("line {}, column {}", error.line(), error.column());
        let what = if error.is_eof() { "ends too early" } else { "is not an HTTP archive" };
        let advice = "save it again: in the browser's network panel, \"Save all as HAR\"";
        ReplayError::from(Problem::new(format!("{} {what} ({place})", opened.file), advice))
    })??;
    recording.finish(selection);
    if recording.is_empty() {
        let reasons: Vec<String> =
            recording.left_out.iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
        let what = format!("none of the {} requests of {} can be replayed", recording.lines, opened.file);
        let what = if reasons.is_empty() { what } else { format!("{what} ({})", reasons.join(", ")) };
        return Err(Problem::new(what, "choose others, with --methods, --host, --since or --until").into());
    }
    Ok(recording)
}

/// Some programs begin their files with a byte order mark.
fn skip_mark(opened: &mut Opened) -> Result<(), ReplayError> {
    let starts = match opened.content.fill_buf() {
        Ok(buffer) => buffer.starts_with(b"\xef\xbb\xbf"),
        Err(error) => return Err(opened.unreadable(error)),
    };
    if starts {
        opened.content.consume(3);
    }
    Ok(())
}

fn add(
    recording: &mut Recording,
    entry: &Entry<HarResponse>,
    first_host: Option<&str>,
    selection: &Selection,
) -> Result<(), Problem> {
    let request = &entry.request;
    let Some(stamp) = stamp(&entry.started_date_time) else {
        recording.unreadable(recording.lines);
        return Ok(());
    };
    if let Some(reason) = unfit(entry, first_host, selection) {
        recording.leave_out(reason);
        return Ok(());
    }
    let Some(body) = body(request) else {
        recording.leave_out("the body is not in the archive");
        return Ok(());
    };
    let header = |name: &str| {
        let named = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value.trim()).filter(|value| !value.chars().any(char::is_control))
    };
    let mime = request.post_data.as_ref().and_then(|data| data.mime_type.as_deref());
    let content_type = header("content-type").or(mime).filter(|text| !text.is_empty());
    let (accept, content_type) = (
        header("accept").unwrap_or("*/*"),
        if body.is_empty() { "" } else { content_type.unwrap_or("application/octet-stream") },
    );
    let values = [accept.as_bytes(), content_type.as_bytes(), &body];
    let recorded = Recorded {
        stamp,
        method: &request.method,
        target: request.url.as_bytes(),
        values: &values,
        status: entry
            .response
            .as_ref()
            .and_then(|response| status(&response.status.to_string()))
            .unwrap_or_default(),
        took: None,
    };
    recording.add(&recorded, selection)
}

/// Why an entry is no request for this server.
fn unfit(entry: &Entry<HarResponse>, first_host: Option<&str>, selection: &Selection) -> Option<String> {
    let url = &entry.request.url;
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let is_socket = matches!(scheme.as_str(), "ws" | "wss")
        || entry.resource_type.as_deref() == Some("websocket")
        || entry.response.as_ref().is_some_and(|response| response.status.total_cmp(&101.0).is_eq());
    if is_socket {
        return Some("websocket".to_owned());
    }
    let Some(host) = host(url) else {
        return Some(if scheme == "data" { "data: URL".to_owned() } else { "no http URL".to_owned() });
    };
    let is_wanted = if selection.hosts.is_empty() {
        first_host.is_some_and(|first| first.eq_ignore_ascii_case(host))
    } else {
        selection.hosts.iter().any(|wanted| wanted.eq_ignore_ascii_case(host))
    };
    (!is_wanted).then(|| "another host".to_owned())
}

/// Host and port of an http URL.
fn host(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(authority.rsplit('@').next().unwrap_or(authority)).filter(|host| !host.is_empty())
}

/// The bytes of a body; `None` if there was one that the archive lacks.
fn body(request: &HarRequest) -> Option<Vec<u8>> {
    let Some(data) = &request.post_data else {
        return request.body_size.is_none_or(|size| size <= 0.0).then(Vec::new);
    };
    match (&data.text, data.is_base64()) {
        (Some(text), true) => STANDARD.decode(text).ok(),
        (Some(text), _) if !text.is_empty() || data.params.is_empty() => Some(text.clone().into_bytes()),
        _ if data.params.is_empty() => request.body_size.is_none_or(|size| size <= 0.0).then(Vec::new),
        _ => {
            let is_form = data.mime_type.as_deref().is_some_and(|mime| {
                mime.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
            });
            // Parts of multipart/form-data may be files, which the archive lacks.
            is_form.then(|| form(&data.params).into_bytes())
        }
    }
}

/// Parameters as a form; browsers write them percent-encoded or not.
fn form(params: &[Named]) -> String {
    let encoded = |text: &str| {
        let plain = percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        percent_encoding::utf8_percent_encode(&plain, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs: Vec<String> =
        params.iter().map(|param| format!("{}={}", encoded(&param.name), encoded(&param.value))).collect();
    pairs.join("&")
}
