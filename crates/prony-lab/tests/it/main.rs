//! The lab from outside: real sockets, real stores.

mod account;
mod api;
mod forms;
mod front;
mod guard;
mod health;
mod login;
mod ownership;
mod push;
mod slow;
mod tls;
mod watching;
