//! The response section of an entry: checks and captures.

use prony_model::{BodyCheck, ExpectedValue, Extraction, ExtractionSource, Problem, StatusSet, Step};

use super::body::BodyKind;
use super::parse::{Kind, Line, Response, without_comment};
use super::request::key_value;
use super::words::{Word, pointer, words};
use crate::scenario::{at, left_out};
use crate::session::Session;
use crate::template::Draft;

/// Codes that a response can have.
const CODES: std::ops::RangeInclusive<u16> = 100..=599;
const NOT_CHECKED: &str = "not checked";

/// Adds to `step` what `response` says.
pub(super) fn expect(session: &mut Session, response: &Response<'_>, step: &mut Step) -> Result<(), Problem> {
    let message = &response.message;
    let mut codes: Vec<u16> = CODES.collect();
    if response.status != "*" {
        let code: u16 =
            response.status.parse().ok().filter(|code| CODES.contains(code)).ok_or_else(|| {
                let what = format!("`{}` is not a status code", response.status);
                at(message.line, Problem::new(what, "write one from 100 to 599, or *"))
            })?;
        codes = vec![code];
    }
    for header in &message.headers {
        let (name, value) = key_value(session, *header)?;
        if uses_own(step, &value) {
            session.left_out.push(left_out(header.number, header.text, NOT_CHECKED));
            continue;
        }
        let value = session.written(&value, header.number)?;
        if !add_header(step, name, value) {
            session.left_out.push(left_out(header.number, header.text, NOT_CHECKED));
        }
    }
    for section in &message.sections {
        for line in &section.lines {
            match section.kind {
                Kind::Captures => capture(session, *line, step)?,
                Kind::Asserts => assert(session, *line, step, &mut codes)?,
                _ => {
                    let problem = Problem::new("this section belongs to a request", "write it above HTTP");
                    return Err(at(line.number, problem));
                }
            }
        }
    }
    if codes.is_empty() {
        let problem = Problem::new(
            "no status code passes these asserts",
            "write asserts that one status code can pass",
        );
        return Err(at(message.line, problem));
    }
    step.checks.status = StatusSet(ranges(&codes));
    if let Some(body) = &message.body {
        let is_text = matches!(body.kind, BodyKind::Text | BodyKind::OneLine);
        if is_text && step.checks.body.is_none() && !body.text.contains(['{', '\\']) {
            step.checks.body = Some(BodyCheck::Exact(body.text.to_owned()));
        } else {
            session.left_out.push(left_out(body.line, "the body of the response", NOT_CHECKED));
        }
    }
    Ok(())
}

/// Whether `draft` uses what the step itself extracts, which a check of a scenario can't.
fn uses_own(step: &Step, draft: &Draft) -> bool {
    draft.names().any(|name| step.extract.iter().any(|extraction| extraction.name == name))
}

/// Expects a header field; a scenario can expect one of each name.
fn add_header(step: &mut Step, name: String, value: String) -> bool {
    let is_new = step.checks.headers.iter().all(|(known, _)| !known.eq_ignore_ascii_case(&name));
    if is_new {
        step.checks.headers.push((name, value));
    }
    is_new
}

fn ranges(codes: &[u16]) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for code in codes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *code => *last = *code,
            _ => ranges.push((*code, *code)),
        }
    }
    ranges
}

/// `name: query`
fn capture(session: &mut Session, line: Line<'_>, step: &mut Step) -> Result<(), Problem> {
    let text = line.text;
    let (name, query) = text.split_once(':').ok_or_else(|| {
        let what = format!("`{}` is not a capture", crate::session::shown(text));
        at(line.number, Problem::new(what, "write name: jsonpath \"$.id\""))
    })?;
    let name = name.trim();
    let mut words = words(query).map_err(|problem| at(line.number, problem))?;
    words.retain(|word| word.plain() != Some("redact"));
    let first = words.first().and_then(Word::plain).unwrap_or_default().to_owned();
    let argument = match words.as_slice() {
        [_, Word::Quoted(text) | Word::Regex(text)] => Some(text.as_str()),
        _ => None,
    };
    let from = match (first.as_str(), argument) {
        ("header", Some(name)) => Some(ExtractionSource::Header(name.to_owned())),
        ("cookie", Some(name)) if !name.contains('[') => Some(ExtractionSource::Cookie(name.to_owned())),
        ("jsonpath", Some(path)) => pointer(path).map(ExtractionSource::Json),
        ("regex", Some(pattern)) => Some(ExtractionSource::Regex { pattern: pattern.to_owned(), group: 1 }),
        ("body", None) if words.len() == 1 => {
            Some(ExtractionSource::Regex { pattern: "(?s).*".to_owned(), group: 0 })
        }
        _ => None,
    };
    // Templates within queries have no place in a scenario.
    let from = from.filter(|_| argument.is_none_or(|text| !text.contains("{{")));
    if let Some(from) = from {
        let name = session.extracts(name);
        step.extract.retain(|extraction| extraction.name != name);
        step.extract.push(Extraction { name, from, default: None });
    } else {
        let query = without_comment(query).trim();
        session.loses(name, line.number, query);
        session.left_out.push(left_out(line.number, format!("{name}: {query}"), "not extracted"));
    }
    Ok(())
}

/// `query predicate`
fn assert(
    session: &mut Session,
    line: Line<'_>,
    step: &mut Step,
    codes: &mut Vec<u16>,
) -> Result<(), Problem> {
    let words = words(line.text).map_err(|problem| at(line.number, problem))?;
    let plain = |index: usize| words.get(index).and_then(Word::plain);
    let mut is_own = |word: &Word| match word {
        Word::Quoted(text) => session.values.template(text, None).is_ok_and(|draft| uses_own(step, &draft)),
        Word::Plain(_) | Word::Regex(_) => false,
    };
    let is_own = words.iter().any(&mut is_own);
    let is_carried = match (plain(0), words.get(1..).unwrap_or_default()) {
        _ if is_own => false,
        (Some("status"), [Word::Plain(operator), Word::Plain(number)]) => status(codes, operator, number),
        (Some("header"), [Word::Quoted(name), Word::Plain(equals), Word::Quoted(value)])
            if equals == "==" =>
        {
            let value = session.values.template(value, None).map_err(|problem| at(line.number, problem))?;
            let value = session.written(&value, line.number)?;
            add_header(step, name.clone(), value)
        }
        (Some("jsonpath"), [Word::Quoted(path), Word::Plain(equals), value]) if equals == "==" => {
            json(session, line, step, path, value)?
        }
        (Some("body"), [Word::Plain(contains), Word::Quoted(text)]) if contains == "contains" => {
            let text = session.values.template(text, None).map_err(|problem| at(line.number, problem))?;
            let text = session.written(&text, line.number)?;
            step.checks.contains.push(text);
            true
        }
        (Some("body"), [Word::Plain(predicate), Word::Quoted(text) | Word::Regex(text)])
            if step.checks.body.is_none() && !text.contains("{{") =>
        {
            step.checks.body = match predicate.as_str() {
                "==" => Some(BodyCheck::Exact(text.clone())),
                "matches" => Some(BodyCheck::Regex(text.clone())),
                _ => None,
            };
            step.checks.body.is_some()
        }
        _ => false,
    };
    if !is_carried {
        let instead = match plain(0) {
            Some("duration") => "not checked: --threshold 'response.max < …' does it for the run",
            _ => NOT_CHECKED,
        };
        session.left_out.push(left_out(line.number, without_comment(line.text).trim(), instead));
    }
    Ok(())
}

fn status(codes: &mut Vec<u16>, operator: &str, number: &str) -> bool {
    let Ok(number) = number.parse::<u16>() else { return false };
    let keep: fn(u16, u16) -> bool = match operator {
        "==" | "equals" => |code, number| code == number,
        "!=" | "notEquals" => |code, number| code != number,
        ">" | "greaterThan" => |code, number| code > number,
        ">=" | "greaterThanOrEquals" => |code, number| code >= number,
        "<" | "lessThan" => |code, number| code < number,
        "<=" | "lessThanOrEquals" => |code, number| code <= number,
        _ => return false,
    };
    codes.retain(|code| keep(*code, number));
    true
}

fn json(
    session: &mut Session,
    line: Line<'_>,
    step: &mut Step,
    path: &str,
    value: &Word,
) -> Result<bool, Problem> {
    let Some(pointer) = pointer(path).filter(|_| !path.contains("{{")) else { return Ok(false) };
    let expected = match value {
        Word::Plain(word) if word == "true" || word == "false" => ExpectedValue::Logical(word == "true"),
        Word::Plain(word) => match word.parse::<f64>() {
            Ok(number) if number.is_finite() => ExpectedValue::Number(number),
            _ => return Ok(false),
        },
        Word::Quoted(text) => {
            let text = session.values.template(text, None).map_err(|problem| at(line.number, problem))?;
            ExpectedValue::Text(session.written(&text, line.number)?)
        }
        Word::Regex(_) => return Ok(false),
    };
    let is_new = step.checks.json.iter().all(|(known, _)| *known != pointer);
    if is_new {
        step.checks.json.push((pointer, expected));
    }
    Ok(is_new)
}
