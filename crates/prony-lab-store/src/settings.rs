//! Settings of the lab, and what it answered to requests that carry a key of their own.

use super::{StoreError, Tx, values};
use prony_lab_model::BuildId;
use prony_lab_model::auth::Digest;
use prony_lab_model::clock::Moment;

/// The setting `key`.
pub fn setting(tx: &mut Tx<'_>, key: &str) -> Result<Option<String>, StoreError> {
    tx.first("SELECT value FROM settings WHERE key = $1", values![key], |row| row.text(0))
}

/// Sets `key` to `value`.
pub fn set(tx: &mut Tx<'_>, key: &str, value: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        values![key, value],
    )
    .map(drop)
}

/// What was answered to `actor`'s request with this key: the digest of that request, and the build it led to.
pub fn answered(tx: &mut Tx<'_>, actor: &str, key: &str) -> Result<Option<(Vec<u8>, BuildId)>, StoreError> {
    tx.first(
        "SELECT request, build_id FROM idempotency WHERE actor = $1 AND key = $2",
        values![actor, key],
        |row| Ok((row.bytes(0)?, BuildId(row.int(1)?))),
    )
}

/// Notes what was answered, and forgets what was before `before`.
pub fn answer(
    tx: &mut Tx<'_>,
    actor: &str,
    key: &str,
    request: &Digest,
    build: BuildId,
    now: Moment,
    before: Moment,
) -> Result<(), StoreError> {
    tx.execute("DELETE FROM idempotency WHERE at < $1", values![before])?;
    tx.execute(
        "INSERT INTO idempotency (actor, key, request, build_id, at) VALUES ($1, $2, $3, $4, $5)",
        values![actor, key, &request.0[..], build, now],
    )
    .map(drop)
}
