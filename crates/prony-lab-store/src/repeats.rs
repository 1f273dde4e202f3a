//! Builds that repeat another. All of a chain name the first build; a chain is in the order of its builds.

use super::{StoreError, Tx, values};
use prony_lab_model::{BuildId, Repeat};

/// Notes that `build` repeats `first`.
pub fn link(tx: &mut Tx<'_>, build: BuildId, first: BuildId, why: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE builds SET repeat_of = $2, repeat_why = $3 WHERE id = $1",
        values![build, first, why],
    )?;
    Ok(())
}

/// The repeats of `first`, in their order.
pub fn of(tx: &mut Tx<'_>, first: BuildId) -> Result<Vec<Repeat>, StoreError> {
    tx.query("SELECT id, repeat_why FROM builds WHERE repeat_of = $1 ORDER BY id", values![first], |row| {
        Ok(Repeat { build: BuildId(row.int(0)?), why: row.maybe_text(1)?.unwrap_or_default() })
    })
}

/// The commit of a build, and that with which it compares.
pub fn commits(tx: &mut Tx<'_>, build: BuildId) -> Result<(Option<String>, Option<String>), StoreError> {
    let found =
        tx.first("SELECT commit_id, base_commit_id FROM builds WHERE id = $1", values![build], |row| {
            Ok((row.maybe_text(0)?, row.maybe_text(1)?))
        })?;
    found.ok_or_else(|| StoreError::Missing(format!("build {build}")))
}
