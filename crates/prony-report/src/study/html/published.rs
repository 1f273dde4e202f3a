//! What others published beside what was measured here.

use prony_model::{Interval, PublishedFigure, StudyResult};

use super::super::facts::{cell_name, value};
use super::figure::Figure;
use super::format::{interval, link, name, plain_tick};
use super::labels;
use super::table::{Content, Table, numbers, words as text_column};
use crate::number::{times, two_digits};
use crate::svg::{Anchor, Area, Axis, Drawing, Scale, Shape};

const WIDTH: f64 = 680.0;
const ROW: f64 = 28.0;
/// Room for the names of cells at the left, and for the ratio at the right.
const NAMES: f64 = 270.0;
const RATIOS: f64 = 70.0;

/// The comparison with the write-up; `None` where there is none.
pub(super) fn figure(result: &StudyResult) -> Option<Figure> {
    if result.published.is_empty() {
        return None;
    }
    Some(Figure {
        id: "published".to_owned(),
        title: title(result),
        caption: "Ours over theirs: right of the line we measured more, which is good for rates and bad for times. The \
                  bar is the interval of ours; theirs has none. Machines differ, so the order of rows of one study says more \
                  than one ratio."
            .to_owned(),
        legend: Vec::new(),
        panels: drawing(result).into_iter().map(|drawing| (String::new(), drawing)).collect(),
        table: table(result),
        open: true,
    })
}

/// A ratio that can be drawn.
fn ratio(figure: &PublishedFigure) -> Option<f64> {
    figure.ratio.filter(|ratio| ratio.is_normal() && *ratio > 0.0)
}

fn title(result: &StudyResult) -> String {
    if result.short {
        return "The short form of a study is no comparison with what was published".to_owned();
    }
    let ratios: Vec<f64> = result.published.iter().filter_map(ratio).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    match ratios.len() {
        0 => "Nothing was measured that could stand beside the published figures".to_owned(),
        1 => format!("Measured here: {} what was published", times_finely(most)),
        _ => {
            format!(
                "Measured here: between {} and {} what was published",
                times_finely(least),
                times_finely(most)
            )
        }
    }
}

fn drawing(result: &StudyResult) -> Option<String> {
    let shown: Vec<(&PublishedFigure, f64)> =
        result.published.iter().filter_map(|figure| Some((figure, ratio(figure)?))).collect();
    let least = shown.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::min);
    let most = shown.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::max);
    if shown.is_empty() {
        return None;
    }
    let label =
        |figure: &PublishedFigure| format!("{} · {}", cell_name(result, figure.cell), figure.metric.name());
    let names: Vec<String> = shown.iter().map(|(figure, _)| label(figure)).collect();
    let left = labels::column(names.iter().map(String::as_str), NAMES);
    let area = Area { left, top: 8.0, right: WIDTH - RATIOS, bottom: 8.0 + ROW * shown.len() as f64 };
    let mut drawing = Drawing::new(WIDTH, area.bottom + 40.0);
    let scale = Scale::logarithmic(least, most, area.across());
    let axis = Axis::new(scale, "measured over published", 5, |tick| format!("{}x", plain_tick(tick)));
    axis.below(&mut drawing, area);
    drawing.line("axis", (scale.place(1.0), area.top), (scale.place(1.0), area.bottom));
    for (index, ((figure, ratio), name)) in shown.iter().zip(&names).enumerate() {
        let y = area.top + ROW * (index as f64 + 0.5);
        drawing.row_name(y, name, area.left - 10.0);
        if let Some(Interval { low, high, .. }) = figure.interval
            && figure.published > 0.0
        {
            let (low, high) = (scale.place(low / figure.published), scale.place(high / figure.published));
            drawing.line("l range s0", (low, y), (high, y));
        }
        drawing.point("d s0", Shape::Circle, (scale.place(*ratio), y), 5.0);
        drawing.text("label", (WIDTH, y + 4.0), Anchor::End, &times_finely(*ratio), RATIOS);
    }
    let description = format!("{} ratios of measured to published figures, on a log scale.", shown.len());
    Some(drawing.finish("published-svg", "wide", &title(result), &description))
}

/// Two digits, also below one.
fn times_finely(ratio: f64) -> String {
    if ratio < 0.995 { format!("{}x", plain_tick(two_digits(ratio))) } else { times(ratio) }
}

fn table(result: &StudyResult) -> Table {
    let columns = vec![
        text_column("metric", "number"),
        numbers("published", "published"),
        numbers("measured", "measured here"),
        numbers("ratio", "ratio"),
        text_column("note", "what the write-up could not see"),
    ];
    let mut table = Table::new("published-data", "Published figures and ours", "cell", columns);
    for (index, figure) in result.published.iter().enumerate() {
        let PublishedFigure { cell, metric, published, source, note, measured, interval: range, .. } = figure;
        let noted = |number, note: Option<String>| match note {
            Some(note) => Content::noted(value(*metric, number), note),
            None => value(*metric, number).into(),
        };
        let row = [
            name(*metric).into(),
            noted(*published, source.clone()),
            measured.map_or_else(Content::dash, |number| {
                noted(number, range.map(|range| interval(*metric, range)))
            }),
            figure.ratio.map_or_else(Content::dash, |ratio| times_finely(ratio).into()),
            note.clone().unwrap_or_default().into(),
        ];
        table.row(&index.to_string(), link(result, *cell), row);
    }
    table
}
