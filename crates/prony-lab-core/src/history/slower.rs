//! A build that is slower than its baseline: the first sign of a change, long before its series show one.
//!
//! Two builds were not measured in turn, so this is wrong more often than a change of a series. That is why both commits
//! are compared at once, and why the alert is closed if that doesn't confirm it.

use super::changes::note;
use super::compare::compare;
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertKind, Build, BuildVerdict, ProjectId};
use prony_lab_store::alerts::{self, NewAlert};
use prony_lab_store::{StoreError, Tx, builds, series};

/// Raises an alert about a build of the project's branch that is slower than its baseline, and has both compared.
pub(super) fn evaluate(
    tx: &mut Tx<'_>,
    project: ProjectId,
    build: &Build,
    now: Moment,
) -> Result<(), StoreError> {
    let Some(variant) = build.variant.as_deref().filter(|_| build.verdict == Some(BuildVerdict::Slower))
    else {
        return Ok(());
    };
    let Some(baseline) = builds::one(tx, build.id)?.and_then(|found| found.baseline) else { return Ok(()) };
    let subject = format!("build/{}", build.id);
    if alerts::last_about(tx, AlertKind::Build, &subject)?.is_some() {
        // It was reported already, and perhaps refuted.
        return Ok(());
    }
    // Commands and probes can't be measured in turn: a comparison without any load would fail.
    let comparison = if series::has_loads(tx, build.id)? {
        compare(tx, project, variant, baseline, build.id, now)?
    } else {
        None
    };
    let why = build.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let new = NewAlert {
        kind: AlertKind::Build,
        subject,
        project: Some(project),
        series: None,
        build: Some(build.id),
        monitor: None,
        comparison,
        words: format!("build {} ({variant}) is slower than build {baseline}{why}", build.id),
    };
    alerts::raise(tx, &new, now)?;
    // The commits may have been compared already.
    let found = comparison.map(|id| builds::one(tx, id)).transpose()?.flatten();
    match found.map(|found| found.build).filter(|comparison| comparison.state.is_final()) {
        Some(comparison) => note(tx, &comparison, now),
        None => Ok(()),
    }
}
