//! Metrics as receivers get them, and receivers that misbehave.

mod bodies;
mod decoder;
mod fixture;
mod receiver;
mod receivers;
