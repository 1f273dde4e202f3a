//! The stored distributions, decoded. A file that was damaged is found out here, before anything is drawn of it.

use prony_model::{Clock, HistogramData, LatencySummary, Outcome, RunResult};
use prony_stats::{DecodeError, Histogram};

/// A stored distribution that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistributionError {
    /// The text is not one of a histogram.
    #[error("the histogram of {name} is damaged: failed to {source}")]
    Damaged {
        /// The clock, or the outcome and its clock.
        name: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// Another encoding or unit than the format has.
    #[error("the histogram of {name} is `{encoding}` in `{unit}`, which this prony does not read")]
    Foreign {
        /// The clock, or the outcome and its clock.
        name: String,
        /// How it says that it is encoded.
        encoding: String,
        /// The unit that it says its values have.
        unit: String,
    },
    /// More or fewer values in the text than its count says.
    #[error("the histogram of {name} holds {held} values and says {stated}")]
    Count {
        /// The clock, or the outcome and its clock.
        name: String,
        /// Values in the text.
        held: u64,
        /// What its count says.
        stated: u64,
    },
}

/// Which of the distributions of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Of a clock of the run.
    Clock(Clock),
    /// Response times of the outcome with this index.
    OutcomeResponse(usize),
    /// Its service times.
    OutcomeService(usize),
    /// Of an outcome that this prony does not know.
    Unknown,
    /// Full TLS handshakes.
    FullHandshakes,
    /// Resumed ones.
    ResumedHandshakes,
    /// Response times of the step with this number.
    StepResponse(usize),
    /// Its service times.
    StepService(usize),
    /// Response times of the stage with this number.
    StageResponse(usize),
    /// Its service times.
    StageService(usize),
    /// Waits of its requests without an answer.
    StageCensored(usize),
    /// Times of the flow with this number.
    FlowTime(usize),
    /// The same without the think time.
    FlowWithoutThink(usize),
}

/// A distribution of a result, as it is stored.
pub(crate) struct Stored<'a> {
    pub(crate) place: Place,
    /// For errors: what it is,
    what: &'static str,
    /// and of which outcome, step or flow.
    whose: &'a str,
    pub(crate) data: &'a HistogramData,
    /// Its numbers, which have the exact extremes and the exact sum.
    pub(crate) summary: Option<&'a LatencySummary>,
}

impl Stored<'_> {
    /// Decodes it into `into`, which holds nothing where nothing is stored.
    pub(crate) fn read(&self, into: &mut Histogram) -> Result<(), DistributionError> {
        read(&|| format!("{}{}", self.what, self.whose), self.data, into)
    }
}

/// Every distribution of `result` but its pieces of time.
pub(crate) fn all(result: &RunResult) -> Vec<Stored<'_>> {
    let stored = |place, what, whose, data, summary| Stored { place, what, whose, data, summary };
    let clocks = Clock::ALL.map(|clock| {
        stored(Place::Clock(clock), clock.name(), "", result.histogram(clock), result.summary(clock))
    });
    let mut all = Vec::from(clocks);
    for entry in &result.outcomes {
        let index = Outcome::all().find(|outcome| outcome.name() == entry.outcome).map(Outcome::index);
        let (response, service) = index.map_or((Place::Unknown, Place::Unknown), |index| {
            (Place::OutcomeResponse(index), Place::OutcomeService(index))
        });
        let whose = entry.outcome.as_str();
        all.push(stored(response, "response of ", whose, &entry.response_histogram, Some(&entry.response)));
        all.push(stored(service, "service of ", whose, &entry.service_histogram, Some(&entry.service)));
    }
    if let Some(tls) = &result.tls {
        let found = &tls.handshakes;
        let (full, resumed) = (Some(&found.full_latency), Some(&found.resumed_latency));
        all.push(stored(Place::FullHandshakes, "full handshakes", "", &found.full_histogram, full));
        all.push(stored(
            Place::ResumedHandshakes,
            "resumed handshakes",
            "",
            &found.resumed_histogram,
            resumed,
        ));
    }
    for (at, step) in result.scenario.iter().flat_map(|scenario| &scenario.steps).enumerate() {
        let (response, service) = (Some(&step.response), Some(&step.service));
        let (of_response, of_service) = ("response of step ", "service of step ");
        all.push(stored(
            Place::StepResponse(at),
            of_response,
            &step.name,
            &step.response_histogram,
            response,
        ));
        all.push(stored(Place::StepService(at), of_service, &step.name, &step.service_histogram, service));
    }
    for (at, stage) in result.stages.iter().enumerate() {
        let (response, service) = (&stage.response_histogram, &stage.service_histogram);
        let (of_response, of_service) = ("response of stage ", "service of stage ");
        let whose = stage.name.as_str();
        all.push(stored(Place::StageResponse(at), of_response, whose, response, Some(&stage.response)));
        all.push(stored(Place::StageService(at), of_service, whose, service, Some(&stage.service)));
        let waits = &stage.censored_histogram;
        all.push(stored(Place::StageCensored(at), "waits of stage ", whose, waits, None));
    }
    for (at, flow) in result.scenario.iter().flat_map(|scenario| &scenario.flows).enumerate() {
        let (time, without_think) = (&flow.time_histogram, &flow.time_without_think_histogram);
        let what = "time without think of flow ";
        all.push(stored(Place::FlowTime(at), "time of flow ", &flow.name, time, Some(&flow.time)));
        let summary = Some(&flow.time_without_think);
        all.push(stored(Place::FlowWithoutThink(at), what, &flow.name, without_think, summary));
    }
    all
}

/// Decodes every distribution of `result` once, to find out whether that can be done.
pub fn check_distributions(result: &RunResult) -> Result<(), DistributionError> {
    let mut decoded = Histogram::new();
    all(result).iter().try_for_each(|stored| stored.read(&mut decoded))
}

/// The distribution of `clock`; `None` where nothing was recorded.
pub fn distribution(result: &RunResult, clock: Clock) -> Result<Option<Histogram>, DistributionError> {
    let mut found = Histogram::new();
    read(&|| clock.name().to_owned(), result.histogram(clock), &mut found)?;
    Ok((!found.is_empty()).then_some(found))
}

/// Decodes `stored` into `into`. `name` is for errors.
fn read(
    name: &dyn Fn() -> String,
    stored: &HistogramData,
    into: &mut Histogram,
) -> Result<(), DistributionError> {
    into.clear();
    if !stored.data.is_empty() {
        if stored.encoding != "hdrhistogram-v2-deflate-base64" || stored.unit != "ns" {
            let (encoding, unit) = (stored.encoding.clone(), stored.unit.clone());
            return Err(DistributionError::Foreign { name: name(), encoding, unit });
        }
        into.read_base64_v2(&stored.data)
            .map_err(|source| DistributionError::Damaged { name: name(), source })?;
    }
    if into.count() == stored.count {
        return Ok(());
    }
    Err(DistributionError::Count { name: name(), held: into.count(), stated: stored.count })
}
