//! Postman collections of version 2 (<https://schema.postman.com/collection/json/v2.1.0/>): every request, in the order
//! of the folders, is a step of one session, as in a run of the collection.
//!
//! Scripts are text here and never run: they are listed. A variable that only a script sets has no value then, and is
//! listed, too.

mod body;
#[cfg(test)]
mod tests;

use percent_encoding::utf8_percent_encode;
use prony_model::{Escape, Generated, Problem, Step};

use crate::ImportedScenario;
use crate::json::{self, Json, Node};
use crate::scenario::{Context, at, check_size, left_out};
use crate::session::{NOT_IN_PATH, Session, Split, UNRESERVED, shown};
use crate::template::Draft;

/// Folders within each other.
const DEPTH_MAX: usize = 32;

/// Reads `text`, a collection.
///
/// # Errors
/// What is wrong with the file, or can't be part of a load, with its line.
pub fn read_postman(text: &str, context: &Context<'_>) -> Result<ImportedScenario, Problem> {
    check_size(text)?;
    let root = json::parse(text)?;
    if !is_collection(&root) {
        let what = "this is not a Postman collection of version 2";
        return Err(Problem::new(what, "export it from Postman as Collection v2.1"));
    }
    let mut session = Session::new(made, |name| !name.is_empty(), context.variables);
    variables(&mut session, &root);
    scripts(&mut session, &root);
    items(&mut session, &root, "", root.field("auth"), 0)?;
    if session.steps.is_empty() {
        return Err(Problem::new("there is no request in this collection", "export the whole collection"));
    }
    session.finish(context.name)?.checked()
}

/// Whether `root` says that it is a collection.
pub(crate) fn is_collection(root: &Node) -> bool {
    let schema = root.field("info").and_then(|info| info.text_of("schema"));
    root.field("item").is_some() && schema.is_some_and(|schema| schema.contains("/collection/v2"))
}

/// What Postman makes itself.
fn made(name: &str) -> Option<Generated> {
    match name {
        "$guid" | "$randomUUID" => Some(Generated::Uuid),
        "$timestamp" => Some(Generated::UnixSeconds),
        "$isoTimestamp" => Some(Generated::Time),
        "$randomInt" => Some(Generated::Whole { low: 0, high: 1000 }),
        "$randomAlphaNumeric" => Some(Generated::Letters(1)),
        "$randomPassword" => Some(Generated::Letters(15)),
        _ => None,
    }
}

fn variables(session: &mut Session, owner: &Node) {
    for variable in owner.field("variable").map(Node::items).unwrap_or_default() {
        let name = variable.text_of("key").or_else(|| variable.text_of("id"));
        let value = variable.field("value").and_then(Node::scalar);
        let (Some(name), Some(value)) = (name.filter(|_| !variable.is("disabled")), value) else { continue };
        // What has no value is set by a script or an environment.
        if !value.is_empty() && !session.set(name, &value) {
            // A value that was typed, or that of the collection, is used everywhere.
            session.left_out.push(left_out(
                variable.line,
                format!("the value of {name}"),
                "it has another one already, which is used",
            ));
        }
    }
}

fn scripts(session: &mut Session, owner: &Node) {
    for event in owner.field("event").map(Node::items).unwrap_or_default() {
        let script = event.field("script").and_then(|script| script.field("exec"));
        let has_lines = script.is_some_and(|exec| {
            exec.text().is_some_and(|text| !text.trim().is_empty())
                || exec.items().iter().any(|line| line.text().is_some_and(|text| !text.trim().is_empty()))
        });
        if has_lines {
            let kind = event.text_of("listen").unwrap_or("test").to_owned();
            session.left_out.push(left_out(event.line, format!("a {kind} script"), "it is not run"));
        }
    }
}

fn items(
    session: &mut Session,
    owner: &Node,
    folder: &str,
    auth: Option<&Node>,
    depth: usize,
) -> Result<(), Problem> {
    if depth > DEPTH_MAX {
        return Err(at(
            owner.line,
            Problem::new("folders within folders are too deep", format!("use {DEPTH_MAX} levels or fewer")),
        ));
    }
    for item in owner.field("item").map(Node::items).unwrap_or_default() {
        let own_name = item.text_of("name").unwrap_or_default();
        let name = format!("{folder}{own_name}");
        scripts(session, item);
        variables(session, item);
        if item.field("item").is_some() {
            items(session, item, &format!("{name} "), inherited(item, auth), depth + 1)?;
        } else if let Some(request) = item.field("request") {
            let step = step(session, request, inherited(request, auth))?;
            session.add(&name, step);
        }
    }
    Ok(())
}

/// The authorization of `owner`, or that of its folder.
fn inherited<'a>(owner: &'a Node, folder: Option<&'a Node>) -> Option<&'a Node> {
    owner.field("auth").filter(|auth| auth.value != Json::Null).or(folder)
}

fn step(session: &mut Session, request: &Node, auth: Option<&Node>) -> Result<Step, Problem> {
    if let Some(url) = request.text() {
        let path = path(session, url, request)?;
        return Ok(Step::bare("GET", path));
    }
    let url = request.field("url").ok_or_else(|| {
        at(
            request.line,
            Problem::new("a request has no URL", "give it one, or delete it from the collection"),
        )
    })?;
    let path = path(session, &raw_url(url), url)?;
    let method = request.text_of("method").unwrap_or("GET").to_owned();
    let mut headers = Vec::new();
    for header in request.field("header").map(Node::items).unwrap_or_default() {
        let (Some(name), false) = (header.text_of("key"), header.is("disabled")) else { continue };
        let line = header.line;
        if ["content-length", "transfer-encoding", "expect", "host"]
            .contains(&name.to_ascii_lowercase().as_str())
        {
            session.left_out.push(left_out(
                line,
                format!("the header {name}"),
                "it follows from the request",
            ));
            continue;
        }
        let value = header.text_of("value").unwrap_or_default();
        let value = template(session, value, None, line)?;
        headers.push((name.trim().to_owned(), session.written(&value, line)?));
    }
    let mut step = Step { headers, ..Step::bare(&method, path) };
    if let Some(auth) = auth {
        authorize(session, auth, &mut step)?;
    }
    if let Some(own) = request.field("body").filter(|body| !body.is("disabled")) {
        step.body = body::body(session, own, &mut step.headers)?;
    }
    Ok(step)
}

/// The template that `text` in line `line` is.
fn template(
    session: &mut Session,
    text: &str,
    escape: Option<Escape>,
    line: usize,
) -> Result<Draft, Problem> {
    session.values.template(text, escape).map_err(|problem| at(line, problem))
}

/// A URL as it was typed, or put together again.
fn raw_url(url: &Node) -> String {
    if let Some(raw) = url.text().or_else(|| url.text_of("raw")) {
        return raw.to_owned();
    }
    let joined = |name: &str, joint: &str| match url.field(name) {
        None => String::new(),
        Some(field) => {
            if let Some(text) = field.text() {
                text.to_owned()
            } else {
                let parts = field
                    .items()
                    .iter()
                    .map(|part| part.text().or_else(|| part.text_of("value")).unwrap_or_default().to_owned());
                parts.collect::<Vec<_>>().join(joint)
            }
        }
    };
    let protocol = url.text_of("protocol").map_or_else(String::new, |protocol| format!("{protocol}://"));
    let port = url.text_of("port").map_or_else(String::new, |port| format!(":{port}"));
    let query =
        url.field("query").map(Node::items).unwrap_or_default().iter().filter(|one| !one.is("disabled"));
    let query: Vec<String> = query
        .map(|one| {
            format!("{}={}", one.text_of("key").unwrap_or_default(), one.text_of("value").unwrap_or_default())
        })
        .collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{protocol}{}{port}/{}{query}", joined("host", "."), joined("path", "/"))
}

/// The path of `raw`; `url` has the values of `:name` in it.
fn path(session: &mut Session, raw: &str, url: &Node) -> Result<String, Problem> {
    let line = url.line;
    let Split { rest, user } = session.split(raw.trim(), line)?;
    if let Some(user) = user {
        let what = format!("the name and the password `{}` in the URL", shown(&user));
        session.left_out.push(left_out(line, what, "set the authorization of the request"));
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let mut draft = Draft::default();
    for segment in path.split('/').skip(usize::from(path.starts_with('/'))) {
        draft.push("/");
        let value = segment.strip_prefix(':').filter(|name| !name.is_empty()).map(|name| {
            let all = url.field("variable").map(Node::items).unwrap_or_default();
            let found =
                all.iter().find(|one| one.text_of("key") == Some(name) || one.text_of("id") == Some(name));
            let value = found.and_then(|one| one.field("value")).and_then(Node::scalar);
            value.filter(|value| !value.is_empty()).unwrap_or_else(|| format!("{{{{{name}}}}}"))
        });
        let part = template(session, value.as_deref().unwrap_or(segment), Some(Escape::Raw), line)?;
        draft.append(&part.map(|text| utf8_percent_encode(text, NOT_IN_PATH).to_string()));
    }
    if let Some(query) = query {
        draft.push("?");
        // Postman encodes what it sends; what is encoded already stays so.
        let part = template(session, query, None, line)?;
        draft.append(&part.map(|text| utf8_percent_encode(text, NOT_IN_PATH).to_string()));
    }
    session.written(&draft, line)
}

fn authorize(session: &mut Session, auth: &Node, step: &mut Step) -> Result<(), Problem> {
    let line = auth.line;
    let kind = auth.text_of("type").unwrap_or("noauth").to_owned();
    let parameter = |name: &str| -> String {
        let Some(list) = auth.field(&kind) else { return String::new() };
        // Version 2.0 has an object here, 2.1 a list.
        let found = list.field(name).and_then(Node::scalar).or_else(|| {
            let one = list.items().iter().find(|one| one.text_of("key") == Some(name))?;
            one.field("value").and_then(Node::scalar)
        });
        found.unwrap_or_default()
    };
    let (name, value) = match kind.as_str() {
        "noauth" => return Ok(()),
        "bearer" => {
            let token = template(session, &format!("Bearer {}", parameter("token")), None, line)?;
            ("Authorization".to_owned(), session.written(&token, line)?)
        }
        "basic" => {
            let both = format!("{}:{}", parameter("username"), parameter("password"));
            let both = template(session, &both, None, line)?;
            ("Authorization".to_owned(), session.basic(&both, line)?)
        }
        "apikey" => {
            let (key, value) = (parameter("key"), parameter("value"));
            let value = template(session, &value, None, line)?;
            let value = session.written(&value, line)?;
            if parameter("in") == "query" {
                let joint = if step.path.contains('?') { '&' } else { '?' };
                step.path = format!("{}{joint}{}={value}", step.path, utf8_percent_encode(&key, UNRESERVED));
                return Ok(());
            }
            (key, value)
        }
        other => {
            let what = format!("authorization by {other}");
            session.left_out.push(left_out(line, what, "the request is sent without it"));
            return Ok(());
        }
    };
    step.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(&name));
    step.headers.push((name, value));
    Ok(())
}
