//! From changes of series to alerts and comparisons.
//!
//! What makes a server slower shows in most of its series, so there is one alert for all that changed with builds close
//! to each other, and one comparison.

use super::compare::compare;
use super::detect::{Near, Step};
use super::repeat::repeat;
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertId, AlertKind, AlertState, Build, BuildVerdict, Change, ChangeState, Series};
use prony_lab_store::alerts::{self, NewAlert};
use prony_lab_store::{StoreError, Tx, builds, series};

/// Writes down what was found in a series, raises alerts about changes for the worse, closes those about changes that are
/// none, and has the commits before and after compared.
pub(super) fn apply(tx: &mut Tx<'_>, of: &Series, steps: Vec<Step>, now: Moment) -> Result<(), StoreError> {
    for step in steps {
        let (mut change, near) = match step {
            Step::Gone(change) => {
                series::remove_change(tx, change.id)?;
                if let Some(alert) = change.alert {
                    settle(tx, alert, now)?;
                }
                continue;
            }
            Step::New(mut change, near) => {
                change.id = series::add_change(tx, &change)?;
                (change, near)
            }
            Step::Known(change, near) => {
                let known = series::changes(tx, of.id)?;
                if known.iter().any(|other| other.id != change.id && other.build == change.build) {
                    continue;
                }
                (change, near)
            }
        };
        if of.is_gating() && of.is_worse(change.before, change.after) {
            follow_up(tx, of, &mut change, near, now)?;
        } else {
            series::update_change(tx, &change)?;
        }
    }
    Ok(())
}

/// Records the verdict of a comparison: on the alerts that asked for it, and on suspicions, which become alerts if the
/// commit is slower indeed. One that shows nothing is measured again first.
pub(super) fn record_comparison(tx: &mut Tx<'_>, comparison: &Build, now: Moment) -> Result<(), StoreError> {
    if repeat(tx, comparison, now)?.is_some() {
        return Ok(());
    }
    if comparison.verdict == Some(BuildVerdict::Slower) {
        for mut change in series::changes_compared(tx, comparison.id)? {
            let Some(of) = series::one(tx, change.series)? else { continue };
            if change.alert.is_none() {
                let near = (change.last_before, change.build);
                add_to_alert(tx, &of, &mut change, near, now)?;
            }
        }
    }
    note(tx, comparison, now)
}

/// Records the verdict of a comparison that is over, or why it has none.
pub(super) fn note(tx: &mut Tx<'_>, comparison: &Build, now: Moment) -> Result<(), StoreError> {
    // One that failed has the verdict `no-baseline`, and one that was cancelled has none.
    if let Some(verdict) = comparison.verdict.filter(|verdict| *verdict != BuildVerdict::NoBaseline) {
        return alerts::set_verdict(tx, comparison.id, verdict, now);
    }
    let reason = comparison.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let words = format!("the comparison, build {}, is {}{reason}", comparison.id, comparison.state.name());
    alerts::set_note(tx, comparison.id, &words)
}

/// Has a change for the worse compared, and alerts if it is more than a suspicion.
fn follow_up(
    tx: &mut Tx<'_>,
    of: &Series,
    change: &mut Change,
    near: Near,
    now: Moment,
) -> Result<(), StoreError> {
    if change.comparison.is_none() {
        let others = series::changes_near(tx, of.project, &of.variant, near.0, near.1)?;
        change.comparison = match others.iter().find_map(|other| other.comparison) {
            Some(known) => Some(known),
            None if !of.is_comparable() => None,
            None => compare(tx, of.project, &of.variant, change.last_before, change.build, now)?,
        };
    }
    let is_reported = change.state > ChangeState::Suspected || change.alert.is_some();
    // A suspicion beside what is found in another series is one more sign of the same.
    if is_reported || open_alert(tx, of, near)?.is_some() {
        add_to_alert(tx, of, change, near, now)
    } else {
        series::update_change(tx, change)
    }
}

/// Puts a change on the alert about others that came with it, or raises one.
fn add_to_alert(
    tx: &mut Tx<'_>,
    of: &Series,
    change: &mut Change,
    near: Near,
    now: Moment,
) -> Result<(), StoreError> {
    if change.alert.is_none() {
        change.alert = match open_alert(tx, of, near)? {
            Some(known) => Some(known),
            None => raise(tx, of, change, now)?,
        };
    }
    series::update_change(tx, change)?;
    let Some(alert) = change.alert else { return Ok(()) };
    describe(tx, alert)?;
    // The comparison may be over already, if a suspicion asked for it.
    let found = change.comparison.map(|id| builds::one(tx, id)).transpose()?.flatten();
    match found.map(|found| found.build).filter(|comparison| comparison.state.is_final()) {
        Some(comparison) => note(tx, &comparison, now),
        None => Ok(()),
    }
}

/// The alert about another series' change with builds close by. One that was dismissed counts: the change is harmless.
fn open_alert(tx: &mut Tx<'_>, of: &Series, near: Near) -> Result<Option<AlertId>, StoreError> {
    for other in series::changes_near(tx, of.project, &of.variant, near.0, near.1)? {
        let Some(id) = other.alert else { continue };
        if alerts::one(tx, id)?.is_some_and(|alert| alert.state != AlertState::Closed) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn raise(tx: &mut Tx<'_>, of: &Series, change: &Change, now: Moment) -> Result<Option<AlertId>, StoreError> {
    let subject = format!("change/{}/{}/{}", of.project, of.variant, change.build);
    let known = alerts::last_about(tx, AlertKind::Change, &subject)?;
    if let Some(known) = known.filter(|alert| alert.state != AlertState::Closed) {
        return Ok(Some(known.id));
    }
    let new = NewAlert {
        kind: AlertKind::Change,
        subject,
        project: Some(of.project),
        series: Some(of.id),
        build: Some(change.build),
        monitor: None,
        comparison: change.comparison,
        words: words(of, change, 1),
    };
    alerts::raise(tx, &new, now)
}

/// Rewrites the text of an alert from all changes that it is about.
fn describe(tx: &mut Tx<'_>, id: AlertId) -> Result<(), StoreError> {
    let all = series::changes_of_alert(tx, id)?;
    let size = |change: &Change| (change.after / change.before).ln().abs();
    let Some(worst) = all.iter().max_by(|a, b| size(a).total_cmp(&size(b))) else { return Ok(()) };
    let Some(of) = series::one(tx, worst.series)? else { return Ok(()) };
    let comparison = all.iter().find_map(|change| change.comparison);
    alerts::reword(tx, id, &words(&of, worst, all.len()), Some(of.id), comparison)
}

/// Closes an alert of which nothing is left, or describes what is.
fn settle(tx: &mut Tx<'_>, id: AlertId, now: Moment) -> Result<(), StoreError> {
    if !series::changes_of_alert(tx, id)?.is_empty() {
        return describe(tx, id);
    }
    let Some(alert) = alerts::one(tx, id)? else { return Ok(()) };
    let why = "with more results the change is no longer there";
    alerts::close(tx, AlertKind::Change, &alert.subject, why, now)?;
    Ok(())
}

fn words(of: &Series, worst: &Change, count: usize) -> String {
    let what = if count == 1 { String::new() } else { format!("{count} figures got worse, the most ") };
    format!(
        "{what}{}: {} became {} {} ({:+.1} %) with build {}; {}, p = {:.4}",
        of.words(),
        short(worst.before),
        short(worst.after),
        of.unit,
        100.0 * worst.ratio(),
        worst.build,
        worst.state.name(),
        worst.p
    )
}

/// Three significant digits or so.
fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
