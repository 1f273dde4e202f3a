//! What is where.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use super::{metrics, pages};
use crate::lab::Lab;

/// All pages of the lab.
pub(super) fn router(lab: Lab) -> Router {
    Router::new()
        .route("/", get(pages::home::show))
        .route("/build/{id}", get(pages::build::show))
        .route("/add_job", get(pages::add_job::show).post(pages::add_job::accept))
        .route("/metrics", get(metrics::show))
        .layer(from_fn_with_state(lab.clone(), metrics::count))
        .with_state(lab)
}
