//! What all requests share, and how much of it each may have: drawn pages, live updates, turns, downloads.

mod downloads;
mod error;
mod render_cache;
mod shares;

pub(crate) use downloads::{Downloads, Reservation};
pub(crate) use error::CapacityError;
pub(crate) use render_cache::RenderCache;
pub(crate) use shares::{Share, Shares, Turn, Turns};
