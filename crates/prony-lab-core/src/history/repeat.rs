//! A comparison that the lab requested and that shows nothing, because the machine was noisy: it is measured again, as often
//! as the project has its gate do it.

use super::compare::{LAB, request};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Build, BuildId, Definition};
use prony_lab_store::{StoreError, Tx, alerts, builds, projects, repeats, series};

/// The build that measures `comparison` again; it is requested if there is none yet. What waited for the verdict of the
/// first waits for its verdict from now on. `None` where the verdict is clear, or nothing waits for it, or it was measured
/// often enough.
pub(super) fn repeat(
    tx: &mut Tx<'_>,
    comparison: &Build,
    now: Moment,
) -> Result<Option<BuildId>, StoreError> {
    let (Ok(why), Some(project)) = (comparison.repeat_reason(), comparison.project) else { return Ok(None) };
    // One of a bisect, or of somebody, is followed up by its requester.
    let is_awaited = alerts::await_comparison(tx, comparison.id)?
        || !series::changes_compared(tx, comparison.id)?.is_empty();
    if comparison.requested_by != LAB || !is_awaited {
        return Ok(None);
    }
    let found = builds::one(tx, comparison.id)?;
    let first = found.and_then(|found| found.repeat_of).map_or(comparison.id, |repeat| repeat.build);
    let chain = repeats::of(tx, first)?;
    let again = if let Some(known) = chain.iter().find(|repeat| repeat.build > comparison.id) {
        known.build
    } else {
        let Some(project) = projects::by_id(tx, project)? else { return Ok(None) };
        let most = Definition::read(&project.definition).map_or(0, |definition| definition.gate_repeats);
        let variant = comparison.variant.as_deref().unwrap_or_default();
        let (Some(commit), Some(base)) = repeats::commits(tx, comparison.id)? else { return Ok(None) };
        if chain.len() >= most as usize {
            return Ok(None);
        }
        let Some(build) = request(tx, project.id, variant, [&base, &commit], &[], LAB, now)? else {
            return Ok(None);
        };
        repeats::link(tx, build, first, why)?;
        build
    };
    alerts::follow_repeat(tx, comparison.id, again)?;
    series::follow_repeat(tx, comparison.id, again)?;
    Ok(Some(again))
}
