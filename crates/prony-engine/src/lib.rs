//! The load engine: puts a known load on an HTTP server and records what comes back, on both clocks.
//!
//! Workers never block, allocate or ask anything but the kernel's sockets while a run is on; every request
//! that was due is counted once, whatever became of it; and whatever makes a number doubtful becomes a
//! finding. The engine prints nothing, stores nothing and knows neither studies nor reports.
//!
//! The way of one request: [`run()`] starts `worker` (the only loop), which asks `pacer` what is due, tells
//! `exchange` (with `conn` and prony-http) what happened to a connection through `driver` (io_uring or
//! epoll), and writes samples into `recorder`. Its `slice`s go to `collect`, which makes totals and `series`;
//! `summary` makes the result of them and `audit` judges it.
//!
//! Beside it stands [`probe()`], which sends single requests without any of this and says where their time went.

mod audit;
mod checks;
mod clean;
mod clock;
mod collect;
mod conn;
mod connect_limiter;
mod control;
mod deadlines;
mod driver;
mod environment;
mod error;
mod exchange;
mod failure_detail;
mod first;
mod kernel_clock;
mod latency;
mod limits;
mod observe;
mod own_delay;
mod pacer;
mod payload;
mod probe;
mod recorder;
mod resolve;
mod run;
mod run_queue;
mod samples;
#[cfg(test)]
mod scripted;
mod series;
mod server;
mod slice;
mod slot_list;
mod socket;
mod stamps;
mod summary;
mod sys;
mod tcp_sampling;
mod timeouts;
mod waits;
mod wake;
mod worker;

pub use control::Control;
pub use environment::{before as environment, load_average};
pub use error::RunError;
pub use limits::connections_allowed;
pub use probe::{BodyNotKept, KeptBody, probe};
pub use run::{run, run_with_server};
