//! Who changed what about who may do what: a log to which is only added. Each entry's hash holds that of the one before,
//! so that nothing in between can be changed or left out unseen. That its end was cut off shows beside a hash that was
//! noted elsewhere ([`Checked::head`]).

use sha2::{Digest as _, Sha256};

use super::{Row, StoreError, Tx, values};
use prony_lab_model::auth::Digest;
use prony_lab_model::clock::Moment;

/// Entries that are read at once when the log is checked.
const CHECKED_TOGETHER: u32 = 1_000;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the chain, from 1.
    pub id: i64,
    /// When it was added.
    pub at: Moment,
    /// Who.
    pub actor: String,
    /// Did what: `user.role`, `token.add`, `policy.set`, …
    pub action: String,
    /// To whom or what.
    pub subject: String,
    /// The rest, in words; no secrets.
    pub detail: String,
    /// The hash of this entry and the one before it.
    pub hash: Digest,
}

/// The result of a check of the whole log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// How many were read.
    pub entries: u64,
    /// The hash of the last entry; zeros for an empty log.
    pub head: Digest,
    /// The first entry whose hash isn't what it should be.
    pub broken_at: Option<i64>,
}

/// Adds an entry.
pub fn append(
    tx: &mut Tx<'_>,
    at: Moment,
    actor: &str,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let before = tx.first("SELECT hash FROM audit ORDER BY id DESC LIMIT 1", &[], |row| digest(row, 0))?;
    // As it will be read back: PostgreSQL has no U+0000.
    let [actor, action, subject, detail] =
        [actor, action, subject, detail].map(|text| text.replace('\0', "\u{fffd}"));
    let hash = chained(before.unwrap_or(Digest([0; 32])), at, [&actor, &action, &subject, &detail]);
    tx.execute(
        "INSERT INTO audit (at, actor, action, subject, detail, hash) VALUES ($1, $2, $3, $4, $5, $6)",
        values![at, actor, action, subject, detail, &hash.0[..]],
    )?;
    Ok(())
}

/// At most `most` entries before the entry `before`, the newest first.
pub fn list(tx: &mut Tx<'_>, before: Option<i64>, most: u32) -> Result<Vec<Entry>, StoreError> {
    tx.query(
        "SELECT id, at, actor, action, subject, detail, hash FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2",
        values![before.unwrap_or(i64::MAX), most],
        entry,
    )
}

/// Checks every entry.
pub fn check(tx: &mut Tx<'_>) -> Result<Checked, StoreError> {
    let mut checked = Checked { entries: 0, head: Digest([0; 32]), broken_at: None };
    let mut last = i64::MIN;
    loop {
        let entries = tx.query(
            "SELECT id, at, actor, action, subject, detail, hash FROM audit WHERE id > $1 ORDER BY id LIMIT $2",
            values![last, CHECKED_TOGETHER],
            entry,
        )?;
        for found in &entries {
            let texts = [&found.actor, &found.action, &found.subject, &found.detail];
            if chained(checked.head, found.at, texts) != found.hash {
                checked.broken_at = checked.broken_at.or(Some(found.id));
            }
            checked.head = found.hash;
            checked.entries += 1;
            last = found.id;
        }
        if entries.len() < CHECKED_TOGETHER as usize {
            return Ok(checked);
        }
    }
}

/// Each text with its length before it: no two entries are written alike.
fn chained(before: Digest, at: Moment, texts: [&String; 4]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(before.0);
    hash.update(at.0.to_be_bytes());
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    Digest(hash.finalize().into())
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry {
        id: row.int(0)?,
        at: row.moment(1)?,
        actor: row.text(2)?,
        action: row.text(3)?,
        subject: row.text(4)?,
        detail: row.text(5)?,
        hash: digest(row, 6)?,
    })
}

fn digest(row: &Row, column: usize) -> Result<Digest, StoreError> {
    let bytes = row.bytes(column)?;
    bytes
        .try_into()
        .map(Digest)
        .map_err(|_| StoreError::Damaged("an entry of the audit log has no SHA-256".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::super::fixture::on_both;
    use super::*;

    fn filled(store: &Store) -> Checked {
        store
            .write_blocking(|tx| {
                for number in 0..5_i64 {
                    append(tx, Moment(number), "ada", "user.role", "ben\0", &format!("{number}"))?;
                }
                check(tx)
            })
            .expect("written")
    }

    #[test]
    fn a_log_that_was_left_alone_is_whole() {
        on_both(|store| {
            let empty = store.read_blocking(check).expect("read");
            assert_eq!(empty, Checked { entries: 0, head: Digest([0; 32]), broken_at: None });
            let checked = filled(store);
            assert_eq!((checked.entries, checked.broken_at), (5, None));
            let newest = store.read_blocking(|tx| list(tx, None, 2)).expect("read");
            assert_eq!(newest.iter().map(|entry| entry.detail.as_str()).collect::<Vec<_>>(), ["4", "3"]);
            assert_eq!(newest[0].hash, checked.head);
            let older = store.read_blocking(|tx| list(tx, Some(newest[1].id), 9)).expect("read");
            assert_eq!(older.len(), 3);
        });
    }

    #[test]
    fn every_change_shows() {
        for tampering in [
            "UPDATE audit SET detail = '9' WHERE detail = '2'",
            "UPDATE audit SET at = 9 WHERE detail = '2'",
            "UPDATE audit SET actor = 'adab', action = 'ser.role' WHERE detail = '2'",
            "DELETE FROM audit WHERE detail = '2'",
        ] {
            on_both(|store| {
                let whole = filled(store);
                let checked = store
                    .write_blocking(move |tx| {
                        tx.execute(tampering, &[])?;
                        check(tx)
                    })
                    .expect("written");
                assert!(checked.broken_at.is_some(), "{tampering}");
                assert_eq!(checked.head, whole.head);
            });
        }
        on_both(|store| {
            let whole = filled(store);
            let cut = store
                .write_blocking(|tx| {
                    tx.execute("DELETE FROM audit WHERE detail = '4'", &[])?;
                    check(tx)
                })
                .expect("written");
            assert_eq!(cut.broken_at, None);
            assert_ne!(cut.head, whole.head, "only the head tells that the end is gone");
        });
    }
}
