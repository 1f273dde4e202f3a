//! Commands: every execution as a stroke, and how much of the time is the start of the program.

use prony_model::{CommandExit, Execution, LoadKind, StudyCell, StudyMetric};

use super::super::super::facts::{figure as of_cell, value};
use super::super::figure::Figure;
use super::super::format::{figure_cell, is_invalid, known, of_invalid, plain_tick};
use super::super::labels;
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use super::lead;
use crate::number::{cell as number, count, rough_percent, seconds};
use crate::svg::{Anchor, Area, Axis, Drawing, Scale};

const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
const NAMES: f64 = 250.0;
const VALUES: f64 = 78.0;

fn walls(cell: &StudyCell) -> impl Iterator<Item = f64> {
    cell.executions.iter().map(|execution| execution.wall_ms).filter(|wall| wall.is_finite() && *wall >= 0.0)
}

fn with_executions<'a>(layout: &Layout<'a>) -> Vec<&'a StudyCell> {
    let cells = &layout.result().cells;
    layout
        .of_kind(LoadKind::Exec)
        .map(|index| &cells[index])
        .filter(|cell| walls(cell).next().is_some())
        .collect()
}

/// Every execution; `None` where no command was timed.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let cells = with_executions(layout);
    let times: Vec<f64> = cells.iter().flat_map(|cell| walls(cell)).collect();
    let total = times.len() as u64;
    let title = slowest(&cells).or_else(|| lead::sentence(layout, StudyMetric::Wall))?;
    let left = labels::column(cells.iter().map(|cell| cell.name.as_str()), NAMES);
    let area = Area { left, top: 6.0, right: WIDTH - VALUES, bottom: 6.0 + ROW * cells.len() as f64 };
    let scale = Scale::fitting(&times, area.across());
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    Axis::new(scale, "wall-clock time of one execution, ms", 6, plain_tick).below(&mut drawing, area);
    for (index, cell) in cells.iter().enumerate() {
        let y = area.top + ROW * (index as f64 + 0.5);
        drawing.row_name(y, &cell.name, area.left - 10.0);
        let good = |execution: &Execution| execution.exit == CommandExit::Code(0);
        let unused = |execution: &Execution| is_invalid(cell, execution.repeat);
        let class = format!("k s{}", layout.colour(cell));
        drawing.strokes(&class, &places(cell, scale, |run| good(run) && !unused(run)), y, 8.0);
        drawing.strokes("k unused", &places(cell, scale, |run| good(run) && unused(run)), y, 8.0);
        drawing.strokes("x", &places(cell, scale, |run| !good(run)), y, 11.0);
        let n = format!("n = {}", count(cell.executions.len() as u64));
        drawing.text("label", (WIDTH, y + 4.0), Anchor::End, &n, VALUES);
    }
    let description = format!("{} executions of {} commands, a stroke each.", count(total), cells.len());
    Some(Figure {
        id: "chart-executions".to_owned(),
        caption: format!(
            "Each stroke is one execution; those that ended badly are red and higher. Strokes at one place are drawn \
             once.{}",
            of_invalid(&cells)
        ),
        legend: Vec::new(),
        panels: vec![(String::new(), drawing.finish("chart-executions-0", "wide", &title, &description))],
        table: table(&cells),
        open: false,
        title,
    })
}

/// Where the strokes of those executions are that are `drawn`, each place once: half a unit is less than a pixel apart.
fn places(cell: &StudyCell, scale: Scale, drawn: impl Fn(&Execution) -> bool) -> Vec<f64> {
    let mut places: Vec<f64> = cell
        .executions
        .iter()
        .filter(|execution| drawn(execution))
        .filter(|execution| execution.wall_ms.is_finite())
        .map(|execution| (2.0 * scale.place(execution.wall_ms)).round() / 2.0)
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// The execution that took longest against its median, where it stands out.
fn slowest(cells: &[&StudyCell]) -> Option<String> {
    /// From such a multiple of the median on, one execution is worth a title.
    const STANDS_OUT: f64 = 2.0;
    let ratio = |cell: &&StudyCell| {
        let median = known(cell, StudyMetric::Wall).filter(|median| *median > 0.0)?;
        let most = walls(cell).fold(0.0, f64::max);
        (most > STANDS_OUT * median).then(|| (most / median, most, cell.name.clone()))
    };
    let (ratio, most, name) = cells.iter().filter_map(ratio).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "The slowest execution of {name} took {}, {} the median",
        seconds(most / 1e3),
        crate::number::times(ratio)
    ))
}

fn table(cells: &[&StudyCell]) -> Table {
    let columns = vec![
        numbers("n", "executions"),
        numbers("bad", "ended badly"),
        numbers("least", "least, ms"),
        numbers("q1", "25 %, ms"),
        numbers("median", "50 %, ms"),
        numbers("q3", "75 %, ms"),
        numbers("most", "greatest, ms"),
    ];
    let caption = "Executions of each command; each of them stands in report.json";
    let mut table = Table::new("chart-executions-data", caption, "cell", columns);
    for (index, cell) in cells.iter().enumerate() {
        let mut times: Vec<f64> = walls(cell).collect();
        times.sort_by(f64::total_cmp);
        // The nearest rank: a time that was measured, not one between two.
        let at = |quarter: usize| times.get((times.len() * quarter).div_ceil(4).saturating_sub(1)).copied();
        let bad = cell.executions.iter().filter(|execution| execution.exit != CommandExit::Code(0)).count();
        let mut row: Vec<Content> = vec![count(times.len() as u64).into(), count(bad as u64).into()];
        row.extend((0..=4).map(|quarter| at(quarter).map_or_else(Content::dash, |time| number(time).into())));
        table.row(&index.to_string(), cell.name.as_str(), row);
    }
    table
}

/// How much of each command's time is its start; `None` where that is not known.
pub(super) fn shares(layout: &Layout<'_>) -> Option<Figure> {
    let cells = &layout.result().cells;
    let known: Vec<(&StudyCell, f64, f64)> = layout
        .of_kind(LoadKind::Exec)
        .filter_map(|index| {
            let cell = &cells[index];
            let share = known(cell, StudyMetric::StartUp)?.min(1.0);
            Some((cell, share, known(cell, StudyMetric::Wall)?))
        })
        .collect();
    let (least, most) = known
        .iter()
        .fold((1.0_f64, 0.0_f64), |(least, most), (_, share, _)| (least.min(*share), most.max(*share)));
    let title = match known.as_slice() {
        [] => return None,
        [(cell, share, _)] => format!("{} of the time of {} is its start", rough_percent(*share), cell.name),
        _ => format!(
            "Between {} and {} of a command's time is its start",
            rough_percent(least),
            rough_percent(most)
        ),
    };
    let longest = known.iter().map(|(_, _, wall)| *wall).fold(0.0, f64::max);
    let left = labels::column(known.iter().map(|(cell, _, _)| cell.name.as_str()), NAMES);
    let area = Area { left, top: 6.0, right: WIDTH - VALUES, bottom: 6.0 + ROW * known.len() as f64 };
    // Bars begin at zero, so their lengths can be compared.
    let scale = Scale::linear(longest, area.across());
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    Axis::new(scale, "wall-clock time, ms", 6, plain_tick).below(&mut drawing, area);
    for (index, (cell, share, wall)) in known.iter().enumerate() {
        let (colour, y) = (layout.colour(cell), area.top + ROW * (index as f64 + 0.5));
        drawing.row_name(y, &cell.name, area.left - 10.0);
        let (zero, start, end) = (scale.place(0.0), scale.place(share * wall), scale.place(*wall));
        drawing.rectangle(&format!("h s{colour}"), (zero, y - 8.0), (start, y + 8.0));
        drawing.rectangle(&format!("h rest s{colour}"), (start, y - 8.0), (end, y + 8.0));
        let label = format!("{} start", rough_percent(*share));
        drawing.text("label", (WIDTH, y + 4.0), Anchor::End, &label, VALUES);
    }
    let mut table = Table::new(
        "chart-start-up-data",
        "Start-up and time of each command",
        "cell",
        vec![numbers("share", "share of the start"), numbers("wall", "median time")],
    );
    for (index, (cell, _, wall)) in known.iter().enumerate() {
        let row = [figure_cell(of_cell(cell, StudyMetric::StartUp)), value(StudyMetric::Wall, *wall).into()];
        table.row(&index.to_string(), cell.name.as_str(), row);
    }
    Some(Figure {
        id: "chart-start-up".to_owned(),
        caption: "The median time of each command; the full part of the bar is the start of the program, which no server \
                  can make shorter, the pale part all the rest."
            .to_owned(),
        legend: Vec::new(),
        panels: vec![(String::new(), drawing.finish("chart-start-up-0", "wide", &title, "A bar for each command, the start of the program first."))],
        table,
        open: false,
        title,
    })
}
