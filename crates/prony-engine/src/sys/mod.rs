//! All `unsafe` code of Prony: the io_uring rings, and socket options, time stamps of sockets, a setting of the C
//! library and a scheduling attribute that no crate wraps.
//!
//! Everything here has a safe interface: no use of it can break memory, only make the kernel return an error.
#![allow(unsafe_code, reason = "the one module that talks to the kernel below the safe wrappers")]

mod buffers;
mod cpu_clock;
mod entrance;
mod lent;
mod memory;
mod perf;
mod priority;
mod refusals;
mod ring;
mod sockopt;
mod tcp_info;
mod timestamping;

pub(crate) use buffers::BufferGroups;
pub(crate) use cpu_clock::process_cpu_ns;
pub use memory::{map_large_allocations, share_heaps};
pub(crate) use perf::{Counter, Event};
pub(crate) use priority::ask_for_short_slices;
pub(crate) use ring::{BATCH, Completion, Receive, Ring, RingSetup, Socket, received};
pub(crate) use sockopt::defer_port_choice;
pub(crate) use tcp_info::{TcpInfo, tcp_info};
pub(crate) use timestamping::{ask_for_stamps, departure, receive_stamped};
