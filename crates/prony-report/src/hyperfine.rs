//! Results of `prony exec` in hyperfine's own formats, for whatever reads those.
//!
//! Sources: hyperfine's `src/benchmark/benchmark_result.rs` (JSON, with `memory_usage_byte` of its later versions),
//! `src/export/csv.rs` and `src/export/markup.rs`. Times are in seconds but in the Markdown table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prony_model::{CommandExit, ExecResult, TimeSummary};
use serde::Serialize;

/// What shells add to the number of a signal to make an exit code of it (POSIX, 2.8.2); hyperfine does, too.
const SIGNALS: i32 = 128;

#[derive(Serialize)]
struct Export<'a> {
    results: Vec<Entry<'a>>,
}

/// One command, the fields in hyperfine's order.
#[derive(Serialize)]
struct Entry<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: &'a BTreeMap<String, String>,
}

/// As `hyperfine --export-json`. Commands that never ran are left out.
pub fn json(result: &ExecResult) -> String {
    let export = Export { results: entries(result) };
    let mut text =
        serde_json::to_string_pretty(&export).expect("invariant: names and numbers are always JSON");
    text.push('\n');
    text
}

/// As `hyperfine --export-csv`.
pub fn csv(result: &ExecResult) -> String {
    let entries = entries(result);
    let names = entries.first().map(|entry| entry.parameters.keys().cloned()).into_iter().flatten();
    let mut header: Vec<String> =
        ["command", "mean", "stddev", "median", "user", "system", "min", "max"].map(str::to_owned).into();
    header.extend(names.map(|name| field(&format!("parameter_{name}"))));
    let mut text = format!("{}\n", header.join(","));
    for entry in entries {
        let stddev = entry.stddev.map(|stddev| stddev.to_string()).unwrap_or_default();
        let mut fields = vec![field(entry.command), entry.mean.to_string(), stddev];
        fields.extend(
            [entry.median, entry.user, entry.system, entry.min, entry.max].map(|number| number.to_string()),
        );
        fields.extend(entry.parameters.values().map(|value| field(value)));
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}

/// As `hyperfine --export-markdown`: a table, its unit that of the first command.
pub fn markdown(result: &ExecResult) -> String {
    let walls: Vec<(&str, &TimeSummary)> = result
        .plan
        .commands
        .iter()
        .zip(&result.commands)
        .filter_map(|(planned, measured)| Some((planned.name.as_str(), measured.wall.as_ref()?)))
        .collect();
    let in_seconds = walls.first().is_some_and(|(_, wall)| wall.mean_s >= 1.0);
    let unit = if in_seconds { "s" } else { "ms" };
    let show = |value_s: f64| {
        if in_seconds { format!("{value_s:.3}") } else { format!("{:.1}", value_s * 1e3) }
    };
    let fastest = walls.iter().map(|(_, wall)| *wall).min_by(|a, b| a.mean_s.total_cmp(&b.mean_s));
    let mut text = format!("| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |\n");
    text.push_str("|:---|---:|---:|---:|---:|\n");
    for (name, wall) in &walls {
        let spread = wall.stddev_s.map(|spread| format!(" ± {}", show(spread))).unwrap_or_default();
        let _ = writeln!(
            text,
            "| `{}` | {}{spread} | {} | {} | {} |",
            name.replace('|', "\\|"),
            show(wall.mean_s),
            show(wall.min_s),
            show(wall.max_s),
            fastest.map(|fastest| relative(wall, fastest)).unwrap_or_default()
        );
    }
    text
}

/// How many times as long as the fastest, with the spread of the ratio of two independent times.
fn relative(wall: &TimeSummary, fastest: &TimeSummary) -> String {
    if std::ptr::eq(wall, fastest) {
        return "1.00".to_owned();
    }
    if fastest.mean_s == 0.0 {
        return "N/A".to_owned();
    }
    let ratio = wall.mean_s / fastest.mean_s;
    let spread = wall.stddev_s.zip(fastest.stddev_s).map(|(own, other)| {
        let share = |spread: f64, mean: f64| (spread / mean).powi(2);
        format!(" ± {:.2}", ratio * (share(own, wall.mean_s) + share(other, fastest.mean_s)).sqrt())
    });
    format!("{ratio:.2}{}", spread.unwrap_or_default())
}

fn entries(result: &ExecResult) -> Vec<Entry<'_>> {
    let pairs = result.plan.commands.iter().zip(&result.commands);
    pairs
        .filter_map(|(planned, measured)| {
            let wall = measured.wall.as_ref()?;
            Some(Entry {
                command: &planned.name,
                mean: wall.mean_s,
                stddev: wall.stddev_s,
                median: wall.median_s,
                user: measured.user.as_ref()?.mean_s,
                system: measured.system.as_ref()?.mean_s,
                min: wall.min_s,
                max: wall.max_s,
                times: measured.runs.iter().map(|run| run.wall_s).collect(),
                memory_usage_byte: measured.runs.iter().map(|run| run.peak_memory_bytes).collect(),
                exit_codes: measured.runs.iter().map(|run| code(run.exit)).collect(),
                parameters: &planned.parameters,
            })
        })
        .collect()
}

fn code(exit: CommandExit) -> Option<i32> {
    match exit {
        CommandExit::Code(code) => Some(code),
        CommandExit::Signal(signal) => Some(SIGNALS + signal),
        CommandExit::Timeout => None,
    }
}

/// `text` as a field of CSV (RFC 4180).
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
