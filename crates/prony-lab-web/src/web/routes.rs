//! What is where.

use axum::Router;
use axum::extract::State;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::{assets, badge, guard, login, metrics, pages, push, sse};
use crate::api;
use crate::http::WebError;
use prony_lab_core::lab::Lab;

/// All pages of the lab.
pub(super) fn router(lab: Lab) -> Router {
    Router::new()
        .route("/", get(pages::home::show))
        .route("/list_max_id/{id}", get(pages::home::up_to))
        .route("/list_min_id/{id}", get(pages::home::from))
        .route("/events", get(sse::all))
        .route("/build/{id}", get(pages::build::show))
        .route("/build/{id}/events", get(sse::build))
        .route("/build/{id}/output/{task}", get(pages::build::whole))
        .route("/build/{id}/files/{*name}", get(pages::build::file))
        .route("/build/{id}/cancel", post(pages::build::cancel))
        .route("/build/{id}/retry", post(pages::build::retry))
        .route("/build/{id}/note", post(pages::build::add_note))
        .route("/build/{id}/commits", post(pages::commits::list))
        .route("/bisects", post(pages::bisects::request))
        .route("/bisect/{id}", get(pages::bisects::show))
        .route("/bisect/{id}/cancel", post(pages::bisects::cancel))
        .route("/search", get(pages::search::show))
        .route("/compare", get(pages::compare::show))
        .route("/history/{project}", get(pages::history::project))
        .route("/history/{project}/{series}", get(pages::history::series))
        .route("/history/{project}/{series}/points.json", get(pages::history::points_json))
        .route("/history/{project}/{series}/points.csv", get(pages::history::points_csv))
        .route("/alerts", get(pages::alerts::list))
        .route("/alert/{id}", post(pages::alerts::answer))
        .route("/add_job", get(pages::add_job::show).post(pages::add_job::accept))
        .route("/projects", get(pages::projects::list).post(pages::projects::add))
        .route("/projects/inspect", post(pages::projects::inspect))
        .route("/project/{name}", get(pages::projects::show).post(pages::projects::save))
        .route("/project/{name}/archive", post(pages::projects::archive))
        .route("/project/{name}/clear-caches", post(pages::projects::clear_caches))
        .route("/account", get(pages::account::show))
        .route("/account/password", post(pages::account::set_password))
        .route("/account/tokens", post(pages::account::add_token))
        .route("/account/token/{id}/revoke", post(pages::account::revoke_token))
        .route("/account/session/{id}/end", post(pages::account::end_session))
        .route("/account/sign-out", post(pages::account::sign_out))
        .route("/admin", get(pages::admin::show))
        .route("/admin/users", post(pages::admin::invite))
        .route("/admin/user/{name}", post(pages::admin::set_user))
        .route("/admin/tokens", post(pages::admin::add_token))
        .route("/admin/token/{id}/revoke", post(pages::admin::revoke_token))
        .route("/admin/policy", post(pages::admin::set_policy))
        .route("/admin/stop", post(pages::admin::stop))
        .route("/admin/hooks", get(pages::hooks::list).post(pages::hooks::add))
        .route("/admin/hook/{id}/remove", post(pages::hooks::remove))
        .route("/monitors", get(pages::monitors::list).post(pages::monitors::add))
        .route("/monitor/{id}", get(pages::monitors::show))
        .route("/monitor/{id}/checks.json", get(pages::monitors::checks_json))
        .route("/monitor/{id}/remove", post(pages::monitors::remove))
        .route("/agents", get(pages::agents::show))
        .route("/agents/stop", post(pages::agents::stop))
        .route("/agents/lift", post(pages::agents::lift))
        .route("/agent/{name}/drain", post(pages::agents::drain))
        .route("/agent/{name}/resume", post(pages::agents::resume))
        .route("/push/{project}", post(push::accept))
        .route("/badge/{project}/{file}", get(badge::show))
        .route("/assets/{name}", get(assets::show))
        .route("/login", get(login::show).post(login::accept))
        .route("/logout", post(login::leave))
        .route("/first-login/{secret}", get(login::first_show).post(login::first_accept))
        .route("/metrics", get(metrics::show))
        .route("/healthz", get(health))
        .merge(api::router())
        .fallback(missing)
        .layer(from_fn_with_state(lab.clone(), guard::guard))
        .layer(from_fn_with_state(lab.clone(), metrics::count))
        .with_state(lab)
}

/// Whether the lab and its store answer, for monitoring, and the names of what an operator should look at.
/// Says nothing else, and asks for no token.
async fn health(State(lab): State<Lab>) -> Result<String, WebError> {
    lab.store.read(prony_lab_store::ping).await?;
    let active: Vec<&str> = lab.health.active().iter().map(|(condition, _)| condition.name()).collect();
    if active.is_empty() {
        return Ok("the lab answers\n".to_owned());
    }
    Ok(format!("the lab answers\ndegraded: {}\n", active.join(", ")))
}

async fn missing() -> WebError {
    WebError::Missing("page here".to_owned())
}
