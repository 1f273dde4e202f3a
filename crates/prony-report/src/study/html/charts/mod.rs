//! The pictures, in the order in which they are worth looking at.

mod capacities;
mod concurrency;
mod dots;
mod executions;
mod histogram;
mod lead;
mod phases;
mod quantiles;
mod steps;
mod timeline;

use prony_model::StudyMetric;

use super::figure::Figure;
use super::layout::Layout;

/// Points of all lines of the page's timelines together, about ten bytes each: the page stays below 5 MB, whatever the study.
const TIMELINE_POINTS_MAX: usize = 150_000;

/// How the response times of each load are distributed, and over time, with at most about `points_max` points in
/// the timelines.
pub(super) fn of_loads(layout: &Layout<'_>, points_max: usize) -> Vec<Figure> {
    [quantiles::figure(layout), timeline::figure(layout, points_max), steps::figure(layout)]
        .into_iter()
        .flatten()
        .collect()
}

/// All that can be drawn.
pub(super) fn figures(layout: &Layout<'_>) -> Vec<Figure> {
    let figures = [
        dots::figure(layout, StudyMetric::Rate),
        dots::figure(layout, StudyMetric::P50),
        dots::figure(layout, StudyMetric::P99),
        dots::figure(layout, StudyMetric::CpuPerRequest),
        dots::figure(layout, StudyMetric::Wall),
        dots::figure(layout, StudyMetric::Probe),
        dots::figure(layout, StudyMetric::Capacity),
        concurrency::figure(layout),
        quantiles::figure(layout),
        histogram::figure(layout),
        timeline::figure(layout, TIMELINE_POINTS_MAX),
        steps::figure(layout),
        executions::figure(layout),
        executions::shares(layout),
        phases::figure(layout),
    ];
    figures.into_iter().flatten().chain(capacities::figures(layout)).collect()
}
