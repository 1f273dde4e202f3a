//! The servers over real sockets, asked by a plain blocking client.

mod client;
mod null;
