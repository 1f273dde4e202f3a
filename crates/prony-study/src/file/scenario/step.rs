//! The steps of a scenario file.

use std::collections::BTreeMap;
use std::ops::Range;

use prony_model::{
    Body, BodyCheck, ExpectedValue, Extraction, ExtractionSource, Part, PartContent, Step, StepBody,
    StepChecks, StepFile,
};

use super::Files;
use super::flow::think;
use super::keys::{DefaultKeys, ExtractKeys, PartKeys, StepKeys};
use crate::file::keys::{HeaderText, OneOrMore};
use crate::file::mistake::Mistakes;
use crate::file::scalar::Scalar;
use crate::file::tree::Section;

/// The step of `section`, called `otherwise` if it has no name.
pub(super) fn step(
    section: &Section<'_>,
    otherwise: String,
    defaults: &DefaultKeys,
    files: &mut Files,
    mistakes: &mut Mistakes,
) -> Option<Step> {
    let mut keys: StepKeys = section.read(mistakes)?;
    let body = body(section, &mut keys, files, mistakes)?;
    let method = keys
        .method
        .take()
        .unwrap_or_else(|| if matches!(body, StepBody::None) { "GET".to_owned() } else { "POST".to_owned() });
    let mut checks = checks(section, &mut keys, mistakes);
    if let Some(status) = keys.expect_status.or_else(|| defaults.expect_status.clone()) {
        checks.status = status.0;
    }
    let extract = keys
        .extract
        .into_iter()
        .filter_map(|(name, keys)| extraction(section, name, keys, mistakes))
        .collect();
    Some(Step {
        name: keys.name.unwrap_or(otherwise),
        method,
        path: keys.path.unwrap_or_else(|| "/".to_owned()),
        headers: headers(&defaults.headers, keys.headers),
        body,
        checks,
        extract,
        redirects: keys.redirects.or_else(|| defaults.redirects.clone()).map_or(0, |count| count.0),
        go_on: keys.go_on.unwrap_or_default(),
        think: think(section, keys.think.as_ref().or(defaults.think.as_ref()), mistakes),
    })
}

/// The headers of a step, and those defaults that it does not replace.
fn headers(
    defaults: &BTreeMap<String, HeaderText>,
    own: BTreeMap<String, HeaderText>,
) -> Vec<(String, String)> {
    let kept = defaults
        .iter()
        .filter(|(name, _)| own.keys().all(|replaced| !replaced.eq_ignore_ascii_case(name)))
        .map(|(name, text)| (name.clone(), text.clone()));
    lines(kept.collect::<BTreeMap<_, _>>().into_iter().chain(own))
}

/// Names and values; a list is one of each of its items.
fn lines(entries: impl IntoIterator<Item = (String, HeaderText)>) -> Vec<(String, String)> {
    let line = |(name, text): (String, HeaderText)| {
        let values = match text {
            HeaderText::One(value) => vec![value],
            HeaderText::More(values) => values,
        };
        values.into_iter().map(move |value| (name.clone(), value.to_string())).collect::<Vec<_>>()
    };
    entries.into_iter().flat_map(line).collect()
}

fn body(
    section: &Section<'_>,
    keys: &mut StepKeys,
    files: &mut Files,
    mistakes: &mut Mistakes,
) -> Option<StepBody> {
    let given: Vec<&str> = [
        ("body", keys.body.is_some()),
        ("json", keys.json.is_some()),
        ("form", keys.form.is_some()),
        ("multipart", keys.multipart.is_some()),
        ("body-file", keys.body_file.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, is_given)| is_given.then_some(key))
    .collect();
    if let [first, second, ..] = given.as_slice() {
        let message = format!("`{first}` and `{second}` are two bodies for one request");
        mistakes.add(section.span(second), message, "leave out one of them");
        return None;
    }
    if let Some(text) = keys.body.take() {
        return Some(StepBody::Text(text));
    }
    if let Some(text) = keys.json.take() {
        return Some(StepBody::Json(text));
    }
    if let Some(fields) = keys.form.take() {
        return Some(StepBody::Form(lines(fields)));
    }
    if let Some(parts) = keys.multipart.take() {
        let parts = parts.into_iter().map(|keys| part(section, keys, files, mistakes));
        return parts.collect::<Option<Vec<_>>>().map(StepBody::Multipart);
    }
    match keys.body_file.take() {
        Some(path) => file(section, "body-file", path, files, mistakes).map(StepBody::File),
        None => Some(StepBody::None),
    }
}

fn part(section: &Section<'_>, keys: PartKeys, files: &mut Files, mistakes: &mut Mistakes) -> Option<Part> {
    let mut file_name = keys.file_name;
    let content = match (keys.value, keys.file) {
        (Some(value), None) => PartContent::Text(value),
        (None, Some(path)) => {
            let own = path.rsplit('/').next().unwrap_or_default().to_owned();
            file_name.get_or_insert(own);
            PartContent::File(file(section, "multipart", path, files, mistakes)?)
        }
        _ => {
            let message = format!("the part `{}` needs a value or a file", keys.name);
            let help = "write { name = \"…\", value = \"…\" } or { name = \"…\", file = \"…\" }";
            mistakes.add(section.span("multipart"), message, help);
            return None;
        }
    };
    Some(Part { name: keys.name, content, file_name, content_type: keys.content_type })
}

fn file(
    section: &Section<'_>,
    key: &str,
    path: String,
    files: &mut Files,
    mistakes: &mut Mistakes,
) -> Option<StepFile> {
    match files.read(&path) {
        Ok(bytes) => Some(StepFile { path, content: Body { bytes } }),
        Err(why) => {
            let message = format!("can't read {path} ({why})");
            mistakes.add(section.span(key), message, "paths begin at the scenario file");
            None
        }
    }
}

fn checks(section: &Section<'_>, keys: &mut StepKeys, mistakes: &mut Mistakes) -> StepChecks {
    let body = match (keys.expect_body.take(), keys.expect_body_regex.take()) {
        (Some(_), Some(_)) => {
            let message = "`expect-body` and `expect-body-regex` both say what the body must be";
            mistakes.add(section.span("expect-body-regex"), message, "leave out one of them");
            None
        }
        (Some(text), None) => Some(BodyCheck::Exact(text)),
        (None, Some(pattern)) => {
            compiled(section.span("expect-body-regex"), &pattern, mistakes);
            Some(BodyCheck::Regex(pattern))
        }
        (None, None) => None,
    };
    let expected = |scalar: Scalar| match scalar {
        Scalar::Logical(value) => ExpectedValue::Logical(value),
        Scalar::Real(value) => ExpectedValue::Number(value),
        // JSON's numbers are compared as doubles, as most readers have them.
        Scalar::Whole(value) => ExpectedValue::Number(value as f64),
        Scalar::Text(text) => ExpectedValue::Text(text),
    };
    StepChecks {
        body,
        headers: std::mem::take(&mut keys.expect_header)
            .into_iter()
            .map(|(name, value)| (name, value.to_string()))
            .collect(),
        contains: keys.expect_body_contains.take().map(OneOrMore::into_list).unwrap_or_default(),
        json: std::mem::take(&mut keys.expect_json)
            .into_iter()
            .map(|(pointer, value)| (pointer, expected(value)))
            .collect(),
        ..StepChecks::default()
    }
}

/// How many groups a regular expression has; one that is none is reported.
fn compiled(at: Range<usize>, pattern: &str, mistakes: &mut Mistakes) -> Option<usize> {
    match regex::bytes::Regex::new(pattern) {
        Ok(regex) => Some(regex.captures_len() - 1),
        Err(error) => {
            // Its first lines draw the place with a caret of their own.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            mistakes.add(at, format!("this is not a regular expression ({why})"), "");
            None
        }
    }
}

fn extraction(
    section: &Section<'_>,
    name: String,
    keys: ExtractKeys,
    mistakes: &mut Mistakes,
) -> Option<Extraction> {
    let ExtractKeys { json, regex, group, header, cookie, default } = keys;
    let at = section.entry_span("extract", &name);
    let from = match (json, regex, header, cookie) {
        (Some(pointer), None, None, None) => ExtractionSource::Json(pointer),
        (None, Some(pattern), None, None) => {
            let groups = compiled(at.clone(), &pattern, mistakes)?;
            let group = group.map_or(u32::from(groups > 0), |count| count.0);
            if group as usize > groups {
                let message = format!("the expression of `{name}` has no group {group}");
                let help =
                    "put ( and ) around the part that is meant, or write group = 0 for the whole match";
                mistakes.add(at, message, help);
                return None;
            }
            ExtractionSource::Regex { pattern, group }
        }
        (None, None, Some(header), None) => ExtractionSource::Header(header),
        (None, None, None, Some(cookie)) => ExtractionSource::Cookie(cookie),
        _ => {
            let message = format!("`{name}` has to be taken from one place");
            let help = "write one of json = \"/token\", regex = '…', header = \"…\" and cookie = \"…\"";
            mistakes.add(at, message, help);
            return None;
        }
    };
    Some(Extraction { name, from, default })
}
