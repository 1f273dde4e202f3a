//! A lab with a past: builds that were never run, to look at and to measure the pages on.

mod report;

use crate::lab::Lab;
use crate::{event_cursor, history, hooks};
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{
    AlertKind, BuildId, BuildRequest, BuildState, BuildVerdict, Change, ChangeState, Definition, ProjectId,
    TaskState,
};
use prony_lab_store::alerts::{self, NewAlert};
use prony_lab_store::results::{self, Measured, NewThreshold, Results};
use prony_lab_store::{StoreError, Tx, builds, figures, files, projects, queue, series, tasks};

/// The example's only project.
const NAME: &str = "example";
/// Its definition; the folder need not exist, since a lab with an example has no worker.
const DEFINITION: &str = "\
title = \"An example: nothing of it was ever run\"
folder = \"/var/empty\"
study = \"prony.toml\"
variants = [\"release\", \"debug\"]

[[task]]
name = \"compile\"
command = \"make\"
always = true

[[task]]
name = \"test\"
command = \"make test\"

[[task]]
name = \"lint\"
command = \"make lint\"
";
/// Between two builds of the example, milliseconds.
const APART_MS: i64 = 3_600_000;
/// How long each of its tasks took, milliseconds.
const TASK_MS: i64 = 4_000;
/// Noise of its figures: two builds in a row differ by less than what a comparison takes for a difference, 2 %.
const NOISE: f64 = 0.006;
/// More fill a disk, not an example.
const MOST: u32 = 100_000;
/// Builds among which two good ones are looked for.
const NEWEST: u32 = 10;
/// Builds of one transaction.
const TOGETHER: u32 = 100;

impl Lab {
    /// Fills an empty store with `number` builds that look as if they had been run: the last one is build `number`.
    pub fn fill_example(&self, number: u32) -> Result<(), StoreError> {
        let number = number.min(MOST);
        let now = clock::wall();
        let definition = Definition::read(DEFINITION).expect("invariant: the example is a definition");
        let first = Moment(now.0.saturating_sub(i64::from(number) * APART_MS));
        let project = self.store.write_blocking(move |tx| {
            let name = NAME.parse().expect("invariant: it is a name");
            projects::register(tx, &name, DEFINITION, first)
        })?;
        for begin in (0..number).step_by(TOGETHER as usize) {
            let definition = definition.clone();
            self.store.write_blocking(move |tx| {
                for place in begin..number.min(begin + TOGETHER) {
                    let at = Moment(first.0 + i64::from(place) * APART_MS);
                    let new = BuildRequest::default().checked(project, &definition, "example", at);
                    let id =
                        builds::accept(tx, &new.expect("invariant: the example asks for what there is"))?;
                    let commit = commit(place);
                    queue::set_commits(tx, id, &commit, None, None)?;
                    if pretend(tx, id, at, place)? {
                        results::keep(tx, id, project, "release", &measured(place, number))?;
                    }
                }
                Ok(())
            })?;
        }
        self.store.write_blocking(move |tx| {
            measure(tx, project, number)?;
            change(tx, project, now)
        })?;
        // What never happened is nothing to follow up, nor to notify anybody of.
        self.store.write_blocking(|tx| {
            [history::SEEN, hooks::SEEN].into_iter().try_for_each(|key| event_cursor::skip(tx, key))
        })
    }
}

/// Gives the newest build with results what its study would have left, so that its page has charts.
fn measure(tx: &mut Tx<'_>, project: ProjectId, number: u32) -> Result<(), StoreError> {
    let last = BuildId(number.into());
    let good = builds::finished_of_branch(tx, project, "main", last, NEWEST)?;
    let mut good = good.into_iter().filter(|build| build.state == BuildState::Completed);
    let (Some(newest), Some(before)) = (good.next(), good.next()) else { return Ok(()) };
    let found = figures::of(tx, newest.id, 100)?;
    let earlier = figures::of(tx, before.id, 100)?;
    files::put(tx, newest.id, "report.json", report::study(&found).to_string().as_bytes())?;
    files::put(
        tx,
        newest.id,
        "comparison.json",
        report::comparison(&found, &earlier).to_string().as_bytes(),
    )?;
    builds::set_verdict(tx, newest.id, BuildVerdict::NoDifference, Some(before.id))
}

/// Forty digits that look like a commit.
fn commit(place: u32) -> String {
    // The multipliers are odd, so that no two places have the same; they begin as the golden ratio does.
    let low = u128::from(place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{:08x}{low:032x}", (place + 1).wrapping_mul(0x9e37_79b1))
}

/// The results of build `place` of `number`: noise around levels that get worse by a tenth after two thirds of them.
fn measured(place: u32, number: u32) -> Results {
    let is_late = place >= number - number / 3;
    let mut measured = Vec::new();
    for (cell, factor) in [("GET /", 1.0), ("POST /report", 2.5)] {
        for (salt, metric, unit, is_better_high, level) in
            [(1, "rate", "per_s", true, 18_000.0), (2, "p50", "ms", false, 2.7), (3, "p99", "ms", false, 4.4)]
        {
            let level = if is_better_high { level / factor } else { level * factor };
            let step = if is_late && metric == "p99" && factor < 2.0 { 1.1 } else { 1.0 };
            let value = level * step * (1.0 + NOISE * noise(place, salt));
            measured.push(Measured {
                cell: cell.to_owned(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                is_better_high,
                value: Some(value),
                interval: Some((value * 0.985, value * 1.015)),
                runs: 5,
                samples: 90_000,
                is_valid: true,
                note: None,
            });
        }
    }
    let words = "p99 at most 20 ms".to_owned();
    let (cell, metric) = ("GET /".to_owned(), "p99".to_owned());
    let thresholds = vec![NewThreshold { words, cell, metric, value: measured[2].value, is_met: Some(true) }];
    Results { fingerprint: "an example".to_owned(), measured, thresholds }
}

/// From -1 to 1, the same for the same place.
fn noise(place: u32, salt: u32) -> f64 {
    // The multiplier is Knuth's, of The Art of Computer Programming 6.4.
    let mixed = place.wrapping_mul(2_654_435_761).wrapping_add(salt * 40_503) >> 8;
    f64::from(mixed % 2_001) / 1_000.0 - 1.0
}

/// The change that [`measured`] makes, as the lab would have found it, and its alert. A short past has none.
fn change(tx: &mut Tx<'_>, project: ProjectId, now: Moment) -> Result<(), StoreError> {
    /// Builds on each side that make a change certain, and some that fail.
    const LEAST: usize = 40;
    let all = series::of_project(tx, project, 100)?;
    let Some(series) = all.into_iter().find(|series| series.metric == "p99" && series.cell == "GET /") else {
        return Ok(());
    };
    let points = series::points(tx, series.id, "main", MOST)?;
    let last_before = points.windows(2).position(|pair| {
        pair[1].value.zip(pair[0].value).is_some_and(|(after, before)| after / before > 1.05)
    });
    let Some(place) = last_before.filter(|_| points.len() >= LEAST) else { return Ok(()) };
    let (last_before, build) = (points[place].build, points[place + 1].build);
    let alert = NewAlert {
        kind: AlertKind::Change,
        subject: format!("series {}", series.id),
        project: Some(project),
        series: Some(series.id),
        build: Some(build),
        monitor: None,
        comparison: None,
        words: format!("{} became worse by 10 % with build {build}", series.words()),
    };
    let alert = alerts::raise(tx, &alert, now)?;
    series::add_change(
        tx,
        &Change {
            id: 0,
            series: series.id,
            build,
            last_before,
            state: ChangeState::Confirmed,
            before: 4.4,
            after: 4.84,
            p: 0.000_05,
            found_at: now,
            alert,
            comparison: None,
        },
    )
    .map(drop)
}

/// Takes a build through all its states; every seventh fails in its tests. Whether it has measured something.
fn pretend(tx: &mut Tx<'_>, id: BuildId, at: Moment, place: u32) -> Result<bool, StoreError> {
    let fails = place % 7 == 3;
    queue::take(tx, at)?;
    builds::advance(tx, id, BuildState::Assigned, BuildState::Running, None, at)?;
    let mut now = at;
    let mut has_failed = false;
    for task in tasks::of(tx, id)? {
        if has_failed {
            tasks::end(tx, id, task.id, TaskState::Skipped, None, Some("an earlier task failed"), now)?;
            continue;
        }
        tasks::begin(tx, id, task.id, now)?;
        let lines: Vec<_> = (1..=40).map(|line| format!("{}: step {line} of 40\n", task.name)).collect();
        tasks::write(tx, id, task.id, lines.concat().as_bytes(), now)?;
        now = Moment(now.0 + TASK_MS);
        has_failed = fails && task.name == "test";
        let (state, code) = if has_failed { (TaskState::Failed, 1) } else { (TaskState::Success, 0) };
        tasks::end(tx, id, task.id, state, Some(code), None, now)?;
    }
    if fails {
        builds::advance(tx, id, BuildState::Running, BuildState::Failed, Some("test failed"), now)?;
        return Ok(false);
    }
    builds::advance(tx, id, BuildState::Running, BuildState::Finalizing, None, now)?;
    builds::set_verdict(tx, id, BuildVerdict::NoDifference, None)?;
    builds::advance(tx, id, BuildState::Finalizing, BuildState::Completed, None, now)?;
    Ok(true)
}
