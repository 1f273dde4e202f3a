//! The tasks of builds, and what they wrote.

use serde_json::json;

use super::{Row, StoreError, Tx, checksum, events, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, Task, TaskId, TaskKind, TaskState};

/// Adds the tasks of a new build, in the order in which they will run.
pub fn add(tx: &mut Tx<'_>, build: BuildId, tasks: &[(String, TaskKind, String)]) -> Result<(), StoreError> {
    // All in one statement: to PostgreSQL each is a way there and back.
    let mut parameters = values![build].to_vec();
    let mut rows = Vec::with_capacity(tasks.len());
    for (place, (name, kind, command)) in tasks.iter().enumerate() {
        let first = parameters.len() + 1;
        let (second, third, fourth) = (first + 1, first + 2, first + 3);
        rows.push(format!("($1, ${first}, ${second}, ${third}, ${fourth}, 'pending')"));
        parameters.extend_from_slice(values![place as u64, name.as_str(), kind.name(), command.as_str()]);
    }
    if !rows.is_empty() {
        let rows = rows.join(", ");
        let statement =
            format!("INSERT INTO tasks (build_id, place, name, kind, command, state) VALUES {rows}");
        tx.execute(&statement, &parameters)?;
    }
    Ok(())
}

/// The tasks of a build, in the order in which they run.
pub fn of(tx: &mut Tx<'_>, build: BuildId) -> Result<Vec<Task>, StoreError> {
    tx.query(
        "SELECT id, name, kind, command, state, reason, exit_code, started_at, ended_at, output_bytes FROM tasks \
         WHERE build_id = $1 ORDER BY place",
        values![build],
        task,
    )
}

/// Notes that a task has begun.
pub fn begin(tx: &mut Tx<'_>, build: BuildId, task: TaskId, now: Moment) -> Result<(), StoreError> {
    tx.execute("UPDATE tasks SET state = 'running', started_at = $2 WHERE id = $1", values![task, now])?;
    events::append(tx, now, "task.running", Some(build), &json!({ "task": task }))?;
    Ok(())
}

/// Notes how a task ended.
pub fn end(
    tx: &mut Tx<'_>,
    build: BuildId,
    task: TaskId,
    state: TaskState,
    exit_code: Option<i32>,
    reason: Option<&str>,
    now: Moment,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET state = $2, exit_code = $3, reason = $4, ended_at = $5 WHERE id = $1",
        values![task, state.name(), exit_code, reason, now],
    )?;
    checksum::seal(tx, build)?;
    let body = json!({ "task": task, "reason": reason });
    events::append(tx, now, &format!("task.{}", state.name()), Some(build), &body)?;
    Ok(())
}

/// A piece of an output has no more, so that a few of them are never much.
pub const PIECE_BYTES_MAX: usize = 64 << 10;

/// Appends what a task wrote.
pub fn write(
    tx: &mut Tx<'_>,
    build: BuildId,
    task: TaskId,
    bytes: &[u8],
    now: Moment,
) -> Result<(), StoreError> {
    for piece in bytes.chunks(PIECE_BYTES_MAX) {
        write_piece(tx, build, task, piece, now)?;
    }
    Ok(())
}

fn write_piece(
    tx: &mut Tx<'_>,
    build: BuildId,
    task: TaskId,
    bytes: &[u8],
    now: Moment,
) -> Result<(), StoreError> {
    let piece = tx.number(
        "INSERT INTO outputs (task_id, piece, bytes, checksum) VALUES ($1, \
         (SELECT COALESCE(MAX(piece), 0) + 1 FROM outputs WHERE task_id = $1), $2, $3) RETURNING piece",
        values![task, bytes, checksum::of_row(values![task], bytes)],
    )?;
    tx.execute(
        "UPDATE tasks SET output_bytes = output_bytes + $2 WHERE id = $1",
        values![task, bytes.len() as u64],
    )?;
    events::append(
        tx,
        now,
        "task.output",
        Some(build),
        &json!({ "task": task, "piece": piece, "bytes": bytes.len() }),
    )?;
    Ok(())
}

/// What a task wrote, from its piece after `after` on, at most `most` pieces: each with its number.
pub fn output(
    tx: &mut Tx<'_>,
    task: TaskId,
    after: i64,
    most: u32,
) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
    tx.query(
        "SELECT piece, bytes FROM outputs WHERE task_id = $1 AND piece > $2 ORDER BY piece LIMIT $3",
        values![task, after, most],
        |row| Ok((row.int(0)?, row.bytes(1)?)),
    )
}

/// The last pieces of what a task wrote, the oldest first: as many as have `bytes` together, and the one more that they
/// begin in.
pub fn tail(tx: &mut Tx<'_>, task: TaskId, bytes: usize) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
    /// Pieces that are read together: most outputs end in fewer.
    const TOGETHER: u32 = 16;
    let (mut found, mut before, mut size) = (Vec::new(), i64::MAX, 0);
    while size < bytes {
        let pieces = tx.query(
            "SELECT piece, bytes FROM outputs WHERE task_id = $1 AND piece < $2 ORDER BY piece DESC LIMIT $3",
            values![task, before, TOGETHER],
            |row| Ok((row.int(0)?, row.bytes(1)?)),
        )?;
        let Some((last, _)) = pieces.last() else { break };
        before = *last;
        for piece in pieces {
            if size >= bytes {
                break;
            }
            size += piece.1.len();
            found.push(piece);
        }
    }
    found.reverse();
    Ok(found)
}

fn task(row: &Row) -> Result<Task, StoreError> {
    Ok(Task {
        id: TaskId(row.int(0)?),
        name: row.text(1)?,
        kind: row.word(2)?,
        command: row.text(3)?,
        state: row.word(4)?,
        reason: row.maybe_text(5)?,
        exit_code: row.maybe_int(6)?.map(|code| i32::try_from(code).unwrap_or(-1)),
        started_at: row.maybe_moment(7)?,
        ended_at: row.maybe_moment(8)?,
        output_bytes: row.int(9)?.cast_unsigned(),
    })
}
