//! From changes of series to alerts and comparisons.

use super::look::Step;
use crate::clock::Moment;
use crate::model::{
    AlertKind, Build, BuildId, BuildRequest, BuildVerdict, Change, ChangeState, Definition, Origin, Series,
};
use crate::store::alerts::{self, NewAlert};
use crate::store::{StoreError, Tx, builds, projects, series};

/// Who asks for comparisons.
const LAB: &str = "lab";

/// Writes down what was found in a series, raises alerts about changes for the worse, closes those about changes that are
/// none, and has the commits before and after compared.
pub(super) fn apply(tx: &mut Tx<'_>, of: &Series, steps: Vec<Step>, now: Moment) -> Result<(), StoreError> {
    for step in steps {
        let change = match step {
            Step::Gone(change) => {
                series::remove_change(tx, change.id)?;
                let why = "with more results the change is no longer there";
                alerts::close(tx, AlertKind::Change, &subject(&change), why, now)?;
                continue;
            }
            Step::New(mut change) => {
                change.id = series::add_change(tx, &change)?;
                change
            }
            Step::Known(change, _) => {
                let known = series::changes(tx, of.id)?;
                let is_taken = known.iter().any(|other| other.id != change.id && other.build == change.build);
                if is_taken {
                    continue;
                }
                series::update_change(tx, &change)?;
                change
            }
        };
        if of.is_gating() && of.is_worse(change.before, change.after) {
            let comparison = compare(tx, of, &change, now)?;
            if change.state > ChangeState::Suspected {
                raise(tx, of, &change, comparison, now)?;
            }
        }
    }
    Ok(())
}

/// Notes what a comparison said: on the alerts that asked for it, and on suspicions, which become alerts if it is
/// slower indeed.
pub(super) fn judge(tx: &mut Tx<'_>, comparison: &Build, now: Moment) -> Result<(), StoreError> {
    let Some(verdict) = comparison.verdict else { return Ok(()) };
    alerts::judge(tx, comparison.id, verdict, now)?;
    let (Some(project), Some(variant), Some(base)) =
        (comparison.project, comparison.variant.as_deref(), comparison.base.as_deref())
    else {
        return Ok(());
    };
    if verdict != BuildVerdict::Slower {
        return Ok(());
    }
    for change in series::suspicions(tx, project, variant, base, &comparison.reference)? {
        let Some(of) = series::one(tx, change.series)? else { continue };
        if of.is_gating() && of.is_worse(change.before, change.after) {
            raise(tx, &of, &change, Some(comparison.id), now)?;
        }
    }
    alerts::judge(tx, comparison.id, verdict, now)
}

fn subject(change: &Change) -> String {
    format!("change/{}", change.id)
}

fn raise(
    tx: &mut Tx<'_>,
    of: &Series,
    change: &Change,
    comparison: Option<BuildId>,
    now: Moment,
) -> Result<(), StoreError> {
    let new = NewAlert {
        kind: AlertKind::Change,
        subject: subject(change),
        project: Some(of.project),
        series: Some(of.id),
        build: Some(change.build),
        monitor: None,
        comparison,
        words: format!(
            "{} went from {} to {} {} ({:+.1} %) with build {}: {}, p = {:.4}",
            of.words(),
            short(change.before),
            short(change.after),
            of.unit,
            100.0 * change.ratio(),
            change.build,
            change.state.name(),
            change.p
        ),
    };
    alerts::raise(tx, &new, now)?;
    Ok(())
}

/// Three significant digits, or the whole number.
fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// The build that compares the commits before and after a change: one for all series that changed with them. `None`
/// where there are no two commits that could be had again.
fn compare(
    tx: &mut Tx<'_>,
    of: &Series,
    change: &Change,
    now: Moment,
) -> Result<Option<BuildId>, StoreError> {
    let commit =
        |tx: &mut Tx<'_>, id| Ok::<_, StoreError>(builds::one(tx, id)?.and_then(|found| found.build.commit));
    let (Some(base), Some(commit)) = (commit(tx, change.last_before)?, commit(tx, change.build)?) else {
        return Ok(None);
    };
    if base == commit {
        // The same files, another result: the machine changed, which no comparison of files can show.
        return Ok(None);
    }
    if let Some(known) = builds::comparison(tx, of.project, &of.variant, &base, &commit)? {
        return Ok(Some(known));
    }
    let Some(project) = projects::by_id(tx, of.project)?.filter(|project| project.archived_at.is_none())
    else {
        return Ok(None);
    };
    // A definition that was changed since may no longer have the study, or the variant: then there is nothing to do.
    let Ok(definition) = Definition::read(&project.definition) else { return Ok(None) };
    if matches!(definition.origin, Origin::Folder(_)) {
        return Ok(None);
    }
    let request = BuildRequest {
        project: project.name,
        reference: commit,
        base,
        variant: of.variant.clone(),
        priority: "low".to_owned(),
        ..BuildRequest::default()
    };
    match request.checked(project.id, &definition, LAB, now) {
        Ok(new) => Ok(Some(builds::accept(tx, &new)?)),
        Err(_) => Ok(None),
    }
}
