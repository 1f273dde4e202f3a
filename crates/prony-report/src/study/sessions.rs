//! Parts of a load: steps and flows of a scenario, and stages, as rows that every report of a study shows.

use prony_model::{StudyCell, StudyFigure, StudyFlow, StudyMetric, StudyScenario, StudyStage, StudyStep};

use super::facts;
use crate::number::{count, plural, rate, seconds};

/// A time of a row, and which of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// Of a flow, that of its sessions.
    Response,
    Service,
}

/// The columns of numbers: key, heading, time and number.
pub(super) const COLUMNS: [(&str, &str, Time, StudyMetric); 6] = [
    ("p50", "p50", Time::Response, StudyMetric::P50),
    ("p90", "p90", Time::Response, StudyMetric::P90),
    ("p99", "p99", Time::Response, StudyMetric::P99),
    ("max", "max", Time::Response, StudyMetric::Max),
    ("service-p50", "service p50", Time::Service, StudyMetric::P50),
    ("service-p99", "service p99", Time::Service, StudyMetric::P99),
];

/// What the load of a cell has several of.
pub(super) struct Part<'a> {
    /// `steps` or `stages`: of the ids of a page.
    pub(super) id: &'static str,
    /// One of them, `step`, and all of them: `Steps`.
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    /// What is to be known of all.
    pub(super) summary: String,
    pub(super) rows: Vec<Row<'a>>,
}

/// The parts of the load of `cell`.
pub(super) fn parts(cell: &StudyCell) -> Vec<Part<'_>> {
    let stages = (!cell.stages.is_empty()).then(|| Part {
        id: "stages",
        one: "stage",
        many: "Stages",
        summary: plural(cell.stages.len() as u64, "stage"),
        rows: cell.stages.iter().map(Row::of_stage).collect(),
    });
    let steps = cell.scenario.as_ref().map(|found| Part {
        id: "steps",
        one: "step",
        many: "Steps",
        summary: sessions(found),
        rows: rows(found),
    });
    stages.into_iter().chain(steps).collect()
}

/// One stage, one step, one flow, or one flow without its think times.
pub(super) struct Row<'a> {
    /// `login`, `= buy`, `  without think`, `spike 400 /s`.
    pub(super) name: String,
    /// What a step requests; when a stage begins, and its rate of good responses.
    pub(super) about: String,
    response: &'a [StudyFigure],
    service: &'a [StudyFigure],
    pub(super) success: Option<&'a StudyFigure>,
    /// Good ones, and failed ones.
    pub(super) done: u64,
    pub(super) failed: u64,
}

impl<'a> Row<'a> {
    pub(super) fn figure(&self, time: Time, metric: StudyMetric) -> Option<&'a StudyFigure> {
        let figures = match time {
            Time::Response => self.response,
            Time::Service => self.service,
        };
        figures.iter().find(|figure| figure.metric == metric)
    }

    fn of_step(step: &'a StudyStep) -> Self {
        Self {
            name: step.name.clone(),
            about: step.request.clone(),
            response: &step.response,
            service: &step.service,
            success: step.success.as_ref(),
            done: step.done,
            failed: step.ended.saturating_sub(step.done),
        }
    }

    fn of_stage(stage: &'a StudyStage) -> Self {
        let asked = stage.asked_per_s.map(|asked| format!(" {} /s", rate(asked))).unwrap_or_default();
        let good = stage.rate.as_ref().and_then(|figure| figure.value);
        let good = good.map(|good| format!(", {} good /s", rate(good))).unwrap_or_default();
        Self {
            name: format!("{}{asked}", stage.name),
            about: format!("from {}{good}", seconds(stage.from_s)),
            response: &stage.response,
            service: &stage.service,
            success: stage.success.as_ref(),
            done: stage.done,
            failed: stage.intended.saturating_sub(stage.done),
        }
    }

    fn of_flow(flow: &'a StudyFlow, name: String, time: &'a [StudyFigure]) -> Self {
        let sessions = flow.sessions;
        Self {
            name,
            about: String::new(),
            response: time,
            service: &[],
            success: flow.success.as_ref(),
            done: sessions.completed,
            failed: sessions.failed,
        }
    }
}

/// A row for each step, and two for each flow of several.
fn rows(found: &StudyScenario) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for flow in &found.flows {
        let steps: Vec<&StudyStep> = found.steps.iter().filter(|step| step.flow == flow.name).collect();
        rows.extend(steps.iter().map(|step| Row::of_step(step)));
        if steps.len() > 1 {
            rows.push(Row::of_flow(flow, format!("= {}", flow.name), &flow.time));
            rows.push(Row::of_flow(flow, "  without think".to_owned(), &flow.time_without_think));
        }
    }
    rows
}

/// What became of the sessions of all valid runs.
fn sessions(found: &StudyScenario) -> String {
    let sessions = found.sessions;
    let mut parts =
        vec![plural(sessions.begun, "session"), format!("{} completed", count(sessions.completed))];
    for (number, what) in [(sessions.failed, "failed"), (sessions.unfinished, "unfinished")] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

/// Why numbers of the rows have no value or no interval: each reason once, with the rows.
pub(super) fn notes(rows: &[Row<'_>]) -> Vec<String> {
    let mut seen: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        let times = COLUMNS.iter().filter_map(|(.., time, metric)| row.figure(*time, *metric));
        // An interval of the median is what one looks for; what is withheld is a dash that needs its reason.
        let notes = times.filter(|figure| figure.value.is_none() || figure.metric == StudyMetric::P50);
        for note in notes.filter_map(|figure| figure.note.as_deref()) {
            match seen.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) if names.last() == Some(&row.name.trim()) => {}
                Some((_, names)) => names.push(row.name.trim()),
                None => seen.push((note, vec![row.name.trim()])),
            }
        }
    }
    let line = |(note, names): (&str, Vec<&str>)| {
        if names.len() == rows.len() {
            note.to_owned()
        } else {
            format!("{note} ({})", facts::some_of(&names))
        }
    };
    seen.into_iter().map(line).collect()
}
