//! `/compare?a=1&b=2`: builds side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Html;

use super::build::figure::{change, interval, shown};
use super::build::paired::{Paired, difference};
use super::commits::Section;
use super::{Frame, bisects, format};
use crate::http::{Principal, WebError};
use crate::web::fields::QueryParams;
use prony_lab_core::actions;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::{Lab, Refused};
use prony_lab_model::{Build, BuildId, RangeState};
use prony_lab_store::figures::{self, Figure};
use prony_lab_store::{StoreError, Tx, builds};

/// More columns are read by nobody.
const BUILDS_MAX: usize = 8;
/// Figures of one build: a study of more is compared in its own report.
const FIGURES: u32 = 1_000;

#[derive(Template)]
#[template(path = "compare_page.html")]
struct Page {
    frame: Frame,
    main: Arc<str>,
    pair: Option<Pair>,
    commits: Option<Section>,
}

/// Two commits that can be measured in turn.
struct Pair {
    project: String,
    variant: String,
    base: String,
    commit: String,
}

#[derive(Template)]
#[template(path = "compare.html")]
struct Compare {
    builds: Vec<Build>,
    summaries: Vec<Summary>,
    machines: usize,
    has_pair: bool,
    columns: usize,
    groups: Vec<Group>,
    is_cut: bool,
    most: u32,
}

struct Summary {
    id: BuildId,
    first: BuildId,
    words: String,
}

struct Group {
    name: String,
    rows: Vec<Line>,
}

struct Line {
    metric: String,
    cells: Vec<Cell>,
}

struct Cell {
    id: String,
    title: String,
    value: String,
    interval: String,
    change: String,
}

/// Shows it: every value of the address is a build, the first is what the others are compared with.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let mut ids: Vec<BuildId> = Vec::new();
    for (_, value) in &query.0 {
        let id = value.trim().parse();
        let id = id.map_err(|_| WebError::Query("a build is called by its number".to_owned()))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > BUILDS_MAX {
        return Err(WebError::Query(format!("at most {BUILDS_MAX} builds can be compared")));
    }
    let wanted = ids.clone();
    let found = lab
        .store
        .read(move |tx| {
            let found: Result<Vec<_>, _> = wanted.iter().map(|id| builds::one(tx, *id)).collect();
            Ok(found?.into_iter().zip(wanted).map(|(detail, id)| detail.map(|d| d.build).ok_or(id)).collect())
        })
        .await?;
    let found: Result<Vec<Build>, BuildId> = found;
    let found = found.map_err(|id| WebError::Missing(format!("build {id}")))?;
    let pair = Pair::of(&found);
    let commits = commits(&lab, &found).await?;
    let main = super::middle(&lab, format!("compare {ids:?}"), move |tx| Compare::read(tx, found)).await?;
    Ok(Html(Page { frame: Frame::of(&principal).at("/"), main, pair, commits }.render()?))
}

/// The commits between two builds, where something can lie between them.
async fn commits(lab: &Lab, found: &[Build]) -> Result<Option<Section>, WebError> {
    let [base, tip] = found else { return Ok(None) };
    let (base, tip, definitions) = (base.id, tip.id, lab.definitions.clone());
    let read = move |tx: &mut Tx<'_>| match actions::commits::ends(tx, base, tip) {
        Ok(ends) => Section::between(tx, &definitions, &ends),
        Err(Refused::Store(error)) => Err(error),
        Err(_) => Ok(None),
    };
    Ok(lab.store.read(read).await?)
}

impl Pair {
    fn of(builds: &[Build]) -> Option<Self> {
        let [first, second] = builds else { return None };
        let (base, commit) = (first.commit.clone()?, second.commit.clone()?);
        let is_alike = first.project == second.project && first.variant == second.variant;
        (is_alike && base != commit).then_some(())?;
        let variant = second.variant.clone().unwrap_or_default();
        Some(Self { project: second.project_name.clone()?, variant, base, commit })
    }
}

/// What makes figures of two builds the same.
type Key = (String, String);

impl Compare {
    fn read(tx: &mut Tx<'_>, builds: Vec<Build>) -> Result<Self, StoreError> {
        let mut all = Vec::new();
        let mut is_cut = false;
        for build in &builds {
            let mut found = figures::of(tx, build.id, FIGURES + 1)?;
            is_cut |= found.len() > FIGURES as usize;
            found.truncate(FIGURES as usize);
            all.push(found);
        }
        let machines: BTreeSet<&str> =
            all.iter().flatten().map(|figure| figure.fingerprint.as_str()).collect();
        let machines = machines.len();
        let order = common(&all);
        let by_key: Vec<HashMap<Key, &Figure>> =
            all.iter().map(|found| found.iter().map(|figure| (key(figure), figure)).collect()).collect();
        let mut paired = Vec::new();
        for build in &builds {
            let first = builds.first().map(|first| first.id).filter(|first| *first != build.id);
            paired.push(Paired::read(tx, build.id, first)?);
        }
        let summaries = (1..builds.len()).map(|place| Summary {
            id: builds[place].id,
            first: builds[0].id,
            words: summary(&order, &by_key[0], &by_key[place], &paired[place]),
        });
        let summaries = if order.is_empty() { Vec::new() } else { summaries.collect() };
        let mut groups: Vec<Group> = Vec::new();
        for key in &order {
            let name = if key.0.is_empty() { "all".to_owned() } else { ansi_stripper::line(&key.0) };
            if groups.last().is_none_or(|group| group.name != name) {
                groups.push(Group { name, rows: Vec::new() });
            }
            if let Some(group) = groups.last_mut() {
                group.rows.push(line(key, &by_key, &builds, &paired));
            }
        }
        let columns = 2 * builds.len();
        let has_pair = Pair::of(&builds).is_some();
        Ok(Self { builds, summaries, machines, has_pair, columns, groups, is_cut, most: FIGURES })
    }
}

fn key(figure: &Figure) -> Key {
    (figure.cell.clone(), figure.metric.clone())
}

/// What at least two of them have, in the order of the first that has it, cell by cell.
fn common(all: &[Vec<Figure>]) -> Vec<Key> {
    let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
    for figure in all.iter().flatten() {
        *counts.entry(key(figure)).or_default() += 1;
    }
    let mut cells: Vec<&str> = Vec::new();
    let mut order: Vec<Key> = Vec::new();
    for figure in all.iter().flatten() {
        if counts.remove(&key(figure)).is_some_and(|count| count > 1) {
            order.push(key(figure));
        }
        if !cells.contains(&figure.cell.as_str()) {
            cells.push(&figure.cell);
        }
    }
    order.sort_by_key(|key| cells.iter().position(|cell| *cell == key.0));
    order
}

/// How a figure differs from that of the first build: markup.
fn difference_to(first: Option<&Figure>, figure: &Figure, paired: &Paired) -> String {
    paired.exact(figure).map_or_else(|| change(first, figure), difference)
}

/// How many figures are better, worse, or not shown to differ.
fn summary(
    order: &[Key],
    first: &HashMap<Key, &Figure>,
    other: &HashMap<Key, &Figure>,
    paired: &Paired,
) -> String {
    let (mut better, mut worse, mut rest) = (0_u32, 0_u32, 0_u32);
    for key in order {
        let Some(figure) = other.get(key) else { continue };
        let markup = difference_to(first.get(key).copied(), figure, paired);
        if markup.contains('▲') {
            better += 1;
        } else if markup.contains('▼') {
            worse += 1;
        } else {
            rest += 1;
        }
    }
    format!("{better} better, {worse} worse, {rest} without a clear difference")
}

fn line(key: &Key, all: &[HashMap<Key, &Figure>], builds: &[Build], paired: &[Paired]) -> Line {
    let unit = all.iter().find_map(|found| found.get(key)).map_or("", |figure| figure.unit.as_str());
    let metric = ansi_stripper::line(&key.1);
    let first = all.first().and_then(|found| found.get(key)).copied();
    let slug = format!("{}-{}", format::slug(&key.0), format::slug(&key.1));
    let cells = builds.iter().zip(all).zip(paired).map(|((build, found), paired)| {
        let figure = found.get(key);
        Cell {
            id: format!("b{}-{slug}", build.id),
            title: format!("{metric} of {}, build {}", ansi_stripper::line(&key.0), build.id),
            value: figure.map_or_else(|| "–".to_owned(), |figure| shown(figure.value)),
            interval: figure.map_or_else(String::new, |figure| {
                if figure.is_valid { interval(figure.low, figure.high) } else { "withheld".to_owned() }
            }),
            change: figure.map_or_else(|| "–".to_owned(), |figure| difference_to(first, figure, paired)),
        }
    });
    let cells = cells.collect();
    let metric = if unit.is_empty() { metric } else { format!("{metric}, {}", format::unit(unit)) };
    Line { metric, cells }
}

#[cfg(test)]
mod tests {
    use super::super::build::figure::tests::figure;
    use super::*;

    #[test]
    fn what_both_have_is_compared_in_the_order_of_the_first() {
        let first = vec![
            figure("b", "p99", [1.0, 1.1, 1.2]),
            figure("a", "p99", [1.0, 1.1, 1.2]),
            figure("b", "rate", [1.0, 1.1, 1.2]),
        ];
        let second = vec![
            figure("a", "p99", [2.0, 2.1, 2.2]),
            figure("b", "rate", [1.0, 1.1, 1.2]),
            figure("b", "max", [1.0, 1.1, 1.2]),
        ];
        let order = common(&[first.clone(), second.clone()]);
        let names: Vec<_> = order.iter().map(|key| format!("{} {}", key.0, key.1)).collect();
        assert_eq!(names, ["b rate", "a p99"]);
        let map = |found: &'static [Figure]| {
            found.iter().map(|figure| (key(figure), figure)).collect::<HashMap<_, _>>()
        };
        let (first, second) = (map(first.leak()), map(second.leak()));
        assert_eq!(
            summary(&order, &first, &second, &Paired::default()),
            "0 better, 1 worse, 1 without a clear difference"
        );
    }
}
