//! The load engine: puts a known load on an HTTP server and records what comes back, on both clocks.
//!
//! Workers never block, allocate or ask anything but the kernel's sockets while a run is on; every request
//! that was due is counted once, whatever became of it; and whatever makes a number doubtful becomes a
//! finding. The engine prints nothing, stores nothing and knows neither studies nor reports.
//!
//! The way of one request: [`run()`] starts `load::worker` (the only loop), which asks `load::pacer` what is due, reports
//! to `load::exchange` (with `conn` and prony-http) what happened to a connection through `load::driver` (io_uring or
//! epoll), and writes samples into `record::recorder`. Its slices go to `record::collect`, which makes totals and a
//! series; `record::summary` makes the result of them and `evaluate` says whether it can be trusted. `kernel` is what
//! the kernel reports of the requests, `machine` what it reports of the machine and of a server on it.
//!
//! [`observe_server()`] measures a server on this machine while others load it. Beside it stands [`probe()`], which sends single requests without any of this and says where their time went.

mod assign;
mod run;

mod load;
mod record;

mod evaluate;
mod kernel;
mod machine;

mod probe;

mod clock;
mod control;
mod error;
mod http2;
mod resolve;
mod sys;
mod tls;

pub use control::Control;
pub use error::RunError;
pub use machine::environment::{before as environment, load_average};
pub use machine::limits::connections_allowed;
pub use machine::server::{find_server, observe_server};
pub use probe::{BodyNotKept, KeptBody, probe};
pub use run::{RunExtras, run, run_with};
pub use sys::{map_large_allocations, share_heaps};
