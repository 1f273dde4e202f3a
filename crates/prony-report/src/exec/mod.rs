//! What `prony exec` found out, as text for a terminal and as Markdown: is it valid, how long, which is faster.

mod facts;
mod markdown;
mod text;

pub use markdown::markdown;
pub use text::text;
