//! All `unsafe` code of Prony: the io_uring rings and one socket option that no crate wraps.
//!
//! Everything here has a safe interface: no use of it can break memory, only make the kernel return an error.
#![allow(unsafe_code, reason = "the one module that talks to the kernel below the safe wrappers")]

mod buffers;
mod ring;
mod sockopt;

pub(crate) use buffers::Buffers;
pub(crate) use ring::{BATCH, Completion, Ring, RingSetup};
pub(crate) use sockopt::defer_port_choice;
