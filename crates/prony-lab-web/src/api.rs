//! What scripts see: everything the pages do, under `/api/v1`, as JSON.
//!
//! `routes` is one table. It mounts the handlers and it is the OpenAPI document (`document`): types, roles and statuses
//! stand in one place, so that the two can't differ. `call` is how a handler is called, `problem` how it fails.

mod admin;
mod agents;
mod bisects;
mod builds;
mod call;
mod commits;
mod document;
mod history;
mod machine;
mod policy;
mod problem;
mod projects;
mod results;
mod routes;
mod search;
mod watch;

use axum::Router;
use axum::routing::get;

pub(crate) use problem::Problem;

use prony_lab_core::lab::Lab;

/// Where everything of this version is.
pub(crate) const BASE: &str = "/api/v1";

/// Every route, and the document of them.
pub(crate) fn router() -> Router<Lab> {
    let table = routes::table();
    let text: axum::body::Bytes = document::document(&table).to_string().into();
    let mut router = Router::new().route(
        &format!("{BASE}/openapi.json"),
        get(move || async move { ([(axum::http::header::CONTENT_TYPE, "application/json")], text) }),
    );
    for route in table {
        router = router.route(&format!("{BASE}{}", route.path), route.handler);
    }
    router.route(&format!("{BASE}/{{*rest}}"), axum::routing::any(missing))
}

async fn missing() -> Problem {
    Problem::missing("route; /api/v1/openapi.json lists all")
}
