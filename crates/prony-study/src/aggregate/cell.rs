//! One cell: what stays of each of its runs, and the figures of all of them together.

use std::collections::BTreeMap;

use prony_model::{
    CapacityResult, ErrorKind, ExecResult, Execution, Figure, Finding, FindingCode, HistogramData, Load,
    ProbeResult, Reading, RunResult, StudyCell, StudyFigure, StudyMetric, StudyRun, StudySearch, Timeline,
    Verdict, is_disturbed, words::plural,
};
use prony_stats::{DecodeError, Histogram};

use super::agents::AgentsRecord;
use super::distribution::{bins, curve};
use super::figure::{CellFigure, Together, figure};
use super::reading::{self, Readings};
use super::scenario::ScenarioRecord;
use super::stages::StagesRecord;
use super::stored::{Stored, verdict_of_run};
use super::timeline::{TIMELINES_MAX, is_kept, timeline};
use crate::{Block, Cell, Step, Study};

/// What is known of a cell while its results are read.
pub(super) struct CellRecord {
    repeats: u32,
    /// Whether something is compared with it.
    is_compared: bool,
    /// What is required of it, beyond the metrics of studies.
    required: Vec<Figure>,
    pub(super) runs: Vec<RunRecord>,
    response: Histogram,
    service: Histogram,
    /// Of the valid runs.
    intended: u64,
    failed: u64,
    failed_by_kind: BTreeMap<ErrorKind, u64>,
    statuses: BTreeMap<u16, u64>,
    timelines: Vec<Timeline>,
    /// Each with the place of its run.
    executions: Vec<(u32, Execution)>,
    /// The same.
    searches: Vec<(u32, StudySearch)>,
    /// Of the valid runs.
    stages: StagesRecord,
    /// Of the valid runs.
    scenario: ScenarioRecord,
    agents: AgentsRecord,
}

/// What stays of a run.
pub(super) struct RunRecord {
    pub(super) summary: StudyRun,
    pub(super) readings: Readings,
    /// Figures that are required and no metrics.
    required: BTreeMap<Figure, Reading>,
    /// The load, if it was one.
    pub(super) load: Option<Load>,
    /// For comparisons, if it is valid.
    pub(super) block: Option<Block>,
    /// It is invalid for what the machine or the client did alone.
    pub(super) is_disturbed: bool,
}

impl RunRecord {
    /// Without numbers.
    fn new(step: &Step, started_at: &str, verdict: Verdict, findings: &[Finding]) -> Self {
        Self {
            summary: StudyRun {
                repeat: step.repeat,
                place: step.place,
                file: step.file.clone(),
                started_at: started_at.to_owned(),
                verdict,
                requests: 0,
                failed: 0,
                figures: BTreeMap::new(),
                findings: codes(findings),
                limiter: None,
            },
            readings: Readings::new(),
            required: BTreeMap::new(),
            load: None,
            block: None,
            is_disturbed: is_disturbed(findings),
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.summary.verdict != Verdict::Invalid
    }

    /// Whether its `figure` may be used. A neighbour on the server's cores makes requests slow, but hardly makes them
    /// cost more CPU time.
    fn has_usable(&self, figure: Figure) -> bool {
        self.is_valid() || figure.is_of_client() || (self.is_disturbed && figure.is_of_server())
    }

    fn reading(&self, figure: Figure) -> Option<&Reading> {
        match figure.metric() {
            Some(metric) => self.readings.get(&metric),
            None => self.required.get(&figure),
        }
    }
}

impl CellRecord {
    /// Of the cell `index` of `study`.
    pub(super) fn new(study: &Study, index: usize) -> Self {
        let required = study.thresholds.iter().filter(|required| required.cell == index);
        let figures = required.map(|required| required.threshold.figure);
        Self {
            required: figures.filter(|figure| figure.metric().is_none()).collect(),
            is_compared: study.comparisons.iter().any(|spec| spec.a == index || spec.b == index),
            ..Self::of_agent(study.repeats)
        }
    }

    /// Of one agent's share of a cell that is run `repeats` times.
    pub(super) fn of_agent(repeats: u32) -> Self {
        Self {
            repeats,
            required: Vec::new(),
            is_compared: false,
            runs: Vec::new(),
            response: Histogram::new(),
            service: Histogram::new(),
            intended: 0,
            failed: 0,
            failed_by_kind: BTreeMap::new(),
            statuses: BTreeMap::new(),
            timelines: Vec::new(),
            executions: Vec::new(),
            searches: Vec::new(),
            stages: StagesRecord::default(),
            scenario: ScenarioRecord::default(),
            agents: AgentsRecord::default(),
        }
    }

    /// Takes what stays of `result`.
    pub(super) fn add(&mut self, step: &Step, result: &Stored) -> Result<(), DecodeError> {
        let mut record = RunRecord::new(step, result.started_at(), result.verdict(), result.findings());
        match result {
            Stored::Run(result) => self.add_run(&mut record, result)?,
            Stored::Fleet(fleet) => {
                self.add_run(&mut record, &fleet.merged)?;
                self.agents.add(step, fleet, self.repeats)?;
            }
            Stored::Probe(result) => self.add_probe(&mut record, result),
            Stored::Exec(result) => self.add_exec(&mut record, result),
            Stored::Capacity(result) => self.add_search(&mut record, result),
        }
        self.keep(record);
        Ok(())
    }

    /// Takes what stays of the share of one agent.
    pub(super) fn add_share(&mut self, step: &Step, result: &RunResult) -> Result<(), DecodeError> {
        let started_at = &result.timing.started_at;
        let mut record = RunRecord::new(step, started_at, verdict_of_run(result), &result.findings);
        self.add_run(&mut record, result)?;
        self.keep(record);
        Ok(())
    }

    fn keep(&mut self, mut record: RunRecord) {
        let values = record.readings.iter().filter_map(|(metric, reading)| Some((*metric, reading.value?)));
        record.summary.figures = values.collect();
        self.runs.push(record);
    }

    fn add_run(&mut self, record: &mut RunRecord, result: &RunResult) -> Result<(), DecodeError> {
        let requests = &result.requests;
        record.readings = reading::of_run(result);
        record.required = self.required.iter().map(|figure| (*figure, figure.reading(result))).collect();
        record.summary.requests = requests.intended;
        record.summary.failed = requests.failed + requests.censored + requests.never_sent;
        record.load = Some(result.plan.load);
        record.summary.limiter.clone_from(&result.limiter);
        for (kind, count) in &requests.failed_by_kind {
            *self.failed_by_kind.entry(*kind).or_default() += count;
        }
        for (status, count) in &result.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        if is_kept(record.summary.repeat, self.repeats, TIMELINES_MAX) {
            self.timelines.push(timeline(record.summary.repeat, &result.series));
        }
        if record.is_valid() && self.is_compared {
            let mut block = Block::of_run(result, record.summary.file.clone())?;
            // The run's own file has it.
            block.summary.histogram = HistogramData::default();
            record.block = Some(block);
        }
        if record.is_valid() {
            self.scenario.add(result, record.summary.repeat, self.repeats)?;
            self.stages.add(result)?;
        }
        // The tail that a client made itself is in its whole distribution: only its figures below it count.
        if record.is_valid() && !result.has_client_tail() {
            // Where some of a run was cut, figures, curve and bars come from the rest.
            let figures = result.figures();
            add(&mut self.response, figures.response_histogram)?;
            add(&mut self.service, figures.service_histogram)?;
            self.intended += figures.requests.intended;
            self.failed += figures.requests.failed + figures.requests.censored + figures.requests.never_sent;
        }
        Ok(())
    }

    fn add_probe(&mut self, record: &mut RunRecord, result: &ProbeResult) {
        record.readings = reading::of_probe(result);
        record.summary.requests = result.requests.len() as u64;
        for request in &result.requests {
            if let Some(failure) = &request.failure {
                record.summary.failed += 1;
                if let Some(kind) = failure.kind {
                    *self.failed_by_kind.entry(kind).or_default() += 1;
                }
            }
            if let Some(response) = &request.response {
                *self.statuses.entry(response.status).or_default() += 1;
            }
        }
    }

    fn add_exec(&mut self, record: &mut RunRecord, result: &ExecResult) {
        record.readings = reading::of_exec(result);
        let runs = result.commands.first().map(|command| command.runs.as_slice()).unwrap_or_default();
        record.summary.requests = runs.len() as u64;
        record.summary.failed = runs.iter().filter(|run| !result.plan.exits.is_good(run.exit)).count() as u64;
        let (place, repeat) = (record.summary.place, record.summary.repeat);
        self.executions.extend(
            runs.iter().map(|run| (place, Execution { repeat, wall_ms: run.wall_s * 1e3, exit: run.exit })),
        );
    }

    fn add_search(&mut self, record: &mut RunRecord, result: &CapacityResult) {
        record.readings = reading::of_capacity(result);
        record.summary.requests = result.trials.len() as u64;
        record.summary.failed = record.summary.requests - result.counted_trials();
        record.summary.limiter = result.limiter().cloned();
        let (repeat, file) = (record.summary.repeat, record.summary.file.clone());
        if is_kept(repeat, self.repeats, StudySearch::KEPT_MAX) {
            let search = StudySearch { repeat, file, is_partial: false, result: result.clone() };
            self.searches.push((record.summary.place, search));
        }
    }

    /// Puts everything in the order of time.
    pub(super) fn sort(&mut self) {
        self.runs.sort_by_key(|run| run.summary.place);
        self.timelines.sort_by_key(|timeline| timeline.repeat);
        self.executions.sort_by_key(|(place, _)| *place);
        self.searches.sort_by_key(|(place, _)| *place);
        self.agents.sort();
    }

    /// The readings of `figure` of the usable runs, in the order of time.
    pub(super) fn readings(&self, figure: Figure) -> Vec<&Reading> {
        let usable = self.runs.iter().filter(|run| run.has_usable(figure));
        usable.filter_map(|run| run.reading(figure)).collect()
    }

    /// Those of the others, whose numbers are not the server's.
    pub(super) fn unusable_readings(&self, figure: Figure) -> impl Iterator<Item = &Reading> {
        let unusable = self.runs.iter().filter(move |run| !run.has_usable(figure));
        unusable.filter_map(move |run| run.reading(figure))
    }

    /// The figure of all usable runs; `None` where no run has it.
    pub(super) fn figure(&self, of: Figure) -> Option<CellFigure> {
        if let Figure::Step(name, step) = of
            && let Some(found) = self.scenario.figure(name, step)
        {
            return Some(found);
        }
        if let Figure::Stage(name, stage) = of
            && let Some(found) = self.stages.figure(name, stage)
        {
            return Some(found);
        }
        let together = Together { response: &self.response, intended: self.intended, failed: self.failed };
        figure(of, &self.readings(of), &together)
    }

    /// Runs that only the server's use of the machine is taken from.
    fn disturbed(&self, figure: Figure) -> usize {
        let disturbed = self.runs.iter().filter(|run| !run.is_valid() && run.has_usable(figure));
        disturbed.filter(|run| run.reading(figure).is_some()).count()
    }

    /// What is stored of the cell; `planned` are its runs in the schedule.
    pub(super) fn summary(&self, cell: &Cell, planned: u32) -> StudyCell {
        let figures = StudyMetric::ALL.into_iter().filter_map(|metric| {
            let of = Figure::of_metric(metric);
            Some(with_disturbed(self.figure(of)?.of_metric(metric), self.disturbed(of)))
        });
        StudyCell {
            name: cell.name.clone(),
            key: cell.key.clone(),
            kind: cell.load.kind(),
            load: cell.words.clone(),
            planned,
            runs: self.runs.iter().map(|run| run.summary.clone()).collect(),
            // They are in files of their own.
            retried: Vec::new(),
            figures: figures.collect(),
            failed_by_kind: self.failed_by_kind.clone(),
            statuses: self.statuses.clone(),
            curve: curve(&self.response, &self.service, self.failed),
            bins: bins(&self.response),
            timelines: self.timelines.clone(),
            executions: self.executions.iter().map(|(_, execution)| *execution).collect(),
            searches: self.searches.iter().map(|(_, search)| search.clone()).collect(),
            stages: self.stages.summary(),
            scenario: self.scenario.summary(),
            agents: self.agents.summary(cell, planned),
        }
    }
}

fn add(all: &mut Histogram, data: &HistogramData) -> Result<(), DecodeError> {
    if !data.data.is_empty() {
        all.add(&Histogram::from_base64_v2(&data.data)?);
    }
    Ok(())
}

/// `figure`, with a note that `count` of its runs are invalid in all else.
fn with_disturbed(mut figure: StudyFigure, count: usize) -> StudyFigure {
    if count > 0 && figure.note.is_none() {
        let runs = plural(count as u64, "run");
        figure.note = Some(format!("with {runs} in which the machine or the client made the times"));
    }
    figure
}

fn codes(findings: &[Finding]) -> Vec<FindingCode> {
    findings.iter().map(|finding| finding.code).collect()
}
