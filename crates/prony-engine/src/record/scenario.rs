//! What the sessions of a worker took, of its measured part. Handed over when it has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{Decoding, FlowResult, Scenario, ScenarioResult, SessionCounts, SoloRequests, StepResult};
use prony_stats::{Censored, Histogram};
use prony_summary::{histogram_data, summary};

use crate::clock::{Nanos, span};
use crate::load::scenario::compile::Compiled;
use crate::load::scenario::fault::{CAUSES, StepFault};
use crate::record::replay::ReplayRecord;
use crate::record::sample::Sample;
use crate::record::step_timeline::StepTimelines;

/// The records of one worker.
#[derive(Default)]
pub(crate) struct ScenarioRecord {
    pub(crate) flows: Box<[FlowRecord]>,
    pub(crate) steps: Box<[StepRecord]>,
    timelines: StepTimelines,
    pub(crate) decoding: DecodingRecord,
    /// Of a replay.
    pub(crate) replay: Option<Box<ReplayRecord>>,
    /// The feed that ended the load.
    pub(crate) ended_by: Option<usize>,
}

/// One flow.
#[derive(Default)]
pub(crate) struct FlowRecord {
    pub(crate) sessions: SessionCounts,
    time: Histogram,
    without_think: Histogram,
}

/// One step.
#[derive(Default)]
pub(crate) struct StepRecord {
    response: Histogram,
    service: Histogram,
    done: u64,
    /// Retries of its requests, and good ones that needed any.
    pub(crate) retries: u64,
    pub(crate) recovered: u64,
    failed: [u64; CAUSES.len()],
    first_fault: Option<(Nanos, StepFault)>,
    /// By extraction.
    pub(crate) nothing_found: Box<[u64]>,
    /// Service times of those that no other request was in flight with.
    alone: Histogram,
}

/// Bodies that were decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DecodingRecord {
    bodies: u64,
    coded_bytes: u64,
    decoded_bytes: u64,
    cpu: Nanos,
}

impl DecodingRecord {
    /// A body of so many bytes was decoded to so many, in that CPU time.
    pub(crate) fn decoded(&mut self, coded: usize, decoded: usize, cpu: Nanos) {
        self.add(Self { bodies: 1, coded_bytes: coded as u64, decoded_bytes: decoded as u64, cpu });
    }

    fn add(&mut self, other: Self) {
        self.bodies += other.bodies;
        self.coded_bytes += other.coded_bytes;
        self.decoded_bytes += other.decoded_bytes;
        self.cpu += other.cpu;
    }

    fn summary(self) -> Option<Decoding> {
        (self.bodies > 0).then(|| Decoding {
            bodies: self.bodies,
            coded_bytes: self.coded_bytes,
            decoded_bytes: self.decoded_bytes,
            cpu_s: self.cpu as f64 / 1e9,
        })
    }
}

impl FlowRecord {
    /// A session ended that long after it arrived, of which it thought for `thought`.
    pub(crate) fn ended(&mut self, failed: bool, took: Nanos, thought: Nanos) {
        if failed {
            self.sessions.failed += 1;
            return;
        }
        self.sessions.completed += 1;
        self.time.record(took);
        self.without_think.record(took.saturating_sub(thought));
    }
}

impl StepRecord {
    fn ended(&mut self, due: Nanos, sample: &Sample, fault: Option<StepFault>, is_alone: bool) {
        match fault {
            None => {
                self.done += 1;
                self.response.record(sample.done.saturating_sub(due));
                let service = sample.done.saturating_sub(sample.sent);
                self.service.record(service);
                if is_alone {
                    self.alone.record(service);
                }
            }
            Some(fault) => {
                self.failed[fault.cause()] += 1;
                self.first_fault.get_or_insert((sample.done, fault));
            }
        }
    }
}

impl ScenarioRecord {
    /// For the flows and steps of `scenario`.
    pub(crate) fn new(scenario: &Compiled) -> Self {
        let step = |extractions: &usize| StepRecord {
            nothing_found: vec![0; *extractions].into(),
            ..StepRecord::default()
        };
        Self {
            flows: (0..scenario.flows()).map(|_| FlowRecord::default()).collect(),
            steps: scenario.extractions.iter().map(step).collect(),
            timelines: StepTimelines::new(scenario.extractions.len(), scenario.measured),
            decoding: DecodingRecord::default(),
            replay: scenario.is_replay().then(Box::default),
            ended_by: None,
        }
    }

    /// The step `number` that was due at `due`, that long after the beginning of the measured part, ended as `sample` says;
    /// alone if no other request was in flight when it was sent.
    pub(crate) fn step_ended(
        &mut self,
        number: usize,
        due: Nanos,
        since: Nanos,
        sample: &Sample,
        fault: Option<StepFault>,
        is_alone: bool,
    ) {
        self.steps[number].ended(due, sample, fault, is_alone);
        let took = fault.is_none().then(|| sample.done.saturating_sub(due));
        self.timelines.record(number, since, took);
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: Self) {
        if self.flows.is_empty() {
            *self = other;
            return;
        }
        for (mine, theirs) in self.flows.iter_mut().zip(&other.flows) {
            mine.sessions.add(theirs.sessions);
            mine.time.add(&theirs.time);
            mine.without_think.add(&theirs.without_think);
        }
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.response.add(&theirs.response);
            mine.service.add(&theirs.service);
            mine.alone.add(&theirs.alone);
            mine.done += theirs.done;
            mine.retries += theirs.retries;
            mine.recovered += theirs.recovered;
            for (mine, theirs) in mine.failed.iter_mut().zip(theirs.failed) {
                *mine += theirs;
            }
            for (mine, theirs) in mine.nothing_found.iter_mut().zip(&theirs.nothing_found) {
                *mine += theirs;
            }
            let first = [mine.first_fault, theirs.first_fault].into_iter().flatten();
            mine.first_fault = first.min_by_key(|(at, _)| *at);
        }
        self.timelines.add(other.timelines);
        self.decoding.add(other.decoding);
        if let (Some(mine), Some(theirs)) = (&mut self.replay, &other.replay) {
            mine.add(theirs);
        }
        self.ended_by = self.ended_by.or(other.ended_by);
    }

    /// For the result of a run of `scenario` that measured for so many seconds.
    pub(crate) fn summary(&self, scenario: &Scenario, measured_s: f64) -> ScenarioResult {
        let mut sessions = SessionCounts::default();
        let flows = scenario.flows.iter().zip(&self.flows).map(|(flow, record)| {
            sessions.add(record.sessions);
            FlowResult {
                name: flow.name.clone(),
                sessions: record.sessions,
                time: summary(&record.time, Censored::NONE),
                time_without_think: summary(&record.without_think, Censored::NONE),
                time_histogram: histogram_data(&record.time),
                time_without_think_histogram: histogram_data(&record.without_think),
            }
        });
        let flows = flows.collect();
        let measured = Duration::try_from_secs_f64(measured_s).map_or(0, span);
        let steps = scenario.steps().zip(&self.steps).enumerate().map(|(number, ((flow, step), record))| {
            let first_failure = record.first_fault.map(|(_, fault)| match fault {
                StepFault::Status(status) => prony_model::status_name(status),
                StepFault::NothingFound(at) => {
                    let name = step.extract.get(usize::from(at)).map(|one| one.name.as_str());
                    format!("nothing was found for `{}`", name.unwrap_or_default())
                }
                fault => fault.describe().to_owned(),
            });
            let failed: BTreeMap<String, u64> = CAUSES
                .iter()
                .zip(record.failed)
                .filter(|(_, count)| *count > 0)
                .map(|(cause, count)| ((*cause).to_owned(), count))
                .collect();
            let nothing_found = step.extract.iter().zip(&record.nothing_found);
            StepResult {
                flow: flow.name.clone(),
                name: step.name.clone(),
                request: format!("{} {}", step.method, step.path),
                ended: record.done + failed.values().sum::<u64>(),
                done: record.done,
                retries: record.retries,
                recovered: record.recovered,
                failed,
                nothing_found: nothing_found
                    .filter(|(_, count)| **count > 0)
                    .map(|(one, count)| (one.name.clone(), *count))
                    .collect(),
                first_failure,
                response: summary(&record.response, Censored::NONE),
                service: summary(&record.service, Censored::NONE),
                response_histogram: histogram_data(&record.response),
                service_histogram: histogram_data(&record.service),
                alone: alone(&record.alone),
                timeline: self.timelines.points(number, measured),
            }
        });
        let ended_by_feed =
            self.ended_by.and_then(|feed| scenario.feeds.get(feed)).map(|feed| feed.name.clone());
        ScenarioResult {
            steps: steps.collect(),
            sessions_per_s: if measured_s > 0.0 { sessions.begun as f64 / measured_s } else { 0.0 },
            sessions,
            flows,
            ended_by_feed,
            decoding: self.decoding.summary(),
        }
    }
}

/// Service times of requests that no other was in flight with; `None` without any.
fn alone(times: &Histogram) -> Option<SoloRequests> {
    let ms = |nanos: f64| nanos / 1e6;
    Some(SoloRequests {
        count: times.count(),
        min_ms: ms(times.min()? as f64),
        median_ms: ms(times.value_at_quantile(0.5)? as f64),
        mean_ms: ms(times.mean()?),
        stddev_ms: ms(times.std_dev()?),
    })
}

#[cfg(test)]
mod tests {
    use prony_model::{Extraction, ExtractionSource, Flow, RunResult, SessionConnections, Step};
    use rand::RngExt as _;

    use super::*;
    use crate::record::shared::{AGENTS, merged, nanos, shared};

    /// Two flows of two steps, as recorded.
    struct Recorded(ScenarioRecord);

    impl Default for Recorded {
        fn default() -> Self {
            let record = ScenarioRecord {
                flows: (0..2).map(|_| FlowRecord::default()).collect(),
                steps: (0..4)
                    .map(|_| StepRecord { nothing_found: [0; 1].into(), ..StepRecord::default() })
                    .collect(),
                timelines: StepTimelines::new(4, None),
                ..ScenarioRecord::default()
            };
            Self(record)
        }
    }

    fn scenario() -> Scenario {
        let step = |name: &str| {
            let body = ExtractionSource::Header("token".to_owned());
            let extract = vec![Extraction { name: "token".to_owned(), from: body, default: None }];
            Step { name: name.to_owned(), extract, ..Step::bare("GET", "/".to_owned()) }
        };
        let flow = |name: &str| Flow {
            name: name.to_owned(),
            weight: 1,
            pacing: Duration::ZERO,
            variables: Vec::new(),
            steps: vec![step(&format!("{name} 1")), step(&format!("{name} 2"))],
        };
        Scenario {
            name: "two flows".to_owned(),
            cookies: false,
            connections: SessionConnections::Shared,
            feeds: Vec::new(),
            flows: vec![flow("read"), flow("write")],
        }
    }

    #[test]
    fn sessions_of_agents_are_those_of_one_recorder() {
        let (one, agents) = shared(5_000, |recorded: &mut Recorded, generator| {
            let record = &mut recorded.0;
            let flow = generator.random_range(0..2_usize);
            record.flows[flow].sessions.begun += 1;
            let mut failed = false;
            for step in 2 * flow..2 * flow + 2 {
                let (due, took, waited) = (1_000, nanos(generator), nanos(generator));
                let sample = Sample::stamped(due + waited, 0, 0, due + waited + took);
                let fault = (generator.random_range(0..9) == 0).then_some(StepFault::Body);
                failed |= fault.is_some();
                record.steps[step].nothing_found[0] += generator.random_range(0..2);
                record.step_ended(step, due, 0, &sample, fault, false);
            }
            record.flows[flow].ended(failed, 5_000_000_000 + nanos(generator), 5_000_000_000);
            record.decoding.decoded(100, 300, 7);
        });
        let scenario = scenario();
        let summary =
            |recorded: &Recorded, result: &RunResult| recorded.0.summary(&scenario, result.timing.measured_s);
        let result = merged(&agents, |result, recorded| result.scenario = Some(summary(recorded, result)));
        let mut expected = summary(&one, &result);
        for step in &mut expected.steps {
            assert!(step.timeline.iter().any(|point| point.p50_ms.is_some()), "there is one to leave out");
            // Results of agents don't hold the distributions of its parts.
            step.timeline.clear();
        }
        assert_eq!(result.scenario, Some(expected));
        let each: Vec<u64> = agents.iter().map(|agent| agent.0.flows[0].sessions.begun).collect();
        assert!(each.len() == AGENTS && each.iter().all(|begun| *begun > 100), "{each:?}");
    }
}
