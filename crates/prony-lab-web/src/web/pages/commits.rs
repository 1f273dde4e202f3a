//! Who made the commit of a build, and the commits between two builds: a section of their pages.

use axum::extract::State;
use axum::response::Redirect;

use super::{as_web_error, format};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam};
use prony_lab_core::actions::commits::Ends;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::definitions::Definitions;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    BisectId, BisectState, BuildDetail, BuildId, BuildKind, Commit, CommitRange, Definition, Origin,
    ProjectId, RangeState, Role, commit_page,
};
use prony_lab_store::projects::{self, Project};
use prony_lab_store::{StoreError, Tx, bisects, commits};

/// What a page shows of commits; `commits.html` draws it.
#[derive(Default)]
pub(super) struct Section {
    /// The commit of the build itself, on its own page.
    pub(super) own: Option<Line>,
    /// What the others are, if there can be others.
    pub(super) title: Option<String>,
    /// The builds between which they lie, where both are builds.
    pub(super) ends: Option<(BuildId, BuildId)>,
    /// As far as they are known.
    pub(super) range: Option<CommitRange>,
    pub(super) rows: Vec<Line>,
    /// The newest bisect between the two builds.
    pub(super) bisect: Option<(BisectId, BisectState)>,
    /// Whether both builds measured the same variant, of one commit each.
    are_alike: bool,
}

/// A commit in a row.
pub(super) struct Line {
    pub(super) short: String,
    pub(super) commit: String,
    /// Its page at the code host.
    pub(super) link: Option<String>,
    pub(super) author: String,
    pub(super) subject: String,
    pub(super) at: Option<Moment>,
}

impl Section {
    /// On the page of a build: its own commit, and those since its baseline, or between the two that it compares.
    pub(super) fn of_build(
        tx: &mut Tx<'_>,
        project: Option<&Project>,
        definitions: &Definitions,
        detail: &BuildDetail,
    ) -> Result<Self, StoreError> {
        let build = &detail.build;
        let address = Address::of_project(definitions, project);
        let own = build.commit.as_ref().zip(build.commit_subject.as_ref()).map(|(commit, subject)| {
            address.line(&Commit {
                commit: commit.clone(),
                author: build.commit_author.clone().unwrap_or_default(),
                subject: subject.clone(),
                at: build.commit_at,
            })
        });
        let span = commits::span(tx, build.id)?.filter(|(base, tip)| base != tip && address.is_repository);
        let Some(((base, tip), project)) = span.zip(build.project) else {
            return Ok(Self { own, ..Self::default() });
        };
        let range = commits::range(tx, project, &base, &tip)?;
        let title = match detail.baseline {
            Some(baseline) => format!("Commits since the baseline, build {baseline}"),
            None => "Commits between the two".to_owned(),
        };
        let ends = detail.baseline.map(|baseline| (baseline, build.id));
        // A baseline is of the same variant.
        let are_alike = detail.baseline.is_some();
        let bisect = ends.map(|(good, bad)| bisects::between(tx, good, bad)).transpose()?.flatten();
        Ok(Self { own, ends, bisect, are_alike, ..Self::of(&address, title, range) })
    }

    /// On the page that has two builds side by side.
    pub(super) fn between(
        tx: &mut Tx<'_>,
        definitions: &Definitions,
        ends: &Ends,
    ) -> Result<Option<Self>, StoreError> {
        let address = Address::of(tx, definitions, ends.tip.project)?;
        let Some(project) = ends.tip.project.filter(|_| address.is_repository) else { return Ok(None) };
        let (base, tip) = (ends.base.id, ends.tip.id);
        let range = commits::range(tx, project, &ends.commits.0, &ends.commits.1)?;
        let title = format!("Commits in build {tip} that are not in build {base}");
        let kinds = (ends.base.kind, ends.tip.kind);
        let are_alike =
            ends.base.variant == ends.tip.variant && kinds == (BuildKind::Project, BuildKind::Project);
        let bisect = bisects::between(tx, base, tip)?;
        Ok(Some(Self { ends: Some((base, tip)), are_alike, bisect, ..Self::of(&address, title, range) }))
    }

    fn of(address: &Address, title: String, range: Option<CommitRange>) -> Self {
        let listed = range.iter().flat_map(|range| &range.commits);
        let rows = listed.map(|commit| address.line(commit)).collect();
        Self { title: Some(title), range, rows, ..Self::default() }
    }

    /// The builds whose commits somebody may have listed now.
    pub(super) fn listable(&self) -> Option<(BuildId, BuildId)> {
        let is_open = self.range.as_ref().is_none_or(|range| range.state == RangeState::Failed);
        self.ends.filter(|_| is_open)
    }

    /// The builds between which somebody may bisect now: of one commit alone there is nothing to find out.
    pub(super) fn bisectable(&self) -> Option<(BuildId, BuildId)> {
        let is_line = |range: &CommitRange| range.behind == 0 && range.ahead > 1;
        let has_answer = |(_, state): (_, BisectState)| state.is_open() || state == BisectState::Found;
        let is_useful = self.are_alike && self.range.as_ref().is_some_and(is_line);
        self.ends.filter(|_| is_useful && !self.bisect.is_some_and(has_answer))
    }
}

/// Where the commits of a project come from.
pub(super) struct Address {
    repository: String,
    is_repository: bool,
}

impl Address {
    pub(super) fn of(
        tx: &mut Tx<'_>,
        definitions: &Definitions,
        project: Option<ProjectId>,
    ) -> Result<Self, StoreError> {
        let project = project.map(|id| projects::by_id(tx, id)).transpose()?.flatten();
        Ok(Self::of_project(definitions, project.as_ref()))
    }

    fn of_project(definitions: &Definitions, project: Option<&Project>) -> Self {
        let definition = project.and_then(|project| definitions.of(project).ok());
        let repository = match definition.as_deref() {
            Some(Definition { origin: Origin::Repository(address), .. }) => Some(address.clone()),
            _ => None,
        };
        Self { is_repository: repository.is_some(), repository: repository.unwrap_or_default() }
    }

    /// The page of a commit at the code host.
    pub(super) fn page(&self, commit: &str) -> Option<String> {
        commit_page(&self.repository, commit)
    }

    fn line(&self, commit: &Commit) -> Line {
        Line {
            short: format::short_commit(&commit.commit),
            link: self.page(&commit.commit),
            commit: commit.commit.clone(),
            author: commit.author.clone(),
            subject: commit.subject.clone(),
            at: commit.at,
        }
    }
}

/// Has the commits between the build `base` and this one listed.
pub(crate) async fn list(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
    fields: Fields,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let base: BuildId = fields
        .parsed("base")?
        .ok_or_else(|| WebError::Query("name the build since which commits count".to_owned()))?;
    let list = move |tx: &mut Tx<'_>, _: &Ctx| actions::commits::list(tx, base, id);
    lab.act(principal.actor(), list).await.map_err(as_web_error)?;
    Ok(Redirect::to(&format!("/compare?a={base}&b={id}#commits")))
}
