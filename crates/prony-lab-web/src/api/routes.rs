//! The table of routes.

use axum::http::Method;

use super::call::Route;
use super::{
    admin, agents, bisects, builds, commits, history, machine, policy, projects, results, search, watch,
};
use prony_lab_model::Role;

/// Every route: method, path, least role, what it does, who does it.
#[rustfmt::skip]
pub(super) fn table() -> Vec<Route> {
    let (get, post, put, delete) = (Method::GET, Method::POST, Method::PUT, Method::DELETE);
    vec![
        Route::new(get.clone(), "/me", Role::Viewer, "Who the token belongs to.", admin::me),
        Route::new(get.clone(), "/builds", Role::Viewer, "Builds, the newest first.", builds::list),
        Route::new(post.clone(), "/builds", Role::Runner, "Requests a build of a project.", builds::request).creates().keyed(),
        Route::new(post.clone(), "/loads", Role::Runner, "Requests a load on a URL.", builds::load).creates().keyed(),
        Route::new(get.clone(), "/queue", Role::Viewer, "What is not over, in the order in which it will run.", builds::queue),
        Route::new(get.clone(), "/builds/{id}", Role::Viewer, "One build with its tasks.", builds::one),
        Route::new(post.clone(), "/builds/{id}/cancel", Role::Runner, "Cancels a build.", builds::cancel),
        Route::new(post.clone(), "/builds/{id}/retry", Role::Runner, "Requests the same build again.", builds::retry).creates().keyed(),
        Route::new(get.clone(), "/builds/{id}/commits", Role::Viewer, "The commits since the baseline of a build, or since another build.", commits::between),
        Route::new(post.clone(), "/builds/{id}/commits", Role::Runner, "Has the commits since another build listed.", commits::list),
        Route::new(post.clone(), "/builds/{id}/repeat", Role::Runner, "Measures a build's commit again, once, if its result is not clear.", builds::repeat),
        Route::new(post.clone(), "/stop", Role::Admin, "Cancels everything that is not over.", builds::stop_all),
        Route::new(get.clone(), "/builds/{id}/results", Role::Viewer, "The figures of a build, and its thresholds of it.", results::results),
        Route::new(get.clone(), "/builds/{id}/notes", Role::Viewer, "What people wrote about a build.", results::notes),
        Route::new(post.clone(), "/builds/{id}/notes", Role::Runner, "Adds a note to a build.", results::add_note).creates(),
        Route::new(get.clone(), "/builds/{id}/files", Role::Viewer, "What a build left, for download at /build/{id}/files/NAME", builds::files_of),
        Route::new(get.clone(), "/builds/{id}/status", Role::Viewer, "A build as code hosts show it beside a commit.", builds::status),
        Route::new(get.clone(), "/builds/{id}/tasks/{task}/output", Role::Viewer, "What a task wrote.", builds::output),
        Route::new(get.clone(), "/builds/{id}/events", Role::Viewer, "What happened to a build.", builds::events_of),
        Route::new(get.clone(), "/events", Role::Viewer, "What happened.", builds::events),
        Route::new(get.clone(), "/search", Role::Viewer, "Finds builds, projects, branches, monitors and, for administrators, users.", search::find),
        Route::new(get.clone(), "/projects", Role::Viewer, "Every project.", projects::list),
        Route::new(get.clone(), "/projects/{name}", Role::Viewer, "One project.", projects::one),
        Route::new(put.clone(), "/projects/{name}", Role::Admin, "Registers a project, or gives it a new definition.", projects::register),
        Route::new(delete.clone(), "/projects/{name}", Role::Admin, "Takes a project out of the forms; its builds stay.", projects::archive),
        Route::new(delete.clone(), "/projects/{name}/caches", Role::Runner, "Empties the caches of a project, for builds that begin from now on.", projects::clear_caches),
        Route::new(get.clone(), "/projects/{name}/series", Role::Viewer, "The figures of a project that are followed.", history::series),
        Route::new(get.clone(), "/projects/{name}/bisects", Role::Viewer, "The newest bisects of a project.", bisects::list),
        Route::new(post.clone(), "/projects/{name}/bisects", Role::Runner, "Searches for the first slow commit between two builds.", bisects::request).creates(),
        Route::new(get.clone(), "/bisects/{id}", Role::Viewer, "One bisect with its commits.", bisects::one),
        Route::new(post.clone(), "/bisects/{id}/cancel", Role::Runner, "Cancels a bisect.", bisects::cancel),
        Route::new(get.clone(), "/series/{id}", Role::Viewer, "A series with its points and changes.", history::points),
        Route::new(get.clone(), "/alerts", Role::Viewer, "Alerts, the newest first.", history::alerts),
        Route::new(get.clone(), "/alerts/{id}", Role::Viewer, "One alert.", history::alert),
        Route::new(post.clone(), "/alerts/{id}", Role::Runner, "Acknowledges, silences, dismisses or reopens an alert.", history::answer),
        Route::new(get.clone(), "/monitors", Role::Viewer, "URLs that are looked at on a schedule.", watch::list),
        Route::new(post.clone(), "/monitors", Role::Runner, "Has a URL looked at on a schedule.", watch::add).creates(),
        Route::new(delete.clone(), "/monitors/{id}", Role::Runner, "Has a URL no longer looked at.", watch::remove),
        Route::new(get.clone(), "/monitors/{id}/checks", Role::Viewer, "What a monitor saw, the oldest first.", watch::checks),
        Route::new(get.clone(), "/hooks", Role::Admin, "Addresses that are notified of events.", watch::hooks),
        Route::new(post.clone(), "/hooks", Role::Admin, "Has an address notified of events.", watch::add_hook),
        Route::new(delete.clone(), "/hooks/{id}", Role::Admin, "Has an address no longer notified.", watch::remove_hook),
        Route::new(get.clone(), "/hooks/given-up", Role::Admin, "Notifications that failed, the newest first.", watch::given_up),
        Route::new(get.clone(), "/users", Role::Admin, "Everybody who may log in.", admin::all_users),
        Route::new(post.clone(), "/users", Role::Admin, "Makes a link by which somebody sets a password.", admin::invite),
        Route::new(put.clone(), "/users/{name}/role", Role::Admin, "Gives a user another role.", admin::set_role),
        Route::new(post.clone(), "/users/{name}/disable", Role::Admin, "Keeps a user out.", admin::disable),
        Route::new(post.clone(), "/users/{name}/enable", Role::Admin, "Lets a user in again.", admin::enable),
        Route::new(get.clone(), "/tokens", Role::Viewer, "One's own tokens; an admin sees all.", admin::all_tokens),
        Route::new(post.clone(), "/tokens", Role::Viewer, "Makes a token, shown this once.", admin::add_token),
        Route::new(delete, "/tokens/{id}", Role::Viewer, "Makes a token void.", admin::revoke_token),
        Route::new(get.clone(), "/policy", Role::Viewer, "Which servers may be loaded, as TOML.", policy::show),
        Route::new(put, "/policy", Role::Admin, "Replaces the target policy.", policy::set),
        Route::new(post.clone(), "/policy/judge", Role::Viewer, "Whether one may load a URL.", policy::check),
        Route::new(get.clone(), "/audit", Role::Admin, "Who changed what about who may do what, the newest first.", admin::audit),
        Route::new(get.clone(), "/agents", Role::Viewer, "The agents on other machines, and what each does.", agents::list),
        Route::new(post.clone(), "/agents/stop", Role::Runner, "Ends all loads on all agents at once, and refuses new ones.", agents::stop),
        Route::new(post.clone(), "/agents/{name}/drain", Role::Runner, "Has an agent end what it does and take no new load.", agents::drain),
        Route::new(post.clone(), "/agents/{name}/resume", Role::Admin, "Has a drained agent take loads again.", agents::resume),
        Route::new(post, "/agents/lift", Role::Admin, "Has agents take loads again.", agents::lift),
        Route::new(get.clone(), "/machine", Role::Viewer, "How builds run: in which sandbox, within which limits.", machine::show),
        Route::new(get, "/audit/check", Role::Admin, "Whether the audit log is whole.", admin::check_audit),
    ]
}
