//! One time of a part of a load, a step or a stage, over the runs of a cell.

use prony_model::{
    Clock, Figure, HistogramData, LatencySummary, Level, Reading, RunResult, StudyFigure, StudyMetric,
    StudyScenario,
};
use prony_stats::{DecodeError, Histogram, Sparse};

use super::figure::{CellFigure, Together, figure};

/// The levels of [`StudyScenario::TIMES`].
const LEVELS: [Level; StudyScenario::TIMES.len()] = [Level::P50, Level::P90, Level::P99, Level::Max];

/// One time in every run.
#[derive(Default)]
pub(super) struct Times {
    /// One reading for each of [`LEVELS`] and each run.
    readings: [Vec<Reading>; LEVELS.len()],
    /// All runs together, but those whose tail the client made. Hundreds of histograms in full would be too much.
    merged: Sparse,
    /// Steps or sessions behind `merged`, and those of them that failed.
    intended: u64,
    failed: u64,
}

impl Times {
    pub(super) fn add(
        &mut self,
        times: &LatencySummary,
        data: &HistogramData,
        (intended, failed): (u64, u64),
        result: &RunResult,
    ) -> Result<(), DecodeError> {
        for (readings, level) in self.readings.iter_mut().zip(LEVELS) {
            readings.push(Reading::of_times(times, level, result));
        }
        if !data.data.is_empty() && !result.has_client_tail() {
            let mut histogram = Histogram::from_base64_v2(&data.data)?;
            histogram.add_sparse(&self.merged);
            self.merged = histogram.to_sparse();
            self.intended += intended;
            self.failed += failed;
        }
        Ok(())
    }

    fn figure(&self, level: Level, readings: &[Reading]) -> Option<CellFigure> {
        let mut response = Histogram::new();
        response.add_sparse(&self.merged);
        let together = Together { response: &response, intended: self.intended, failed: self.failed };
        // Whichever time it is, it is treated as a response time.
        figure(Figure::Latency(Clock::Response, level), &readings.iter().collect::<Vec<_>>(), &together)
    }

    pub(super) fn figures(&self) -> Vec<StudyFigure> {
        let levels = self.readings.iter().zip(LEVELS).zip(StudyScenario::TIMES);
        levels
            .filter_map(|((readings, level), metric)| Some(self.figure(level, readings)?.of_metric(metric)))
            .collect()
    }

    pub(super) fn of_level(&self, level: Level) -> Option<CellFigure> {
        let at = LEVELS.iter().position(|known| *known == level)?;
        self.figure(level, &self.readings[at])
    }
}

/// The figure of a share of good ones, a reading for each run.
pub(super) fn success(readings: &[Reading]) -> Option<StudyFigure> {
    of_metric(StudyMetric::Success, readings)
}

/// The figure of `metric`, a reading for each run.
pub(super) fn of_metric(metric: StudyMetric, readings: &[Reading]) -> Option<StudyFigure> {
    let nothing = Histogram::new();
    let together = Together { response: &nothing, intended: 0, failed: 0 };
    let readings: Vec<&Reading> = readings.iter().collect();
    Some(figure(Figure::of_metric(metric), &readings, &together)?.of_metric(metric))
}
