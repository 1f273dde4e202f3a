//! Checksums over rows that are not changed any more, so that `prony lab check` finds damage that leaves a database's own
//! structure whole.
//!
//! They protect against damage, not against people: anyone who can write the store can compute them. Files and pieces of
//! outputs get theirs when they are written. The rows of a build (its own, its tasks, results and thresholds) get one for
//! all together when it is over, so that accepting a build costs nothing more. Whatever changes a row of a build that is
//! over calls [`seal`] after that.

use sha2::{Digest as _, Sha256};

use super::{StoreError, Tx, Value, values};
use prony_lab_model::{BuildId, BuildState};

/// Builds and pieces that are read together.
const TOGETHER: u32 = 100;

/// What a build consists of, in an order that doesn't change. What retention removes is not part of it.
const PARTS: [&str; 4] = [
    "SELECT kind, project_id, reference, branch, commit_id, base, base_commit_id, variant, load, email, priority, state, \
     reason, verdict, baseline_id, attempt, requested_by, requested_at, expires_at, started_at, ended_at FROM builds \
     WHERE id = $1",
    "SELECT id, place, name, kind, command, state, reason, exit_code, started_at, ended_at FROM tasks \
     WHERE build_id = $1 ORDER BY place",
    "SELECT s.project_id, s.variant, s.cell, s.metric, s.is_better_high, s.fingerprint, r.series_id, r.value, r.low, \
     r.high, r.runs, r.samples, r.is_valid, r.note FROM results r JOIN series s ON s.id = r.series_id \
     WHERE r.build_id = $1 ORDER BY r.series_id",
    "SELECT place, words, cell, metric, value, is_met FROM thresholds WHERE build_id = $1 ORDER BY place",
];

/// What the checksums of a store show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// What is not as it was written, a line each.
    pub(super) faults: Vec<String>,
    /// Builds, files and pieces of outputs that were compared with their checksums.
    pub compared: u64,
    /// Those that are older than checksums.
    pub without: u64,
}

/// The checksum of a row with `values`, and of the `bytes` that come with it.
pub(super) fn of_row(values: &[Value], bytes: &[u8]) -> i64 {
    let mut hash = Sha256::new();
    for value in values {
        add(&mut hash, value);
    }
    add_bytes(&mut hash, b'b', bytes);
    number(hash)
}

/// Stores the checksum of a build, if it is over.
pub(crate) fn seal(tx: &mut Tx<'_>, build: BuildId) -> Result<(), StoreError> {
    let state = tx.first("SELECT state FROM builds WHERE id = $1", values![build], |row| row.word(0))?;
    if !state.is_some_and(BuildState::is_final) {
        return Ok(());
    }
    let checksum = of_build(tx, build)?;
    tx.execute("UPDATE builds SET checksum = $2 WHERE id = $1", values![build, checksum])?;
    Ok(())
}

/// Compares everything that has a checksum with it; at most `most` faults are listed.
pub(crate) fn check(tx: &mut Tx<'_>, most: usize) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    let mut after = BuildId(0);
    loop {
        let builds = tx.query(
            "SELECT id, state, checksum FROM builds WHERE id > $1 ORDER BY id LIMIT $2",
            values![after, TOGETHER],
            |row| Ok((BuildId(row.int(0)?), row.word::<BuildState>(1), row.maybe_int(2)?)),
        )?;
        let Some(last) = builds.last() else { break };
        after = last.0;
        for (build, state, checksum) in builds {
            // A state that can't be read is damage, too.
            let is_open = state.is_ok_and(|state| !state.is_final());
            if !is_open || checksum.is_some() {
                let found = of_build(tx, build)?;
                checked.note(checksum, found, || format!("a row of build {build} is not as it was written"));
            }
            files(tx, build, &mut checked)?;
            outputs(tx, build, &mut checked)?;
        }
    }
    checked.faults.truncate(most);
    Ok(checked)
}

fn files(tx: &mut Tx<'_>, build: BuildId, checked: &mut Checked) -> Result<(), StoreError> {
    let names = "SELECT name FROM files WHERE build_id = $1 ORDER BY name";
    // One after the other: they are large.
    for name in tx.query(names, values![build], |row| row.text(0))? {
        let found = tx.first(
            "SELECT name, media_type, size_bytes, deflated, checksum, bytes FROM files \
             WHERE build_id = $1 AND name = $2",
            values![build, name.as_str()],
            |row| {
                let bytes = row.bytes(5)?;
                let checksum = of_row(&[&[Value::from(build)][..], &row.0[..4]].concat(), &bytes);
                Ok((row.maybe_int(4)?, checksum))
            },
        )?;
        let fault = || format!("the file {name} of build {build} is not as it was written");
        match found {
            Some((checksum, found)) => checked.note(checksum, found, fault),
            None => checked.faults.push(fault()),
        }
    }
    Ok(())
}

fn outputs(tx: &mut Tx<'_>, build: BuildId, checked: &mut Checked) -> Result<(), StoreError> {
    for task in tx.query("SELECT id FROM tasks WHERE build_id = $1", values![build], |row| row.int(0))? {
        let mut after = 0;
        loop {
            let pieces = tx.query(
                "SELECT piece, checksum, bytes FROM outputs WHERE task_id = $1 AND piece > $2 ORDER BY piece LIMIT $3",
                values![task, after, TOGETHER],
                |row| Ok((row.int(0)?, row.maybe_int(1)?, of_row(values![task], &row.bytes(2)?))),
            )?;
            let Some(last) = pieces.last() else { break };
            after = last.0;
            for (piece, checksum, found) in pieces {
                let fault =
                    || format!("piece {piece} of an output of build {build} is not as it was written");
                checked.note(checksum, found, fault);
            }
        }
    }
    Ok(())
}

/// The checksum of everything that a build consists of.
fn of_build(tx: &mut Tx<'_>, build: BuildId) -> Result<i64, StoreError> {
    let mut hash = Sha256::new();
    for part in PARTS {
        for row in tx.query(part, values![build], |row| Ok(row.clone()))? {
            for value in &row.0 {
                add(&mut hash, value);
            }
        }
        // So that a row of one part can't stand for one of the next.
        hash.update(b"|");
    }
    Ok(number(hash))
}

impl Checked {
    fn note(&mut self, stored: Option<i64>, found: i64, fault: impl Fn() -> String) {
        match stored {
            None => self.without += 1,
            Some(stored) => {
                self.compared += 1;
                if stored != found {
                    self.faults.push(fault());
                }
            }
        }
    }
}

fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Int(value) => add_bytes(hash, b'i', &value.to_le_bytes()),
        Value::Real(value) => add_bytes(hash, b'r', &value.to_bits().to_le_bytes()),
        Value::Text(value) => add_bytes(hash, b't', value.as_bytes()),
        Value::Bytes(value) => add_bytes(hash, b'b', value),
    }
}

fn add_bytes(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// The first 64 bits: by chance, damage has the same in one case of 2^64.
fn number(hash: Sha256) -> i64 {
    let digest = hash.finalize();
    let (first, _) = digest.split_at(8);
    i64::from_le_bytes(first.try_into().expect("invariant: a digest has 32 bytes"))
}

#[cfg(test)]
mod tests;
