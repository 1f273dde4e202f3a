//! The body of a request in a collection.

use prony_model::{Part, PartContent, Problem, StepBody};

use super::template;
use crate::json::Node;
use crate::scenario::{at, left_out};
use crate::session::{Session, json_text, unread};
use crate::template::Draft;

/// The body that `body` describes.
pub(super) fn body(
    session: &mut Session,
    body: &Node,
    headers: &mut Vec<(String, String)>,
) -> Result<StepBody, Problem> {
    match body.text_of("mode") {
        Some("raw") => raw(session, body, headers),
        Some("urlencoded") => form(session, body),
        Some("formdata") => multipart(session, body),
        Some("graphql") => graphql(session, body),
        Some("file") => Ok(file(session, body)),
        _ => Ok(StepBody::None),
    }
}

fn raw(session: &mut Session, body: &Node, headers: &mut Vec<(String, String)>) -> Result<StepBody, Problem> {
    let Some(text) = body.text_of("raw").filter(|text| !text.is_empty()) else { return Ok(StepBody::None) };
    let line = body.line;
    let language = body.field("options").and_then(|options| options.field("raw")?.text_of("language"));
    let own = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let own = own.map(|(_, kind)| kind.to_ascii_lowercase());
    let is_json = match &own {
        Some(kind) => kind.contains("json"),
        None => language == Some("json"),
    };
    if is_json {
        let draft = session.values.json(text).map_err(|problem| at(line, problem))?;
        return session.written(&draft, line).map(StepBody::Json);
    }
    if own.is_none() {
        let kind = match language {
            Some("xml") => "application/xml",
            Some("html") => "text/html",
            Some("javascript") => "application/javascript",
            _ => "text/plain",
        };
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    let draft = template(session, text, None, line)?;
    session.written(&draft, line).map(StepBody::Text)
}

/// The entries of the list `name` that are not turned off.
fn entries<'a>(body: &'a Node, name: &str) -> impl Iterator<Item = &'a Node> {
    let all = body.field(name).map(Node::items).unwrap_or_default();
    all.iter().filter(|one| !one.is("disabled"))
}

fn form(session: &mut Session, body: &Node) -> Result<StepBody, Problem> {
    let mut fields = Vec::new();
    for field in entries(body, "urlencoded") {
        let value = template(session, field.text_of("value").unwrap_or_default(), None, field.line)?;
        let value = session.written(&value, field.line)?;
        fields.push((field.text_of("key").unwrap_or_default().to_owned(), value));
    }
    Ok(if fields.is_empty() { StepBody::None } else { StepBody::Form(fields) })
}

fn multipart(session: &mut Session, body: &Node) -> Result<StepBody, Problem> {
    let mut parts = Vec::new();
    for field in entries(body, "formdata") {
        let name = field.text_of("key").unwrap_or_default().to_owned();
        let content_type = field.text_of("contentType").filter(|kind| !kind.is_empty()).map(str::to_owned);
        if field.text_of("type") != Some("file") {
            let value = template(session, field.text_of("value").unwrap_or_default(), None, field.line)?;
            let content = PartContent::Text(session.written(&value, field.line)?);
            parts.push(Part { name, content, file_name: None, content_type });
            continue;
        }
        let source = field.field("src");
        let files: Vec<&str> = source
            .and_then(Node::text)
            .into_iter()
            .chain(source.map(Node::items).unwrap_or_default().iter().filter_map(Node::text))
            .collect();
        if files.is_empty() {
            session.left_out.push(left_out(field.line, format!("the file of {name}"), "none is chosen"));
        }
        for path in files {
            let content = PartContent::File(unread(path));
            parts.push(Part {
                name: name.clone(),
                content,
                file_name: None,
                content_type: content_type.clone(),
            });
        }
    }
    Ok(if parts.is_empty() { StepBody::None } else { StepBody::Multipart(parts) })
}

fn graphql(session: &mut Session, body: &Node) -> Result<StepBody, Problem> {
    let Some(graphql) = body.field("graphql") else { return Ok(StepBody::None) };
    let query = template(session, graphql.text_of("query").unwrap_or_default(), None, graphql.line)?;
    let mut draft = Draft::literal("{\"query\": \"");
    draft.append(&query.map(json_text));
    draft.push("\"");
    // They are a text with JSON in it.
    if let Some(variables) = graphql.text_of("variables").filter(|text| !text.trim().is_empty()) {
        draft.push(", \"variables\": ");
        draft.append(&session.values.json(variables).map_err(|problem| at(graphql.line, problem))?);
    }
    draft.push("}");
    session.written(&draft, graphql.line).map(StepBody::Json)
}

fn file(session: &mut Session, body: &Node) -> StepBody {
    if let Some(path) = body.field("file").and_then(|file| file.text().or_else(|| file.text_of("src"))) {
        StepBody::File(unread(path))
    } else {
        session.left_out.push(left_out(body.line, "the file of the body", "none is chosen"));
        StepBody::None
    }
}
