//! Which stretches of a run are clean: in the others somebody else took the cores that client and target needed.
//!
//! The decision rests on what the kernel says of the machine, never on what was measured meanwhile. Leaving out what
//! was slow would make every server fast; leaving out what the hypervisor held up makes none faster than it is, because
//! a server's own stalls fall into clean and other stretches alike.

mod held;
mod marks;
pub(crate) mod parts;
#[cfg(test)]
mod simulation;
mod sorter;
mod taken;
mod totals;

pub(crate) use sorter::Sorter;
pub(crate) use totals::CleanTotals;
