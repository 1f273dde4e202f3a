//! Work in a transaction, without its types: the queues, tasks and threads that it goes through are compiled once, not
//! for each kind of work, of which there are more than 200.

use std::any::Any;

use super::{StoreError, Tx};

/// What some work has found.
pub(super) type Found = Box<dyn Any + Send>;
/// Work in a transaction.
pub(super) type Work = Box<dyn FnOnce(&mut Tx<'_>) -> Result<Found, StoreError> + Send>;

/// `work` without its types.
pub(super) fn erased<T: Send + 'static>(
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Work {
    Box::new(move |tx| work(tx).map(|found| Box::new(found) as Found))
}

/// What the work of [`erased`] has found, which is a `T`.
pub(super) fn restored<T: 'static>(found: Found) -> T {
    *found.downcast().expect("invariant: work finds what it was erased with")
}
