//! Loads of kind capacity: the keys of a search, and those of a run that say what each trial sends.

use std::collections::BTreeSet;

use prony_model::{Rate, Threshold};
use toml::de::DeTable;

use super::keys::{CapacityKeys, OneOrMore, RunKeys};
use super::load::{Done, RunLoad, keys_in, refused, run_load};
use super::mistake::Mistakes;
use super::scalar::PerSecond;
use super::target::Context;
use super::template::plain;
use super::tree::Section;
use super::{agents, format, select};
use crate::capacity::CapacityOptions;
use crate::study::CellLoad;

/// Keys of a run that a search has none of: it varies the load itself.
const NOT_OF_SEARCHES: [&str; 8] =
    ["duration", "requests", "rate", "stages", "arrivals", "warmup", "pipeline", "events"];
/// Any rate does for a plan whose load is varied.
const ANY_PER_S: f64 = 1.0;

/// The keys that a load of this kind has.
pub(super) fn keys() -> BTreeSet<String> {
    let mut keys = keys_in::<RunKeys>();
    keys.retain(|key| !NOT_OF_SEARCHES.contains(&key.as_str()));
    keys.extend(keys_in::<CapacityKeys>());
    keys
}

/// The search that `section` describes.
pub(super) fn capacity(
    section: &Section<'_>,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<Done> {
    let of_search = part(section, &keys_in::<CapacityKeys>(), true);
    let of_run = part(section, &keys_in::<CapacityKeys>(), false);
    let keys: Option<CapacityKeys> = Section::new(&of_search, &section.at()).read(mistakes);
    let run_section = Section::new(&of_run, &section.at());
    let run_keys: Option<RunKeys> = run_section.read(mistakes);
    let (keys, mut run_keys) = (keys?, run_keys?);
    let objectives = objectives(section, keys.slo, mistakes)?;
    let per_s = |rate: Option<PerSecond>| rate.map(|rate| rate.0);
    let search = CapacityOptions {
        objectives,
        errors: keys.errors.map(|share| share.0),
        from: per_s(keys.from),
        to: per_s(keys.to),
        peak: per_s(keys.peak),
        trial: keys.trial.map(|length| length.0),
        time: keys.time.map(|length| length.0),
    };
    let own_agents = run_keys.agents.clone();
    run_keys.rate = search.from.or(Rate::per_second(ANY_PER_S)).map(PerSecond);
    let RunLoad { path, url, options, plan, calibration } =
        run_load(&run_section, run_keys, context, mistakes)?;
    let agents = agents::of_load(section, own_agents, &plan, context, mistakes)?;
    let live = match search.search(plan, format::spelled) {
        Ok(live) => live,
        Err(problem) => return refused(section, problem, mistakes),
    };
    let words = agents::described(format::of_capacity(&plain(&path), &live), agents.as_ref());
    let (options, search) = (Box::new(options), Box::new(search));
    Some((CellLoad::Capacity { url, options, calibration, agents, search }, words))
}

/// The entries of `section` that are among `keys`, or those that are not.
fn part<'a>(section: &Section<'a>, keys: &BTreeSet<String>, among: bool) -> DeTable<'a> {
    let entries = section.table.iter().filter(|(key, _)| keys.contains(key.get_ref().as_ref()) == among);
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What every trial must meet; each text that is no threshold is reported at its place.
fn objectives(
    section: &Section<'_>,
    slo: Option<OneOrMore>,
    mistakes: &mut Mistakes,
) -> Option<Vec<Threshold>> {
    let before = mistakes.count();
    let texts = slo.map(OneOrMore::into_list).unwrap_or_default();
    let read =
        |(item, text): (usize, &String)| select::threshold(text, &section.item_span("slo", item), mistakes);
    let objectives = texts.iter().enumerate().filter_map(read).collect();
    (mistakes.count() == before).then_some(objectives)
}
