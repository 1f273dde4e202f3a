//! Draws what a probe found out: httpstat's picture, and the server's own times beside the client's.
//!
//! Reading order: `facts` (the text, whatever it is drawn as), `server_timing`, then the two ways
//! of drawing: `text` with its `picture`, and `markdown`.

mod facts;
mod markdown;
mod picture;
mod server_timing;
mod text;

pub use markdown::markdown;
pub use text::text;
