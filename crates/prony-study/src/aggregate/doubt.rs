//! Every reason to doubt once: those of the runs with their places, and those that only the whole study shows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use prony_model::words::milliseconds;
use prony_model::{
    Evidence, Figure, Finding, FindingCode, FindingPlace, Load, LoadKind, Severity, StudyFinding, StudyMetric,
};
use prony_stats::median;

use super::cell::{CellRecord, RunRecord};
use super::compared::index;
use crate::{ComparisonSpec, Step, Study};

/// A server that works on two requests at once does up to twice as much on two connections as on one, a serial one as
/// much. What is below this gain is taken for the latter: chance between medians of a few runs makes as much.
const SERIAL_GAIN: f64 = 1.1;
/// Fewer good requests than this share, and the rate shows little of how the server works.
const LEAST_SUCCESS: f64 = 0.99;

/// Reasons by code.
#[derive(Default)]
pub(super) struct Doubts(BTreeMap<FindingCode, Seen>);

/// The worst of a kind, and the repeats of each cell in which it was seen.
struct Seen {
    worst: Finding,
    places: BTreeMap<usize, Vec<u32>>,
}

impl Doubts {
    /// Takes the findings of one run.
    pub(super) fn add(&mut self, step: &Step, findings: &[Finding]) {
        for finding in findings {
            self.place(finding, step.cell, &[step.repeat]);
        }
    }

    fn place(&mut self, finding: &Finding, cell: usize, repeats: &[u32]) {
        let seen = self
            .0
            .entry(finding.code)
            .or_insert_with(|| Seen { worst: finding.clone(), places: BTreeMap::new() });
        if finding.severity > seen.worst.severity {
            seen.worst = finding.clone();
        }
        let seen_in = seen.places.entry(cell).or_default();
        seen_in.extend(repeats);
        seen_in.sort_unstable();
        seen_in.dedup();
    }

    /// Looks for what only several cells together show.
    pub(super) fn add_of_study(&mut self, study: &Study, cells: &[CellRecord]) {
        let found = [single_run(study, cells), serial_server(study, cells), two_factors(study)];
        for (finding, places) in found.into_iter().flatten() {
            for cell in places {
                let repeats: Vec<u32> = cells[cell].runs.iter().map(|run| run.summary.repeat).collect();
                self.place(&finding, cell, &repeats);
            }
        }
    }

    /// All of them, the worst first.
    pub(super) fn findings(self) -> Vec<StudyFinding> {
        let mut findings: Vec<StudyFinding> = self
            .0
            .into_values()
            .map(|seen| StudyFinding {
                finding: seen.worst,
                places: seen
                    .places
                    .into_iter()
                    .map(|(cell, repeats)| FindingPlace { cell: index(cell), repeats })
                    .collect(),
            })
            .collect();
        findings.sort_by_key(|found| (Reverse(found.finding.severity), found.finding.code));
        findings
    }
}

/// The axis that chooses agents.
const AGENTS: &str = "agents";

/// A finding, and the cells that it is about.
type Found = (Finding, Vec<usize>);

/// Loads that ran once: what differs between them may be chance. Commands are executed many times in one run.
fn single_run(study: &Study, cells: &[CellRecord]) -> Option<Found> {
    let is_load = |cell: usize| study.cells[cell].load.kind() == LoadKind::Run;
    let loads: Vec<usize> = (0..cells.len()).filter(|cell| is_load(*cell)).collect();
    let valid = |cell: &usize| cells[*cell].runs.iter().filter(|run| run.is_valid()).count();
    let single: Vec<usize> = loads.iter().copied().filter(|cell| valid(cell) == 1).collect();
    let is_put_beside = loads.len() > 1 || !study.published.is_empty();
    if single.is_empty() || !is_put_beside {
        return None;
    }
    let which = match (single.len(), loads.len()) {
        (1, 1) => "the only cell".to_owned(),
        (some, all) if some == all => format!("each of {all} cells"),
        (some, all) => format!("{some} of {all} cells"),
    };
    let finding = Finding {
        code: FindingCode::SingleRun,
        severity: Severity::Warning,
        evidence: vec![
            Evidence::new("variants", loads.len() as f64, "count"),
            Evidence::new("single_runs", single.len() as f64, "count"),
        ],
        message: format!(
            "n = 1 for {which}: on a shared machine identical code differs by 30 to 90 % from one run to the next"
        ),
        advice: "repeats = 6 or more in the study file gives intervals and verdicts".to_owned(),
    };
    Some((finding, single))
}

/// What a cell did on so many connections in a closed loop, by its valid runs, if the client was not its limit.
struct Scaled {
    cell: usize,
    connections: u32,
    per_s: f64,
}

/// A target that does no more on several connections than on one; the clearest of them.
fn serial_server(study: &Study, cells: &[CellRecord]) -> Option<Found> {
    let scaled: Vec<Scaled> = (0..cells.len()).filter_map(|cell| scaled(cell, &cells[cell])).collect();
    let pairs = scaled.iter().filter(|one| one.connections == 1).flat_map(|one| {
        let others = scaled.iter().filter(|many| many.connections > 1);
        others.filter(|many| is_same_but_load(study, one.cell, many.cell)).map(move |many| (one, many))
    });
    let flat = pairs.filter(|(one, many)| many.per_s < SERIAL_GAIN * one.per_s);
    let (one, many) = flat.max_by_key(|(_, many)| many.connections)?;
    let finding = Finding {
        code: FindingCode::SerialServer,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("connections", many.connections.into(), "count"),
            Evidence::new("rate_on_one", one.per_s, "per_s"),
            Evidence::new("rate_on_many", many.per_s, "per_s"),
            Evidence::new("gain", many.per_s / one.per_s, "ratio"),
        ],
        message: format!(
            "{} did {:.1} /s on {} connections and {:.1} /s on one: it works on one request at a time, so its \
             capacity is one request every {}, and on more connections requests only wait longer",
            study.cells[many.cell].name,
            many.per_s,
            many.connections,
            one.per_s,
            milliseconds(1e3 / one.per_s)
        ),
        advice: "if that is not meant, look for a lock, a single worker, or an accept loop that handles the request \
                 itself"
            .to_owned(),
    };
    Some((finding, vec![one.cell, many.cell]))
}

fn scaled(cell: usize, record: &CellRecord) -> Option<Scaled> {
    let limits = [FindingCode::ClientCpu, FindingCode::RunQueueWait, FindingCode::NearClientLimit];
    let is_clients = |run: &RunRecord| run.summary.findings.iter().any(|code| limits.contains(code));
    let load = record.runs.iter().find(|run| run.is_valid())?.load?;
    let Load::Closed { connections } = load else { return None };
    if record.runs.iter().any(is_clients) {
        return None;
    }
    let middle = |metric| {
        median(&record.readings(metric).iter().filter_map(|reading| reading.value).collect::<Vec<f64>>())
    };
    let is_good = middle(Figure::of_metric(StudyMetric::Success))? >= LEAST_SUCCESS;
    let per_s = middle(Figure::of_metric(StudyMetric::Rate)).filter(|per_s| *per_s > 0.0 && is_good)?;
    Some(Scaled { cell, connections, per_s })
}

/// Whether two cells are of one target and differ in one axis at most, the one that brings the connections, and in who
/// has them.
fn is_same_but_load(study: &Study, one: usize, other: usize) -> bool {
    let (one, other) = (&study.cells[one], &study.cells[other]);
    let axes = differing(study, one, other);
    let is_load = |axis: &&&str| **axis != AGENTS;
    one.target == other.target && !axes.is_empty() && axes.iter().filter(is_load).count() <= 1
}

/// Axes in which two cells differ.
fn differing<'a>(study: &'a Study, one: &crate::Cell, other: &crate::Cell) -> Vec<&'a str> {
    let names = study.axes.iter().map(|axis| axis.name.as_str());
    names.filter(|name| one.key.get(*name) != other.key.get(*name)).collect()
}

/// Comparisons of cells that differ in several axes.
fn two_factors(study: &Study) -> Option<Found> {
    let factors = |spec: &ComparisonSpec| differing(study, &study.cells[spec.a], &study.cells[spec.b]);
    let found: Vec<(&ComparisonSpec, Vec<&str>)> = study
        .comparisons
        .iter()
        .map(|spec| (spec, factors(spec)))
        .filter(|(_, factors)| factors.len() > 1)
        .collect();
    let (spec, factors) = found.iter().max_by_key(|(_, factors)| factors.len())?;
    let more = match found.len() {
        1 => String::new(),
        2 => "; so is another comparison".to_owned(),
        count => format!("; so are {} other comparisons", count - 1),
    };
    let finding = Finding {
        code: FindingCode::TwoFactors,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("factors", factors.len() as f64, "count"),
            Evidence::new("comparisons", found.len() as f64, "count"),
        ],
        message: format!(
            "{} against {}: {} differ at once, so the change is due to none of them alone{more}",
            study.cells[spec.b].name,
            study.cells[spec.a].name,
            factors.join(" and ")
        ),
        advice: "run the cells in between (for two factors the 2x2) and compare those that differ in one"
            .to_owned(),
    };
    let mut cells: Vec<usize> = found.iter().flat_map(|(spec, _)| [spec.a, spec.b]).collect();
    cells.sort_unstable();
    cells.dedup();
    Some((finding, cells))
}
