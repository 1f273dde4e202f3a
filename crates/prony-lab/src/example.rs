//! A lab with a past: builds that were never run, to look at and to measure the pages on.

use crate::clock::{self, Moment};
use crate::lab::Lab;
use crate::model::{BuildId, BuildRequest, BuildState, BuildVerdict, Definition, TaskState};
use crate::store::{StoreError, Tx, builds, projects, tasks};
use crate::{follow, history, hooks};

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
/// More fill a disk, not an example.
const MOST: u32 = 100_000;
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
                    let request = BuildRequest {
                        reference: format!("{:040x}", u128::from(place + 1) * 0x9e37_79b9_7f4a_7c15),
                        ..BuildRequest::default()
                    };
                    let new = request.checked(project, &definition, "example", at);
                    let id =
                        builds::accept(tx, &new.expect("invariant: the example asks for what there is"))?;
                    pretend(tx, id, at, place)?;
                }
                Ok(())
            })?;
        }
        // What never happened is nothing to follow up, nor to tell anybody of.
        self.store.write_blocking(|tx| {
            [history::SEEN, hooks::SEEN].into_iter().try_for_each(|key| follow::skip(tx, key))
        })
    }
}

/// Takes a build through all its states; every seventh fails in its tests.
fn pretend(tx: &mut Tx<'_>, id: BuildId, at: Moment, place: u32) -> Result<(), StoreError> {
    let fails = place % 7 == 3;
    builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, at)?;
    builds::advance(tx, id, BuildState::Assigned, BuildState::Running, None, at)?;
    let mut now = at;
    let mut has_failed = false;
    for task in tasks::of(tx, id)? {
        if has_failed {
            tasks::end(tx, id, task.id, TaskState::Skipped, None, Some("an earlier task failed"), now)?;
            continue;
        }
        tasks::begin(tx, id, task.id, now)?;
        let lines: String = (1..=40).map(|line| format!("{}: step {line} of 40\n", task.name)).collect();
        tasks::write(tx, id, task.id, lines.as_bytes(), now)?;
        now = Moment(now.0 + TASK_MS);
        has_failed = fails && task.name == "test";
        let (state, code) = if has_failed { (TaskState::Failed, 1) } else { (TaskState::Success, 0) };
        tasks::end(tx, id, task.id, state, Some(code), None, now)?;
    }
    if fails {
        return builds::advance(tx, id, BuildState::Running, BuildState::Failed, Some("test failed"), now);
    }
    builds::advance(tx, id, BuildState::Running, BuildState::Finalizing, None, now)?;
    builds::judge(tx, id, BuildVerdict::NoDifference, None)?;
    builds::advance(tx, id, BuildState::Finalizing, BuildState::Completed, None, now)
}
