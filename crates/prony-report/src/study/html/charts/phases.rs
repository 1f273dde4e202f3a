//! Probes: the phases of a request, one after the other.

use prony_model::{LoadKind, StudyCell, StudyMetric};

use super::super::super::facts::figure as of_cell;
use super::super::figure::Figure;
use super::super::format::{figure_cell, known, name, plain_tick};
use super::super::labels;
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use crate::number::{rough_percent, seconds};
use crate::svg::{Anchor, Area, Axis, Drawing, Scale};

const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
const NAMES: f64 = 250.0;
const VALUES: f64 = 78.0;

/// The phases, in the order of time; their place is the number of their colour.
const PHASES: [StudyMetric; 4] =
    [StudyMetric::Dns, StudyMetric::Tcp, StudyMetric::Server, StudyMetric::Transfer];

/// The chart; `None` where nothing was probed.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let cells = &layout.result().cells;
    let probed: Vec<&StudyCell> =
        layout.of_kind(LoadKind::Probe).map(|index| &cells[index]).filter(|cell| total(cell) > 0.0).collect();
    let title = longest(&probed)?;
    let most = probed.iter().map(|cell| total(cell)).fold(0.0, f64::max);
    let left = labels::column(probed.iter().map(|cell| cell.name.as_str()), NAMES);
    let area = Area { left, top: 6.0, right: WIDTH - VALUES, bottom: 6.0 + ROW * probed.len() as f64 };
    let scale = Scale::linear(most, area.across());
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    Axis::new(scale, "time, ms", 6, plain_tick).below(&mut drawing, area);
    for (index, cell) in probed.iter().enumerate() {
        let y = area.top + ROW * (index as f64 + 0.5);
        drawing.row_name(y, &cell.name, area.left - 10.0);
        let mut at = 0.0;
        for (colour, phase) in PHASES.iter().enumerate() {
            let time = known(cell, *phase).unwrap_or_default();
            if time > 0.0 {
                let (from, to) = (scale.place(at), scale.place(at + time));
                drawing.rectangle(&format!("h s{colour}"), (from, y - 8.0), (to, y + 8.0));
            }
            at += time;
        }
        drawing.text("label", (WIDTH, y + 4.0), Anchor::End, &seconds(at / 1e3), VALUES);
    }
    let columns =
        PHASES.iter().chain([&StudyMetric::Probe]).map(|metric| numbers(metric.name(), name(*metric)));
    let mut table = Table::new("chart-phases-data", "Medians of the phases, ms", "cell", columns.collect());
    for (index, cell) in probed.iter().enumerate() {
        let row: Vec<Content> = PHASES
            .iter()
            .chain([&StudyMetric::Probe])
            .map(|metric| figure_cell(of_cell(cell, *metric)))
            .collect();
        table.row(&index.to_string(), cell.name.as_str(), row);
    }
    Some(Figure {
        id: "chart-phases".to_owned(),
        caption: "The median of each phase, one after the other; the sum of medians need not be the median of the whole, \
                  which stands in the table."
            .to_owned(),
        legend: PHASES.iter().enumerate().map(|(colour, phase)| (colour, name(*phase).to_owned())).collect(),
        panels: vec![(String::new(), drawing.finish("chart-phases-0", "wide", &title, "A bar for each cell, its phases stacked."))],
        table,
        open: false,
        title,
    })
}

fn total(cell: &StudyCell) -> f64 {
    PHASES.iter().filter_map(|phase| known(cell, *phase)).sum()
}

/// The phase that takes the largest share of any cell.
fn longest(cells: &[&StudyCell]) -> Option<String> {
    let shares = cells.iter().flat_map(|cell| {
        PHASES
            .iter()
            .filter_map(|phase| Some((known(cell, *phase)? / total(cell), *phase, cell.name.as_str())))
    });
    let (share, phase, cell) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let phase = match phase {
        StudyMetric::Dns => "Looking up the name",
        StudyMetric::Tcp => "Connecting",
        StudyMetric::Server => "Waiting for the server",
        _ => "The transfer",
    };
    Some(format!("{phase} takes {} of the time of {cell}", rough_percent(share)))
}
