//! From the text of a scenario file to a [`Scenario`], or to everything that is wrong in it, each mistake with its place.
//! docs/scenarios.md describes the file.
//!
//! The tree, the keys and the mistakes are those of study files. Flows and steps are in `flow.rs` and `step.rs`, the rows
//! of feeds in `feed.rs` and `csv.rs`; what holds between them is checked in prony-model (`Scenario::problems`).

mod csv;
mod feed;
mod flow;
mod keys;
mod step;

use std::path::{Path, PathBuf};

use prony_model::{Flow, Misplaced, RetryOptions, Scenario, ScenarioPlace, SessionConnections, Target};
use schemars::generate::SchemaSettings;

use super::mistake::{Mistakes, StudyError};
use super::tree::Section;
use super::{FILE_BYTES_MAX, schema, tree, whole};
use keys::{ConnectionsKey, DefaultKeys, RetryKeys, ScenarioKeys};

/// Feeds and files of one scenario are held in memory at once.
const FILES_BYTES_MAX: usize = 256 << 20;

/// A scenario, and the server that its file names.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioFile {
    /// What sessions do.
    pub scenario: Scenario,
    /// Where all paths begin, if the file says so.
    pub base: Option<String>,
    /// Which failed requests are sent again, as far as the file says so.
    pub retries: RetryOptions,
}

impl ScenarioFile {
    /// Reads `text`, the content of the file at `path`; relative paths in it begin at the file. Feeds and bodies are read,
    /// too.
    pub fn read(path: &Path, text: &str) -> Result<Self, StudyError> {
        let mut mistakes = Mistakes::default();
        let file = read(path, text, &mut mistakes);
        mistakes.into_result()?;
        Ok(file.expect("invariant: where there is no scenario, there is a mistake"))
    }
}

/// The scenario that a load of a study names.
pub(super) fn of_load(
    section: &Section<'_>,
    file: &str,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<ScenarioFile> {
    let path = folder.join(file);
    let at = section.span("scenario");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) => {
            let help = "paths begin at the study file";
            mistakes.add(at, format!("can't read the scenario {file} ({why})"), help);
            return None;
        }
    };
    match ScenarioFile::read(&path, &text) {
        Ok(file) => Some(file),
        Err(error) => {
            for mistake in error.mistakes {
                let line = text[..mistake.span.start].matches('\n').count() + 1;
                let message = format!("{file}, line {line}: {}", mistake.message);
                mistakes.add(at.clone(), message, mistake.help.unwrap_or_default());
            }
            None
        }
    }
}

/// The JSON Schema of a scenario file, as in docs/schema/scenario-v1.json. It is about JSON with the keys of the TOML.
pub fn scenario_file_json_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioKeys>();
    let text = serde_json::to_string_pretty(&schema).expect("invariant: a schema has string keys only");
    text + "\n"
}

fn read(path: &Path, text: &str, mistakes: &mut Mistakes) -> Option<ScenarioFile> {
    if text.len() > FILE_BYTES_MAX {
        mistakes.add(whole(), "this file is larger than 1 MiB", "use several scenarios");
        return None;
    }
    let mut root = tree::parse(text, mistakes)?;
    schema::check_keys::<ScenarioKeys>(&mut root, "docs/scenarios.md has every key", mistakes);
    let section = Section::new(&root, &whole());
    let keys: Option<ScenarioKeys> = section.read(mistakes);
    let defaults = defaults(&section, mistakes);
    let retries = retries(&section, mistakes);
    let mut files = Files { folder: folder(path), left: FILES_BYTES_MAX };
    let feeds = feed::feeds(&section, &mut files, mistakes);
    let flows = flow::flows(&section, &defaults, &mut files, mistakes);
    let keys = keys?;
    refuse_base(&section, keys.base.as_deref(), mistakes);
    if !is_complete(&section, feeds.len(), &flows, mistakes) {
        return None;
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let scenario = Scenario {
        name: keys.name.or(stem).unwrap_or_default(),
        cookies: keys.cookies.unwrap_or(true),
        connections: match keys.connections {
            None | Some(ConnectionsKey::Shared) => SessionConnections::Shared,
            Some(ConnectionsKey::Session) => SessionConnections::Session,
        },
        feeds,
        flows,
    };
    for Misplaced { place, problem } in scenario.problems() {
        let span = span(&section, &scenario, &place, mistakes);
        mistakes.add_problem(span, problem);
    }
    Some(ScenarioFile { scenario, base: keys.base, retries })
}

/// Whether all feeds, flows and steps of the file could be read; otherwise names would seem to be missing, and places be
/// those of others.
fn is_complete(root: &Section<'_>, feeds: usize, flows: &[Flow], mistakes: &mut Mistakes) -> bool {
    let written = root.list("flow", mistakes);
    feeds == root.tables("feeds", mistakes).len()
        && flows.len() == written.len()
        && flows
            .iter()
            .zip(&written)
            .all(|(flow, section)| flow.steps.len() == section.list("step", mistakes).len())
}

/// What may be read from files, and from where.
struct Files {
    folder: PathBuf,
    /// Bytes that may still be read.
    left: usize,
}

impl Files {
    /// The content of a file that the scenario names.
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        use std::io::Read as _;
        let path = self.folder.join(name);
        let metadata = path.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is not a file".to_owned());
        }
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(self.left as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        self.left = self
            .left
            .checked_sub(bytes.len())
            .ok_or_else(|| "all files of a scenario together may have 256 MiB".to_owned())?;
        Ok(bytes)
    }
}

/// Paths in a scenario begin at its folder.
fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn defaults(root: &Section<'_>, mistakes: &mut Mistakes) -> DefaultKeys {
    table(root, "defaults", mistakes).and_then(|section| section.read(mistakes)).unwrap_or_default()
}

/// Which failed requests are sent again.
fn retries(root: &Section<'_>, mistakes: &mut Mistakes) -> RetryOptions {
    let Some(section) = table(root, "retries", mistakes) else { return RetryOptions::default() };
    let Some(keys) = section.read::<RetryKeys>(mistakes) else { return RetryOptions::default() };
    for (is_there, what, advice) in [
        (keys.max.is_some(), "`retries` doesn't say how often", "add max = 3"),
        (
            keys.on.is_some(),
            "`retries` doesn't say what is retried",
            "add on = \"connect,reset,timeout,503\", or some of it",
        ),
    ] {
        if !is_there {
            mistakes.add(section.at(), what, advice);
        }
    }
    RetryOptions {
        retries: keys.max.map(|count| count.0),
        on: keys.on.map(|failures| failures.0),
        backoff: keys.backoff.map(|backoff| backoff.0),
        budget: keys.budget.map(|share| share.0),
        attempt_timeout: keys.attempt_timeout.map(|length| length.0),
    }
}

/// The table `name` of the file, if it has one.
fn table<'a>(root: &Section<'a>, name: &str, mistakes: &mut Mistakes) -> Option<Section<'a>> {
    let (key, value) = root.table.get_key_value(name)?;
    let table = value.get_ref().as_table();
    if table.is_none() {
        let advice = format!("write [{name}] and its keys below");
        mistakes.add(value.span(), format!("`{name}` is not a table"), advice);
    }
    table.map(|table| Section::new(table, &key.span()))
}

fn refuse_base(root: &Section<'_>, base: Option<&str>, mistakes: &mut Mistakes) {
    let Some(base) = base else { return };
    match Target::parse(base) {
        Err(error) => mistakes.add_problem(root.span("base"), error.problem()),
        Ok(target) if target.path.contains('?') => {
            mistakes.add(root.span("base"), "a base has no query", "write it into the paths");
        }
        Ok(_) => {}
    }
}

/// Where `place` stands in the file.
fn span(
    root: &Section<'_>,
    scenario: &Scenario,
    place: &ScenarioPlace,
    mistakes: &mut Mistakes,
) -> std::ops::Range<usize> {
    let section = match place {
        ScenarioPlace::Scenario(_) => None,
        ScenarioPlace::Feed(feed, _) => {
            let name = scenario.feeds.get(*feed).map(|feed| feed.name.as_str());
            let feeds = root.tables("feeds", mistakes);
            feeds.into_iter().find(|(own, _)| Some(*own) == name).map(|(_, section)| section)
        }
        ScenarioPlace::Flow(flow, _) => root.list("flow", mistakes).get(*flow).copied(),
        ScenarioPlace::Step(flow, step, _) => root
            .list("flow", mistakes)
            .get(*flow)
            .and_then(|flow| flow.list("step", mistakes).get(*step).copied()),
    };
    let (ScenarioPlace::Scenario(key)
    | ScenarioPlace::Feed(_, key)
    | ScenarioPlace::Flow(_, key)
    | ScenarioPlace::Step(_, _, key)) = place;
    section.unwrap_or(*root).span(key)
}

#[cfg(test)]
mod tests;
