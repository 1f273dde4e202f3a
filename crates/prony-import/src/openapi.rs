//! OpenAPI 3.0 to 3.2 (<https://spec.openapis.org/oas/v3.1.0>), as JSON or YAML: a skeleton, with one flow for each operation.
//!
//! Parameters become variables of the flow, with the example that the description gives or, where it gives none, a value
//! that fits the schema; these are listed, since no server knows them. Bodies are examples, or made from the schema.

mod operation;
mod sample;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use prony_model::{Flow, Problem, Scenario, SessionConnections};

use crate::json::{self, Node};
use crate::scenario::{Context, ImportedScenario, Taken, check_size, left_out, slug};
use crate::session::shown;
use crate::{LeftOut, yaml};

/// Methods of a path.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// References that lead out of the file, of which each is listed.
const FOREIGN_MAX: usize = 20;
/// References that lead to references.
const REFERENCES_MAX: usize = 16;

/// A description, and what is made of it.
struct Description<'a> {
    root: &'a Node,
    left_out: Vec<LeftOut>,
    /// Variables without an example, in the words of their flows.
    unset: BTreeSet<String>,
}

/// Reads `text`, a description of a service.
///
/// # Errors
/// What is wrong with the file, or can't be part of a load.
pub fn read_openapi(text: &str, context: &Context<'_>) -> Result<ImportedScenario, Problem> {
    check_size(text)?;
    let root = parse(text)?;
    check_version(&root)?;
    let mut description = Description { root: &root, left_out: Vec::new(), unset: BTreeSet::new() };
    let base = base(&mut description);
    let mut foreign = BTreeSet::new();
    list_foreign(&mut description, &root, &mut foreign);
    let mut flows: Vec<Flow> = Vec::new();
    // The lines of operations that have no room.
    let mut beyond: Vec<usize> = Vec::new();
    let mut names = Taken::default();
    let paths = root.field("paths").map(Node::fields).unwrap_or_default();
    for (path, item) in paths {
        let item = description.resolved(item);
        list_servers(&mut description, path, item);
        for (method, own) in item.fields().iter().filter(|(method, _)| METHODS.contains(&method.as_str())) {
            list_servers(&mut description, path, own);
            let wanted = own.text_of("operationId").map_or_else(|| format!("{method} {path}"), str::to_owned);
            let name = names.unique(&slug(&wanted, '-', "operation"), '-');
            if flows.len() == Scenario::FLOWS_MAX {
                beyond.push(own.line);
                continue;
            }
            flows.push(operation::flow(&mut description, name, method, path, item, own, context)?);
        }
    }
    if let Some(first) = beyond.first() {
        let what = format!("{} operations from here on", beyond.len());
        description.left_out.push(left_out(*first, what, "a scenario has up to 256"));
    }
    if flows.is_empty() {
        return Err(Problem::new("there is no operation in this description", "import one that has `paths`"));
    }
    let scenario = Scenario {
        name: context.name.to_owned(),
        cookies: false,
        connections: SessionConnections::Shared,
        feeds: Vec::new(),
        flows,
    };
    let Description { left_out, unset, .. } = description;
    ImportedScenario { scenario, base, unset: unset.into_iter().collect(), left_out }.checked()
}

/// JSON or YAML: the first character tells them apart for all but a mapping of YAML in braces.
pub(crate) fn parse(text: &str) -> Result<Node, Problem> {
    let start = text.trim_start_matches(|one: char| one.is_whitespace() || one == '\u{feff}');
    if start.starts_with('{') { json::parse(text) } else { yaml::parse(text) }
}

/// Whether `root` says that it is a description.
pub(crate) fn is_description(root: &Node) -> bool {
    root.field("openapi").is_some() || root.field("swagger").is_some()
}

fn check_version(root: &Node) -> Result<(), Problem> {
    match (root.text_of("openapi"), root.field("swagger")) {
        (Some(version), _) if ["3.0", "3.1", "3.2"].iter().any(|known| version.starts_with(known)) => Ok(()),
        (Some(version), _) => {
            Err(Problem::new(format!("OpenAPI {version} is not supported"), "3.0, 3.1 and 3.2 are"))
        }
        (None, Some(_)) => {
            Err(Problem::new("this is Swagger 2.0", "convert it to OpenAPI 3: npx swagger2openapi FILE"))
        }
        (None, None) => Err(Problem::new("this is not an OpenAPI description", "it has no `openapi`")),
    }
}

/// The first server, with the defaults of its variables; `None` where it names no host.
fn base(description: &mut Description<'_>) -> Option<String> {
    let server = description.root.field("servers").map(Node::items).unwrap_or_default().first()?;
    let mut url = server.text_of("url")?.to_owned();
    for (name, variable) in server.field("variables").map(Node::fields).unwrap_or_default() {
        let default = variable.field("default").and_then(Node::scalar).unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), &default);
    }
    let is_whole = (url.starts_with("http://") || url.starts_with("https://")) && !url.contains(['{', '?']);
    if !is_whole {
        let what = format!("the server {url}");
        description.left_out.push(left_out(
            server.line,
            what,
            "it names no host: give it with --base, and this path behind it",
        ));
        return None;
    }
    Some(url.trim_end_matches('/').to_owned())
}

/// Lists the servers that a path or an operation has of its own.
fn list_servers(description: &mut Description<'_>, path: &str, owner: &Node) {
    if let Some(servers) = owner.field("servers").filter(|servers| !servers.items().is_empty()) {
        let what = format!("the servers of {path}");
        description.left_out.push(left_out(servers.line, what, "all requests go to that of the whole file"));
    }
}

/// Lists references to other files, which are not read, and those that lead nowhere.
fn list_foreign(description: &mut Description<'_>, node: &Node, known: &mut BTreeSet<String>) {
    for (name, inner) in node.fields() {
        let reference = inner.text().filter(|_| name == "$ref");
        if let Some(reference) = reference.filter(|reference| description.referred(reference).is_none())
            && known.len() < FOREIGN_MAX
            && known.insert(reference.to_owned())
        {
            let what = format!("what {} refers to", shown(reference));
            description.left_out.push(left_out(inner.line, what, "it is not in this file"));
        }
        // An example is a value of its own.
        if !["example", "examples", "default", "enum", "const"].contains(&name.as_str()) {
            list_foreign(description, inner, known);
        }
    }
    for item in node.items() {
        list_foreign(description, item, known);
    }
}

impl<'a> Description<'a> {
    /// `node`, or what it refers to within the file.
    fn resolved(&self, node: &'a Node) -> &'a Node {
        let mut node = node;
        for _ in 0..REFERENCES_MAX {
            let target = node.text_of("$ref").and_then(|reference| self.referred(reference));
            match target {
                Some(target) => node = target,
                None => break,
            }
        }
        node
    }

    /// What `#/a/b` stands for.
    fn referred(&self, reference: &str) -> Option<&'a Node> {
        let pointer = reference.strip_prefix("#/")?;
        pointer.split('/').try_fold(self.root, |node, part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            node.field(&part)
        })
    }
}
