//! HTTP archives (HAR 1.2) as scenarios: the requests of a visit are the steps of a session, with the visitor's pauses as
//! think times.
//!
//! What differs between two recordings of the same visit is not the visitor's: a token, an identifier. Where an earlier
//! response has it at the same place in both, it is extracted there. `recording.rs` has what is kept of an archive,
//! `places.rs` where values stand in responses, `differences.rs` which values those are.

mod differences;
mod places;
mod recording;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use prony_model::{
    Escape, Extraction, Flow, Problem, Scenario, SessionConnections, StatusSet, Step, StepBody, StepChecks,
    Think,
};

use self::differences::Dynamic;
use self::recording::{Exchange, Recorded};
use crate::LeftOut;
use crate::replay::route::pattern;
use crate::scenario::{Context, ImportedScenario, Names, Taken, at, left_out, slug};
use crate::session::NOT_IN_PATH;
use crate::template::Draft;

/// Bytes of an archive: browsers save the responses, too.
pub const ARCHIVE_BYTES_MAX: usize = 128 << 20;
/// A shorter pause is the browser's, not its user's.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// What of an archive becomes a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HarOptions {
    /// Images, styles, scripts and fonts, too.
    pub assets: bool,
}

/// Reads one recording of a visit, or two of the same visit.
///
/// # Errors
/// What is no archive, or has no request that can be a step.
pub fn read_har(
    recordings: &[String],
    options: HarOptions,
    context: &Context<'_>,
) -> Result<ImportedScenario, Problem> {
    let (first, second) = match recordings {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => {
            return Err(Problem::new(
                "a scenario is made of one recording, or of two",
                "name one or two HAR files",
            ));
        }
    };
    let first = Recorded::read(first, options)?;
    let mut left_out = first.left_out;
    let dynamic = match second {
        None => Vec::new(),
        Some(text) => {
            let second = Recorded::read(text, options)?;
            differences::dynamic(&first.exchanges, &second.exchanges, &mut left_out)
        }
    };
    let mut writer = Writer { dynamic: named(dynamic), taken: Taken::default(), left_out };
    let steps: Vec<Step> = first
        .exchanges
        .iter()
        .enumerate()
        .map(|(number, exchange)| writer.step(number, exchange, first.exchanges.get(number + 1)))
        .collect::<Result<_, _>>()?;
    let flow = Flow {
        name: slug(context.name, '-', "visit"),
        weight: 1,
        pacing: Duration::ZERO,
        variables: Vec::new(),
        steps,
    };
    let scenario = Scenario {
        name: context.name.to_owned(),
        cookies: true,
        connections: SessionConnections::Shared,
        feeds: Vec::new(),
        flows: vec![flow],
    };
    ImportedScenario { scenario, base: Some(first.origin), unset: Vec::new(), left_out: writer.left_out }
        .checked()
}

/// A value that a step extracts, and its name.
struct Named {
    name: String,
    dynamic: Dynamic,
}

fn named(dynamic: Vec<Dynamic>) -> Vec<Named> {
    let mut names = Names::default();
    let mut taken = BTreeMap::new();
    let mut named = Vec::new();
    for one in dynamic {
        // Two values of one label are two variables.
        let number = taken.entry(one.label.clone()).and_modify(|number| *number += 1).or_insert(1_u32);
        let wanted = if *number == 1 { one.label.clone() } else { format!("{} {number}", one.label) };
        named.push(Named { name: names.of(&wanted), dynamic: one });
    }
    named
}

/// Writes steps, one after the other.
struct Writer {
    dynamic: Vec<Named>,
    taken: Taken,
    left_out: Vec<LeftOut>,
}

impl Writer {
    fn step(&mut self, number: usize, exchange: &Exchange, next: Option<&Exchange>) -> Result<Step, Problem> {
        let line = exchange.line;
        let written = |draft: &Draft| {
            draft.text().ok_or_else(|| {
                let what = "a value in braces of its own can't be written in a scenario";
                at(line, Problem::new(what, "leave this request out of the archive"))
            })
        };
        let known = |value: &str| {
            let found =
                self.dynamic.iter().rev().find(|one| one.dynamic.step < number && one.dynamic.value == value);
            found.map(|one| one.name.as_str())
        };
        let path = written(&path(&exchange.target, &known))?;
        let mut headers = Vec::new();
        let mut has_lost = false;
        for (name, value) in &exchange.headers {
            let draft = header(value, &known);
            if name.eq_ignore_ascii_case("authorization") && draft.as_literal().is_some() {
                has_lost = true;
                continue;
            }
            headers.push((name.clone(), written(&draft)?));
        }
        let body = match &exchange.body {
            None => StepBody::None,
            Some(body) if body.is_json() => StepBody::Json(written(&json(&body.text, &known))?),
            Some(body) if body.is_form() => StepBody::Text(written(&form(&body.text, &known))?),
            Some(body) => StepBody::Text(written(&Draft::literal(&body.text))?),
        };
        let extract = self.dynamic.iter().filter(|one| one.dynamic.step == number).map(|one| Extraction {
            name: one.name.clone(),
            from: one.dynamic.place.source(),
            default: None,
        });
        let extract = extract.collect();
        let status = match exchange.status {
            status @ 400..=599 => StatusSet(vec![(status, status)]),
            _ => StatusSet::default(),
        };
        let shown = format!("{} {}", exchange.method, pattern(exchange.target.as_bytes()));
        let name = self.taken.unique(&slug(&shown, '-', "step"), '-');
        if has_lost {
            self.left_out.push(left_out(line, "Authorization", "add it to the headers: it is somebody's"));
        }
        Ok(Step {
            name,
            headers,
            body,
            checks: StepChecks { status, ..StepChecks::default() },
            extract,
            think: think(exchange, next),
            ..Step::bare(&exchange.method, path)
        })
    }
}

/// From the end of a response to the next request.
fn think(exchange: &Exchange, next: Option<&Exchange>) -> Think {
    let Some(next) = next else { return Think::None };
    let pause = u64::try_from(next.began - exchange.ended()).map_or(Duration::ZERO, Duration::from_nanos);
    let pause = Duration::from_millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    if pause < PAUSE_MIN { Think::None } else { Think::Constant { time: pause.min(Scenario::THINK_MAX) } }
}

/// The name of a value that is extracted before.
type Known<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Segments of the path and values of the query.
fn path(target: &str, known: Known<'_>) -> Draft {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let literal = |text: &str| utf8_percent_encode(text, NOT_IN_PATH).to_string();
    let mut draft = Draft::default();
    for (at, segment) in path.split('/').enumerate() {
        if at > 0 {
            draft.push("/");
        }
        match known(&decoded(segment)) {
            Some(name) => draft.push_name(name, None),
            None => draft.push(&literal(segment)),
        }
    }
    if let Some(query) = query {
        draft.push("?");
        draft.append(&pairs(query, &literal, known, None));
    }
    draft
}

/// `a=1&b=2`, with values that are known.
fn pairs(text: &str, literal: &dyn Fn(&str) -> String, known: Known<'_>, escape: Option<Escape>) -> Draft {
    let mut draft = Draft::default();
    for (at, pair) in text.split('&').enumerate() {
        if at > 0 {
            draft.push("&");
        }
        match pair.split_once('=').map(|(name, value)| (name, known(&decoded(&value.replace('+', " "))))) {
            Some((name, Some(value))) => {
                draft.push(&literal(name));
                draft.push("=");
                draft.push_name(value, escape);
            }
            _ => draft.push(&literal(pair)),
        }
    }
    draft
}

fn form(text: &str, known: Known<'_>) -> Draft {
    pairs(text, &|text| text.to_owned(), known, Some(Escape::Percent))
}

/// A whole value, or what stands behind its scheme (`Bearer …`).
fn header(value: &str, known: Known<'_>) -> Draft {
    let mut draft = Draft::default();
    let (scheme, rest) = match value.split_once(' ') {
        Some((scheme, rest)) if !rest.contains(' ') => (scheme, rest),
        _ => ("", value),
    };
    match known(rest) {
        Some(name) => {
            if !scheme.is_empty() {
                draft.push(scheme);
                draft.push(" ");
            }
            draft.push_name(name, None);
        }
        None => draft.push(value),
    }
    draft
}

/// JSON with its strings and numbers replaced where they are known; all else stays as it is written.
fn json(text: &str, known: Known<'_>) -> Draft {
    let mut draft = Draft::default();
    let mut rest = text;
    while let Some(start) = rest.find(|first: char| first == '"' || first == '-' || first.is_ascii_digit()) {
        draft.push(&rest[..start]);
        rest = &rest[start..];
        let is_text = rest.starts_with('"');
        let length = if is_text { string_length(rest) } else { number_length(rest) };
        let (token, behind) = rest.split_at(length);
        let value = if is_text { serde_json::from_str(token).unwrap_or_default() } else { token.to_owned() };
        match known(&value) {
            Some(name) if is_text => {
                draft.push("\"");
                draft.push_name(name, None);
                draft.push("\"");
            }
            Some(name) => draft.push_name(name, Some(Escape::Raw)),
            None => draft.push(token),
        }
        rest = behind;
    }
    draft.push(rest);
    draft
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    text.find(|part: char| !(part.is_ascii_digit() || "+-.eE".contains(part))).unwrap_or(text.len())
}
