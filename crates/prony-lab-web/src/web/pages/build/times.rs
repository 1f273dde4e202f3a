//! When the tasks of a build ran.

use prony_report::schedule::{ScheduleClass, ScheduleRow, chart};

use crate::web::pages::format;
use prony_lab_model::clock::Moment;
use prony_lab_model::{Build, Task, TaskState};

/// A picture of it.
pub(super) struct Times {
    pub(super) chart: String,
    /// How long the build waited for its turn.
    pub(super) waited: String,
}

/// The picture as of `now`, or of the build's end; nothing where no task has begun.
pub(super) fn times(build: &Build, tasks: &[Task], now: Moment) -> Option<Times> {
    let now = build.ended_at.unwrap_or(now);
    let rows: Vec<ScheduleRow> = tasks.iter().map(|task| row(build.requested_at, task, now)).collect();
    let longest = tasks
        .iter()
        .filter_map(|task| Some((task, task.ended_at.unwrap_or(now).since(task.started_at?))))
        .max_by_key(|(_, took)| *took);
    let title = longest.map_or_else(String::new, |(task, took)| {
        format!("Task {} took longest, {}", task.name, format::took(took))
    });
    let first = tasks.iter().filter_map(|task| task.started_at).min()?;
    let waited = format::took(first.since(build.requested_at));
    Some(Times { chart: chart("times", &title, &rows)?, waited })
}

fn row(requested: Moment, task: &Task, now: Moment) -> ScheduleRow {
    let class = match task.state {
        TaskState::Success => ScheduleClass::Good,
        TaskState::Failed | TaskState::Timeout => ScheduleClass::Bad,
        TaskState::Running => ScheduleClass::Busy,
        TaskState::Pending | TaskState::Skipped | TaskState::Cancelled => ScheduleClass::Calm,
    };
    let ran = task.started_at.map(|started| (started, task.ended_at.unwrap_or(now)));
    let label = match ran {
        Some((started, ended)) => format!("{}, {}", task.state.name(), format::took(ended.since(started))),
        None => task.state.name().to_owned(),
    };
    let seconds = |moment: Moment| moment.since(requested).as_secs_f64();
    ScheduleRow {
        name: task.name.clone(),
        label,
        class,
        ran_s: ran.map(|(started, ended)| (seconds(started), seconds(ended))),
    }
}
