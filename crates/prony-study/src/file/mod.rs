//! From the text of a study file to a [`Study`]: every axis multiplied out, every default filled in, and everything
//! that can be wrong reported at once, each with its place.
//!
//! The tree of the file knows where each of its values stands (`tree`); its keys are checked against the schema
//! (`schema`, `keys`), its axes multiplied out (`matrix`), and targets and loads read once for each way in which the
//! axes fill them in (`target`, `load`).

mod agents;
mod body;
mod capacity;
mod carried;
mod exec;
pub(crate) mod format;
mod keys;
mod load;
mod matrix;
mod mistake;
mod scalar;
mod scenario;
mod schema;
mod select;
mod target;
pub(crate) mod template;
mod tls;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::{Problem, StartUpTry, StudyText};
use toml::de::DeTable;

pub use mistake::{Mistake, StudyError};
pub use scenario::{ScenarioFile, scenario_file_json_schema};
pub use schema::study_file_json_schema;

use crate::study::{Cell, CellLoad, Order, Restart, Study};
use keys::{OrderKey, RestartKey, StudyKeys, TextKeys};
use load::{Done, Load};
use matrix::{CHOOSING, Matrix, Point};
use mistake::Mistakes;
use select::Cells;
use target::{Context, Entries, Made};
use tree::Section;

/// A study is written by hand: what is larger is none.
const FILE_BYTES_MAX: usize = 1 << 20;
/// Runs of one study: at a second each, more than a day.
const RUNS_MAX: usize = 100_000;
/// All bodies of requests are held in memory at once.
const BODIES_BYTES_MAX: usize = 256 << 20;
/// As `prony compare` needs at least; a file without it asks for a first look.
const REPEATS: u32 = 1;
/// A machine that spoils more of a few runs spoils most of them.
const RETRIES: u32 = 3;
/// Retries of a cell at most: each takes as long as a run.
pub(crate) const RETRIES_MAX: u32 = 100;
/// Long enough for the sockets of a run to be closed on both sides.
const PAUSE: Duration = Duration::from_millis(200);

/// What else than its text a study depends on.
#[derive(Debug, Clone, Copy)]
pub struct Overrides {
    /// Lay `[short]` over the rest.
    pub short: bool,
    /// Instead of the seed of the file.
    pub seed: Option<u64>,
    /// Where neither the file nor [`Self::seed`] has one: from the system.
    pub fresh_seed: u64,
    /// Instead of the repeats of the file.
    pub repeats: Option<u32>,
    /// Instead of the retries of the file.
    pub retries: Option<u32>,
    /// What the machine has.
    pub host: Host,
}

/// What only the binary knows.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// What may measure the time of the start of a command's program, and whether a shell starts it.
    pub start_ups: fn(line: &str, has_shell: bool) -> Vec<StartUpTry>,
    /// Whether `prony serve` takes these words; else why not. Placeholders stand in them still.
    pub serve: fn(words: &[String]) -> Result<(), Problem>,
}

impl Default for Host {
    /// Knows no program and takes every server.
    fn default() -> Self {
        Self { start_ups: |_, _| Vec::new(), serve: |_| Ok(()) }
    }
}

impl Default for Overrides {
    fn default() -> Self {
        Self { short: false, seed: None, fresh_seed: 1, repeats: None, retries: None, host: Host::default() }
    }
}

impl Study {
    /// Reads `text`, the content of the file at `path`; relative paths in it begin at the file.
    ///
    /// Whether files and folders that it names exist is looked up. The form that was not asked for, whole or short, is
    /// checked, too.
    pub fn read(path: &Path, text: &str, overrides: Overrides) -> Result<Self, StudyError> {
        let mut mistakes = Mistakes::default();
        let study = read(path, text, overrides, &mut mistakes);
        mistakes.into_result()?;
        Ok(study.expect("invariant: where there is no study, there is a mistake"))
    }
}

fn read(path: &Path, text: &str, overrides: Overrides, mistakes: &mut Mistakes) -> Option<Study> {
    if text.len() > FILE_BYTES_MAX {
        mistakes.add(0..0, "this file is larger than 1 MiB", "use several studies");
        return None;
    }
    let mut root = tree::parse(text, mistakes)?;
    schema::check_keys::<StudyKeys>(&mut root, "docs/study.md has every key", mistakes);
    let short = root.remove("short");
    let Some(short) = short else {
        if overrides.short {
            mistakes.add(
                whole(),
                "this study has no short form",
                "add [short] with what it changes, or leave out --short",
            );
        }
        return form(path, text, &root, overrides, mistakes);
    };
    let span = short.span();
    let Some(changes) = short.get_ref().as_table() else {
        mistakes.add(span, "`short` is not a table", "write [short] and what it changes below");
        return None;
    };
    if let Some((key, _)) = changes.get_key_value("short") {
        mistakes.add(key.span(), "the short form has no shorter one", "leave it out");
    }
    let mut changed = root.clone();
    tree::overlay(&mut changed, changes);
    let other = Overrides { short: !overrides.short, ..overrides };
    let (this, that) = if overrides.short { (&changed, &root) } else { (&root, &changed) };
    let study = form(path, text, this, overrides, mistakes);
    if mistakes.is_empty() {
        form(path, text, that, other, mistakes);
    }
    study
}

/// Where to point at for what is missing in the file as a whole.
fn whole() -> Range<usize> {
    0..0
}

/// One form of the study, whole or short.
fn form(
    path: &Path,
    text: &str,
    root: &DeTable<'_>,
    overrides: Overrides,
    mistakes: &mut Mistakes,
) -> Option<Study> {
    let section = Section::new(root, &whole());
    let keys: Option<StudyKeys> = section.read(mistakes);
    let folder = folder(path);
    let mut entries = target::entries(&section, mistakes);
    let loads = load::loads(&section, mistakes);
    let matrix = read_matrix(&section, &entries, &loads, mistakes);
    if let Some(matrix) = &matrix {
        entries.resolve(&matrix.axes, mistakes);
        refuse_unused(matrix, &entries, &loads, mistakes);
    }
    let texts = texts(&section, mistakes);
    let (keys, matrix) = (keys?, matrix?);
    let name = name(&section, keys.name.as_deref(), path, mistakes);
    let repeats = overrides.repeats.or(keys.repeats.as_ref().map(|count| count.0)).unwrap_or(REPEATS);
    refuse_repeats(&section, repeats, matrix.points.len(), mistakes);
    let retries = overrides.retries.or(keys.retries.as_ref().map(|count| count.0)).unwrap_or(RETRIES);
    if retries > RETRIES_MAX {
        mistakes.add(section.span("retries"), format!("{retries} retries are too many"), "100 are the most");
    }
    let agents = keys.agents.as_ref().and_then(|agents| agents.0.as_ref());
    let server_agent = keys.server_agent.as_ref().map(|key| key.0.as_str());
    let context = Context { folder: &folder, host: &overrides.host, agents, server_agent };
    let mut made = Made::default();
    let cells = cells(&matrix, &entries, &loads, &mut made, &context, mistakes);
    if server_agent.is_some() && mistakes.is_empty() && cells.iter().all(|cell| cell.load.agents().is_none())
    {
        let message = "`server-agent` measures servers that agents load, and no load has `agents`";
        mistakes.add(section.span("server-agent"), message, "leave it out, or name agents: agents = \"a,b\"");
    }
    if !mistakes.is_empty() {
        return None;
    }
    let axes = matrix.study_axes();
    let all = Cells { axes: &axes, cells: &cells };
    let comparisons = select::comparisons(&section, &all, mistakes);
    let thresholds = select::thresholds(&section, &keys.thresholds, &all, mistakes);
    let published = select::published(&section, &all, mistakes);
    Some(Study {
        title: keys.title.unwrap_or_else(|| name.clone()),
        name,
        source: keys.source,
        intro: keys.intro.unwrap_or_default(),
        texts,
        short: overrides.short,
        repeats,
        retries,
        seed: overrides.seed.or(keys.seed).unwrap_or(overrides.fresh_seed),
        order: match keys.order {
            None | Some(OrderKey::Random) => Order::Random,
            Some(OrderKey::Interleaved) => Order::Interleaved,
            Some(OrderKey::Sequential) => Order::Sequential,
        },
        restart: match keys.restart {
            None | Some(RestartKey::Repeat) => Restart::Repeat,
            Some(RestartKey::Run) => Restart::Run,
            Some(RestartKey::Never) => Restart::Never,
        },
        pause: keys.pause.map_or(PAUSE, |length| length.0),
        folder,
        axes,
        targets: made.targets,
        cells,
        comparisons,
        thresholds,
        published,
        nats: keys.nats,
        text: text.to_owned(),
    })
}

/// The folder of the file, the same from wherever it is called.
fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn read_matrix<'a>(
    root: &Section<'a>,
    entries: &Entries<'a>,
    loads: &[Load<'a>],
    mistakes: &mut Mistakes,
) -> Option<Matrix<'a>> {
    if loads.is_empty() {
        if !mistakes.is_empty() {
            return None;
        }
        mistakes.add(whole(), "this study has no load", "add [loads.NAME] and, below it, what it does");
        return None;
    }
    let mut matrix = None;
    if let Some((key, value)) = root.table.get_key_value("matrix") {
        let Some(table) = value.get_ref().as_table() else {
            mistakes.add(value.span(), "`matrix` is not a table", "write [matrix] and its axes below");
            return None;
        };
        matrix = Some(Section::new(table, &key.span()));
    }
    let table = root.table.get("loads").and_then(|value| value.get_ref().as_table());
    let names: Vec<&str> =
        table.map(tree::in_order).into_iter().flatten().map(|(name, _)| name.get_ref().as_ref()).collect();
    matrix::matrix(matrix, &entries.target_names(), &names, &whole(), mistakes)
}

/// An axis that changes nothing makes cells that are measured for nothing.
fn refuse_unused(matrix: &Matrix<'_>, entries: &Entries<'_>, loads: &[Load<'_>], mistakes: &mut Mistakes) {
    for axis in &matrix.axes {
        let name = axis.name.as_str();
        if !CHOOSING.contains(&name) && !entries.uses(name) && !loads.iter().any(|load| load.uses(name)) {
            let help =
                format!("write {{{name}}} in a target or a load, or name the axis like a key of the loads");
            mistakes.add(axis.span.clone(), format!("nothing uses the axis `{name}`"), help);
        }
    }
    for load in loads {
        for used in &load.placeholders {
            let services = entries.services();
            let of_service = used.name.split_once('.').is_some_and(|(service, value)| {
                services.contains(&service) && matrix::OWN_NAMES.contains(&value)
            });
            let own = matrix::OWN_NAMES.contains(&used.name.as_str());
            if !own && !of_service && matrix.axes.iter().all(|axis| axis.name != used.name) {
                target::unknown(used, &matrix.axes, &services, mistakes);
            }
        }
    }
}

fn texts(root: &Section<'_>, mistakes: &mut Mistakes) -> Vec<StudyText> {
    let mut texts = Vec::new();
    for section in root.list("text", mistakes) {
        let Some(keys) = section.read::<TextKeys>(mistakes) else { continue };
        match (keys.title, keys.body) {
            (Some(title), Some(body)) => texts.push(StudyText { title, body }),
            _ => mistakes.add(
                section.at(),
                "a text needs a title and a body",
                "add title = \"…\" and body = \"…\"",
            ),
        }
    }
    texts
}

/// The name of the study, fit for a folder.
fn name(root: &Section<'_>, typed: Option<&str>, path: &Path, mistakes: &mut Mistakes) -> String {
    const LETTERS_MAX: usize = 64;
    let is_good = |name: &str| {
        (1..=LETTERS_MAX).contains(&name.len())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
            && !name.starts_with(['.', '-'])
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = typed.map(str::to_owned).or(stem).unwrap_or_default();
    if !is_good(&name) {
        let help = "use letters, digits, - and _: it becomes the name of a folder";
        mistakes.add(root.span("name"), format!("`{name}` can't be the name of a study"), help);
    }
    name
}

fn refuse_repeats(root: &Section<'_>, repeats: u32, cells: usize, mistakes: &mut Mistakes) {
    let runs = cells.saturating_mul(repeats as usize);
    if repeats == 0 {
        mistakes.add(
            root.span("repeats"),
            "0 repeats measure nothing",
            "use 1 or more; differences need 6 or more",
        );
    } else if runs > RUNS_MAX {
        let message =
            format!("{cells} cells and {repeats} repeats make {runs} runs, and {RUNS_MAX} are the most");
        mistakes.add(root.span("repeats"), message, "use fewer repeats, or a smaller matrix");
    }
}

fn cells<'a>(
    matrix: &Matrix<'a>,
    entries: &Entries<'a>,
    loads: &[Load<'a>],
    made: &mut Made,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Cell> {
    let mut known: BTreeMap<(&str, BTreeMap<String, String>), Option<Done>> = BTreeMap::new();
    let mut slugs = BTreeSet::new();
    let mut bodies = 0;
    let mut cells = Vec::new();
    for point in &matrix.points {
        if mistakes.is_full() {
            break;
        }
        let Some(load) = loads.iter().find(|load| point.text("load") == Some(load.name)) else {
            // A load that can't be read is reported already.
            if point.text("load").is_some() {
                continue;
            }
            mistakes.add(point.span.clone(), "this point has no load", "add load = \"…\" to it");
            continue;
        };
        if !fits(load, point, matrix, entries, mistakes) {
            continue;
        }
        let target = match point.text("target").and_then(|name| entries.find(name)) {
            Some((at, _)) => match made.target(entries, at, point, context, mistakes) {
                Some(target) => Some(target),
                None => continue,
            },
            None => None,
        };
        let key: BTreeMap<String, String> =
            point.key().into_iter().filter(|(axis, _)| load.uses(axis)).collect();
        let done = known.entry((load.name, key)).or_insert_with(|| load.at(point, context, mistakes));
        let Some((load, words)) = done.clone() else { continue };
        bodies += body_bytes(&load);
        if bodies > BODIES_BYTES_MAX {
            mistakes.add(
                point.span.clone(),
                "all bodies together are larger than 256 MiB",
                "use smaller ones",
            );
            break;
        }
        let name = format::name(point, matrix);
        let slug = format::slug(&name, &mut slugs);
        cells.push(Cell { name, slug, key: point.key(), target, load, words });
    }
    cells
}

/// Whether a load can be at a point: it has a target if it needs one, and a value for every placeholder.
fn fits(
    load: &Load<'_>,
    point: &Point<'_>,
    matrix: &Matrix<'_>,
    entries: &Entries<'_>,
    mistakes: &mut Mistakes,
) -> bool {
    let target = point.text("target");
    if load.kind != prony_model::LoadKind::Exec && target.is_none() {
        let span = if entries.target_names().is_empty() { load.section.at() } else { point.span.clone() };
        mistakes.add(
            span,
            format!("the load `{}` has no target", load.name),
            "add [targets.NAME], or target = \"…\"",
        );
        return false;
    }
    for used in &load.placeholders {
        if matrix.axes.iter().any(|axis| axis.name == used.name) {
            if point.text(&used.name).is_none() {
                let message =
                    format!("`{}` uses {{{}}}, and this point has no value for it", load.name, used.name);
                mistakes.add(point.span.clone(), message, format!("add {} = … to it", used.name));
                return false;
            }
            continue;
        }
        if load.kind != prony_model::LoadKind::Exec {
            let message = format!("{{{}}} is known only when the target runs", used.name);
            mistakes.add(used.span.clone(), message, "only commands can use it; a path begins with /");
            return false;
        }
        let needs = target.map(|target| entries.needs_of(target));
        if needs.is_none_or(|needs| !entries.is_known(&used.name, needs)) {
            let (message, help) = match target {
                None => (
                    format!("`{}` uses {{{}}} and has no target", load.name, used.name),
                    "add a target".to_owned(),
                ),
                Some(target) => {
                    let service = used.name.split('.').next().unwrap_or_default();
                    let message = format!("`{target}` does not need the service of {{{}}}", used.name);
                    (message, format!("add needs = [\"{service}\"] to [targets.{target}]"))
                }
            };
            mistakes.add(used.span.clone(), message, help);
            return false;
        }
    }
    true
}

fn body_bytes(load: &CellLoad) -> usize {
    let request = match load {
        CellLoad::Run { options, .. } | CellLoad::Capacity { options, .. } => Some(&options.request),
        CellLoad::Probe { options, .. } => Some(&**options),
        CellLoad::Exec { .. } => None,
    };
    request.and_then(|request| request.body.as_ref()).map_or(0, Vec::len)
}

#[cfg(test)]
mod tests;
