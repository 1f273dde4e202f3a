//! What a response means for its session: cookies, redirects, checks, and values that are taken from it.

use prony_http::coding::{self, CodingError};
use prony_http::{Head, h2};

use super::compile::{BodyMatch, Compiled, CompiledStep, Expected, From};
use super::cookies::SetCookie;
use super::fault::StepFault;
use super::json;
use super::session::Session;
use super::text::Goes;
use crate::clock::{self, Nanos};
use crate::load::checks::BODY_MAX_BYTES;

/// Bytes of a `Location` that are followed.
const LOCATION_BYTES_MAX: usize = 8192;
/// Bytes of a value that is taken from a response; a longer one is not found.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// The head of a response, in any version of HTTP.
pub(crate) trait ResponseHead {
    /// Its status code.
    fn status(&self) -> u16;
    /// The value of the first field of that name, whatever its case.
    fn header(&self, name: &str) -> Option<&[u8]>;
    /// Whether it may have fields that each session reads: `Set-Cookie`, `Location`, `Content-Encoding`.
    fn has_session_fields(&self) -> bool;
    /// All fields.
    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])>;
}

impl ResponseHead for Head<'_> {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        Head::header(self, name)
    }

    fn has_session_fields(&self) -> bool {
        self.has_session_fields
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Head::headers(self)
    }
}

impl ResponseHead for h2::Head<'_> {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        h2::Head::header(self, name)
    }

    fn has_session_fields(&self) -> bool {
        // Its fields are there already, as a list.
        true
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        h2::Head::headers(self)
    }
}

/// What is counted of a response, beside what is wrong with it.
pub(super) enum Noted {
    /// The extraction of this number found nothing.
    NothingFound(usize),
    /// Its body was decoded: bytes before and behind, and the CPU time that it took.
    Decoded { coded: usize, decoded: usize, cpu: Nanos },
}

/// The head of a response has come: what it sets and says is noted, and checked.
pub(super) fn head(session: &mut Session, scenario: &Compiled, head: &impl ResponseHead) {
    let step = &scenario.flows[session.flow].steps[session.step];
    session.fault = None;
    session.location.clear();
    session.coding.clear();
    forget_head(session, step);
    let redirects = step.redirects > 0 && matches!(head.status(), 301 | 302 | 303 | 307 | 308);
    let takes_cookies = step.extractions.iter().any(|one| matches!(one.from, From::Cookie(_)));
    if head.has_session_fields() && (scenario.cookies || takes_cookies || redirects || step.reads_body) {
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                extract_cookie(session, step, value);
                if scenario.holds_cookies {
                    session.held_cookies.extend_from_slice(value);
                    session.held_cookies.push(b'\n');
                } else {
                    set_cookie(session, scenario, value);
                }
            } else if redirects && name.eq_ignore_ascii_case("location") {
                locate(session, scenario, value);
                session.as_get |= step.request.becomes_get(head.status());
            } else if name.eq_ignore_ascii_case("content-encoding") {
                session.coding.extend_from_slice(value);
            }
        }
    }
    if !session.location.is_empty() || session.fault.is_some() {
        return;
    }
    for (name, expected) in &step.headers {
        let mut text = Vec::new();
        let made = expected.render(Goes::Plain, &mut session.values(scenario), &mut text);
        if let Err(fault) = made {
            session.fault.get_or_insert(fault);
        } else if !head.headers().any(|(own, value)| own.eq_ignore_ascii_case(name) && *value == *text) {
            session.fault.get_or_insert(StepFault::Header);
        }
    }
    for extraction in &step.extractions {
        if let From::Header(name) = &extraction.from
            && let Some(value) = head.header(name).filter(|value| value.len() <= VALUE_BYTES_MAX)
        {
            session.value(extraction.value).extend_from_slice(value);
            session.set |= 1 << extraction.value;
        }
    }
}

/// The response is the last one of its request: the cookies count that it has set.
pub(super) fn take_cookies(session: &mut Session, scenario: &Compiled) {
    if session.held_cookies.is_empty() {
        return;
    }
    let mut held = std::mem::take(&mut session.held_cookies);
    held.split(|byte| *byte == b'\n').for_each(|field| set_cookie(session, scenario, field));
    held.clear();
    session.held_cookies = held;
}

/// The request is sent again: nothing counts that this response has said.
pub(super) fn forget(session: &mut Session, scenario: &Compiled) {
    session.fault = None;
    session.location.clear();
    session.held_cookies.clear();
    forget_head(session, &scenario.flows[session.flow].steps[session.step]);
}

/// The values are not there that `step` takes from the head of its response.
fn forget_head(session: &mut Session, step: &CompiledStep) {
    for extraction in step.extractions.iter().filter(|one| !one.from.reads_body()) {
        session.set &= !(1 << extraction.value);
    }
}

fn extract_cookie(session: &mut Session, step: &CompiledStep, field: &[u8]) {
    let Some(cookie) = SetCookie::parse(field) else { return };
    for extraction in &step.extractions {
        if matches!(&extraction.from, From::Cookie(name) if **name == *cookie.name) {
            session.value(extraction.value).extend_from_slice(cookie.value);
            session.set |= 1 << extraction.value;
        }
    }
}

fn set_cookie(session: &mut Session, scenario: &Compiled, field: &[u8]) {
    if let Some(cookie) = SetCookie::parse(field).filter(|_| scenario.cookies) {
        let path = std::mem::take(&mut session.path);
        session.cookies.set(&cookie, &scenario.host, scenario.is_secure, &path);
        session.path = path;
    }
}

/// Notes where a redirect goes (RFC 9110 section 10.2.2); only to the server that is loaded.
fn locate(session: &mut Session, scenario: &Compiled, value: &[u8]) {
    let value = value.split(|byte| *byte == b'#').next().unwrap_or_default();
    let origin = scenario.origin.as_bytes();
    let has_scheme = value.windows(3).any(|window| window == b"://") && value.starts_with(b"http");
    let path = if has_scheme {
        match value.split_at_checked(origin.len()) {
            Some((own, path)) if own.eq_ignore_ascii_case(origin) && path.starts_with(b"/") => path,
            Some((own, b"")) if own.eq_ignore_ascii_case(origin) => b"/",
            _ => return session.fault = Some(StepFault::OtherServer),
        }
    } else {
        value
    };
    if path.starts_with(b"//") || path.len() > LOCATION_BYTES_MAX || !path.iter().all(u8::is_ascii_graphic) {
        return session.fault = Some(StepFault::OtherServer);
    }
    if !path.starts_with(b"/") {
        let own = session.path.split(|byte| *byte == b'?').next().unwrap_or_default();
        let kept = if path.starts_with(b"?") {
            own.len()
        } else {
            own.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
        };
        session.location.extend_from_slice(&own[..kept]);
    }
    session.location.extend_from_slice(path);
    without_dots(&mut session.location);
}

/// Takes the segments `.` and `..` out of a path (RFC 3986 section 5.2.4); the query stays.
fn without_dots(path: &mut Vec<u8>) {
    let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
    if !path[..end].windows(2).any(|two| two == b"/.") {
        return;
    }
    let mut kept: Vec<u8> = Vec::with_capacity(path.len());
    let mut segments = path[..end].split(|byte| *byte == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment == b".." {
            let parent = kept.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            kept.truncate(parent);
        }
        let is_dots = segment == b"." || segment == b"..";
        if !is_dots {
            kept.push(b'/');
            kept.extend_from_slice(segment);
        } else if segments.peek().is_none() {
            kept.push(b'/');
        }
    }
    kept.extend_from_slice(&path[end..]);
    *path = kept;
}

/// The response is complete: what is wrong with it, if anything. `body` is all of it, where the step reads it; a longer
/// one than can be kept was cut off behind that length.
pub(super) fn complete(
    session: &mut Session,
    scenario: &mut Compiled,
    status: u16,
    body: &[u8],
    decoded: &mut Vec<u8>,
    note: &mut dyn FnMut(Noted),
) -> Result<(), StepFault> {
    // Its expressions need memory that is changed.
    let step = &mut scenario.flows[session.flow].steps[session.step];
    if !step.good.get(usize::from(status)).copied().unwrap_or_default() {
        return Err(StepFault::Status(status));
    }
    if let Some(fault) = session.fault.take() {
        return Err(fault);
    }
    let body = if step.reads_body {
        if body.len() > BODY_MAX_BYTES {
            return Err(StepFault::BodyTooLong);
        }
        if coding::is_coded(&session.coding, body) {
            let before = clock::thread_cpu();
            let result = coding::decode(&session.coding, body, BODY_MAX_BYTES, decoded);
            let cpu = clock::thread_cpu() - before;
            note(Noted::Decoded { coded: body.len(), decoded: decoded.len(), cpu });
            result.map_err(coding_fault)?;
            &*decoded
        } else {
            body
        }
    } else {
        &[]
    };
    for (at, extraction) in step.extractions.iter_mut().enumerate() {
        let found = match &mut extraction.from {
            From::Json(pointer) => {
                pointer.find(body).filter(|value| value.len() <= VALUE_BYTES_MAX).map(|value| {
                    json::plain(value, session.value(extraction.value));
                })
            }
            From::Regex { regex, group, places } => regex
                .captures_read(places, body)
                .and_then(|_| places.get(*group))
                .filter(|(start, end)| end - start <= VALUE_BYTES_MAX)
                .map(|(start, end)| session.value(extraction.value).extend_from_slice(&body[start..end])),
            // Noted with the head.
            From::Header(_) | From::Cookie(_) => (session.set >> extraction.value & 1 == 1).then_some(()),
        };
        if found.is_none() {
            note(Noted::NothingFound(at));
            let Some(default) = &extraction.default else {
                session.set &= !(1 << extraction.value);
                return Err(StepFault::NothingFound(u16::try_from(at).unwrap_or(u16::MAX)));
            };
            session.value(extraction.value).extend_from_slice(default);
        }
        session.set |= 1 << extraction.value;
    }
    check(session, scenario, body)
}

fn coding_fault(error: CodingError) -> StepFault {
    match error {
        CodingError::Unknown => StepFault::Coding,
        CodingError::Damaged => StepFault::Damaged,
        CodingError::Window => StepFault::Window,
        CodingError::TooLong => StepFault::BodyTooLong,
    }
}

/// What the body must be.
fn check(session: &mut Session, scenario: &Compiled, body: &[u8]) -> Result<(), StepFault> {
    let step = &scenario.flows[session.flow].steps[session.step];
    let good = match &step.body {
        None => true,
        Some(BodyMatch::Exact(expected)) => **expected == *body,
        Some(BodyMatch::Regex(regex)) => regex.is_match(body),
    };
    if !good {
        return Err(StepFault::Body);
    }
    let mut text = Vec::new();
    for expected in &step.contains {
        text.clear();
        expected.render(Goes::Plain, &mut session.values(scenario), &mut text)?;
        if !text.is_empty() && !contains(body, &text) {
            return Err(StepFault::Body);
        }
    }
    for (pointer, expected) in &step.json {
        let value = pointer.find(body).ok_or(StepFault::Json)?;
        let good = match expected {
            Expected::Logical(expected) => value == if *expected { &b"true"[..] } else { b"false" },
            Expected::Number(expected) => std::str::from_utf8(value)
                .ok()
                .and_then(|value| value.parse::<f64>().ok())
                .is_some_and(|value| value.total_cmp(expected).is_eq()),
            Expected::Text(expected) => {
                text.clear();
                expected.render(Goes::Plain, &mut session.values(scenario), &mut text)?;
                let mut found = Vec::new();
                json::plain(value, &mut found);
                value.starts_with(b"\"") && found == text
            }
        };
        if !good {
            return Err(StepFault::Json);
        }
    }
    Ok(())
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_lead_up_and_never_out() {
        for (path, expected) in [
            ("/a/b/../c", "/a/c"),
            ("/a/b/../../../c", "/c"),
            ("/a/./b/.", "/a/b/"),
            ("/a/b/..", "/a/"),
            ("/..", "/"),
            ("/a/.b/..c?x=/../y", "/a/.b/..c?x=/../y"),
            ("/a/../b?x=/../y", "/b?x=/../y"),
            ("/a//../b", "/a/b"),
            ("/a", "/a"),
        ] {
            let mut bytes = path.as_bytes().to_vec();
            without_dots(&mut bytes);
            assert_eq!(String::from_utf8_lossy(&bytes), expected, "{path}");
        }
    }
}
