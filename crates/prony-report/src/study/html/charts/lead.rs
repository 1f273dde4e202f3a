//! The title of a chart of one metric: who leads, by how much, and whether the runs support it.

use prony_model::{StudyCell, StudyMetric};

use super::super::super::facts::value;
use super::super::format::{across, known};
use super::super::layout::{Layout, Panel};
use crate::number::{rough_percent, significant, times};

/// Who leads in `metric`, where it leads by most: only cells that differ in nothing but the variant are compared, for
/// of two things that differ neither could be shown to be the reason. `None` where no cell has the metric.
pub(super) fn sentence(layout: &Layout<'_>, metric: StudyMetric) -> Option<String> {
    let panels = layout.races(metric.kind());
    let races = panels.iter().filter_map(|panel| Race::new(layout, panel, metric));
    let widest = races.max_by(|a, b| a.rank().0.cmp(&b.rank().0).then(a.rank().1.total_cmp(&b.rank().1)))?;
    Some(widest.sentence(layout, metric))
}

/// The best and the worst of one panel.
struct Race<'a> {
    panel: &'a Panel,
    best: &'a StudyCell,
    worst: &'a StudyCell,
    /// The larger value over the smaller one.
    ratio: f64,
    /// Whether the intervals are apart; `None` where one is missing.
    clear: Option<bool>,
}

impl<'a> Race<'a> {
    fn new(layout: &Layout<'a>, panel: &'a Panel, metric: StudyMetric) -> Option<Self> {
        let cells = panel.cells.iter().map(|index| &layout.result().cells[*index]);
        let mut ranked: Vec<(&StudyCell, f64)> =
            cells.filter_map(|cell| Some((cell, known(cell, metric)?))).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        if metric.is_better_high() {
            ranked.reverse();
        }
        let ((best, first), (worst, last)) = (*ranked.first()?, *ranked.last()?);
        let (low, high) = (first.min(last), first.max(last));
        let ratio = if low > 0.0 { high / low } else { f64::INFINITY };
        let clear =
            across(best, metric).zip(across(worst, metric)).map(|(a, b)| a.high < b.low || b.high < a.low);
        Some(Self { panel, best, worst, ratio, clear })
    }

    /// What can be claimed goes before what is only seen, then the larger ratio.
    fn rank(&self) -> (bool, f64) {
        (self.clear == Some(true), self.ratio)
    }

    fn sentence(&self, layout: &Layout<'_>, metric: StudyMetric) -> String {
        let Self { panel, best, worst, ratio, clear } = self;
        if std::ptr::eq(*best, *worst) {
            let Some(median) = known(best, metric) else { return best.name.clone() };
            return match metric {
                StudyMetric::Rate => {
                    format!("{} answers {} requests per second", best.name, significant(median))
                }
                _ => format!("{}: {} {}", best.name, value(metric, median), plain(metric)),
            };
        }
        let (best, worst) = (layout.label(best), layout.label(worst));
        let place = if panel.name.is_empty() { String::new() } else { format!(" ({})", panel.name) };
        match clear {
            _ if !ratio.is_finite() => format!("{best} and {worst} differ most in {}{place}", plain(metric)),
            Some(true) => format!("{best} {} {worst}{}{place}", superior(metric, *ratio), at(metric)),
            Some(false) => format!("No clear difference in {}: the intervals overlap", plain(metric)),
            None => format!(
                "{best} measured {} {worst}{}{place}, but there are too few runs for intervals",
                compared(metric, *ratio),
                at(metric)
            ),
        }
    }
}

/// The metric within a sentence.
fn plain(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::Rate => "rate",
        StudyMetric::P50 => "p50 response time",
        StudyMetric::P99 => "p99 response time",
        StudyMetric::P999 => "p99.9 response time",
        StudyMetric::Wall => "time of the command",
        StudyMetric::Probe => "time of a probe",
        StudyMetric::CpuPerRequest => "CPU time per request",
        StudyMetric::Capacity => "capacity",
        other => other.name(),
    }
}

/// The better one's advantage, up to the name of the other.
fn superior(metric: StudyMetric, ratio: f64) -> String {
    match metric {
        StudyMetric::Rate if ratio >= 1.95 => {
            format!("answers {} as many requests per second as", times(ratio))
        }
        StudyMetric::Rate => format!("answers {} more requests per second than", rough_percent(ratio - 1.0)),
        StudyMetric::Capacity if ratio >= 1.95 => format!("carries {} as much as", times(ratio)),
        StudyMetric::Capacity => format!("carries {} more than", rough_percent(ratio - 1.0)),
        StudyMetric::CpuPerRequest => {
            format!("takes {} less CPU time per request than", rough_percent(1.0 - 1.0 / ratio))
        }
        _ if ratio >= 1.95 => format!("is {} as fast as", times(ratio)),
        _ => format!("takes {} less time than", rough_percent(1.0 - 1.0 / ratio)),
    }
}

/// The same without claiming it.
fn compared(metric: StudyMetric, ratio: f64) -> String {
    match metric {
        StudyMetric::Rate => format!("{} the rate of", times(ratio)),
        StudyMetric::Capacity => format!("{} the capacity of", times(ratio)),
        StudyMetric::CpuPerRequest => {
            format!("{} less CPU time per request than", rough_percent(1.0 - 1.0 / ratio))
        }
        _ => format!("{} as fast as", times(ratio)),
    }
}

/// The quantile, behind the name.
fn at(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::P50 => " at p50",
        StudyMetric::P99 => " at p99",
        StudyMetric::P999 => " at p99.9",
        _ => "",
    }
}
