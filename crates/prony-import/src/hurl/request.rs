//! The request of an entry.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::utf8_percent_encode;
use prony_model::{Escape, Part, PartContent, Problem, Scenario, StepBody};

use super::body::{self, BodyKind, RawBody};
use super::convert::time;
use super::parse::{Entry, Kind, Line, without_comment};
use super::text::{string, unescaped};
use crate::scenario::{at, left_out};
use crate::session::{NOT_IN_PATH, Session, UNRESERVED, credentials, json_text, unread};
use crate::template::Draft;

/// A request as a step has it.
pub(super) struct Request {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: StepBody,
    pub(super) redirects: u32,
    /// Before it.
    pub(super) delay: Duration,
}

/// What options say.
#[derive(Default)]
struct Choices {
    follows: bool,
    most_redirects: Option<u32>,
    delay: Duration,
    user: Option<Draft>,
    is_skipped: bool,
    headers: Vec<(String, String)>,
}

/// The request of `entry`; `None` if it is skipped.
pub(super) fn request(session: &mut Session, entry: &Entry<'_>) -> Result<Option<Request>, Problem> {
    let line = entry.request.line;
    let mut choices = Choices::default();
    for option in lines(entry, Kind::Options) {
        self::option(session, option, &mut choices)?;
    }
    if choices.is_skipped {
        return Ok(None);
    }
    let split = session.split(entry.url, line)?;
    if let Some(user) = &split.user {
        choices.user.get_or_insert(credentials(session, user, line)?);
    }
    let path = path(session, entry, &split.rest)?;
    let mut headers = choices.headers;
    for header in &entry.request.headers {
        let (name, value) = key_value(session, *header)?;
        let value = session.written(&value, header.number)?;
        if ["content-length", "transfer-encoding", "expect"].contains(&name.to_ascii_lowercase().as_str()) {
            session.left_out.push(left_out(
                header.number,
                format!("{name}: {value}"),
                "bodies are sent at once, with their length",
            ));
        } else {
            headers.push((name, value));
        }
    }
    let mut cookies = Vec::new();
    for cookie in lines(entry, Kind::Cookies) {
        let (name, value) = key_value(session, cookie)?;
        cookies.push(format!("{name}={}", session.written(&value, cookie.number)?));
    }
    if !cookies.is_empty() {
        headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    for credentials in lines(entry, Kind::BasicAuth) {
        let (name, password) = key_value(session, credentials)?;
        let mut both = Draft::literal(&format!("{name}:"));
        both.append(&password);
        choices.user = Some(both);
    }
    if let Some(user) = &choices.user {
        headers.push(("Authorization".to_owned(), session.basic(user, line)?));
    }
    let body = body(session, entry, &mut headers)?;
    let redirects = match (choices.follows, choices.most_redirects) {
        (false, _) => 0,
        (true, most) => most.unwrap_or(Scenario::REDIRECTS_MAX).min(Scenario::REDIRECTS_MAX),
    };
    Ok(Some(Request { path, headers, body, redirects, delay: choices.delay }))
}

fn lines<'a>(entry: &Entry<'a>, kind: Kind) -> Vec<Line<'a>> {
    let sections = entry.request.sections.iter().filter(|section| section.kind == kind);
    sections.flat_map(|section| section.lines.iter().copied()).collect()
}

/// `name: value`. Names are literal: a scenario's are.
pub(super) fn key_value(session: &mut Session, line: Line<'_>) -> Result<(String, Draft), Problem> {
    let text = without_comment(line.text);
    let mut depth = 0_u32;
    let mut escaped = false;
    let colon = text.char_indices().find_map(|(index, character)| {
        let is_escaped = escaped;
        escaped = character == '\\' && !is_escaped;
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && !is_escaped => return Some(index),
            _ => {}
        }
        None
    });
    let problem = |what: String, advice: &str| at(line.number, Problem::new(what, advice));
    let Some(colon) = colon else {
        let what = format!("`{}` is not a name and a value", crate::session::shown(text.trim()));
        return Err(problem(what, "write name: value"));
    };
    let mut part =
        |text: &str| string(&mut session.values, text.trim(), None).map_err(|wrong| at(line.number, wrong));
    let (name, value) = (part(&text[..colon])?, part(&text[colon + 1..])?);
    let Some(name) = session.values.literal(&name) else {
        let what = format!("`{}`: a name can't have a value in it", text[..colon].trim());
        return Err(problem(what, "write the name itself, or give the value with --variable"));
    };
    Ok((name, value))
}

fn option(session: &mut Session, line: Line<'_>, choices: &mut Choices) -> Result<(), Problem> {
    /// What changes what is printed only.
    const SILENT: [&str; 6] = ["verbose", "very-verbose", "verbosity", "output", "retry-interval", "color"];
    /// Without these it would be another request.
    const REFUSED: [&str; 5] = ["proxy", "aws-sigv4", "digest", "ntlm", "negotiate"];
    let (name, value) = key_value(session, line)?;
    let number = line.number;
    let literal = session.values.literal(&value);
    let is_true = literal.as_deref() == Some("true");
    match name.as_str() {
        "location" | "location-trusted" => choices.follows = is_true,
        "max-redirs" => choices.most_redirects = literal.as_deref().and_then(|text| text.parse().ok()),
        "skip" => choices.is_skipped = is_true,
        "delay" => {
            let delay = literal.as_deref().and_then(time);
            let problem = || Problem::new("this delay is not a time", "write delay: 500ms");
            choices.delay = delay.ok_or_else(|| at(number, problem()))?;
        }
        "user" => choices.user = Some(value),
        "compressed" if is_true => {
            choices.headers.push(("Accept-Encoding".to_owned(), "gzip, deflate".to_owned()));
        }
        "header" => {
            let text = without_comment(line.text);
            let header = text.split_once(':').map_or("", |(_, header)| header);
            let (name, value) = key_value(session, Line { number, text: header })?;
            let value = session.written(&value, number)?;
            choices.headers.push((name, value));
        }
        "variable" => {
            let text = literal.as_deref().and_then(|text| text.split_once('='));
            let problem =
                || Problem::new("a variable needs a name and a fixed value", "write variable: name=value");
            let (name, value) = text.ok_or_else(|| at(number, problem()))?;
            let value = value.trim().trim_matches('"');
            if !session.set(name.trim(), value) {
                let what = format!("variable: {}={value}", name.trim());
                session.left_out.push(left_out(number, what, "the session has one value of this name"));
            }
        }
        name if SILENT.contains(&name) || literal.as_deref() == Some("false") => {}
        name if REFUSED.contains(&name) => {
            let what = format!("a load can't have the option `{name}`");
            return Err(at(
                number,
                Problem::new(what, "take the option out if the request is the same without it"),
            ));
        }
        "retry" => session.left_out.push(left_out(number, "retry", "a failure is counted, not sent again")),
        "repeat" => session.left_out.push(left_out(number, "repeat", "the step is done once in a session")),
        name => session.left_out.push(left_out(
            number,
            format!("the option {name}"),
            "the command line has its own flags for connections, times and TLS",
        )),
    }
    Ok(())
}

/// The path with its query, of which `rest` stands in the URL.
fn path(session: &mut Session, entry: &Entry<'_>, rest: &str) -> Result<String, Problem> {
    let line = entry.request.line;
    let wrong = |problem| at(line, problem);
    let raw = string(&mut session.values, rest, Some(Escape::Raw)).map_err(wrong)?;
    let raw = raw.map(|text| text.split('#').next().unwrap_or_default().to_owned());
    let mut path = Draft::literal(if rest.starts_with('/') { "" } else { "/" });
    path.append(&raw.map(|text| utf8_percent_encode(text, NOT_IN_PATH).to_string()));
    let mut joint = if rest.contains('?') { "&" } else { "?" };
    for parameter in lines(entry, Kind::Query) {
        let (name, value) = key_value(session, parameter)?;
        path.push(&format!("{joint}{}=", utf8_percent_encode(&name, UNRESERVED)));
        path.append(&value.map(|text| utf8_percent_encode(text, UNRESERVED).to_string()));
        joint = "&";
    }
    session.written(&path, line)
}

fn body(
    session: &mut Session,
    entry: &Entry<'_>,
    headers: &mut Vec<(String, String)>,
) -> Result<StepBody, Problem> {
    let mut fields = Vec::new();
    for field in lines(entry, Kind::Form) {
        let (name, value) = key_value(session, field)?;
        fields.push((name, session.written(&value, field.number)?));
    }
    if !fields.is_empty() {
        return Ok(StepBody::Form(fields));
    }
    let mut parts = Vec::new();
    for one in lines(entry, Kind::Multipart) {
        parts.push(part(session, one)?);
    }
    if !parts.is_empty() {
        return Ok(StepBody::Multipart(parts));
    }
    match &entry.request.body {
        Some(raw) => self::raw(session, raw, headers),
        None => Ok(StepBody::None),
    }
}

fn part(session: &mut Session, line: Line<'_>) -> Result<Part, Problem> {
    let (name, value) = key_value(session, line)?;
    let file = value.as_literal().and_then(|text| text.strip_prefix("file,")).map(str::to_owned);
    let Some(file) = file else {
        let content = PartContent::Text(session.written(&value, line.number)?);
        return Ok(Part { name, content, file_name: None, content_type: None });
    };
    let (path, kind) = file.split_once(';').unwrap_or((&file, ""));
    let content_type = Some(kind.trim().to_owned()).filter(|kind| !kind.is_empty());
    Ok(Part { name, content: PartContent::File(unread(path.trim())), file_name: None, content_type })
}

fn raw(
    session: &mut Session,
    raw: &RawBody<'_>,
    headers: &mut Vec<(String, String)>,
) -> Result<StepBody, Problem> {
    let line = raw.line;
    let wrong = |problem| at(line, problem);
    let resolved = |draft: Draft| if raw.has_escapes { unescaped(&draft).map_err(wrong) } else { Ok(draft) };
    let plain = |session: &mut Session, text: &str| -> Result<Draft, Problem> {
        if raw.has_values {
            resolved(session.values.template(text, None).map_err(wrong)?)
        } else {
            resolved(Draft::literal(text))
        }
    };
    let draft = match raw.kind {
        BodyKind::Json => {
            let draft = if raw.has_values {
                session.values.json(raw.text).map_err(wrong)?
            } else {
                Draft::literal(raw.text)
            };
            return session.written(&resolved(draft)?, line).map(StepBody::Json);
        }
        BodyKind::GraphQl => {
            let (query, variables) = body::graphql(raw.text);
            let mut draft = Draft::literal("{\"query\":\"");
            draft.append(&plain(session, query)?.map(json_text));
            draft.push("\"");
            if let Some(variables) = variables {
                draft.push(",\"variables\":");
                draft.append(&session.values.json(variables).map_err(wrong)?);
            }
            draft.push("}");
            return session.written(&draft, line).map(StepBody::Json);
        }
        BodyKind::File => {
            let path = session.filled(raw.text);
            if path.contains("{{") {
                let what = format!("`{path}` is a file whose name is not known");
                return Err(wrong(Problem::new(what, "write the name itself, or give --variable")));
            }
            return Ok(StepBody::File(unread(&path)));
        }
        BodyKind::Base64 | BodyKind::Hex => Draft::literal(&decoded(raw).map_err(wrong)?),
        BodyKind::Xml => {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                headers.push(("Content-Type".to_owned(), "application/xml".to_owned()));
            }
            plain(session, raw.text)?
        }
        BodyKind::Text => plain(session, raw.text)?,
        BodyKind::OneLine => string(&mut session.values, raw.text, None).map_err(wrong)?,
    };
    session.written(&draft, line).map(StepBody::Text)
}

/// The text that Base64 or hexadecimal digits stand for.
fn decoded(raw: &RawBody<'_>) -> Result<String, Problem> {
    let digits: String = raw.text.chars().filter(|one| !one.is_whitespace()).collect();
    let bytes = if raw.kind == BodyKind::Base64 {
        STANDARD.decode(&digits).ok()
    } else {
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
    };
    let bytes = bytes.ok_or_else(|| {
        Problem::new("this body can't be decoded", "write pairs of hexadecimal digits, or base64 (RFC 4648)")
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::new("this body is not text", "save it to a file, and write file,NAME; instead"))
}
