//! Results of builds, as pages show them: figures with the series to which they belong, and notes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Row, StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, SeriesId};

/// One figure of one build.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The build that measured it.
    pub build: BuildId,
    /// The series that it belongs to.
    pub series: SeriesId,
    /// The case of the study.
    pub cell: String,
    /// The name of what was measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether more is better.
    pub is_better_high: bool,
    /// Of the machine.
    pub fingerprint: String,
    /// The median over the runs.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
    /// How many runs.
    pub runs: i64,
    /// How many samples in them.
    pub samples: i64,
    /// Whether it may be compared.
    pub is_valid: bool,
    /// What to know about it.
    pub note: Option<String>,
}

/// What somebody wrote about a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// Its number.
    pub id: i64,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: Moment,
    /// The text.
    pub words: String,
}

const COLUMNS: &str = "r.build_id, s.id, s.cell, s.metric, s.unit, s.is_better_high, s.fingerprint, r.value, r.low, \
                       r.high, r.runs, r.samples, r.is_valid, r.note";
const FROM: &str = "results r JOIN series s ON s.id = r.series_id";

/// At most `most` figures of a build, in the order in which its study has them.
pub fn of(tx: &mut Tx<'_>, build: BuildId, most: u32) -> Result<Vec<Figure>, StoreError> {
    // By the number that stands in the index of a build's results, so that nothing is sorted, and no more is read.
    let statement =
        format!("SELECT {COLUMNS} FROM {FROM} WHERE r.build_id = $1 ORDER BY r.series_id LIMIT $2");
    tx.query(&statement, values![build, most], figure)
}

/// The figure of a build in one series, if it has one.
pub fn of_series(tx: &mut Tx<'_>, build: BuildId, series: SeriesId) -> Result<Option<Figure>, StoreError> {
    let statement = format!("SELECT {COLUMNS} FROM {FROM} WHERE r.series_id = $1 AND r.build_id = $2");
    tx.first(&statement, values![series, build], figure)
}

/// The newest notes on a build, the oldest of them first.
pub fn notes(tx: &mut Tx<'_>, build: BuildId, most: u32) -> Result<Vec<Note>, StoreError> {
    let mut notes = tx.query(
        "SELECT id, author, at, words FROM notes WHERE build_id = $1 ORDER BY id DESC LIMIT $2",
        values![build, most],
        |row| Ok(Note { id: row.int(0)?, author: row.text(1)?, at: row.moment(2)?, words: row.text(3)? }),
    )?;
    notes.reverse();
    Ok(notes)
}

/// Adds a note to a build.
pub fn add_note(
    tx: &mut Tx<'_>,
    build: BuildId,
    author: &str,
    words: &str,
    now: Moment,
) -> Result<(), StoreError> {
    super::builds::state(tx, build)?;
    let id = tx.number(
        "INSERT INTO notes (build_id, author, at, words) VALUES ($1, $2, $3, $4) RETURNING id",
        values![build, author, now, words],
    )?;
    super::events::append(tx, now, "build.note", Some(build), &serde_json::json!({ "note": id }))?;
    Ok(())
}

/// How much the store holds, of what one would count. Rows that are never removed are counted by their last number.
pub fn counts(tx: &mut Tx<'_>) -> Result<Vec<(&'static str, u64)>, StoreError> {
    [
        ("builds", "SELECT COALESCE(MAX(id), 0) FROM builds"),
        ("series", "SELECT COUNT(*) FROM series"),
        ("events", "SELECT COALESCE(MAX(id) - MIN(id) + 1, 0) FROM events"),
    ]
    .into_iter()
    .map(|(name, statement)| Ok((name, tx.number(statement, &[])?.cast_unsigned())))
    .collect()
}

fn figure(row: &Row) -> Result<Figure, StoreError> {
    Ok(Figure {
        build: BuildId(row.int(0)?),
        series: SeriesId(row.int(1)?),
        cell: row.text(2)?,
        metric: row.text(3)?,
        unit: row.text(4)?,
        is_better_high: row.int(5)? != 0,
        fingerprint: row.text(6)?,
        value: row.maybe_real(7)?,
        low: row.maybe_real(8)?,
        high: row.maybe_real(9)?,
        runs: row.int(10)?,
        samples: row.int(11)?,
        is_valid: row.int(12)? != 0,
        note: row.maybe_text(13)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::results::{self, Measured, Results};
    use super::super::{builds, projects, tasks};
    use super::*;
    use prony_lab_model::{BuildRequest, Definition};

    fn build(tx: &mut Tx<'_>) -> Result<BuildId, StoreError> {
        let text = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
        let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
        let definition = Definition::read(text).expect("a definition");
        let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request");
        let id = builds::accept(tx, &new)?;
        let measured = |cell: &str, value| Measured {
            cell: cell.to_owned(),
            metric: "p99".to_owned(),
            unit: "ms".to_owned(),
            is_better_high: false,
            value,
            interval: value.map(|value| (value - 0.5, value + 0.5)),
            runs: 5,
            samples: 100,
            is_valid: value.is_some(),
            note: value.is_none().then(|| "too few".to_owned()),
        };
        let measured = vec![measured("GET /", Some(2.0)), measured("POST /", None)];
        let results = Results { fingerprint: "m".to_owned(), measured, thresholds: Vec::new() };
        results::keep(tx, id, project, "default", &results)?;
        Ok(id)
    }

    #[test]
    fn figures_come_with_their_series() {
        on_both(|store| {
            let id = store.write_blocking(build).expect("kept");
            let found = store.read_blocking(|tx| of(tx, id, 10)).expect("read");
            let rows: Vec<_> = found.iter().map(|f| (f.cell.as_str(), f.value, f.low, f.is_valid)).collect();
            assert_eq!(rows, [("GET /", Some(2.0), Some(1.5), true), ("POST /", None, None, false)]);
            assert_eq!(store.read_blocking(|tx| of(tx, id, 1)).expect("read").len(), 1);
            assert_eq!(store.read_blocking(counts).expect("read")[..2], [("builds", 1), ("series", 2)]);
        });
    }

    #[test]
    fn the_newest_notes_stay_in_their_order() {
        on_both(|store| {
            let id = store.write_blocking(build).expect("kept");
            for words in ["one", "two", "three"] {
                store.write_blocking(move |tx| add_note(tx, id, "kim", words, Moment(7))).expect("noted");
            }
            let found = store.read_blocking(|tx| notes(tx, id, 2)).expect("read");
            assert_eq!(found.iter().map(|note| note.words.as_str()).collect::<Vec<_>>(), ["two", "three"]);
            let nowhere = store.write_blocking(|tx| add_note(tx, BuildId(99), "kim", "x", Moment(7)));
            assert!(matches!(nowhere, Err(StoreError::Missing(_))), "{nowhere:?}");
        });
    }

    #[test]
    fn the_end_of_an_output_is_read_without_its_beginning() {
        on_both(|store| {
            let id = store.write_blocking(build).expect("kept");
            let task = store.read_blocking(|tx| tasks::of(tx, id)).expect("read")[0].id;
            for piece in 0..40_u8 {
                store
                    .write_blocking(move |tx| tasks::write(tx, id, task, &[piece; 10], Moment(8)))
                    .expect("kept");
            }
            let tail = store.read_blocking(|tx| tasks::tail(tx, task, 25)).expect("read");
            assert_eq!(tail.iter().map(|(piece, _)| *piece).collect::<Vec<_>>(), [38, 39, 40]);
            let all = store.read_blocking(|tx| tasks::tail(tx, task, 1 << 20)).expect("read");
            assert_eq!((all.len(), all[0].0), (40, 1));
            assert_eq!(store.read_blocking(|tx| tasks::tail(tx, task, 0)).expect("read"), []);
        });
    }
}
