//! The pictures, in the order in which they are worth looking at.

mod concurrency;
mod dots;
mod executions;
mod histogram;
mod lead;
mod phases;
mod quantiles;
mod timeline;

use prony_model::StudyMetric;

use super::figure::Figure;
use super::layout::Layout;

/// All that can be drawn.
pub(super) fn figures(layout: &Layout<'_>) -> Vec<Figure> {
    let figures = [
        dots::figure(layout, StudyMetric::Rate),
        dots::figure(layout, StudyMetric::P50),
        dots::figure(layout, StudyMetric::P99),
        dots::figure(layout, StudyMetric::CpuPerRequest),
        dots::figure(layout, StudyMetric::Wall),
        dots::figure(layout, StudyMetric::Probe),
        concurrency::figure(layout),
        quantiles::figure(layout),
        histogram::figure(layout),
        timeline::figure(layout),
        executions::figure(layout),
        executions::shares(layout),
        phases::figure(layout),
    ];
    figures.into_iter().flatten().collect()
}
