//! One metric of every cell: a dot for the median, a bar for its interval, a ring for each run.

use prony_model::{StudyCell, StudyMetric};

use super::super::super::facts::{bare, figure as of_cell, value};
use super::super::figure::Figure;
use super::super::format::{across, axis, figure_cell, is_invalid, known, name, of_invalid, tick};
use super::super::labels;
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use super::lead;
use crate::number::{count, plural};
use crate::svg::{Anchor, Area, Axis, Drawing, Scale, Shape};

const WIDTH: f64 = 720.0;
const ROW: f64 = 28.0;
/// Room for names at the left, and for values at the right.
const NAMES: f64 = 250.0;
const VALUES: f64 = 78.0;
/// Cells of one drawing; a longer one could not be read with its axis in view.
const ROWS_MAX: usize = 40;

/// The chart of `metric`; `None` where no cell has it.
pub(super) fn figure(layout: &Layout<'_>, metric: StudyMetric) -> Option<Figure> {
    let all: Vec<&StudyCell> =
        layout.result().cells.iter().filter(|cell| known(cell, metric).is_some()).collect();
    // One number is no picture.
    let dots: usize = all.iter().map(|cell| cell.runs.len()).sum();
    let title = lead::sentence(layout, metric).filter(|_| dots > 1)?;
    let id = format!("chart-{}", metric.name().replace('.', "_"));
    let scale = scale(&all, metric);
    let panels = all
        .chunks(ROWS_MAX)
        .enumerate()
        .map(|(part, cells)| {
            (String::new(), drawing(layout, cells, metric, scale, &format!("{id}-{part}"), &title))
        })
        .collect();
    let intervals = all.iter().filter(|cell| across(cell, metric).is_some()).count();
    let bars = match intervals {
        0 => "There are too few runs for intervals.".to_owned(),
        some if metric == StudyMetric::Capacity => {
            format!("The bar is from the lower to the upper bound; {some} of {} cells have both.", all.len())
        }
        some if some == all.len() => {
            "The bar is the 95 % interval, from the differences between runs.".to_owned()
        }
        some => format!(
            "The bar is the 95 % interval, from the differences between runs; {some} of {} cells have one.",
            all.len()
        ),
    };
    Some(Figure {
        caption: format!(
            "{}: the dot is the median over the runs, each ring a run. {bars}{}",
            capital(name(metric)),
            of_invalid(&all)
        ),
        legend: Vec::new(),
        panels,
        table: table(&all, metric, &id),
        open: false,
        id,
        title,
    })
}

/// One scale for all drawings of the metric, over runs and intervals too.
fn scale(cells: &[&StudyCell], metric: StudyMetric) -> Scale {
    let mut values: Vec<f64> = cells.iter().filter_map(|cell| known(cell, metric)).collect();
    for cell in cells {
        values.extend(cell.runs.iter().filter_map(|run| run.figures.get(&metric).copied()));
        values.extend(across(cell, metric).into_iter().flat_map(|interval| [interval.low, interval.high]));
    }
    let names = labels::column(cells.iter().map(|cell| cell.name.as_str()), NAMES);
    Scale::fitting(&values, (names, WIDTH - VALUES))
}

fn drawing(
    layout: &Layout<'_>,
    cells: &[&StudyCell],
    metric: StudyMetric,
    scale: Scale,
    id: &str,
    title: &str,
) -> String {
    let area = Area {
        left: scale.range().0,
        top: 6.0,
        right: WIDTH - VALUES,
        bottom: 6.0 + ROW * cells.len() as f64,
    };
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    Axis::new(scale, &axis(metric), 6, |number| tick(metric, number)).below(&mut drawing, area);
    for (index, cell) in cells.iter().enumerate() {
        let (colour, y) = (layout.colour(cell), area.top + ROW * (index as f64 + 0.5));
        drawing.row_name(y, &cell.name, area.left - 10.0);
        for run in &cell.runs {
            if let Some(number) = run.figures.get(&metric).filter(|number| number.is_finite()) {
                let class =
                    if is_invalid(cell, run.repeat) { "r unused".to_owned() } else { format!("r s{colour}") };
                drawing.point(&class, Shape::Circle, (scale.place(*number), y), 3.0);
            }
        }
        if let Some(interval) = across(cell, metric) {
            let (low, high) = (scale.place(interval.low), scale.place(interval.high));
            drawing.line(&format!("l range s{colour}"), (low, y), (high, y));
            for end in [low, high] {
                drawing.line(&format!("l range s{colour}"), (end, y - 4.0), (end, y + 4.0));
            }
        }
        let Some(number) = known(cell, metric) else { continue };
        drawing.point(&format!("d s{colour}"), Shape::of(colour), (scale.place(number), y), 5.0);
        drawing.text("label", (WIDTH, y + 4.0), Anchor::End, &value(metric, number), VALUES);
    }
    let description = format!(
        "{} of {}, with intervals and single runs.",
        capital(name(metric)),
        plural(cells.len() as u64, "cell")
    );
    drawing.finish(id, "wide", title, &description)
}

fn table(cells: &[&StudyCell], metric: StudyMetric, id: &str) -> Table {
    let columns = vec![
        numbers("median", "median"),
        numbers("least", "least run"),
        numbers("most", "greatest run"),
        numbers("runs", "runs"),
        numbers("n", "n"),
    ];
    let mut table = Table::new(&format!("{id}-data"), &axis(metric), "cell", columns);
    for (index, cell) in cells.iter().enumerate() {
        let Some(figure) = of_cell(cell, metric) else { continue };
        let end = |end: Option<f64>| end.map_or_else(Content::dash, |number| bare(metric, number).into());
        table.row(
            &index.to_string(),
            cell.name.as_str(),
            [
                figure_cell(Some(figure)),
                end(figure.range.map(|range| range.0)),
                end(figure.range.map(|range| range.1)),
                figure.runs.to_string().into(),
                count(figure.samples).into(),
            ],
        );
    }
    table
}

/// `text` as the beginning of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), characters.as_str())
}
