//! The reading of each metric from one run.

use std::collections::BTreeMap;

use prony_model::{
    CapacityResult, CommandResult, ExecResult, Figure, Interval, LoadKind, PhaseTimes, ProbeResult,
    QuantileNote, Reading, RunResult, StudyMetric, TimeSummary,
};
use prony_stats::median;

/// Every metric that a run has, withheld ones included.
pub(super) type Readings = BTreeMap<StudyMetric, Reading>;

/// Milliseconds of a second.
const MS: f64 = 1e3;
/// Bytes of a mebibyte.
const MIB: f64 = (1_u64 << 20) as f64;

pub(super) fn of_run(result: &RunResult) -> Readings {
    let metrics = StudyMetric::ALL.into_iter().filter(|metric| metric.kind() == LoadKind::Run);
    let readings = metrics.map(|metric| (metric, Figure::of_metric(metric).reading(result)));
    readings.filter(|(metric, reading)| is_kept(*metric, reading, result)).collect()
}

/// Whether a study speaks of `metric` where it is like this.
fn is_kept(metric: StudyMetric, reading: &Reading, result: &RunResult) -> bool {
    match metric {
        // A closed loop picks too few requests for it in most runs, and its `network` says the same.
        StudyMetric::P99Kernel => {
            reading.value.is_some() || (reading.samples > 0 && result.plan.load.rate().is_some())
        }
        StudyMetric::Connect => reading.samples > 0,
        metric if metric.is_of_server() => reading.value.is_some(),
        _ => true,
    }
}

/// Picks a phase.
type PhaseOf = fn(&PhaseTimes) -> Option<f64>;

pub(super) fn of_probe(result: &ProbeResult) -> Readings {
    let good = || result.requests.iter().filter(|request| request.failure.is_none());
    let (all, done) = (result.requests.len() as u64, good().count() as u64);
    let mut readings = Readings::from([(StudyMetric::Success, success(done, all))]);
    let phases: [(StudyMetric, PhaseOf); 5] = [
        (StudyMetric::Dns, |phases| phases.dns_ms),
        (StudyMetric::Tcp, |phases| phases.connect_ms),
        (StudyMetric::Server, |phases| phases.server_ms),
        (StudyMetric::Transfer, |phases| phases.transfer_ms),
        (StudyMetric::Probe, |phases| phases.total_ms),
    ];
    for (metric, phase) in phases {
        let times: Vec<f64> = good().filter_map(|request| phase(&request.phases)).collect();
        if !times.is_empty() {
            readings.insert(metric, reading(median(&times), times.len() as u64));
        }
    }
    readings
}

/// A step of a study times one command.
pub(super) fn of_exec(result: &ExecResult) -> Readings {
    result.commands.first().map(of_command).unwrap_or_default()
}

/// A search is for one number.
pub(super) fn of_capacity(result: &CapacityResult) -> Readings {
    Readings::from([(StudyMetric::Capacity, result.reading())])
}

fn of_command(command: &CommandResult) -> Readings {
    let mut readings = Readings::new();
    let mut add =
        |metric, reading: Option<Reading>| readings.extend(reading.map(|reading| (metric, reading)));
    let mean = |times: &Option<TimeSummary>| {
        times.as_ref().map(|times| reading(Some(times.mean_s * MS), times.count.into()))
    };
    let median = |times: &TimeSummary| Reading {
        interval: times.median_interval_s.map(in_ms),
        ..reading(Some(times.median_s * MS), times.count.into())
    };
    let runs = command.runs.len() as u64;
    if let Some(reason) = &command.withheld {
        let note = QuantileNote { reason: reason.clone(), above_ms: None };
        for metric in [StudyMetric::WallMean, StudyMetric::Wall, StudyMetric::User, StudyMetric::System] {
            add(metric, Some(Reading { withheld: Some(note.clone()), ..reading(None, runs) }));
        }
        add(StudyMetric::Memory, memory(command));
        return readings;
    }
    add(StudyMetric::WallMean, mean(&command.wall));
    add(StudyMetric::Wall, command.wall.as_ref().map(median));
    add(StudyMetric::User, mean(&command.user));
    add(StudyMetric::System, mean(&command.system));
    let start_up = command.start_up.as_ref().filter(|start_up| start_up.share.is_some());
    add(StudyMetric::StartUp, start_up.map(|start_up| reading(start_up.share, start_up.wall.count.into())));
    add(StudyMetric::Memory, memory(command));
    readings
}

fn memory(command: &CommandResult) -> Option<Reading> {
    let runs = command.runs.len() as u64;
    command.memory.map(|memory| reading(Some(memory.median_bytes as f64 / MIB), runs))
}

fn in_ms(interval: Interval) -> Interval {
    Interval { low: interval.low * MS, high: interval.high * MS, ..interval }
}

fn success(done: u64, all: u64) -> Reading {
    reading((all > 0).then(|| done as f64 / all as f64), all)
}

fn reading(value: Option<f64>, samples: u64) -> Reading {
    Reading { value, samples, ..Reading::default() }
}
