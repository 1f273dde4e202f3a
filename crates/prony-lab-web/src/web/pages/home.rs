//! `/`: the projects that were built last, what runs, what waits, and the newest builds.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Html;

use super::cards::Cards;
use super::{Frame, conditions, format, middle};
use crate::http::{Principal, WebError};
use crate::web::fields::{PathParam, QueryParams};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Build, BuildId, BuildState, EventId};
use prony_lab_store::builds::{self, Filter, Page};
use prony_lab_store::{StoreError, Tx, alerts, events, projects};

/// As many as the original's page shows.
const BUILDS: u32 = 50;
/// Of the queue: who waits longer finds it by the state.
const OPEN: u32 = 50;

/// Which builds are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HomeFilter {
    project: String,
    state: Option<BuildState>,
    variant: String,
    page: Option<Page>,
}

#[derive(Template)]
#[template(path = "home_page.html")]
struct HomePage {
    frame: Frame,
    /// What an administrator has to know of the lab, a sentence each.
    conditions: Vec<String>,
    /// How many agents are there, if the lab leads some.
    agents: Option<String>,
    /// Where all builds are listed.
    cards: Option<Arc<str>>,
    builds: Arc<str>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    seen: EventId,
    alerts: i64,
    open: Vec<Build>,
    is_open_cut: bool,
    projects: Vec<String>,
    project: String,
    state: &'static str,
    variant: String,
    is_filtered: bool,
    is_paged: bool,
    builds: Vec<Build>,
    newer: Option<String>,
    older: Option<String>,
    newest: String,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let page = match (query.parsed("before")?, query.parsed("after")?) {
        (Some(id), _) => Some(Page::Before(id)),
        (None, Some(id)) => Some(Page::After(id)),
        (None, None) => None,
    };
    let filter = HomeFilter {
        project: query.one("project").to_owned(),
        state: query.parsed("state")?,
        variant: query.one("variant").to_owned(),
        page,
    };
    draw(&lab, &principal, filter).await
}

/// The original's way to older builds: those up to `id`.
pub(crate) async fn up_to(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
) -> Result<Html<String>, WebError> {
    let page = Some(Page::Before(BuildId(id.0.saturating_add(1))));
    draw(&lab, &principal, HomeFilter { page, ..HomeFilter::default() }).await
}

/// The original's way to newer builds: those from `id` on.
pub(crate) async fn from(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
) -> Result<Html<String>, WebError> {
    let page = Some(Page::After(BuildId(id.0.saturating_sub(1))));
    draw(&lab, &principal, HomeFilter { page, ..HomeFilter::default() }).await
}

async fn draw(lab: &Lab, principal: &Principal, filter: HomeFilter) -> Result<Html<String>, WebError> {
    let cards = if filter == HomeFilter::default() {
        let definitions = lab.definitions.clone();
        Some(middle(lab, "cards".to_owned(), move |tx| Cards::read(tx, &definitions)).await?)
    } else {
        None
    };
    let builds = middle(lab, format!("home {filter:?}"), move |tx| filter.read(tx)).await?;
    let frame = Frame::of(principal).at("/");
    let conditions = if frame.is_admin() { conditions(lab) } else { Vec::new() };
    let agents = super::agents::summary(&lab.agents());
    Ok(Html(HomePage { frame, conditions, agents, cards, builds }.render()?))
}

impl HomeFilter {
    fn read(self, tx: &mut Tx<'_>) -> Result<Home, StoreError> {
        let seen = events::last(tx)?;
        let mut open = builds::open(tx, OPEN + 1)?;
        let is_open_cut = open.len() > OPEN as usize;
        open.truncate(OPEN as usize);
        let all = projects::names(tx)?;
        let mut filter = Filter { state: self.state, ..Filter::default() };
        if !self.variant.is_empty() {
            filter.variant = Some(self.variant.clone());
        }
        let found = all.iter().find(|(_, name)| *name == self.project).map(|(id, _)| *id);
        let is_unknown = !self.project.is_empty() && found.is_none();
        filter.project = found;
        let page = self.page.unwrap_or(Page::Newest);
        let builds = if is_unknown { Vec::new() } else { builds::list(tx, &filter, page, BUILDS + 1)? };
        let (builds, newer, older) = self.cut(page, builds);
        Ok(Home {
            seen,
            alerts: alerts::open_count(tx)?,
            open,
            is_open_cut,
            projects: all.into_iter().map(|(_, name)| name).collect(),
            is_filtered: !self.project.is_empty() || self.state.is_some() || !self.variant.is_empty(),
            is_paged: self.page.is_some(),
            newest: self.link(None),
            project: self.project,
            state: self.state.map_or("", BuildState::name),
            variant: self.variant,
            builds,
            newer,
            older,
        })
    }

    /// One page of what was found, which is one more if there is more, and the ways on.
    fn cut(&self, page: Page, mut builds: Vec<Build>) -> (Vec<Build>, Option<String>, Option<String>) {
        let is_more = builds.len() > BUILDS as usize;
        let (has_newer, has_older) = match page {
            Page::Newest => (false, is_more),
            Page::Before(_) => (true, is_more),
            Page::After(_) => (is_more, true),
        };
        if is_more {
            // The one too many is the farthest from where the page begins.
            match page {
                Page::After(_) => drop(builds.remove(0)),
                Page::Newest | Page::Before(_) => builds.truncate(BUILDS as usize),
            }
        }
        let newer = builds.first().filter(|_| has_newer).map(|first| self.link(Some(("after", first.id))));
        let older = builds.last().filter(|_| has_older).map(|last| self.link(Some(("before", last.id))));
        (builds, newer, older)
    }

    fn link(&self, place: Option<(&str, BuildId)>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("project", self.project.as_str()),
            ("state", self.state.map_or("", BuildState::name)),
            ("variant", self.variant.as_str()),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some((name, id)) = place {
            query.append_pair(name, &id.to_string());
        }
        let query = query.finish();
        if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::{BuildRequest, Definition};
    use prony_lab_store::fixture::on_both;

    fn page(store: &prony_lab_store::Store, filter: HomeFilter) -> Home {
        store.read_blocking(|tx| filter.read(tx)).expect("read")
    }

    #[test]
    fn the_list_goes_on_both_ways_and_keeps_what_was_chosen() {
        on_both(|store| {
            let text = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
            let definition = Definition::read(text).expect("a definition");
            store
                .write_blocking(move |tx| {
                    let project = projects::register(
                        tx,
                        &"a".parse().expect("a name"),
                        text,
                        prony_lab_model::clock::Moment(1),
                    )?;
                    for _ in 0..=2 * BUILDS {
                        let new = BuildRequest::default().checked(
                            project,
                            &definition,
                            "kim",
                            prony_lab_model::clock::Moment(5),
                        );
                        builds::accept(tx, &new.expect("a request"))?;
                    }
                    Ok(())
                })
                .expect("accepted");
            let newest = page(store, HomeFilter::default());
            let ends = |home: &Home| (home.builds[0].id.0, home.builds[home.builds.len() - 1].id.0);
            assert_eq!((ends(&newest), newest.newer.as_deref()), ((101, 52), None));
            assert_eq!(newest.older.as_deref(), Some("/?before=52"));
            assert_eq!((newest.open.len(), newest.is_open_cut), (OPEN as usize, true));
            let second = HomeFilter {
                page: Some(Page::Before(BuildId(52))),
                project: "a".to_owned(),
                ..HomeFilter::default()
            };
            let second = page(store, second);
            assert_eq!(ends(&second), (51, 2));
            assert_eq!(second.older.as_deref(), Some("/?project=a&before=2"));
            assert_eq!(second.newer.as_deref(), Some("/?project=a&after=51"));
            let back =
                page(store, HomeFilter { page: Some(Page::After(BuildId(1))), ..HomeFilter::default() });
            assert_eq!((ends(&back), back.newer.as_deref()), ((51, 2), Some("/?after=51")));
            let none = page(store, HomeFilter { project: "b".to_owned(), ..HomeFilter::default() });
            assert!(none.builds.is_empty() && none.is_filtered && none.older.is_none());
        });
    }
}
