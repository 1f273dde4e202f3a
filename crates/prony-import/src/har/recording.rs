//! What is kept of an archive: its requests to one server, in order, and their responses.

use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::{Problem, is_token};
use serde::Deserialize;
use serde_json::de::StrRead;

use super::HarOptions;
use crate::LeftOut;
use crate::archive::{self, Entry, Named};
use crate::replay::requests::target;
use crate::replay::stamp;
use crate::scenario::left_out;

/// A request and its response.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange {
    /// Of the archive's text.
    pub(super) line: usize,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// Those that are no browser's own.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<RequestBody>,
    /// Nanoseconds since 1970.
    pub(super) began: i64,
    took: i64,
    pub(super) status: u16,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) response_body: String,
}

/// The text that a request sends.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestBody {
    kind: String,
    pub(super) text: String,
}

impl RequestBody {
    pub(super) fn is_json(&self) -> bool {
        self.kind.contains("json") && serde_json::from_str::<serde::de::IgnoredAny>(&self.text).is_ok()
    }

    pub(super) fn is_form(&self) -> bool {
        self.kind.starts_with("application/x-www-form-urlencoded")
    }
}

impl Exchange {
    pub(super) fn ended(&self) -> i64 {
        self.began.saturating_add(self.took)
    }
}

/// The requests of an archive to the server of the first one.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Scheme and authority.
    pub(super) origin: String,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) left_out: Vec<LeftOut>,
}

#[derive(Debug, Default, Deserialize)]
struct HarResponse {
    #[serde(default)]
    status: f64,
    #[serde(default)]
    headers: Vec<Named>,
    #[serde(default)]
    content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

/// Why a request is no step, and what happens instead.
struct Reason(&'static str, &'static str);

const ASSET: Reason = Reason("images, styles, scripts and fonts", "--assets imports them, too");
const OTHER_HOST: Reason = Reason("requests to other hosts", "a load has one server");
const SOCKET: Reason = Reason("websockets", "a scenario has requests");
const NO_HTTP: Reason = Reason("URLs that are not http", "nothing is sent for them");
const NO_TIME: Reason = Reason("requests without a readable time", "they have no place among the others");
const BINARY: Reason = Reason("requests with a binary body", "send it with body-file");
const NO_REQUEST: Reason = Reason("entries that are no requests", "nothing is sent for them");

const ASSET_ENDINGS: [&str; 16] = [
    "png", "jpg", "jpeg", "gif", "svg", "ico", "webp", "avif", "css", "js", "mjs", "map", "woff", "woff2",
    "ttf", "mp4",
];
const ASSET_TYPES: [&str; 5] = ["image", "stylesheet", "script", "font", "media"];
const ASSET_MIMES: [&str; 6] = ["image/", "font/", "audio/", "video/", "text/css", "text/javascript"];

impl Recorded {
    /// Reads an archive.
    pub(super) fn read(text: &str, options: HarOptions) -> Result<Self, Problem> {
        if text.len() > super::ARCHIVE_BYTES_MAX {
            return Err(Problem::new("this archive is larger than 128 MiB", "save a shorter visit"));
        }
        let text = text.trim_start_matches('\u{feff}');
        let mut recorded = Self::default();
        let mut lines = lines(text);
        let mut reasons: Vec<(Reason, usize, usize)> = Vec::new();
        let read = archive::read(StrRead::new(text), |entry| {
            let line = lines.next().unwrap_or(1);
            match recorded.exchange(entry, line, options) {
                Ok(exchange) => recorded.exchanges.push(exchange),
                Err(reason) => match reasons.iter_mut().find(|(own, _, _)| own.0 == reason.0) {
                    Some((_, _, count)) => *count += 1,
                    None => reasons.push((reason, line, 1)),
                },
            }
            Ok::<(), Infallible>(())
        });
        let Ok(()) = read.map_err(|error| {
            let what = format!("this is no HTTP archive: line {}, column {}", error.line(), error.column());
            Problem::new(what, "save it again: in the browser's network panel, \"Save all as HAR\"")
        })?;
        for (Reason(what, instead), line, count) in reasons {
            recorded.left_out.push(left_out(line, format!("{count} {what}"), instead));
        }
        if recorded.exchanges.is_empty() {
            let what = "there is no request in this archive that can be a step";
            return Err(Problem::new(
                what,
                "record a visit of a page: --assets imports images and scripts, too",
            ));
        }
        recorded.exchanges.sort_by_key(|exchange| exchange.began);
        Ok(recorded)
    }

    fn exchange(
        &mut self,
        entry: Entry<HarResponse>,
        line: usize,
        options: HarOptions,
    ) -> Result<Exchange, Reason> {
        let Entry { started_date_time, time, request, response, resource_type } = entry;
        let response = response.unwrap_or_default();
        let kind = resource_type.as_deref();
        let scheme = request.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        let status = response.status as u16;
        if kind == Some("websocket") || matches!(scheme.as_str(), "ws" | "wss") || status == 101 {
            return Err(SOCKET);
        }
        let origin = origin(&request.url).ok_or(NO_HTTP)?;
        if is_asset(&request.url, kind, response.content.mime_type.as_deref()) && !options.assets {
            return Err(ASSET);
        }
        if self.origin.is_empty() {
            origin.clone_into(&mut self.origin);
        } else if !self.origin.eq_ignore_ascii_case(origin) {
            return Err(OTHER_HOST);
        }
        let began = stamp(&started_date_time).ok_or(NO_TIME)?.nanos;
        let target =
            target(request.url.as_bytes()).ok().and_then(|target| String::from_utf8(target.into()).ok());
        let target = target.filter(|_| is_token(&request.method)).ok_or(NO_REQUEST)?;
        let body = match request.post_data {
            Some(data) if data.is_base64() => return Err(BINARY),
            Some(data) => data.text.filter(|text| !text.is_empty()).map(|text| RequestBody {
                kind: data.mime_type.unwrap_or_default().to_ascii_lowercase(),
                text,
            }),
            None => None,
        };
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let took = (time.unwrap_or_default().max(0.0) * 1e6) as i64;
        let pairs = |headers: Vec<Named>| headers.into_iter().map(|header| (header.name, header.value));
        Ok(Exchange {
            line,
            method: request.method,
            target,
            headers: pairs(request.headers).filter(|(name, value)| is_kept(name, value)).collect(),
            body,
            began,
            took,
            status,
            response_headers: pairs(response.headers).collect(),
            response_body: text_of(response.content),
        })
    }
}

/// The line of each entry.
fn lines(text: &str) -> impl Iterator<Item = usize> {
    let (mut line, mut before) = (1, 0);
    text.match_indices("\"startedDateTime\"").map(move |(at, _)| {
        line += text[before..at].matches('\n').count();
        before = at;
        line
    })
}

/// Scheme and authority of an http URL, without a name and a password.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let authority =
        rest.split(['/', '?', '#']).next().filter(|authority| is_http && !authority.contains('@'))?;
    (!authority.is_empty()).then(|| &url[..scheme.len() + 3 + authority.len()])
}

fn is_asset(url: &str, kind: Option<&str>, mime: Option<&str>) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ASSET_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
        || kind.is_some_and(|kind| ASSET_TYPES.contains(&kind))
        || mime.is_some_and(|mime| {
            ASSET_MIMES.iter().any(|known| mime.starts_with(known)) || mime.contains("javascript")
        })
}

/// Headers that a server may need and that are neither the connection's nor the browser's own.
fn is_kept(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_known =
        matches!(name.as_str(), "accept" | "content-type" | "authorization") || name.starts_with("x-");
    is_known && is_token(&name) && !value.chars().any(char::is_control)
}

fn text_of(content: Content) -> String {
    let text = content.text.unwrap_or_default();
    if content.encoding.as_deref() != Some("base64") {
        return text;
    }
    STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
