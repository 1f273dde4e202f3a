//! OpenAPI 3.0 and 3.1 (<https://spec.openapis.org/oas/v3.1.0>), as JSON: a skeleton, with one flow for each operation.
//!
//! Parameters become variables of the flow, with the example that the description gives or, where it gives none, a value
//! that fits the schema; these are listed, since no server knows them. Bodies are examples, or made from the schema.

mod operation;
mod sample;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use prony_model::{Flow, Problem, Scenario};

use crate::LeftOut;
use crate::json::{self, Node};
use crate::scenario::{Context, ImportedScenario, check_size, left_out, slug, unique};

/// Methods of a path.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
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
    let root = json::parse(text)?;
    check_version(&root)?;
    let mut description = Description { root: &root, left_out: Vec::new(), unset: BTreeSet::new() };
    let base = base(&mut description);
    let mut flows: Vec<Flow> = Vec::new();
    let mut names = BTreeSet::new();
    let paths = root.field("paths").map(Node::fields).unwrap_or_default();
    for (path, item) in paths {
        let item = description.resolved(item);
        for (method, own) in item.fields().iter().filter(|(method, _)| METHODS.contains(&method.as_str())) {
            let wanted = own.text_of("operationId").map_or_else(|| format!("{method} {path}"), str::to_owned);
            let name = unique(&slug(&wanted, '-', "operation"), '-', &mut names);
            flows.push(operation::flow(&mut description, name, method, path, item, own, context)?);
        }
    }
    if flows.is_empty() {
        return Err(Problem::new("there is no operation in this description", "import one that has `paths`"));
    }
    if flows.len() > Scenario::FLOWS_MAX {
        let what =
            format!("{} operations are more than the {} of one scenario", flows.len(), Scenario::FLOWS_MAX);
        return Err(Problem::new(what, "take some of the paths out of the file"));
    }
    let scenario = Scenario { name: context.name.to_owned(), cookies: false, feeds: Vec::new(), flows };
    let Description { left_out, unset, .. } = description;
    ImportedScenario { scenario, base, unset: unset.into_iter().collect(), left_out }.checked()
}

/// Whether `root` says that it is a description.
pub(crate) fn is_description(root: &Node) -> bool {
    root.field("openapi").is_some() || root.field("swagger").is_some()
}

fn check_version(root: &Node) -> Result<(), Problem> {
    match (root.text_of("openapi"), root.field("swagger")) {
        (Some(version), _) if version.starts_with("3.0") || version.starts_with("3.1") => Ok(()),
        (Some(version), _) => {
            Err(Problem::new(format!("OpenAPI {version} is not supported"), "3.0 and 3.1 are"))
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
        description.left_out.push(left_out(server.line, what, "it names no host: give one with --base"));
        return None;
    }
    Some(url.trim_end_matches('/').to_owned())
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
