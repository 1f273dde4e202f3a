//! What study files demand, and the alerts about what is missed.

use crate::clock::Moment;
use crate::model::{AlertKind, Build, ProjectId, TaskKind, TaskState};
use crate::store::alerts::{self, NewAlert};
use crate::store::thresholds::{self, Demand};
use crate::store::{StoreError, Tx, tasks};

/// Raises alerts about what a build of the project's branch misses, and closes those about what it meets, or what its
/// study file no longer demands. A build whose study did not end well says nothing of either.
pub(super) fn judge(
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
    let demands = thresholds::of_build(tx, build.id)?;
    let subject = |demand: &Demand| format!("{prefix}{}/{}", demand.cell, demand.words);
    for demand in demands.iter().filter(|demand| demand.is_met == Some(false)) {
        let measured = demand.value.map_or("nothing".to_owned(), |value| format!("{value:.4}"));
        let new = NewAlert {
            kind: AlertKind::Threshold,
            subject: subject(demand),
            project: Some(project),
            series: None,
            build: Some(build.id),
            monitor: None,
            comparison: None,
            words: format!(
                "build {} misses what its study file demands of {} ({variant}): {}; measured was {measured}",
                build.id, demand.cell, demand.words
            ),
        };
        alerts::raise(tx, &new, now)?;
    }
    for alert in alerts::standing(tx, AlertKind::Threshold, project, &prefix)? {
        let demanded = demands.iter().find(|demand| subject(demand) == alert.subject);
        let why = match demanded.map(|demand| demand.is_met) {
            None => format!("the study file of build {} no longer demands it", build.id),
            Some(Some(true)) => format!("build {} meets it", build.id),
            Some(Some(false) | None) => continue,
        };
        alerts::close(tx, AlertKind::Threshold, &alert.subject, &why, now)?;
    }
    Ok(())
}
