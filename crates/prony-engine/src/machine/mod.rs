//! What the machine is and does meanwhile, the server on it included.

pub(crate) mod environment;
pub(crate) mod limits;
pub(crate) mod observe;
pub(crate) mod server;
