//! The thresholds of study files, and the alerts about those that are missed.

use crate::quantity;
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertKind, Build, ProjectId, TaskKind, TaskState};
use prony_lab_store::alerts::{self, NewAlert};
use prony_lab_store::thresholds::{self, Threshold};
use prony_lab_store::{StoreError, Tx, tasks};

/// Raises alerts about what a build of the project's branch misses, and closes those about what it meets, or what its
/// study file no longer has. A build whose study did not end well changes neither.
pub(super) fn evaluate(
    tx: &mut Tx<'_>,
    project: ProjectId,
    build: &Build,
    now: Moment,
) -> Result<(), StoreError> {
    let is_measured = tasks::of(tx, build.id)?
        .iter()
        .any(|task| task.kind == TaskKind::Study && task.state == TaskState::Success);
    let Some(variant) = build.variant.as_deref().filter(|_| is_measured) else { return Ok(()) };
    let prefix = format!("{project}/{variant}/");
    let thresholds = thresholds::of_build(tx, build.id)?;
    let subject = |threshold: &Threshold| format!("{prefix}{}/{}", threshold.cell, threshold.words);
    for threshold in thresholds.iter().filter(|threshold| threshold.is_met == Some(false)) {
        let measured = threshold
            .value
            .map_or("nothing".to_owned(), |value| quantity::of_figure(&threshold.metric, value));
        let new = NewAlert {
            kind: AlertKind::Threshold,
            subject: subject(threshold),
            project: Some(project),
            series: None,
            build: Some(build.id),
            monitor: None,
            comparison: None,
            words: format!(
                "build {} misses a threshold of its study file for {} ({variant}): {}; measured was {measured}",
                build.id, threshold.cell, threshold.words
            ),
        };
        alerts::raise(tx, &new, now)?;
    }
    for alert in alerts::open_alerts(tx, AlertKind::Threshold, project, &prefix)? {
        let found = thresholds.iter().find(|threshold| subject(threshold) == alert.subject);
        let why = match found.map(|threshold| threshold.is_met) {
            None => format!("the study file of build {} no longer has it", build.id),
            Some(Some(true)) => format!("build {} meets it", build.id),
            Some(Some(false) | None) => continue,
        };
        alerts::close(tx, AlertKind::Threshold, &alert.subject, &why, now)?;
    }
    Ok(())
}
