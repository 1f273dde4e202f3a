//! `/metrics`, and counting what is answered.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::{Principal, WebError};
use prony_lab_core::lab::Lab;
use prony_lab_model::clock;

/// OpenMetrics 1.0, which Prometheus reads.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How long an answer took the server (W3C Server Timing).
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// What stands for paths that are nowhere: each of them would be a series of its own.
const NOWHERE: &str = "none";

/// Shows them to anyone who may read.
pub(crate) async fn show(State(lab): State<Lab>, _: Principal) -> Result<Response, WebError> {
    let text = lab.metrics.text(&lab.store, &lab.health).await?;
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}

/// Counts an answer by the pattern of its path.
pub(crate) async fn count(State(lab): State<Lab>, request: Request, next: Next) -> Response {
    let start = clock::steady();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let route = route.as_ref().map_or(NOWHERE, MatchedPath::as_str);
    let took = clock::steady().saturating_sub(start);
    lab.metrics.answered(method.as_str(), route, response.status().as_u16(), took);
    // For who measures the lab, or waits for it: what of the wait is not the network's.
    if let Ok(value) = HeaderValue::from_str(&format!("total;dur={:.3}", took.as_secs_f64() * 1e3)) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    response
}
