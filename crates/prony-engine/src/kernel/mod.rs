//! What the kernel says of the requests and of the workers: its time stamps, its state of connections, its run queues.

pub(crate) mod kernel_clock;
pub(crate) mod stamps;
pub(crate) mod tcp_sampling;
pub(crate) mod run_queue;
pub(crate) mod waits;
