//! Puts load on a server and measures what comes back.
mod control;
mod error;
mod run;
pub use control::Control;
pub use error::RunError;
pub use run::run;
