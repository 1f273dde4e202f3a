//! Requests that people have already, in the words of other tools, as Prony's own.
//!
//! What can't be carried over is either refused, where the load would be another one, or listed in
//! [`Imported::left_out`]. It must never run anything that it reads: a command line is text here.
//!
//! Reading order: [`imported`] (what comes out), [`shell`] (words of a command line), then [`curl`].

pub mod curl;
pub mod imported;
pub mod shell;

pub use curl::read_curl;
pub use imported::{Imported, LeftOut};
