//! The flows of a scenario file.

use std::time::Duration;

use prony_model::{Flow, Think};

use super::Files;
use super::keys::{DefaultKeys, FlowKeys, SpreadKeys, ThinkKeys};
use super::step;
use crate::file::mistake::Mistakes;
use crate::file::tree::Section;

/// The flows, in the order of the file.
pub(super) fn flows(
    root: &Section<'_>,
    defaults: &DefaultKeys,
    files: &mut Files,
    mistakes: &mut Mistakes,
) -> Vec<Flow> {
    let mut flows = Vec::new();
    for section in root.list("flow", mistakes) {
        if mistakes.is_full() {
            break;
        }
        let Some(keys) = section.read::<FlowKeys>(mistakes) else { continue };
        let Some(name) = keys.name else {
            mistakes.add(section.at(), "this flow has no name", "add name = \"…\"");
            continue;
        };
        let sections = section.list("step", mistakes);
        let count = sections.len();
        let steps = sections
            .iter()
            .enumerate()
            .filter_map(|(at, section)| {
                let otherwise = if count == 1 { name.clone() } else { format!("{name}-{}", at + 1) };
                step::step(section, otherwise, defaults, files, mistakes)
            })
            .collect();
        flows.push(Flow {
            weight: keys.weight.map_or(1, |count| count.0),
            pacing: keys.pacing.map_or(Duration::ZERO, |length| length.0),
            variables: keys.variables.into_iter().map(|(name, text)| (name, text.to_string())).collect(),
            steps,
            name,
        });
    }
    flows
}

/// What `keys` say of the time between two steps.
pub(super) fn think(section: &Section<'_>, keys: Option<&ThinkKeys>, mistakes: &mut Mistakes) -> Think {
    match keys {
        None => Think::None,
        Some(ThinkKeys::Constant(time)) if time.0.is_zero() => Think::None,
        Some(ThinkKeys::Constant(time)) => Think::Constant { time: time.0 },
        Some(ThinkKeys::Spread(SpreadKeys { min: None, max: None, mean: Some(mean) })) => {
            Think::Exponential { mean: mean.0 }
        }
        Some(ThinkKeys::Spread(SpreadKeys { min, max: Some(max), mean: None }))
            if min.as_ref().is_none_or(|min| min.0 <= max.0) =>
        {
            Think::Uniform { min: min.as_ref().map_or(Duration::ZERO, |min| min.0), max: max.0 }
        }
        Some(ThinkKeys::Spread(_)) => {
            let help = "write { min = \"1s\", max = \"3s\" }, or { mean = \"2s\" }";
            mistakes.add(section.span("think"), "this is no spread of times", help);
            Think::None
        }
    }
}
