//! A file as entries: each a request and perhaps a response, as lines that belong together.

use prony_model::Problem;

use super::body::{self, RawBody};
use super::lines::Lines;
use crate::scenario::at;
use crate::session::shown;

/// Entries of one file; a scenario has fewer steps.
const ENTRIES_MAX: usize = 10_000;

/// A request, and what its response must be.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a str,
    pub(super) request: Message<'a>,
    pub(super) response: Option<Response<'a>>,
}

/// What a response must be, and what is captured from it.
#[derive(Debug)]
pub(super) struct Response<'a> {
    /// `200`, or `*`.
    pub(super) status: &'a str,
    pub(super) message: Message<'a>,
}

/// Lines of a request or a response.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    /// The line that it begins in.
    pub(super) line: usize,
    pub(super) headers: Vec<Line<'a>>,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) body: Option<RawBody<'a>>,
}

/// `[Name]` and the lines below it.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) kind: Kind,
    pub(super) lines: Vec<Line<'a>>,
}

/// A line with its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// Every section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Query,
    Form,
    Multipart,
    Cookies,
    BasicAuth,
    Options,
    Captures,
    Asserts,
}

const KINDS: [(&str, Kind); 11] = [
    ("[QueryStringParams]", Kind::Query),
    ("[Query]", Kind::Query),
    ("[FormParams]", Kind::Form),
    ("[Form]", Kind::Form),
    ("[MultipartFormData]", Kind::Multipart),
    ("[Multipart]", Kind::Multipart),
    ("[Cookies]", Kind::Cookies),
    ("[BasicAuth]", Kind::BasicAuth),
    ("[Options]", Kind::Options),
    ("[Captures]", Kind::Captures),
    ("[Asserts]", Kind::Asserts),
];

/// What a line begins.
enum Next {
    Request,
    Response,
    Section(Kind),
    Body,
    Line,
}

/// Whether the first line of `text` that says something begins a request.
pub(super) fn begins(text: &str) -> bool {
    let mut lines = Lines::new(text);
    lines.skip_blank() && request_line(lines.line().trim_start_matches([' ', '\t'])).is_some()
}

/// All entries.
pub(super) fn entries(text: &str) -> Result<Vec<Entry<'_>>, Problem> {
    let mut lines = Lines::new(text);
    let mut entries = Vec::new();
    while lines.skip_blank() {
        if entries.len() == ENTRIES_MAX {
            return Err(at(lines.number(), Problem::new("too many entries", "import a part of the file")));
        }
        entries.push(entry(&mut lines)?);
    }
    if entries.is_empty() {
        let advice = "write GET and a URL on a line";
        return Err(Problem::new("there is no request in this file", advice));
    }
    Ok(entries)
}

fn entry<'a>(lines: &mut Lines<'a>) -> Result<Entry<'a>, Problem> {
    let number = lines.number();
    lines.skip_spaces();
    let first = lines.next_line();
    let Some((method, url)) = request_line(first) else {
        let what = format!("`{}` is not the beginning of a request", shown(first));
        return Err(at(number, Problem::new(what, "an entry begins with a method and a URL: GET http://…")));
    };
    let request = Message { line: number, ..message(lines)? };
    let of_response = |section: &&Section<'_>| {
        matches!(section.kind, Kind::Captures | Kind::Asserts) && !section.lines.is_empty()
    };
    if let Some(misplaced) =
        request.sections.iter().find(of_response).and_then(|section| section.lines.first())
    {
        let problem = Problem::new("this section belongs to a response", "write HTTP * above it");
        return Err(at(misplaced.number, problem));
    }
    let mut response = None;
    if lines.skip_blank() && matches!(next(lines), Next::Response) {
        let number = lines.number();
        lines.skip_spaces();
        let line = without_comment(lines.next_line());
        let status = line.split_ascii_whitespace().nth(1).unwrap_or("*");
        let message = Message { line: number, ..message(lines)? };
        response = Some(Response { status, message });
    }
    Ok(Entry { method, url, request, response })
}

/// Headers, sections and a body, up to a response or another request.
fn message<'a>(lines: &mut Lines<'a>) -> Result<Message<'a>, Problem> {
    let mut message = Message::default();
    while lines.skip_blank() {
        let number = lines.number();
        match next(lines) {
            Next::Request | Next::Response => break,
            Next::Section(kind) => {
                lines.next_line();
                message.sections.push(Section { kind, lines: Vec::new() });
            }
            Next::Body => {
                lines.skip_spaces();
                message.body = Some(body::body(lines).map_err(|problem| at(number, problem))?);
                break;
            }
            Next::Line => {
                lines.skip_spaces();
                let line = Line { number, text: section_line(lines) };
                match message.sections.last_mut() {
                    Some(section) => section.lines.push(line),
                    None => message.headers.push(line),
                }
            }
        }
    }
    Ok(message)
}

/// A line of a section; a text between three backticks in it may have several.
fn section_line<'a>(lines: &mut Lines<'a>) -> &'a str {
    const FENCE: &str = "```";
    let line = lines.line();
    let Some(open) = line.find(FENCE).map(|open| open + FENCE.len()) else { return lines.next_line() };
    let rest = lines.rest();
    let Some(close) = rest[open..].find(FENCE).map(|close| open + close + FENCE.len()) else {
        return lines.next_line();
    };
    let text = lines.skip(close);
    lines.next_line();
    text
}

/// What the line at `lines` begins.
fn next(lines: &Lines<'_>) -> Next {
    let line = lines.line().trim_start_matches([' ', '\t']);
    let section = KINDS.into_iter().find(|(name, _)| {
        line.strip_prefix(name).is_some_and(|rest| without_comment(rest).trim().is_empty())
    });
    if let Some((_, kind)) = section {
        return Next::Section(kind);
    }
    if is_response(line) {
        return Next::Response;
    }
    if request_line(line).is_some() {
        return Next::Request;
    }
    if body::begins(line) { Next::Body } else { Next::Line }
}

fn is_response(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("HTTP") else { return false };
    let mut words = rest.split_ascii_whitespace();
    let version = if rest.starts_with('/') { words.next() } else { None };
    let known = version.is_none_or(|version| ["/1.0", "/1.1", "/2", "/3", "/*"].contains(&version));
    let status =
        words.next().is_some_and(|word| word == "*" || word.bytes().all(|byte| byte.is_ascii_digit()));
    (rest.starts_with(['/', ' ', '\t'])) && known && status
}

/// Method and URL.
fn request_line(line: &str) -> Option<(&str, &str)> {
    let (method, rest) = line.split_once([' ', '\t'])?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let url = without_comment(rest).trim();
    (is_method && method != "HTTP" && !url.is_empty()).then_some((method, url))
}

/// `line` up to a `#` that no backslash stands before.
pub(super) fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    let end = line.find(|character| {
        let ends = character == '#' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    &line[..end.unwrap_or(line.len())]
}
