//! Why a request does not get what it needs.

use prony_lab_store::StoreError;

/// Why a page is not drawn, or no room is given.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// Others have all of it.
    #[error("others are using all that the lab has for this: try again in a minute")]
    Busy,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A page can't be drawn: a fault of ours.
    #[error(transparent)]
    Drawing(#[from] askama::Error),
}
