//! What is where.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::error::WebError;
use super::{guard, login, metrics, pages};
use crate::api;
use crate::lab::Lab;

/// All pages of the lab.
pub(super) fn router(lab: Lab) -> Router {
    Router::new()
        .route("/", get(pages::home::show))
        .route("/build/{id}", get(pages::build::show))
        .route("/add_job", get(pages::add_job::show).post(pages::add_job::accept))
        .route("/login", get(login::show).post(login::accept))
        .route("/logout", post(login::leave))
        .route("/first-login/{secret}", get(login::first_show).post(login::first_accept))
        .route("/metrics", get(metrics::show))
        .merge(api::router())
        .fallback(missing)
        .layer(from_fn_with_state(lab.clone(), guard::guard))
        .layer(from_fn_with_state(lab.clone(), metrics::count))
        .with_state(lab)
}

async fn missing() -> WebError {
    WebError::Missing("page here".to_owned())
}
