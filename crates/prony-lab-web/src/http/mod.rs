//! What pages and API share: who makes a request, and what goes wrong with it.

mod error;
mod principal;

use axum::http::{HeaderMap, header};

pub(crate) use error::{WebError, add_headers};
pub(crate) use principal::{Means, Principal};

use prony_lab_core::lab::Lab;

/// The address by which the lab was asked, without a slash at its end.
pub(crate) fn own_address(lab: &Lab, headers: &HeaderMap) -> String {
    // The guard has found it among the lab's names.
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or("localhost");
    format!("{}://{host}", if lab.access.is_secure { "https" } else { "http" })
}
