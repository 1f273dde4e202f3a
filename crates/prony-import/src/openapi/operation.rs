//! One operation as a flow of one step.

use percent_encoding::utf8_percent_encode;
use prony_model::{Flow, Part, PartContent, Problem, StatusSet, Step, StepBody};

use super::Description;
use crate::json::{Json, Node};
use crate::scenario::{Context, Names, at, left_out};
use crate::session::{NOT_IN_PATH, UNRESERVED};
use crate::template::Draft;

/// Headers that follow from something else, which OpenAPI ignores as parameters, too.
const FOLLOWING: [&str; 5] = ["accept", "content-type", "authorization", "content-length", "host"];

/// A flow while it is put together.
struct Maker<'d, 'a> {
    description: &'d mut Description<'a>,
    names: Names,
    variables: Vec<(String, String)>,
    given: &'d [(String, String)],
    line: usize,
}

/// The flow called `name` for `method` of `path`, which `own` of `item` describes.
pub(super) fn flow<'a>(
    description: &mut Description<'a>,
    name: String,
    method: &str,
    path: &str,
    item: &'a Node,
    own: &'a Node,
    context: &Context<'_>,
) -> Result<Flow, Problem> {
    let line = own.line;
    let mut maker =
        Maker { description, names: Names::default(), variables: Vec::new(), given: context.variables, line };
    let parameters = maker.parameters(item, own);
    let mut target = maker.path(path, &parameters);
    let mut headers = Vec::new();
    let mut cookies = Vec::new();
    let mut joint = "?";
    for parameter in parameters {
        let Some(parameter_name) = parameter.text_of("name") else { continue };
        let sample = maker.description.sample_of(parameter);
        if !parameter.is("required") && !sample.is_given {
            continue;
        }
        match parameter.text_of("in") {
            Some("query") => {
                for value in values(&sample.value) {
                    target.push(&format!("{joint}{}=", utf8_percent_encode(parameter_name, UNRESERVED)));
                    joint = "&";
                    maker.push(&mut target, parameter_name, value, sample.is_given, parameter.line);
                }
            }
            Some("header") if !FOLLOWING.contains(&parameter_name.to_ascii_lowercase().as_str()) => {
                let mut draft = Draft::default();
                let value = values(&sample.value).into_iter().next().unwrap_or_default();
                maker.push(&mut draft, parameter_name, value, sample.is_given, parameter.line);
                headers.push((parameter_name.to_owned(), written(&draft, parameter.line)?));
            }
            Some("cookie") => {
                let mut draft = Draft::literal(&format!("{parameter_name}="));
                let value = values(&sample.value).into_iter().next().unwrap_or_default();
                maker.push(&mut draft, parameter_name, value, sample.is_given, parameter.line);
                cookies.push(written(&draft, parameter.line)?);
            }
            _ => {}
        }
    }
    maker.security(own, &mut target, joint, &mut headers, &mut cookies)?;
    if !cookies.is_empty() {
        headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    let body = maker.body(own, &mut headers)?;
    let mut step = Step {
        name: name.clone(),
        headers,
        body,
        ..Step::bare(&method.to_ascii_uppercase(), written(&target, line)?)
    };
    if let Some(status) = good(own) {
        step.checks.status = status;
    }
    let mut variables = maker.variables;
    variables.sort();
    Ok(Flow { name, weight: 1, pacing: std::time::Duration::ZERO, variables, steps: vec![step] })
}

fn written(draft: &Draft, line: usize) -> Result<String, Problem> {
    draft.text().ok_or_else(|| {
        at(line, Problem::new("a value stands in braces of its own", "give it an `example` without braces"))
    })
}

/// The values of a parameter: of a list each.
fn values(sample: &Node) -> Vec<String> {
    let value = |node: &Node| node.scalar().unwrap_or_else(|| node.written());
    match &sample.value {
        Json::List(items) => items.iter().map(value).collect(),
        Json::Null => vec![String::new()],
        _ => vec![value(sample)],
    }
}

/// The status codes below 400 that the operation describes.
fn good(own: &Node) -> Option<StatusSet> {
    let codes = own.field("responses").map(Node::fields).unwrap_or_default();
    let codes: Vec<&str> = codes
        .iter()
        .map(|(code, _)| code.as_str())
        .filter(|code| code.starts_with(['2', '3']) && code.len() == 3)
        .collect();
    StatusSet::parse(&codes.join(",").to_ascii_lowercase()).ok().filter(|_| !codes.is_empty())
}

impl<'a> Maker<'_, 'a> {
    /// The parameters of a path and its operation; those of the operation replace those of the path.
    fn parameters(&self, item: &'a Node, own: &'a Node) -> Vec<&'a Node> {
        let all = [own, item].into_iter().filter_map(|owner| owner.field("parameters")).flat_map(Node::items);
        let mut parameters: Vec<&Node> = Vec::new();
        for parameter in all.map(|parameter| self.description.resolved(parameter)) {
            let key =
                |one: &Node| (one.text_of("name").map(str::to_owned), one.text_of("in").map(str::to_owned));
            if parameters.iter().all(|known| key(known) != key(parameter)) {
                parameters.push(parameter);
            }
        }
        parameters
    }

    /// `path` with a variable for each `{name}` in it.
    fn path(&mut self, path: &str, parameters: &[&'a Node]) -> Draft {
        let mut draft = Draft::default();
        let mut rest = path;
        while let Some((before, inner)) = rest.split_once('{') {
            let Some((name, after)) = inner.split_once('}') else { break };
            draft.push(&utf8_percent_encode(before, NOT_IN_PATH).to_string());
            let parameter = parameters
                .iter()
                .copied()
                .find(|one| one.text_of("name") == Some(name) && one.text_of("in") == Some("path"));
            let sample = parameter.map(|parameter| self.description.sample_of(parameter));
            let value = sample.as_ref().and_then(|sample| values(&sample.value).into_iter().next());
            let is_given = sample.is_some_and(|sample| sample.is_given);
            let line = parameter.map_or(self.line, |parameter| parameter.line);
            self.push(&mut draft, name, value.unwrap_or_default(), is_given, line);
            rest = after;
        }
        draft.push(&utf8_percent_encode(rest, NOT_IN_PATH).to_string());
        draft
    }

    /// Adds the variable `name` to `draft`; its value is `value` unless one was typed.
    fn push(&mut self, draft: &mut Draft, name: &str, value: String, is_given: bool, line: usize) {
        let mut own = self.names.of(name);
        let typed = self.given.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        if typed.is_none() && !is_given {
            let what = format!("the value of {name}");
            self.description.left_out.push(left_out(line, what, "no example is given: it is made up"));
        }
        let Some(text) = Draft::literal(&typed.unwrap_or(value)).text() else { return };
        // A list has several values of one name.
        let known = self.variables.iter().find(|(known, _)| *known == own);
        if known.is_some_and(|(_, known)| *known != text) {
            own = self.names.of(&format!("{name} {}", self.variables.len() + 1));
        }
        if !self.variables.iter().any(|(known, _)| *known == own) {
            self.variables.push((own.clone(), text));
        }
        draft.push_name(&own, None);
    }

    /// A variable that only the person who runs the load knows.
    fn secret(&mut self, draft: &mut Draft, name: &str) {
        let own = self.names.of(name);
        let typed = self.given.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        if typed.is_none() && self.description.unset.insert(own.clone()) {
            let what = format!("the value of {own}");
            self.description.left_out.push(left_out(
                self.line,
                what,
                "set it with --variable, or under `variables`",
            ));
        }
        let text = Draft::literal(&typed.unwrap_or_default()).text().unwrap_or_default();
        self.variables.push((own.clone(), text));
        draft.push_name(&own, None);
    }

    /// The first of the ways in which the operation wants to know who asks.
    fn security(
        &mut self,
        own: &'a Node,
        target: &mut Draft,
        joint: &str,
        headers: &mut Vec<(String, String)>,
        cookies: &mut Vec<String>,
    ) -> Result<(), Problem> {
        let root = self.description.root;
        let Some(wanted) = own.field("security").or_else(|| root.field("security")) else { return Ok(()) };
        let first = wanted.items().first().map(Node::fields).unwrap_or_default();
        let mut joint = joint;
        for (name, at_line) in first {
            let scheme = root.field("components").and_then(|all| all.field("securitySchemes")?.field(name));
            let Some(scheme) = scheme.map(|scheme| self.description.resolved(scheme)) else { continue };
            let line = at_line.line;
            let key = scheme.text_of("name").unwrap_or("key");
            let kind = (scheme.text_of("type"), scheme.text_of("in"), scheme.text_of("scheme"));
            match kind {
                (Some("apiKey"), Some("query"), _) => {
                    target.push(&format!("{joint}{}=", utf8_percent_encode(key, UNRESERVED)));
                    joint = "&";
                    self.secret(target, name);
                }
                (Some("apiKey"), Some("cookie"), _) => {
                    let mut draft = Draft::literal(&format!("{key}="));
                    self.secret(&mut draft, name);
                    cookies.push(written(&draft, line)?);
                }
                (Some("apiKey"), _, _) => {
                    let mut draft = Draft::default();
                    self.secret(&mut draft, name);
                    headers.push((key.to_owned(), written(&draft, line)?));
                }
                (Some("http"), _, Some(scheme)) if scheme.eq_ignore_ascii_case("basic") => {
                    let mut draft = Draft::literal("Basic ");
                    let mut password = Draft::default();
                    self.secret(&mut password, name);
                    for (own, _) in &self.variables {
                        if password.names().any(|known| known == own) {
                            draft.push_name(own, Some(prony_model::Escape::Base64));
                        }
                    }
                    headers.push(("Authorization".to_owned(), written(&draft, line)?));
                }
                (Some("http" | "oauth2" | "openIdConnect"), _, _) => {
                    let mut draft = Draft::literal("Bearer ");
                    self.secret(&mut draft, name);
                    headers.push(("Authorization".to_owned(), written(&draft, line)?));
                }
                (other, _, _) => {
                    let what = format!("authorization by {}", other.unwrap_or(name));
                    self.description.left_out.push(left_out(line, what, "the request is sent without it"));
                }
            }
        }
        Ok(())
    }

    fn body(&mut self, own: &'a Node, headers: &mut Vec<(String, String)>) -> Result<StepBody, Problem> {
        let Some(body) = own.field("requestBody").map(|body| self.description.resolved(body)) else {
            return Ok(StepBody::None);
        };
        let content = body.field("content").map(Node::fields).unwrap_or_default();
        let is_json = |kind: &str| kind.starts_with("application/json") || kind.contains("+json");
        let rank = |kind: &str| match kind {
            kind if is_json(kind) => 0,
            "application/x-www-form-urlencoded" => 1,
            "multipart/form-data" => 2,
            _ => 3,
        };
        let Some((kind, media)) = content.iter().min_by_key(|(kind, _)| rank(kind)) else {
            return Ok(StepBody::None);
        };
        let sample = self.description.sample_of(media);
        let line = media.line;
        let fields = sample.value.fields();
        match rank(kind) {
            0 => {
                if kind != "application/json" {
                    headers.push(("Content-Type".to_owned(), kind.clone()));
                }
                // An example may be a text with JSON in it.
                let text = match &sample.value.value {
                    Json::Text(text) if crate::json::parse(text).is_ok() => text.clone(),
                    _ => sample.value.written(),
                };
                written(&Draft::literal(&text), line).map(StepBody::Json)
            }
            1 => {
                let field = |(name, value): &(String, Node)| -> Result<(String, String), Problem> {
                    let value = value.scalar().unwrap_or_else(|| value.written());
                    Ok((name.clone(), written(&Draft::literal(&value), line)?))
                };
                fields.iter().map(field).collect::<Result<_, _>>().map(StepBody::Form)
            }
            2 => {
                let part = |(name, value): &(String, Node)| -> Result<Part, Problem> {
                    let value = value.scalar().unwrap_or_else(|| value.written());
                    let content = PartContent::Text(written(&Draft::literal(&value), line)?);
                    Ok(Part { name: name.clone(), content, file_name: None, content_type: None })
                };
                fields.iter().map(part).collect::<Result<_, _>>().map(StepBody::Multipart)
            }
            _ => {
                if let Some(text) = sample.value.text().filter(|_| sample.is_given) {
                    headers.push(("Content-Type".to_owned(), kind.clone()));
                    written(&Draft::literal(text), line).map(StepBody::Text)
                } else {
                    let what = format!("the body, {kind}");
                    self.description.left_out.push(left_out(
                        line,
                        what,
                        "no example is given: it is sent empty",
                    ));
                    Ok(StepBody::None)
                }
            }
        }
    }
}
