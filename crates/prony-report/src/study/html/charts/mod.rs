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

/// The section of charts; nothing where nothing can be drawn.
pub(super) fn section(layout: &Layout<'_>) -> String {
    let figures: Vec<Option<Figure>> = vec![
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
    let figures: Vec<String> = figures.iter().flatten().map(Figure::html).collect();
    if figures.is_empty() {
        return String::new();
    }
    format!("<section id=\"charts\">\n<h2>Pictures</h2>\n{}</section>\n", figures.concat())
}
