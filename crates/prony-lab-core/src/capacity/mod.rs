//! What all requests share, and how much of it each may have: drawn pages, live updates, turns, downloads.

mod downloads;
mod error;
mod render_cache;
mod shares;

pub use downloads::{Downloads, Reservation};
pub use error::CapacityError;
pub use render_cache::RenderCache;
pub use shares::{Share, Shares, Turn, Turns};
