//! What a response means for its session: cookies, redirects, checks, and values that are taken from it.

use prony_http::Head;

use super::compile::{BodyMatch, Compiled, CompiledStep, Expected, From};
use super::cookies::SetCookie;
use super::fault::StepFault;
use super::json;
use super::session::Session;
use super::text::Goes;
use crate::load::checks::BODY_MAX_BYTES;

/// Bytes of a `Location` that are followed.
const LOCATION_BYTES_MAX: usize = 8192;
/// Bytes of a value that is taken from a response; a longer one is not found.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// The head of a response has come: what it sets and says is noted, and checked.
pub(super) fn head(session: &mut Session, scenario: &Compiled, head: &Head<'_>) {
    let step = &scenario.flows[session.flow].steps[session.step];
    session.fault = None;
    session.location.clear();
    session.coding.clear();
    for extraction in step.extractions.iter().filter(|one| !one.from.reads_body()) {
        session.set &= !(1 << extraction.value);
    }
    let redirects = step.redirects > 0 && matches!(head.status, 301 | 302 | 303 | 307 | 308);
    let takes_cookies = step.extractions.iter().any(|one| matches!(one.from, From::Cookie(_)));
    if scenario.cookies || takes_cookies || redirects || step.reads_body {
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                set_cookie(session, scenario, step, value);
            } else if redirects && name.eq_ignore_ascii_case("location") {
                locate(session, scenario, value);
                session.as_get |= step.request.becomes_get(head.status);
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
        } else if head.header(name) != Some(&*text) {
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

fn set_cookie(session: &mut Session, scenario: &Compiled, step: &CompiledStep, field: &[u8]) {
    let Some(cookie) = SetCookie::parse(field) else { return };
    for extraction in &step.extractions {
        if matches!(&extraction.from, From::Cookie(name) if **name == *cookie.name) {
            session.value(extraction.value).extend_from_slice(cookie.value);
            session.set |= 1 << extraction.value;
        }
    }
    if scenario.cookies {
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
            _ => return session.fault = Some(StepFault::Elsewhere),
        }
    } else {
        value
    };
    if path.starts_with(b"//") || path.len() > LOCATION_BYTES_MAX || !path.iter().all(u8::is_ascii_graphic) {
        return session.fault = Some(StepFault::Elsewhere);
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
}

/// The response is complete: what is wrong with it, if anything. `body` is all of it, where the step reads it; a longer
/// one than can be kept was cut off behind that length.
pub(super) fn complete(
    session: &mut Session,
    scenario: &mut Compiled,
    status: u16,
    body: &[u8],
    decoded: &mut Vec<u8>,
    missing: &mut dyn FnMut(usize),
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
        super::coding::decoded(&session.coding, body, decoded)?
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
            missing(at);
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
