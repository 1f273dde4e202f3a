//! How often which response time: a row of bars for each variant over one axis of equal ratios.

use prony_model::{HistogramBin, LoadKind, StudyCell, StudyMetric};

use super::super::figure::Figure;
use super::super::format::{known, plain_tick};
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use crate::number::{cell as number, count, percent, rough_percent, seconds};
use crate::svg::{Anchor, Area, Axis, Drawing, Scale};

const WIDTH: f64 = 460.0;
/// Height of a row, with its name.
const ROW: f64 = 68.0;
const NAME: f64 = 16.0;

/// A bin with less than this share of the responses is no peak of its own.
const PEAK: f64 = 0.02;
/// Two peaks are two where the valley between them is less than this share of the lower one.
const VALLEY: f64 = 0.5;

/// The chart; `None` where no run has a histogram.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let cells = &layout.result().cells;
    let has_bins = |cell: &&StudyCell| total(cell) > 0;
    let all: Vec<&StudyCell> = cells.iter().filter(has_bins).collect();
    let bins = || all.iter().flat_map(|cell| cell.bins.iter().filter(|bin| is_good(bin) && bin.count > 0));
    let least = bins().map(|bin| bin.from_ms).fold(f64::INFINITY, f64::min);
    let most = bins().map(|bin| bin.to_ms).fold(0.0, f64::max);
    let mut panels = Vec::new();
    for (index, panel) in layout.panels(LoadKind::Run).iter().enumerate() {
        let shown: Vec<&StudyCell> =
            panel.cells.iter().map(|index| &cells[*index]).filter(has_bins).collect();
        if !shown.is_empty() {
            let id = format!("chart-histogram-{index}");
            panels.push((panel.name.clone(), drawing(layout, &shown, (least, most), &id)));
        }
    }
    (!panels.is_empty()).then(|| Figure {
        id: "chart-histogram".to_owned(),
        title: title(&all),
        caption: "How many of the good responses of all valid runs took how long, in bins of equal ratio; the bars of one \
                  chart share their height. Dotted: p50 and p99."
            .to_owned(),
        legend: Vec::new(),
        panels,
        table: table(&all),
        open: false,
    })
}

fn is_good(bin: &HistogramBin) -> bool {
    bin.from_ms.is_normal() && bin.to_ms.is_finite() && bin.from_ms > 0.0 && bin.from_ms < bin.to_ms
}

fn total(cell: &StudyCell) -> u64 {
    cell.bins.iter().filter(|bin| is_good(bin)).map(|bin| bin.count).fold(0, u64::saturating_add)
}

/// The middles of the peaks, ms.
fn peaks(cell: &StudyCell) -> Vec<f64> {
    let total = total(cell) as f64;
    // The highest bin since the last valley, and the lowest since that.
    let mut found: Vec<(f64, f64)> = Vec::new();
    let (mut peak, mut valley): (Option<(f64, f64)>, f64) = (None, 0.0);
    for bin in cell.bins.iter().filter(|bin| is_good(bin)) {
        let (share, middle) = (bin.count as f64 / total, (bin.from_ms * bin.to_ms).sqrt());
        match peak {
            // A new rise after a valley that is deep against both sides.
            Some((_, top)) if share > valley && valley < VALLEY * top.min(share) && share >= PEAK => {
                found.extend(peak.filter(|(_, top)| *top >= PEAK));
                (peak, valley) = (Some((middle, share)), share);
            }
            Some((_, top)) if share > top => (peak, valley) = (Some((middle, share)), share),
            Some(_) => valley = valley.min(share),
            None => (peak, valley) = (Some((middle, share)), share),
        }
    }
    found.extend(peak.filter(|(_, top)| *top >= PEAK));
    found.into_iter().map(|(middle, _)| middle).collect()
}

/// Who has several peaks; otherwise whose tail is longest.
fn title(cells: &[&StudyCell]) -> String {
    for cell in cells {
        let peaks = peaks(cell);
        if peaks.len() > 1 {
            let places: Vec<String> = peaks.iter().map(|peak| seconds(peak / 1e3)).collect();
            return format!(
                "Responses of {} gather around {} times: {}",
                cell.name,
                peaks.len(),
                places.join(", ")
            );
        }
    }
    let tail = |cell: &&&StudyCell| {
        let (p50, p99) = (known(cell, StudyMetric::P50)?, known(cell, StudyMetric::P99)?);
        (p50 > 0.0).then(|| (p99 / p50, cell.name.clone()))
    };
    cells.iter().filter_map(|cell| tail(&cell)).max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(
        || "How often which response time".to_owned(),
        |(ratio, name)| {
            format!(
                "One peak each; the tail is longest at {name}, whose p99 is {} its p50",
                crate::number::times(ratio)
            )
        },
    )
}

fn drawing(layout: &Layout<'_>, cells: &[&StudyCell], (least, most): (f64, f64), id: &str) -> String {
    let area = Area { left: 8.0, top: 4.0, right: WIDTH - 8.0, bottom: 4.0 + ROW * cells.len() as f64 };
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    let scale = Scale::logarithmic(least, most, area.across());
    Axis::new(scale, "response time, ms", 6, plain_tick).below(&mut drawing, area);
    let share = |cell: &StudyCell, bin: &HistogramBin| bin.count as f64 / total(cell) as f64;
    let highest = cells
        .iter()
        .flat_map(|cell| cell.bins.iter().map(|bin| share(cell, bin)))
        .fold(f64::MIN_POSITIVE, f64::max);
    for (index, cell) in cells.iter().enumerate() {
        let (colour, bottom) = (layout.colour(cell), area.top + ROW * (index as f64 + 1.0));
        for bin in cell.bins.iter().filter(|bin| is_good(bin) && bin.count > 0) {
            // Whatever happened at all is seen, if only as a line.
            let height = ((ROW - NAME - 4.0) * share(cell, bin) / highest).max(0.8);
            let from = (scale.place(bin.from_ms), bottom);
            drawing.rectangle(&format!("h s{colour}"), from, (scale.place(bin.to_ms), bottom - height));
        }
        for metric in [StudyMetric::P50, StudyMetric::P99] {
            if let Some(time) = known(cell, metric) {
                let x = scale.place(time);
                drawing.line("mark", (x, bottom - ROW + NAME), (x, bottom));
            }
        }
        drawing.line("axis", (area.left, bottom), (area.right, bottom));
        let name = format!("{} (n = {})", layout.label(cell), count(total(cell)));
        drawing.text(
            &format!("c b s{colour}"),
            (area.left, bottom - ROW + NAME),
            Anchor::Start,
            &name,
            WIDTH - 16.0,
        );
    }
    let names: Vec<String> = cells.iter().map(|cell| layout.label(cell)).collect();
    let description =
        format!("Histograms of {}; the highest bar is {}.", names.join(", "), rough_percent(highest));
    drawing.finish(id, "half", "How often which response time", &description)
}

fn table(cells: &[&StudyCell]) -> Table {
    let columns = vec![
        numbers("from", "from, ms"),
        numbers("to", "to, ms"),
        numbers("count", "responses"),
        numbers("share", "share"),
    ];
    let mut table = Table::new(
        "chart-histogram-data",
        "Responses by response time; empty bins are left out",
        "cell",
        columns,
    );
    for (index, cell) in cells.iter().enumerate() {
        let total = total(cell);
        for (place, bin) in cell.bins.iter().enumerate().filter(|(_, bin)| is_good(bin) && bin.count > 0) {
            table.row(
                &format!("{index}-{place}"),
                cell.name.as_str(),
                [number(bin.from_ms), number(bin.to_ms), count(bin.count), percent(bin.count, total)]
                    .map(Content::from),
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: &[u64], expected: usize) {
        let bins = counts.iter().zip(0..).map(|(count, index)| {
            let from_ms = 1.2_f64.powi(index);
            HistogramBin { from_ms, to_ms: from_ms * 1.2, count: *count }
        });
        let cell = StudyCell {
            name: "a".to_owned(),
            key: std::collections::BTreeMap::new(),
            kind: LoadKind::Run,
            load: String::new(),
            planned: 1,
            runs: Vec::new(),
            retried: Vec::new(),
            figures: Vec::new(),
            failed_by_kind: std::collections::BTreeMap::new(),
            statuses: std::collections::BTreeMap::new(),
            curve: Vec::new(),
            bins: bins.collect(),
            timelines: Vec::new(),
            executions: Vec::new(),
            searches: Vec::new(),
            stages: Vec::new(),
            scenario: None,
            agents: None,
        };
        assert_eq!(peaks(&cell).len(), expected, "{counts:?}");
    }

    #[test]
    fn peaks_are_counted_where_a_valley_parts_them() {
        check(&[5], 1);
        check(&[1, 20, 60, 20, 1], 1);
        check(&[1, 20, 60, 20, 1, 10, 40, 5], 2);
        check(&[50, 30, 40, 50], 1);
        check(&[1000, 0, 1, 0], 1);
        check(&[50, 1, 50, 1, 50], 3);
    }
}
