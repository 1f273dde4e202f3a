//! A session while it is put together: its server, its values, and its steps.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str};
use prony_model::{
    Body, Escape, ExpectedValue, Flow, Generated, PartContent, Problem, Scenario, SessionConnections, Step,
    StepBody, StepFile, Template,
};

use crate::LeftOut;
use crate::scenario::{ImportedScenario, Names, Taken, at, left_out, slug};
use crate::template::Draft;

/// What RFC 3986 leaves as it is in a query.
pub(crate) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What no request line can have.
pub(crate) const NOT_IN_PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'#').add(b'`');

/// The values that `{{name}}` stands for in another tool.
#[derive(Debug)]
pub(crate) struct Values {
    /// Of names with one value for the whole session, by their own name.
    pub(crate) fixed: BTreeMap<String, String>,
    pub(crate) names: Names,
    /// What the tool makes itself under a name.
    pub(crate) made: fn(&str) -> Option<Generated>,
    /// What can be a name.
    pub(crate) is_name: fn(&str) -> bool,
}

impl Values {
    /// The template that `text` is, in which `{{name}}` is a value that goes in as `escape` says.
    pub(crate) fn template(&mut self, text: &str, escape: Option<Escape>) -> Result<Draft, Problem> {
        let mut draft = Draft::default();
        let mut rest = text;
        while let Some((before, inner)) = rest.split_once("{{") {
            draft.push(before);
            let (name, after) = inner
                .split_once("}}")
                .ok_or_else(|| Problem::new("{{ has no }}", "close it, or write it as \\u{7b}\\u{7b}"))?;
            let name = name.trim();
            match (self.made)(name) {
                Some(made) => draft.push_made(made),
                None if (self.is_name)(name) => draft.push_name(&self.names.of(name), escape),
                None => {
                    let shown: String = name.chars().take(40).collect();
                    let what = format!("`{{{{{shown}}}}}` is not supported");
                    return Err(Problem::new(what, "names of variables are"));
                }
            }
            rest = after;
        }
        draft.push(rest);
        Ok(draft)
    }

    /// The text of `draft`, if it has no values but fixed ones.
    pub(crate) fn literal(&self, draft: &Draft) -> Option<String> {
        draft.filled(|name| self.fixed.get(name).map(String::as_str))
    }

    /// JSON with values: within strings as their text, elsewhere as they are.
    pub(crate) fn json(&mut self, text: &str) -> Result<Draft, Problem> {
        let mut draft = Draft::default();
        let (mut rest, mut in_string) = (text, false);
        while let Some(open) = rest.find("{{") {
            let (before, inner) = rest.split_at(open);
            let mut escaped = false;
            for character in before.chars() {
                in_string ^= character == '"' && !escaped;
                escaped = character == '\\' && !escaped;
            }
            draft.push(before);
            let close = inner.find("}}").map_or(inner.len(), |close| close + 2);
            let escape = (!in_string).then_some(Escape::Raw);
            draft.append(&self.template(&inner[..close], escape)?);
            rest = &inner[close..];
        }
        draft.push(rest);
        Ok(draft)
    }
}

/// A session while steps are added.
pub(crate) struct Session {
    pub(crate) values: Values,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) steps: Vec<Step>,
    /// The server of all steps: as the first one writes it, and with its variables filled in.
    origin: Option<(String, String)>,
    step_names: Taken,
    /// Names that earlier steps extract.
    extracted: BTreeSet<String>,
    /// Names that they would extract if that could be carried over: why not.
    lost: BTreeMap<String, String>,
    /// Names without a value, with the line that uses them first.
    unset: BTreeMap<String, usize>,
    /// Variables that are made of others, which come before them by name.
    derived: BTreeMap<String, String>,
}

impl Session {
    /// One without steps; `variables` have values already.
    pub(crate) fn new(
        made: fn(&str) -> Option<Generated>,
        is_name: fn(&str) -> bool,
        variables: &[(String, String)],
    ) -> Self {
        let values = Values { fixed: BTreeMap::new(), names: Names::default(), made, is_name };
        let mut session = Self {
            values,
            left_out: Vec::new(),
            steps: Vec::new(),
            origin: None,
            step_names: Taken::default(),
            extracted: BTreeSet::new(),
            lost: BTreeMap::new(),
            unset: BTreeMap::new(),
            derived: BTreeMap::new(),
        };
        for (name, value) in variables {
            session.set(name, value);
        }
        session
    }

    /// Gives `name` one value for the whole session, unless it has one; returns whether it is this one.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> bool {
        let own = self.values.names.of(name);
        self.values.fixed.entry(own).or_insert_with(|| value.to_owned()) == value
    }

    /// The text of `draft`, which stands in line `line`.
    pub(crate) fn written(&mut self, draft: &Draft, line: usize) -> Result<String, Problem> {
        for name in draft.names() {
            let is_known = self.extracted.contains(name)
                || self.values.fixed.contains_key(name)
                || self.derived.contains_key(name);
            if is_known {
                continue;
            }
            if let Some(why) = self.lost.get(name) {
                let problem =
                    Problem::new(format!("{{{{{name}}}}} has no value: {why}"), "extract it otherwise");
                return Err(at(line, problem));
            }
            self.unset.entry(name.to_owned()).or_insert(line);
        }
        draft.text().ok_or_else(|| {
            let what = "a value in braces of its own can't be written in a scenario";
            at(line, Problem::new(what, "put something between the braces, such as a space"))
        })
    }

    /// `Basic …` for a name and a password, `name:password`.
    pub(crate) fn basic(&mut self, user: &Draft, line: usize) -> Result<String, Problem> {
        if let Some(literal) = user.as_literal() {
            return Ok(format!("Basic {}", STANDARD.encode(literal)));
        }
        let names: Vec<String> = user.names().map(str::to_owned).collect();
        if let Some(name) = names.iter().find(|name| self.extracted.contains(*name)) {
            let what = format!("{{{{{name}}}}} is part of a password and is captured");
            return Err(at(
                line,
                Problem::new(what, "a scenario can encode what is known before a session only"),
            ));
        }
        let text = self.written(user, line)?;
        // Variables are made in the order of their names: this one comes behind those that it needs.
        let last = names.into_iter().max().unwrap_or_else(|| "user".to_owned());
        let own = format!("{last}_basic");
        self.derived.insert(own.clone(), text);
        Ok(format!("Basic {{base64({own})}}"))
    }

    /// Adds a step with a name made of `wanted`.
    pub(crate) fn add(&mut self, wanted: &str, step: Step) {
        let name = self.step_names.unique(&slug(wanted, '-', "step"), '-');
        self.steps.push(Step { name, ..step });
    }

    /// Notes that a step extracts `name`; returns what a scenario calls it.
    pub(crate) fn extracts(&mut self, name: &str) -> String {
        let own = self.values.names.of(name);
        self.lost.remove(&own);
        self.extracted.insert(own.clone());
        own
    }

    /// Notes that what `name` is to be can't be extracted.
    pub(crate) fn loses(&mut self, name: &str, line: usize, why: &str) {
        let own = self.values.names.of(name);
        self.extracted.remove(&own);
        self.lost.insert(own, format!("line {line} captures it with {why}, which a scenario can't"));
    }

    /// The path of `url` with its query, as it is written there, and the `name:password` in it; checks that it is of the
    /// server of all steps.
    pub(crate) fn split(&mut self, url: &str, line: usize) -> Result<Split, Problem> {
        let (origin, rest) = split_url(url);
        self.values.template(origin, None).map_err(|problem| at(line, problem))?;
        let filled = self.filled(origin);
        let (filled, user) = without_user(&filled);
        let filled = filled.as_str();
        let is_odd = |one: char| one.is_whitespace() || "\"'<>\\^`|".contains(one);
        if filled.contains(is_odd) || filled.is_empty() && rest.is_empty() {
            let what = format!("`{}` is not a URL", shown(url));
            return Err(at(line, Problem::new(what, "write http://, a server and a path, without quotes")));
        }
        let written = if user.is_none() { origin } else { filled };
        self.same_server(written, filled, line)?;
        Ok(Split { rest: rest.to_owned(), user: user.map(str::to_owned) })
    }

    /// Checks that `origin`, of line `line`, which is `filled` with its variables, is the server of all steps.
    fn same_server(&mut self, origin: &str, filled: &str, line: usize) -> Result<(), Problem> {
        match &self.origin {
            None => self.origin = Some((origin.to_owned(), filled.to_owned())),
            Some((written, known)) if written == origin || known == filled => {}
            Some((_, known)) => {
                let what = format!("{filled} is another server than {known}: a load has one");
                return Err(at(line, Problem::new(what, "import the requests of each server on their own")));
            }
        }
        Ok(())
    }

    /// `text` with its fixed values.
    pub(crate) fn filled(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, inner)) = rest.split_once("{{") {
            out.push_str(before);
            let Some((name, after)) = inner.split_once("}}") else {
                out.push_str("{{");
                rest = inner;
                break;
            };
            let own = self.values.names.of(name.trim());
            match self.values.fixed.get(&own) {
                Some(value) => out.push_str(value),
                None => out.extend(["{{", name.trim(), "}}"]),
            }
            rest = after;
        }
        out + rest
    }

    /// The session as a scenario called `name`.
    pub(crate) fn finish(mut self, name: &str) -> Result<ImportedScenario, Problem> {
        let base = self.origin.map(|(_, filled)| filled).filter(|origin| !origin.contains("{{"));
        let base = base.filter(|origin| !origin.is_empty()).map(|origin| {
            let origin = origin.trim_end_matches('/');
            if origin.contains("://") { origin.to_owned() } else { format!("http://{origin}") }
        });
        let mut used: BTreeSet<String> = self.steps.iter().flat_map(texts).flat_map(names).collect();
        self.derived.retain(|own, _| used.contains(own));
        used.extend(self.derived.values().flat_map(|text| names(text)));
        let mut variables: Vec<(String, String)> = Vec::new();
        for (own, value) in self.values.fixed.iter().filter(|(own, _)| used.contains(*own)) {
            let text = Draft::literal(value).text();
            let problem = || {
                Problem::new(
                    format!("the value of {own} has braces that can't be written"),
                    "write it without braces",
                )
            };
            variables.push((own.clone(), text.ok_or_else(problem)?));
        }
        variables.extend(self.derived);
        for (own, line) in &self.unset {
            variables.push((own.clone(), String::new()));
            self.left_out.push(left_out(
                *line,
                format!("the value of {{{{{own}}}}}"),
                "the file has none: set it with --variable, or under `variables`",
            ));
        }
        variables.sort();
        let flow = Flow {
            name: slug(name, '-', "session"),
            weight: 1,
            pacing: std::time::Duration::ZERO,
            variables,
            steps: self.steps,
        };
        Ok(ImportedScenario {
            scenario: Scenario {
                name: name.to_owned(),
                cookies: true,
                connections: SessionConnections::Shared,
                feeds: Vec::new(),
                flows: vec![flow],
            },
            base,
            unset: self.unset.into_keys().collect(),
            left_out: self.left_out,
        })
    }
}

/// A file that the scenario names.
pub(crate) fn unread(path: &str) -> StepFile {
    StepFile { path: path.to_owned(), content: Body::default() }
}

/// A URL without its server.
pub(crate) struct Split {
    /// Path and query, as they are written.
    pub(crate) rest: String,
    /// `name:password`, as it is written.
    pub(crate) user: Option<String>,
}

/// `name:password` of a URL, in which they are percent-encoded, as they are sent.
pub(crate) fn credentials(session: &mut Session, user: &str, line: usize) -> Result<Draft, Problem> {
    let both = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
    let draft = session.values.template(&both, None).map_err(|problem| at(line, problem))?;
    Ok(draft.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned()))
}

/// At most the first 40 characters, for messages.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 40;
    let mut shown: String = text.chars().take(CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// `http://name:password@host` without the name and the password, and these.
fn without_user(origin: &str) -> (String, Option<&str>) {
    let (scheme, rest) = match origin.find("://") {
        Some(end) => origin.split_at(end + 3),
        None => ("", origin),
    };
    // A variable may stand for a server with a path, in which an @ is nothing special.
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => (format!("{scheme}{host}{path}"), Some(user)),
        None => (origin.to_owned(), None),
    }
}

/// A URL as its server and the rest; the server may be a variable.
fn split_url(url: &str) -> (&str, &str) {
    let scheme =
        ["http://", "https://"].into_iter().find(|scheme| url.starts_with(scheme)).map_or(0, str::len);
    let mut depth = 0_u32;
    let end = url[scheme..].find(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && "/?#".contains(character)
    });
    url.split_at(end.map_or(url.len(), |end| scheme + end))
}

/// `text` as within a string of JSON.
pub(crate) fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let code = format!("\\u{:04x}", u32::from(control));
                out.push_str(&code);
            }
            other => out.push(other),
        }
    }
    out
}

/// The templates of a step.
fn texts(step: &Step) -> Vec<&str> {
    let mut texts = vec![step.path.as_str()];
    texts.extend(step.headers.iter().map(|(_, value)| value.as_str()));
    match &step.body {
        StepBody::Text(text) | StepBody::Json(text) => texts.push(text),
        StepBody::Form(fields) => texts.extend(fields.iter().map(|(_, value)| value.as_str())),
        StepBody::Multipart(parts) => texts.extend(parts.iter().filter_map(|part| match &part.content {
            PartContent::Text(text) => Some(text.as_str()),
            PartContent::File(_) => None,
        })),
        StepBody::None | StepBody::File(_) => {}
    }
    texts.extend(step.checks.headers.iter().map(|(_, value)| value.as_str()));
    texts.extend(step.checks.contains.iter().map(String::as_str));
    texts.extend(step.checks.json.iter().filter_map(|(_, value)| match value {
        ExpectedValue::Text(text) => Some(text.as_str()),
        ExpectedValue::Logical(_) | ExpectedValue::Number(_) => None,
    }));
    texts
}

fn names(text: &str) -> Vec<String> {
    let template = Template::parse(text);
    template.map(|template| template.names().map(str::to_owned).collect()).unwrap_or_default()
}
