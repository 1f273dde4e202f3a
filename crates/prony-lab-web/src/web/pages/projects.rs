//! `/projects` and `/project/{name}`: what the lab builds. An administrator writes it down here; forms only choose from it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format, mistakes};
use crate::http::{Principal, WebError, own_address};
use crate::web::fields::{Fields, PathParam, QueryParams};
use prony_lab_core::access::spawn_blocking;
use prony_lab_core::actions::projects::Registration;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{BuildId, Cache, Definition, FieldMistake, Origin, Proposal, Role};
use prony_lab_store::projects::{self, Project};
use prony_lab_store::statuses::{self, Delivery, SentStatus};
use prony_lab_store::{StoreError, Tx, caches};

/// Statuses of commits on the page of a project.
const STATUSES: u32 = 5;
/// Of a commit on the page.
const COMMIT_DIGITS: usize = 12;

/// What a new definition begins as.
const BEGINNING: &str = "\
repository = \"https://example.org/server.git\"
study = \"bench/prony.toml\"

[[task]]
name = \"compile\"
command = \"make release\"
always = true

[[task]]
name = \"test\"
command = \"make test\"
";

/// All that may stand in one; a test reads it.
const EXAMPLE: &str = "\
title = \"Our server\"                      # for people
repository = \"https://example.org/team/server.git\"  # or: folder = \"/srv/server\"
branch = \"main\"                           # its good builds are the baseline
study = \"bench/prony.toml\"                # in the project's files; without one nothing is measured
variants = [\"release\", \"debug\"]           # tasks and study see the choice as PRONY_VARIANT
queue = \"24h\"                             # how long a build waits for its turn

[[task]]                                  # in this order; each ends the build where it fails
name = \"compile\"
command = \"make $PRONY_VARIANT\"
always = true                             # also where a request names other tasks
time = \"20m\"

[[task]]
name = \"test\"
command = \"make test\"

[limits]                                  # of one build
time = \"2h\"
memory = \"4GiB\"
disk = \"8GiB\"
output = \"8MiB\"
processes = 1024

[environment]                             # of every task, the study and what it starts; secrets stand elsewhere
RUSTFLAGS = \"-C target-cpu=native\"

[[cache]]                                 # a folder that is kept between builds; the study does not see it
name = \"cargo\"
path = \"~/.cargo/registry\"              # below the home of builds, or below the project's files
limit = \"4GiB\"                          # one with more after a build is emptied

[gate]                                    # prony lab gate
repeats = 2                               # how often a result is repeated that is neither for nor against the commit

[trigger]                                 # builds that nobody asks for
push = \"PUSH\"                            # a secret of the lab that signs a code host's webhook to /push/PROJECT
branches = [\"main\", \"release/*\"]         # whose pushes count; without them, those of the branch above
poll = \"5m\"                               # or: the branch is looked at this often
every = \"24h\"                             # and built this often in any case

[status]                                  # what the code host shows beside a built commit
forge = \"gitea\"                           # its API: github, gitlab or gitea; forgejo has that of gitea
token = \"FORGE_TOKEN\"                     # a secret of the lab: a token that may set statuses
api = \"https://example.org\"               # not for github.com, gitlab.com, codeberg.org, gitea.com
context = \"prony\"                         # which of the statuses of a commit it is

[keep]                                    # outputs and files; figures stay
files = \"4320h\"
builds = 100
";

#[derive(Template)]
#[template(path = "projects.html")]
struct List {
    frame: Frame,
    projects: Vec<Entry>,
    typed: Typed,
}

/// What stands in the forms of the list.
struct Typed {
    name: String,
    definition: String,
    mistakes: Vec<FieldMistake>,
    /// What was to be inspected.
    address: String,
    branch: String,
    /// What was found there.
    found: Option<String>,
    first_study: Option<String>,
}

impl Default for Typed {
    fn default() -> Self {
        Self {
            name: String::new(),
            definition: BEGINNING.to_owned(),
            mistakes: Vec::new(),
            address: String::new(),
            branch: "main".to_owned(),
            found: None,
            first_study: None,
        }
    }
}

struct Entry {
    name: String,
    title: String,
    origin: String,
    branch: String,
    tasks: String,
    is_archived: bool,
}

#[derive(Template)]
#[template(path = "project.html")]
struct One {
    frame: Frame,
    name: String,
    revision: i64,
    is_archived: bool,
    is_saved: bool,
    definition: String,
    example: &'static str,
    mistakes: Vec<FieldMistake>,
    environment: Vec<(String, String)>,
    caches: Vec<Cache>,
    /// Whether they were just cleared.
    is_cleared: bool,
    /// The path of its badge, and the lab's address before it.
    badge: String,
    address: String,
    /// What is sent to its forge, for administrators.
    status: Option<StatusView>,
}

/// Where the statuses of its commits are sent, and what became of the last ones.
struct StatusView {
    /// `o/r on github, as prony`
    target: String,
    api: String,
    token: String,
    /// Whether they link to their builds.
    has_link: bool,
    sent: Vec<StatusLine>,
}

/// A status, and what became of it.
struct StatusLine {
    build: BuildId,
    commit: String,
    state: &'static str,
    description: String,
    delivery: &'static str,
    is_good: bool,
    /// When that was, or will be.
    at: String,
    error: Option<String>,
}

/// Shows all of them, and the form for a new one.
pub(crate) async fn list(State(lab): State<Lab>, principal: Principal) -> Result<Html<String>, WebError> {
    Ok(Html(draw_list(&lab, &principal, Typed::default()).await?))
}

/// Looks into a repository or a folder, and proposes a definition.
pub(crate) async fn inspect(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let (address, branch) = (fields.one("address").to_owned(), fields.one("branch").to_owned());
    let proposed = propose(&lab, address.clone(), branch.clone()).await?;
    let typed = Typed { address, branch, ..Typed::default() };
    let (status, typed) = match proposed {
        Ok(Proposal { name, definition, found, study }) => {
            let found = Some(found.join(", "));
            (StatusCode::OK, Typed { name, definition, found, first_study: study, ..typed })
        }
        Err(message) => {
            let field = if message.starts_with("`branch`") { "branch" } else { "address" };
            let mistakes = vec![FieldMistake { field: field.to_owned(), message }];
            (StatusCode::UNPROCESSABLE_ENTITY, Typed { mistakes, ..typed })
        }
    };
    Ok((status, Html(draw_list(&lab, &principal, typed).await?)).into_response())
}

/// What the lab would write down of the project there, or why it can't.
async fn propose(lab: &Lab, address: String, branch: String) -> Result<Result<Proposal, String>, WebError> {
    // What a definition may not hold is refused before anything is fetched.
    let is_bare = address.trim_end_matches('/').rsplit_once('.').is_some_and(|(_, end)| end == "git");
    let from = if address.starts_with('/') && !is_bare { "folder" } else { "repository" };
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let definition = format!("{from} = {}\nbranch = {}\nstudy = \"x\"\n", quoted(&address), quoted(&branch));
    let origin = match Definition::read_new(&definition) {
        Ok(definition) => definition.origin,
        Err(error) => return Ok(Err(error.to_string())),
    };
    // A folder may be a repository.
    let origin = match origin {
        Origin::Folder(path) if path.join(".git").exists() => Origin::Repository(address),
        origin => origin,
    };
    if lab.inspector.get().is_none() {
        let why = "this lab has no worker, which would fetch it: write the definition by hand";
        return Ok(Err(why.to_owned()));
    }
    let inspector = Arc::clone(&lab.inspector);
    let inspected =
        spawn_blocking(move || inspector.get().map(|inspector| inspector.inspect_blocking(&origin, &branch)));
    Ok(inspected.await?.unwrap_or_else(|| Err("this lab has no worker".to_owned())))
}

/// Registers a new one.
pub(crate) async fn add(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let (name, definition) = (fields.one("name").to_owned(), definition(&fields));
    let new = Registration { name: name.clone(), definition: definition.clone(), must_be_new: true };
    let register = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::register(tx, ctx, &new);
    match lab.act(principal.actor(), register).await {
        Ok(project) => Ok(Redirect::to(&format!("/project/{}?saved=yes", project.name)).into_response()),
        Err(refused) => {
            let mistakes = mistakes(refused, "definition")?;
            let typed = Typed { name, definition, mistakes, ..Typed::default() };
            let page = draw_list(&lab, &principal, typed).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
        }
    }
}

/// Shows one.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
    QueryParams(query): QueryParams,
    headers: HeaderMap,
) -> Result<Html<String>, WebError> {
    let project = find(&lab, name).await?;
    let is_set = |name: &str| !query.one(name).is_empty();
    let outcome =
        FormOutcome { is_saved: is_set("saved"), is_cleared: is_set("cleared"), ..FormOutcome::default() };
    let address = own_address(&lab, &headers);
    Ok(Html(draw(&lab, &principal, project, address, outcome).await?))
}

/// Gives one a new definition.
pub(crate) async fn save(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let project = find(&lab, name.clone()).await?;
    let definition = definition(&fields);
    let new = Registration { name: name.clone(), definition: definition.clone(), must_be_new: false };
    let register = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::register(tx, ctx, &new);
    match lab.act(principal.actor(), register).await {
        Ok(_) => Ok(Redirect::to(&format!("/project/{name}?saved=yes")).into_response()),
        Err(refused) => {
            let mistakes = mistakes(refused, "definition")?;
            let address = own_address(&lab, &headers);
            let outcome = FormOutcome { typed: Some(definition), mistakes, ..FormOutcome::default() };
            let page = draw(&lab, &principal, project, address, outcome).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
        }
    }
}

/// Takes one out of the forms.
pub(crate) async fn archive(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Admin)?;
    let project = find(&lab, name).await?.name;
    let path = format!("/project/{project}");
    let archive = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::archive(tx, ctx, &project);
    lab.act(principal.actor(), archive).await?;
    Ok(Redirect::to(&path))
}

/// Empties its caches.
pub(crate) async fn clear_caches(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let project = find(&lab, name).await?.name;
    let path = format!("/project/{project}?cleared=yes#caches");
    let clear = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::clear_caches(tx, ctx, &project);
    lab.act(principal.actor(), clear).await?;
    Ok(Redirect::to(&path))
}

/// The project of that name.
pub(super) async fn find(lab: &Lab, name: String) -> Result<Project, WebError> {
    let found = lab.projects().await?.iter().find(|project| project.name == name).cloned();
    found.ok_or_else(|| WebError::Missing(format!("project {}", ansi_stripper::line(&name))))
}

/// Browsers send the ends of lines as `\r\n`.
fn definition(fields: &Fields) -> String {
    fields.one("definition").replace("\r\n", "\n") + "\n"
}

async fn draw_list(lab: &Lab, principal: &Principal, typed: Typed) -> Result<String, WebError> {
    let listed = lab.store.read(projects::all).await?;
    let frame = Frame::of(principal).at("/projects");
    let projects = listed.into_iter().map(Entry::of).collect();
    let page = List { frame, projects, typed };
    Ok(page.render()?)
}

/// What came of the last form.
#[derive(Default)]
struct FormOutcome {
    is_saved: bool,
    is_cleared: bool,
    typed: Option<String>,
    mistakes: Vec<FieldMistake>,
}

async fn draw(
    lab: &Lab,
    principal: &Principal,
    project: Project,
    address: String,
    outcome: FormOutcome,
) -> Result<String, WebError> {
    let FormOutcome { is_saved, is_cleared, typed, mistakes } = outcome;
    let status = if principal.role == Role::Admin { status(lab, &project).await? } else { None };
    let (mut environment, mut caches) = (Vec::new(), Vec::new());
    if let Ok(definition) = lab.definitions.of(&project) {
        environment = definition.environment.clone();
        let id = project.id;
        caches = lab.store.read(move |tx| caches::shown(tx, id, &definition.caches)).await?;
    }
    let page = One {
        status,
        environment,
        caches,
        is_cleared,
        badge: lab.access.badge.path(&project.name),
        address,
        frame: Frame::of(principal).at("/projects"),
        name: project.name,
        revision: project.revision,
        is_archived: project.archived_at.is_some(),
        is_saved,
        definition: typed.unwrap_or(project.definition),
        example: EXAMPLE,
        mistakes,
    };
    Ok(page.render()?)
}

/// What is sent to the forge of `project`, if something is.
async fn status(lab: &Lab, project: &Project) -> Result<Option<StatusView>, StoreError> {
    let target = Definition::read(&project.definition).ok().and_then(|definition| definition.status);
    let Some(target) = target else { return Ok(None) };
    let id = project.id;
    let sent = lab.store.read(move |tx| statuses::last(tx, id, STATUSES)).await?;
    Ok(Some(StatusView {
        target: ansi_stripper::line(&format!(
            "{} on {}, as {}",
            target.repository,
            target.forge.name(),
            target.context
        )),
        api: ansi_stripper::line(&target.api),
        token: target.token.to_string(),
        has_link: lab.options.public_address.is_some(),
        sent: sent.into_iter().map(StatusLine::of).collect(),
    }))
}

impl StatusLine {
    fn of(sent: SentStatus) -> Self {
        let status = sent.report.status;
        let delivery = match (sent.delivery, sent.attempts) {
            (Delivery::Delivered, _) => "delivered",
            (Delivery::GivenUp, _) => "given up",
            (Delivery::Waiting, 0) => "not sent yet",
            (Delivery::Waiting, _) => "failed, tried again",
        };
        Self {
            build: status.build,
            commit: status.commit.unwrap_or_default().chars().take(COMMIT_DIGITS).collect(),
            state: status.state.name(),
            description: ansi_stripper::line(&status.description),
            delivery,
            is_good: sent.delivery == Delivery::Delivered,
            at: format::when(sent.at),
            error: sent.error.map(|error| ansi_stripper::line(&error)),
        }
    }
}

impl Entry {
    fn of(project: Project) -> Self {
        let is_archived = project.archived_at.is_some();
        let Ok(read) = Definition::read(&project.definition) else {
            let origin = "its definition can't be read: save it again".to_owned();
            let empty = String::new;
            return Self {
                name: project.name,
                title: empty(),
                origin,
                branch: empty(),
                tasks: empty(),
                is_archived,
            };
        };
        let mut tasks: Vec<String> = read.tasks.iter().map(|task| task.name.to_string()).collect();
        tasks.extend(
            read.study.map(|study| format!("study {}", ansi_stripper::line(&study.display().to_string()))),
        );
        let origin = match read.origin {
            Origin::Repository(address) => ansi_stripper::line(&address),
            Origin::Folder(path) => ansi_stripper::line(&path.display().to_string()),
        };
        Self {
            name: project.name,
            title: ansi_stripper::line(&read.title),
            origin,
            branch: ansi_stripper::line(&read.branch),
            tasks: tasks.join(", "),
            is_archived,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_shows_can_be_written() {
        for text in [BEGINNING, EXAMPLE] {
            Definition::read(text).expect(text);
        }
    }
}
