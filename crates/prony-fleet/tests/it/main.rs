//! The protocol from outside: golden files, signatures, the spool and journal on a disk, and whole runs in a simulated
//! world.

mod collecting;
mod disk;
mod fixture;
mod golden;
mod hub;
mod signatures;
mod simulation;
mod uploads;
mod world;
