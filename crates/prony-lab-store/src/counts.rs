//! How much there is of what.

use std::collections::BTreeMap;

use super::{StoreError, Tx, alerts, builds, hooks};
use prony_lab_model::BuildState;
use prony_lab_model::clock::Moment;

/// How much there is of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Builds in every state.
    pub builds: BTreeMap<String, i64>,
    /// Alerts that are open.
    pub open_alerts: i64,
    /// Deliveries that are still to be made.
    pub deliveries: i64,
    /// When the oldest build of the queue was asked for.
    pub oldest_queued: Option<Moment>,
}

/// Whether builds wait, and whether one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Whether builds wait.
    pub has_waiting: bool,
    /// Whether one runs.
    pub has_running: bool,
}

/// The queue, now.
pub fn queue(tx: &mut Tx<'_>) -> Result<QueueState, StoreError> {
    let running = format!("SELECT 1 FROM builds WHERE {} LIMIT 1", builds::IS_RUNNING);
    Ok(QueueState {
        has_waiting: super::queue::has_work(tx)?,
        has_running: tx.first(&running, &[], |row| row.int(0))?.is_some(),
    })
}

/// All of it, now.
pub fn all(tx: &mut Tx<'_>) -> Result<Counts, StoreError> {
    let mut builds: BTreeMap<String, i64> =
        BuildState::ALL.into_iter().map(|state| (state.name().to_owned(), 0)).collect();
    builds.extend(tx.query("SELECT state, COUNT(*) FROM builds GROUP BY state", &[], |row| {
        Ok((row.text(0)?, row.int(1)?))
    })?);
    let oldest = tx.first("SELECT MIN(requested_at) FROM builds WHERE state = 'queued'", &[], |row| {
        row.maybe_moment(0)
    })?;
    Ok(Counts {
        builds,
        open_alerts: alerts::open_count(tx)?,
        deliveries: hooks::waiting(tx)?,
        oldest_queued: oldest.flatten(),
    })
}
