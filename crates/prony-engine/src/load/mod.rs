//! Makes the load: what is due, when it is sent, on which connection, and what came back.

pub(crate) mod worker;
pub(crate) mod pacer;
pub(crate) mod curve;
pub(crate) mod bursts;
pub(crate) mod wake;
pub(crate) mod begin;
pub(crate) mod exchange;
pub(crate) mod giving_up;
pub(crate) mod ending;
pub(crate) mod retry;
pub(crate) mod conn;
pub(crate) mod layer;
pub(crate) mod http2;
pub(crate) mod scenario;
pub(crate) mod streams;
pub(crate) mod connect_limiter;
pub(crate) mod slot_list;
pub(crate) mod deadlines;
pub(crate) mod timeouts;
pub(crate) mod driver;
pub(crate) mod socket;
pub(crate) mod payload;
pub(crate) mod trace;
pub(crate) mod checks;
pub(crate) mod first;
#[cfg(test)]
pub(crate) mod scripted;
