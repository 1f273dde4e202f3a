//! What the server used: its CPU and its memory along the run, and everything else as a table.

use prony_model::RunResult;

use super::time_axis::{Line, drawing};
use crate::number::{bytes, cell, dash, fixed, or_dash, plain_tick, significant};
use crate::server;
use crate::study::{Figure, Table, facts_table, numbers};
use crate::svg::{Area, Axis, Scale};

const MIB: f64 = 1024.0 * 1024.0;

/// The charts; `None` where there are no sections.
pub(super) fn figure(result: &RunResult) -> Option<Figure> {
    let used = result.server.as_ref().filter(|server| !server.sections.is_empty())?;
    let ends = used.sections.iter().filter(|section| section.wall_s > 0.0);
    let cores: Vec<(f64, f64)> = ends
        .clone()
        .map(|section| (section.start_s + section.wall_s / 2.0, section.cpu_s / section.wall_s))
        .collect();
    let memory = ends
        .filter_map(|section| Some((section.start_s + section.wall_s, section.memory_bytes? as f64 / MIB)));
    let memory: Vec<(f64, f64)> = used
        .own
        .memory_start_bytes
        .map(|bytes| (0.0, bytes as f64 / MIB))
        .into_iter()
        .chain(memory)
        .collect();
    let panels = [
        (0, "CPU", "cores in use", cores, "chart-server-cpu"),
        (3, "memory", "resident memory, MiB", memory, "chart-server-memory"),
    ];
    let panels: Vec<(String, String)> = panels
        .into_iter()
        .filter_map(|(colour, name, label, points, id)| {
            let most = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let axis = |area: Area| Axis::new(Scale::linear(most, area.upwards()), label, 5, plain_tick);
            let title = format!("The server's {name}");
            let line = Line::whole(colour, "", name, points);
            Some((title.clone(), drawing(result, &[line], axis, id, &title)?))
        })
        .collect();
    if panels.is_empty() {
        return None;
    }
    Some(Figure {
        id: "chart-server".to_owned(),
        title: title(result)?,
        caption: "CPU is the mean of each of ten sections of the measured part, memory what was resident at their ends."
            .to_owned(),
        legend: Vec::new(),
        panels,
        table: sections(result)?,
        open: false,
    })
}

fn title(result: &RunResult) -> Option<String> {
    let used = result.server.as_ref()?;
    let cores = (used.wall_s > 0.0).then(|| significant(used.own.cpu_s / used.wall_s));
    let cores = cores.map(|cores| format!("The server used {cores} of {} cores", used.cpus));
    let memory = used.own.memory_start_bytes.zip(used.own.memory_end_bytes);
    let memory = memory.map(|(first, last)| {
        format!("its memory went from {} to {}", bytes(first as f64), bytes(last as f64))
    });
    Some(cores.into_iter().chain(memory).collect::<Vec<_>>().join("; "))
}

fn sections(result: &RunResult) -> Option<Table> {
    let used = result.server.as_ref()?;
    let columns = vec![
        numbers("cores", "cores"),
        numbers("requests", "requests"),
        numbers("memory", "memory at its end, MiB"),
    ];
    let mut table = Table::new("sections", "The sections behind the charts", "from s", columns);
    for (number, section) in used.sections.iter().enumerate() {
        let cores = if section.wall_s > 0.0 { cell(section.cpu_s / section.wall_s) } else { dash() };
        let memory = or_dash(section.memory_bytes, |bytes| fixed(bytes as f64 / MIB, 2));
        let cells = [cores, fixed(section.requests, 0), memory];
        table.row(&number.to_string(), cell(section.start_s), cells.map(Into::into));
    }
    Some(table)
}

/// Everything else, and programs that the server talks to; or why nothing is known.
pub(super) fn facts(result: &RunResult) -> Option<Table> {
    let mut rows = server::rows(result);
    rows.extend(server::dependants(result).into_iter().map(|line| ("talks to", line)));
    (!rows.is_empty()).then(|| facts_table("server", "The server", rows))
}
