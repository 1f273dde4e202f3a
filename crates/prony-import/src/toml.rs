//! The text of a scenario file. What importers never make, feeds, is not written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use prony_model::{
    BodyCheck, ExpectedValue, ExtractionSource, Flow, Part, PartContent, StatusSet, Step, StepBody, Think,
};

use crate::ImportedScenario;

/// The file.
pub(crate) fn write(imported: &ImportedScenario) -> String {
    let mut out = String::new();
    for part in &imported.left_out {
        comment(&mut out, &part.to_string());
    }
    if !imported.left_out.is_empty() {
        out.push('\n');
    }
    let scenario = &imported.scenario;
    entry(&mut out, "name", &text(&scenario.name));
    match &imported.base {
        Some(base) => entry(&mut out, "base", &text(base)),
        None => comment(&mut out, "base = \"http://…\"  # or --base"),
    }
    if !scenario.cookies {
        entry(&mut out, "cookies", "false");
    }
    for own in &scenario.flows {
        flow(&mut out, own, &imported.unset);
    }
    out
}

fn flow(out: &mut String, flow: &Flow, unset: &[String]) {
    out.push_str("\n[[flow]]\n");
    entry(out, "name", &text(&flow.name));
    if flow.weight != 1 {
        entry(out, "weight", &flow.weight.to_string());
    }
    if !flow.pacing.is_zero() {
        entry(out, "pacing", &duration(flow.pacing));
    }
    for (name, value) in &flow.variables {
        let note = if unset.contains(name) { "  # the file gives it no value" } else { "" };
        entry(out, &format!("variables.{}", key(name)), &format!("{}{note}", text(value)));
    }
    for one in &flow.steps {
        step(out, one);
    }
}

fn step(out: &mut String, step: &Step) {
    out.push_str("\n[[flow.step]]\n");
    entry(out, "name", &text(&step.name));
    let implied = if matches!(step.body, StepBody::None) { "GET" } else { "POST" };
    if step.method != implied {
        entry(out, "method", &text(&step.method));
    }
    entry(out, "path", &text(&step.path));
    if !step.headers.is_empty() {
        entry(out, "headers", &table(&step.headers));
    }
    body(out, &step.body);
    match step.think {
        Think::None => {}
        Think::Constant { time } => entry(out, "think", &duration(time)),
        Think::Uniform { min, max } => {
            entry(out, "think", &format!("{{ min = {}, max = {} }}", duration(min), duration(max)));
        }
        Think::Exponential { mean } => entry(out, "think", &format!("{{ mean = {} }}", duration(mean))),
    }
    if step.redirects > 0 {
        entry(out, "redirects", &step.redirects.to_string());
    }
    if step.go_on {
        entry(out, "go-on", "true");
    }
    checks(out, step);
    for extraction in &step.extract {
        let from = match &extraction.from {
            ExtractionSource::Json(pointer) => format!("json = {}", text(pointer)),
            ExtractionSource::Regex { pattern, group } => {
                format!("regex = {}, group = {group}", text(pattern))
            }
            ExtractionSource::Header(name) => format!("header = {}", text(name)),
            ExtractionSource::Cookie(name) => format!("cookie = {}", text(name)),
        };
        let default = extraction.default.as_ref().map(|value| format!(", default = {}", text(value)));
        let value = format!("{{ {from}{} }}", default.unwrap_or_default());
        entry(out, &format!("extract.{}", key(&extraction.name)), &value);
    }
}

fn checks(out: &mut String, step: &Step) {
    let checks = &step.checks;
    if checks.status != StatusSet::default() {
        let range = |(low, high): &(u16, u16)| {
            if low == high { low.to_string() } else { format!("{low}-{high}") }
        };
        let ranges: Vec<String> = checks.status.0.iter().map(range).collect();
        entry(out, "expect-status", &text(&ranges.join(",")));
    }
    if !checks.headers.is_empty() {
        entry(out, "expect-header", &table(&checks.headers));
    }
    match &checks.body {
        None => {}
        Some(BodyCheck::Exact(body)) => entry(out, "expect-body", &text(body)),
        Some(BodyCheck::Regex(pattern)) => entry(out, "expect-body-regex", &text(pattern)),
    }
    if !checks.contains.is_empty() {
        let texts: Vec<String> = checks.contains.iter().map(|part| text(part)).collect();
        entry(out, "expect-body-contains", &format!("[{}]", texts.join(", ")));
    }
    if !checks.json.is_empty() {
        let pairs: Vec<String> = checks
            .json
            .iter()
            .map(|(pointer, value)| {
                let value = match value {
                    ExpectedValue::Logical(value) => value.to_string(),
                    ExpectedValue::Number(value) => number(*value),
                    ExpectedValue::Text(value) => text(value),
                };
                format!("{} = {value}", key(pointer))
            })
            .collect();
        entry(out, "expect-json", &format!("{{ {} }}", pairs.join(", ")));
    }
}

/// So that it is read as the same number; TOML's whole ones have 64 bits.
fn number(value: f64) -> String {
    const WHOLE_MAX: f64 = 9e15;
    if value.fract() == 0.0 && value.abs() < WHOLE_MAX { value.to_string() } else { format!("{value:e}") }
}

fn body(out: &mut String, body: &StepBody) {
    match body {
        StepBody::None => {}
        StepBody::Text(body) => entry(out, "body", &text(body)),
        StepBody::Json(body) => entry(out, "json", &text(body)),
        StepBody::Form(fields) => entry(out, "form", &table(fields)),
        StepBody::File(file) => entry(out, "body-file", &text(&file.path)),
        StepBody::Multipart(parts) => {
            let parts: Vec<String> = parts.iter().map(|one| format!("  {},\n", part(one))).collect();
            entry(out, "multipart", &format!("[\n{}]", parts.concat()));
        }
    }
}

fn part(part: &Part) -> String {
    let mut pairs = vec![format!("name = {}", text(&part.name))];
    pairs.push(match &part.content {
        PartContent::Text(value) => format!("value = {}", text(value)),
        PartContent::File(file) => format!("file = {}", text(&file.path)),
    });
    pairs.extend(part.file_name.as_ref().map(|name| format!("file-name = {}", text(name))));
    pairs.extend(part.content_type.as_ref().map(|kind| format!("type = {}", text(kind))));
    format!("{{ {} }}", pairs.join(", "))
}

/// Names and values; those of one name are a list.
fn table(lines: &[(String, String)]) -> String {
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in lines {
        by_name.entry(name).or_default().push(text(value));
    }
    let pair = |(name, values): (&str, Vec<String>)| match values.as_slice() {
        [one] => format!("{} = {one}", key(name)),
        several => format!("{} = [{}]", key(name), several.join(", ")),
    };
    let pairs: Vec<String> = by_name.into_iter().map(pair).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn entry(out: &mut String, key: &str, value: &str) {
    // Writing to a `String` can't fail.
    let _ = writeln!(out, "{key} = {value}");
}

/// Comments can't have control characters (TOML 1.0).
fn comment(out: &mut String, line: &str) {
    let line: String = line.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    let _ = writeln!(out, "# {line}");
}

fn duration(time: Duration) -> String {
    let nanos = time.as_nanos();
    match nanos {
        nanos if nanos.is_multiple_of(1_000_000_000) => format!("\"{}s\"", nanos / 1_000_000_000),
        nanos if nanos.is_multiple_of(1_000_000) => format!("\"{}ms\"", nanos / 1_000_000),
        nanos => format!("\"{nanos}ns\""),
    }
}

fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || "_-".contains(one));
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// A string: in single quotes where that saves escapes, on several lines where it has several.
fn text(value: &str) -> String {
    let has_control = |besides: &[char]| value.chars().any(|one| one.is_control() && !besides.contains(&one));
    let needs_escapes = value.contains(['"', '\\']);
    if value.contains('\n') && !value.contains("'''") && !value.ends_with('\'') && !has_control(&['\n', '\t'])
    {
        return format!("'''\n{value}'''");
    }
    if needs_escapes && !value.contains('\'') && !has_control(&['\t']) {
        return format!("'{value}'");
    }
    quoted(value)
}

fn quoted(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
