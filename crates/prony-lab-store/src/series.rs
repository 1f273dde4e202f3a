//! Series and their points, as the worker filled them in; and where they changed.

use super::{Row, StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertId, BuildId, Change, ChangeState, Point, ProjectId, Series, SeriesId};

const SERIES: &str =
    "s.id, s.project_id, s.variant, s.cell, s.metric, s.unit, s.is_better_high, s.fingerprint";
const CHANGES: &str = "c.id, c.series_id, c.build_id, c.last_before_id, c.state, c.before, c.after, c.p, c.found_at, \
                       c.alert_id, c.comparison_id";

/// Results of other builds that are passed over to find one.
const BETWEEN_MAX: u64 = 10;

/// The series of that number.
pub fn one(tx: &mut Tx<'_>, id: SeriesId) -> Result<Option<Series>, StoreError> {
    tx.first(&format!("SELECT {SERIES} FROM series s WHERE s.id = $1"), values![id], series)
}

/// The series of a project, those of one cell together.
pub fn of_project(tx: &mut Tx<'_>, project: ProjectId, most: u32) -> Result<Vec<Series>, StoreError> {
    tx.query(
        &format!(
            "SELECT {SERIES} FROM series s WHERE s.project_id = $1 \
             ORDER BY s.variant, s.cell, s.fingerprint, s.metric LIMIT $2"
        ),
        values![project, most],
        series,
    )
}

/// The series with results of a build.
pub fn of_build(tx: &mut Tx<'_>, build: BuildId) -> Result<Vec<Series>, StoreError> {
    tx.query(
        &format!(
            "SELECT {SERIES} FROM results r JOIN series s ON s.id = r.series_id WHERE r.build_id = $1 ORDER BY s.id"
        ),
        values![build],
        series,
    )
}

/// Whether two commits can be measured in turn for what a build measured: not if all of it are commands and probes.
pub fn has_loads(tx: &mut Tx<'_>, build: BuildId) -> Result<bool, StoreError> {
    let all = of_build(tx, build)?;
    Ok(all.is_empty() || all.iter().any(Series::is_comparable))
}

/// The last `most` points of a series on `branch`, the oldest first: those of builds that stand in its history, in the
/// order in which they were asked for.
pub fn points(tx: &mut Tx<'_>, series: SeriesId, branch: &str, most: u32) -> Result<Vec<Point>, StoreError> {
    let statement = "SELECT r.build_id, b.commit_id, b.requested_at, r.value, r.low, r.high, r.runs, r.samples, \
                     r.is_valid, r.note FROM results r JOIN builds b ON b.id = r.build_id \
                     WHERE r.series_id = $1 AND b.kind = 'project' AND b.branch = $2 \
                     ORDER BY r.build_id DESC LIMIT $3";
    // A build that waits has no results.
    let mut found = tx.apart_from_accepted(|tx| tx.query(statement, values![series, branch, most], point))?;
    found.reverse();
    Ok(found)
}

/// The values of a series in `builds`, the oldest first: those that count. Of builds in between, such as those of other
/// branches, at most `BETWEEN_MAX` times as many are passed over; what lies beyond is left out.
///
/// It names no table but that of results, so that what is drawn from it stays good while builds come and go.
pub fn values_in(tx: &mut Tx<'_>, series: SeriesId, builds: &[BuildId]) -> Result<Vec<f64>, StoreError> {
    let (Some(first), Some(last)) = (builds.iter().min(), builds.iter().max()) else { return Ok(Vec::new()) };
    let most = BETWEEN_MAX.saturating_mul(builds.len() as u64);
    let mut found = tx.query(
        "SELECT build_id, value FROM results WHERE series_id = $1 AND build_id BETWEEN $2 AND $3 AND is_valid = 1 \
         AND value IS NOT NULL ORDER BY build_id DESC LIMIT $4",
        values![series, *first, *last, most],
        |row| Ok((BuildId(row.int(0)?), row.real(1)?)),
    )?;
    found.retain(|(build, _)| builds.contains(build));
    Ok(found.into_iter().rev().map(|(_, value)| value).collect())
}

/// Where a series changed, the oldest first.
pub fn changes(tx: &mut Tx<'_>, series: SeriesId) -> Result<Vec<Change>, StoreError> {
    tx.query(
        &format!("SELECT {CHANGES} FROM changes c WHERE c.series_id = $1 ORDER BY c.build_id"),
        values![series],
        change,
    )
}

/// The changes of a project's variant with builds from `first` to `last`, of all its series.
pub fn changes_near(
    tx: &mut Tx<'_>,
    project: ProjectId,
    variant: &str,
    first: BuildId,
    last: BuildId,
) -> Result<Vec<Change>, StoreError> {
    tx.query(
        &format!(
            "SELECT {CHANGES} FROM changes c JOIN series s ON s.id = c.series_id WHERE c.build_id BETWEEN $3 AND $4 \
             AND s.project_id = $1 AND s.variant = $2 ORDER BY c.id"
        ),
        values![project, variant, first, last],
        change,
    )
}

/// The changes that an alert is about.
pub fn changes_of_alert(tx: &mut Tx<'_>, alert: AlertId) -> Result<Vec<Change>, StoreError> {
    let statement = format!("SELECT {CHANGES} FROM changes c WHERE c.alert_id = $1 ORDER BY c.id");
    tx.query(&statement, values![alert], change)
}

/// The changes that a comparison was asked for.
pub fn changes_compared(tx: &mut Tx<'_>, comparison: BuildId) -> Result<Vec<Change>, StoreError> {
    let statement = format!("SELECT {CHANGES} FROM changes c WHERE c.comparison_id = $1 ORDER BY c.id");
    tx.query(&statement, values![comparison], change)
}

/// Has the changes for which `comparison` was requested wait for the verdict of `again`.
pub fn follow_repeat(tx: &mut Tx<'_>, comparison: BuildId, again: BuildId) -> Result<(), StoreError> {
    let statement = "UPDATE changes SET comparison_id = $2 WHERE comparison_id = $1";
    tx.execute(statement, values![comparison, again])?;
    Ok(())
}

/// Notes a change that is new; its number.
pub fn add_change(tx: &mut Tx<'_>, new: &Change) -> Result<i64, StoreError> {
    tx.number(
        "INSERT INTO changes (series_id, build_id, last_before_id, state, before, after, p, found_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        values![
            new.series,
            new.build,
            new.last_before,
            new.state.name(),
            new.before,
            new.after,
            new.p,
            new.found_at
        ],
    )
}

/// Updates a known change with more points.
pub fn update_change(tx: &mut Tx<'_>, change: &Change) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE changes SET build_id = $2, last_before_id = $3, state = $4, before = $5, after = $6, p = $7, \
         alert_id = $8, comparison_id = $9 WHERE id = $1",
        values![
            change.id,
            change.build,
            change.last_before,
            change.state.name(),
            change.before,
            change.after,
            change.p,
            change.alert,
            change.comparison
        ],
    )?;
    Ok(())
}

/// Takes back a change that more points don't show.
pub fn remove_change(tx: &mut Tx<'_>, id: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM changes WHERE id = $1", values![id])?;
    Ok(())
}

fn series(row: &Row) -> Result<Series, StoreError> {
    Ok(Series {
        id: SeriesId(row.int(0)?),
        project: ProjectId(row.int(1)?),
        variant: row.text(2)?,
        cell: row.text(3)?,
        metric: row.text(4)?,
        unit: row.text(5)?,
        is_better_high: row.int(6)? != 0,
        fingerprint: row.text(7)?,
    })
}

fn point(row: &Row) -> Result<Point, StoreError> {
    Ok(Point {
        build: BuildId(row.int(0)?),
        commit: row.maybe_text(1)?,
        at: row.moment(2)?,
        value: row.maybe_real(3)?,
        low: row.maybe_real(4)?,
        high: row.maybe_real(5)?,
        runs: u32::try_from(row.int(6)?).unwrap_or(u32::MAX),
        samples: row.int(7)?.cast_unsigned(),
        is_valid: row.int(8)? != 0,
        note: row.maybe_text(9)?,
    })
}

fn change(row: &Row) -> Result<Change, StoreError> {
    Ok(Change {
        id: row.int(0)?,
        series: SeriesId(row.int(1)?),
        build: BuildId(row.int(2)?),
        last_before: BuildId(row.int(3)?),
        state: row.word::<ChangeState>(4)?,
        before: row.real(5)?,
        after: row.real(6)?,
        p: row.real(7)?,
        found_at: Moment(row.int(8)?),
        alert: row.maybe_int(9)?.map(AlertId),
        comparison: row.maybe_int(10)?.map(BuildId),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::past::{Measured, Past};
    use super::*;

    #[test]
    fn values_are_those_of_the_builds_that_count() {
        on_both(|store| {
            let past = Past::new(store);
            let with = |p99: f64| Measured { results: vec![("p99", p99)], ..Measured::default() };
            let build = |branch: &str, p99| past.build(branch, "c", with(p99));
            let (first, _, second) = (build("main", 1.0), build("other", 9.0), build("main", 2.0));
            let unused = past.build("main", "c", Measured { is_invalid: true, ..with(3.0) });
            let last = build("main", 4.0);
            let series = store.read_blocking(|tx| of_build(tx, first)).expect("read")[0].id;
            let values =
                |builds: &[BuildId]| store.read_blocking(|tx| values_in(tx, series, builds)).expect("read");
            assert_eq!(values(&[last, unused, second, first]), [1.0, 2.0, 4.0], "the oldest first");
            assert_eq!(values(&[second]), [2.0]);
            assert_eq!(values(&[]), Vec::<f64>::new());
        });
    }

    #[test]
    fn results_of_other_branches_are_passed_over_but_not_without_end() {
        on_both(|store| {
            let past = Past::new(store);
            let one = |branch: &str| {
                let measured = Measured { results: vec![("p99", 1.0)], ..Measured::default() };
                (branch.to_owned(), "c".to_owned(), measured)
            };
            let first = past.builds(vec![one("main")])[0];
            past.builds((0..3 * BETWEEN_MAX).map(|_| one("other")).collect());
            let last = past.builds(vec![one("main")])[0];
            let series = store.read_blocking(|tx| of_build(tx, first)).expect("read")[0].id;
            let values = store.read_blocking(|tx| values_in(tx, series, &[first, last])).expect("read");
            assert_eq!(values, [1.0], "the first lies too far back");
        });
    }
}
