//! `/`: the newest builds.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Html;
use serde::Deserialize;

use super::Frame;
use crate::lab::Lab;
use crate::model::{Build, BuildId};
use crate::store::builds::{self, Filter, Page};
use crate::web::error::WebError;
use crate::web::principal::Principal;

/// As many as the original's page shows.
const BUILDS: u32 = 50;

/// Which page of the list.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    before: Option<BuildId>,
    after: Option<BuildId>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    builds: Vec<Build>,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    Query(place): Query<Place>,
) -> Result<Html<String>, WebError> {
    let page = match (place.before, place.after) {
        (Some(id), _) => Page::Before(id),
        (None, Some(id)) => Page::After(id),
        (None, None) => Page::Newest,
    };
    let builds = lab.store.read(move |tx| builds::list(tx, &Filter::default(), page, BUILDS)).await?;
    Ok(Html(Home { frame: Frame::of(&principal), builds }.render()?))
}
