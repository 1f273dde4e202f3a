//! The reading of each metric from one run.

use std::collections::BTreeMap;

use prony_model::{
    CommandResult, ExecResult, Interval, LatencySummary, PhaseTimes, ProbeResult, QuantileNote, RunResult,
    ServerUse, StudyMetric, TimeSummary,
};
use prony_stats::median;

/// One metric of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    /// In the metric's unit; absent where it is withheld.
    pub(crate) value: Option<f64>,
    /// Its precision, from within the run.
    pub(crate) interval: Option<Interval>,
    /// Requests or executions behind it.
    pub(crate) samples: u64,
    /// Why there is no value.
    pub(crate) withheld: Option<QuantileNote>,
    /// Whether the client made it, so that it supports no number of all runs together either.
    pub(crate) is_of_client: bool,
}

/// Every metric that a run has, withheld ones included.
pub(super) type Readings = BTreeMap<StudyMetric, Reading>;

/// The quantiles of studies: metric, key of [`LatencySummary`], and the quantile itself.
pub(super) const QUANTILES: [(StudyMetric, &str, f64); 5] = [
    (StudyMetric::P50, "0.5", 0.5),
    (StudyMetric::P90, "0.9", 0.9),
    (StudyMetric::P95, "0.95", 0.95),
    (StudyMetric::P99, "0.99", 0.99),
    (StudyMetric::P999, "0.999", 0.999),
];

/// Milliseconds of a second.
const MS: f64 = 1e3;
/// Bytes of a mebibyte.
const MIB: f64 = (1_u64 << 20) as f64;

pub(super) fn of_run(result: &RunResult) -> Readings {
    let (figures, requests) = (result.figures(), &result.requests);
    let response = figures.response;
    // Where every answer came in the drain, the rate of the measured part is no rate of the server's.
    let is_late = requests.done > 0 && result.rate.done_per_s <= 0.0;
    let late =
        || QuantileNote { reason: "every answer came after the measured part".to_owned(), above_ms: None };
    let rate = Reading {
        interval: figures.rate.interval_per_s,
        withheld: is_late.then(late),
        ..reading(Some(figures.rate.done_per_s).filter(|_| !is_late), figures.requests.done)
    };
    let total = reading(Some(result.timing.measured_s), requests.done);
    let mut readings = Readings::from([
        (StudyMetric::Rate, rate),
        (StudyMetric::Success, success(requests.done, requests.intended)),
        (StudyMetric::Mean, reading(response.mean_ms, response.count)),
        (StudyMetric::Min, reading(response.min_ms, response.count)),
        (StudyMetric::Max, reading(response.max_ms, response.count)),
        (StudyMetric::Total, total),
    ]);
    for (metric, key, _) in QUANTILES {
        readings.insert(metric, quantile(response, key));
    }
    readings.extend(result.server.as_ref().map(of_server).unwrap_or_default());
    if result.has_client_tail() {
        for metric in TAIL {
            readings.insert(metric, of_client(response.count));
        }
    }
    let kernel = quantile(&result.latency.kernel_response, "0.99");
    // A closed loop picks too few requests for it in most runs, and its `network` says the same.
    if kernel.value.is_some() || (kernel.samples > 0 && result.plan.load.rate().is_some()) {
        readings.insert(StudyMetric::P99Kernel, kernel);
    }
    if result.latency.connect.count > 0 {
        readings.insert(StudyMetric::Connect, quantile(&result.latency.connect, "0.5"));
    }
    readings
}

/// What the server used, where it was measured.
fn of_server(server: &ServerUse) -> Readings {
    let cpu = server
        .cpu_per_request_us
        .map(|figure| Reading { interval: figure.interval, ..reading(Some(figure.value), figure.requests) });
    let memory = server.own.memory_peak_bytes.map(|bytes| reading(Some(bytes as f64 / MIB), server.requests));
    let both = [(StudyMetric::CpuPerRequest, cpu), (StudyMetric::ServerMemory, memory)];
    both.into_iter().filter_map(|(metric, reading)| Some((metric, reading?))).collect()
}

/// What a client that was late itself has spoiled: see [`RunResult::has_client_tail`].
const TAIL: [StudyMetric; 3] = [StudyMetric::P99, StudyMetric::P999, StudyMetric::Max];

fn of_client(samples: u64) -> Reading {
    let reason = "the client made this tail, not the server: see p99-kernel".to_owned();
    let withheld = Some(QuantileNote { reason, above_ms: None });
    Reading { samples, withheld, is_of_client: true, ..Reading::default() }
}

fn quantile(summary: &LatencySummary, key: &str) -> Reading {
    Reading {
        value: summary.quantiles_ms.get(key).copied().flatten(),
        interval: summary.intervals_ms.get(key).copied(),
        samples: summary.count,
        withheld: summary.withheld.get(key).cloned(),
        is_of_client: false,
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
