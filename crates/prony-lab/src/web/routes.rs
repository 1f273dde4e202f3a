//! What is where.

use axum::Router;
use axum::routing::get;

use super::pages;
use crate::lab::Lab;

/// All pages of the lab.
pub(super) fn router(lab: Lab) -> Router {
    Router::new()
        .route("/", get(pages::home::show))
        .route("/build/{id}", get(pages::build::show))
        .route("/add_job", get(pages::add_job::show).post(pages::add_job::accept))
        .with_state(lab)
}
