//! What every report of a study says, whatever it is drawn as.

use std::collections::BTreeMap;

use prony_model::{
    FindingPlace, Limiter, LimiterKind, LoadKind, StudyAgents, StudyCell, StudyFigure, StudyMetric,
    StudyResult, Verdict,
};

use crate::number::{
    cell as in_table, count, dash, plural, rate, rough_percent, seconds, significant, times,
};

/// Cells that are named one by one.
const NAMED_MAX: usize = 3;
/// A share of which this little is missing is shown with more digits.
const NEARLY_ALL: f64 = 0.9995;

/// What was done, each part one fact.
pub(super) fn choices(result: &StudyResult) -> Vec<String> {
    let runs: usize = result.cells.iter().map(|cell| cell.runs.len()).sum();
    let planned: u64 = result.cells.iter().map(|cell| u64::from(cell.planned)).sum();
    let mut parts = vec![result.name.clone()];
    parts.extend(result.short.then(|| "short form".to_owned()));
    parts.push(format!(
        "{} x {}",
        plural(result.cells.len() as u64, "cell"),
        plural(result.repeats.into(), "repeat")
    ));
    parts.push(if result.complete {
        format!("{} in {}", plural(planned, "run"), span(result.took_s))
    } else {
        format!("{} of {} in {}", count(runs as u64), plural(planned, "run"), span(result.took_s))
    });
    parts.push(format!("seed {}", result.seed));
    parts
}

fn span(took_s: f64) -> String {
    std::time::Duration::try_from_secs_f64(took_s.round())
        .map_or_else(|_| seconds(took_s), crate::number::duration)
}

/// Why a study has its verdict, where no finding says it: runs that are missing, invalid runs, or nothing.
pub(super) fn grounds(result: &StudyResult) -> String {
    let runs = || result.cells.iter().flat_map(|cell| &cell.runs);
    let planned: u64 = result.cells.iter().map(|cell| u64::from(cell.planned)).sum();
    let (made, of) =
        (runs().count() as u64, |verdict| runs().filter(|run| run.verdict == verdict).count() as u64);
    let mut parts = Vec::new();
    if !result.complete {
        parts.push(format!("{} of {} missing", count(planned.saturating_sub(made)), plural(planned, "run")));
    }
    for (verdict, word) in [(Verdict::Invalid, "invalid"), (Verdict::Doubtful, "doubtful")] {
        let number = of(verdict);
        if number > 0 {
            parts.push(format!("{} of {} {word}", count(number), plural(made, "run")));
        }
    }
    if of(Verdict::Invalid) > 0 {
        parts.push("invalid ones count for nothing but the server's CPU time and memory".to_owned());
    }
    let retried: u64 = result.cells.iter().map(|cell| cell.retried.len() as u64).sum();
    if retried > 0 {
        let attempts = plural(made + retried, "run");
        parts.push(format!("{} of {attempts} were invalid and were repeated", count(retried)));
    }
    if parts.is_empty() { "nothing speaks against these numbers".to_owned() } else { parts.join("; ") }
}

/// Cells that a reader compares with each other: one kind of load, and one load of the file.
pub(super) struct Group<'a> {
    pub(super) kind: LoadKind,
    /// What was done, as far as it is the same for all.
    pub(super) title: String,
    pub(super) cells: Vec<&'a StudyCell>,
}

/// The cells by load, in the order of the file.
pub(super) fn groups(result: &StudyResult) -> Vec<Group<'_>> {
    let mut groups: Vec<(LoadKind, Option<&String>, Vec<&StudyCell>)> = Vec::new();
    for cell in &result.cells {
        let load = cell.key.get("load");
        match groups.iter_mut().find(|(kind, of, _)| *kind == cell.kind && *of == load) {
            Some((_, _, cells)) => cells.push(cell),
            None => groups.push((cell.kind, load, vec![cell])),
        }
    }
    let is_one = groups.len() == 1;
    let titled = groups.into_iter().map(|(kind, load, cells)| {
        let words = &cells[0].load;
        let is_same = cells.iter().all(|cell| cell.load == *words);
        let load = load.filter(|_| !is_one).cloned();
        let parts = load.into_iter().chain(is_same.then(|| words.clone())).collect::<Vec<_>>();
        Group { kind, title: parts.join(": "), cells }
    });
    titled.collect()
}

/// The shares of the agents of each cell that has some, and how much they were one load.
pub(super) fn by_agent(result: &StudyResult) -> Vec<Group<'_>> {
    let shared = result.cells.iter().filter_map(|cell| Some((cell, cell.agents.as_ref()?)));
    let groups = shared.map(|(cell, agents)| Group {
        kind: LoadKind::Run,
        title: format!("{}, by agent: {}", cell.name, together(agents)),
        cells: agents.shares.iter().collect(),
    });
    groups.collect()
}

/// "2 agents, ready within 0.12 ms of each other, measured together in 99 % of the time"
pub(super) fn together(agents: &StudyAgents) -> String {
    let all = agents.shares.len() as u64 + u64::from(agents.more);
    let mut parts = vec![plural(all, "agent")];
    if agents.more > 0 {
        parts.push(format!("{} of them not shown", count(agents.more.into())));
    }
    parts.extend(
        agents.start_spread_ms.map(|ms| format!("ready within {} ms of each other", significant(ms))),
    );
    parts.extend(
        agents
            .overlap_share
            .map(|share| format!("measured together in {} of the time", rough_percent(share))),
    );
    parts.join(", ")
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// How many runs count, of how many.
    Runs,
    /// The value of a metric.
    Value(StudyMetric),
    /// Half of its interval, as a share of it.
    Half(StudyMetric),
}

/// The columns of the terminal's table; `full` is the one of Markdown.
pub(super) fn columns(kind: LoadKind, full: bool) -> Vec<Column> {
    use StudyMetric as M;
    let metrics: &[M] = match (kind, full) {
        (LoadKind::Run, false) => &[M::Rate, M::P50, M::P90, M::P99, M::P99Kernel, M::Success],
        (LoadKind::Run, true) => &[
            M::Rate,
            M::Success,
            M::Mean,
            M::Min,
            M::P50,
            M::P90,
            M::P95,
            M::P99,
            M::P99Kernel,
            M::P999,
            M::Max,
            M::Connect,
            M::Total,
            M::CpuPerRequest,
            M::ServerMemory,
        ],
        (LoadKind::Probe, _) => &[M::Dns, M::Tcp, M::Server, M::Transfer, M::Probe, M::Success],
        (LoadKind::Capacity, _) => &[M::Capacity],
        (LoadKind::Exec, false) => &[M::Wall, M::User, M::System, M::StartUp],
        (LoadKind::Exec, true) => &[M::WallMean, M::Wall, M::User, M::System, M::StartUp, M::Memory],
    };
    let mut columns = vec![Column::Runs];
    for &metric in metrics {
        columns.push(Column::Value(metric));
        if !full && matches!(metric, M::Rate | M::Wall | M::Probe | M::Capacity) {
            columns.push(Column::Half(metric));
        }
    }
    columns
}

/// Whether one of `cells` has something to say of `metric`. The p99 by the kernel's clock stands beside the other one
/// only where the client's own delays took that away.
pub(super) fn is_shown<'a>(metric: StudyMetric, cells: impl IntoIterator<Item = &'a StudyCell>) -> bool {
    let has_value = |cell, metric| figure(cell, metric).is_some_and(|figure| figure.value.is_some());
    cells.into_iter().any(|cell| match metric {
        StudyMetric::P99Kernel => has_value(cell, metric) && !has_value(cell, StudyMetric::P99),
        metric => figure(cell, metric).is_some(),
    })
}

impl Column {
    /// Whether one of `cells` has something to say in it.
    pub(super) fn is_needed(self, cells: &[&StudyCell]) -> bool {
        let is_shown = match self {
            Self::Runs => true,
            Self::Value(metric) | Self::Half(metric) => is_shown(metric, cells.iter().copied()),
        };
        is_shown && cells.iter().any(|cell| self.shown(cell) != dash())
    }

    pub(super) fn heading(self) -> String {
        match self {
            Self::Runs => "n".to_owned(),
            Self::Half(_) => "±".to_owned(),
            Self::Value(metric) => name(metric),
        }
    }

    /// The unit, for a heading of its own.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Value(metric) => match metric.unit() {
                "per_s" => "/s",
                "share" => "",
                unit => unit,
            },
            Self::Runs | Self::Half(_) => "",
        }
    }

    pub(super) fn shown(self, cell: &StudyCell) -> String {
        match self {
            Self::Runs => runs(cell),
            Self::Value(metric) => figure(cell, metric)
                .and_then(|figure| figure.value)
                .map_or_else(dash, |value| bare(metric, value)),
            Self::Half(metric) => figure(cell, metric).and_then(half).unwrap_or_else(dash),
        }
    }
}

/// The runs that count, and of how many where some do not.
pub(super) fn runs(cell: &StudyCell) -> String {
    let valid = cell.runs.iter().filter(|run| run.verdict != Verdict::Invalid).count() as u64;
    let planned = u64::from(cell.planned);
    if valid == planned { count(valid) } else { format!("{}/{}", count(valid), count(planned)) }
}

/// What people call a metric.
pub(super) fn name(metric: StudyMetric) -> String {
    match metric {
        StudyMetric::Probe => "whole".to_owned(),
        StudyMetric::WallMean => "mean wall".to_owned(),
        metric => metric.name().to_owned(),
    }
}

pub(super) fn figure(cell: &StudyCell, metric: StudyMetric) -> Option<&StudyFigure> {
    cell.figures.iter().find(|figure| figure.metric == metric)
}

/// Half of the interval as a share of the value.
pub(super) fn half(figure: &StudyFigure) -> Option<String> {
    let (interval, value) = (figure.interval?, figure.value?);
    (value > 0.0).then(|| rough_percent((interval.high - interval.low) / 2.0 / value))
}

/// Without its unit, for a table.
pub(super) fn bare(metric: StudyMetric, value: f64) -> String {
    match metric.unit() {
        "share" => share(value),
        "ms" => in_table(value),
        "per_s" => rate(value),
        _ => significant(value),
    }
}

/// `value` of `metric` with its unit, as people say it.
pub(super) fn value(metric: StudyMetric, value: f64) -> String {
    match metric.unit() {
        "share" => share(value),
        "ms" => seconds(value / 1e3),
        "per_s" => format!("{} /s", rate(value)),
        "s" => seconds(value),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// A number that others wrote, with every digit of theirs and its unit.
pub(super) fn as_written(metric: StudyMetric, value: f64) -> String {
    match metric.unit() {
        // Thirteen digits hide what the multiplication adds.
        "share" => format!("{} %", (value * 1e13).round() / 1e11),
        "per_s" => format!("{value} /s"),
        unit => format!("{value} {unit}"),
    }
}

/// Only everything is `100 %`.
fn share(value: f64) -> String {
    match value {
        value if value >= 1.0 => "100 %".to_owned(),
        value if value >= NEARLY_ALL => ">99.9 %".to_owned(),
        value if value > 0.1 => format!("{} %", format!("{:.1}", 100.0 * value).trim_end_matches(".0")),
        value => rough_percent(value),
    }
}

/// The interval, where it is more than a point.
pub(super) fn interval(figure: &StudyFigure) -> Option<String> {
    let interval = figure.interval.filter(|interval| interval.low < interval.high)?;
    Some(format!("{} to {}", bare(figure.metric, interval.low), bare(figure.metric, interval.high)))
}

/// The least and the greatest run, where they differ.
pub(super) fn range(figure: &StudyFigure) -> Option<String> {
    let (least, greatest) = figure.range.filter(|(least, greatest)| least < greatest)?;
    Some(format!("{} to {}", bare(figure.metric, least), bare(figure.metric, greatest)))
}

/// Why numbers of `columns` have no value or no interval: each reason once, with where it holds.
pub(super) fn notes(cells: &[&StudyCell], columns: &[Column]) -> Vec<String> {
    let mut seen: BTreeMap<&str, (Vec<StudyMetric>, Vec<&str>)> = BTreeMap::new();
    for cell in cells {
        for column in columns {
            let Column::Value(metric) = column else { continue };
            let Some(note) = figure(cell, *metric).and_then(|figure| figure.note.as_deref()) else {
                continue;
            };
            let (metrics, names) = seen.entry(note).or_default();
            if !metrics.contains(metric) {
                metrics.push(*metric);
            }
            if !names.contains(&cell.name.as_str()) {
                names.push(&cell.name);
            }
        }
    }
    let lines = seen.into_iter().map(|(note, (metrics, names))| {
        // What holds for a number of runs is so for all of their numbers.
        let of = if note.starts_with("n = ") {
            String::new()
        } else {
            format!("{}: ", metrics.iter().map(|metric| name(*metric)).collect::<Vec<_>>().join(", "))
        };
        let at = if names.len() == cells.len() { String::new() } else { format!(" ({})", some_of(&names)) };
        format!("{of}{note}{at}")
    });
    lines.collect()
}

/// The first few of `names`, and how many more.
pub(super) fn some_of(names: &[&str]) -> String {
    let first = names[..names.len().min(NAMED_MAX)].join("; ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// What went wrong in a cell, the most frequent first; `None` where nothing did.
pub(super) fn failures(cell: &StudyCell) -> Option<String> {
    let mut kinds: Vec<_> = cell.failed_by_kind.iter().collect();
    kinds.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let parts: Vec<String> =
        kinds.iter().map(|(kind, number)| format!("{} {}", count(**number), kind.description())).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", cell.name, parts.join(", ")))
}

/// What limited the runs of a cell: the most frequent kind, in the words of its first run, and in how many runs it was
/// that; `None` where no run says.
pub(super) fn limiter(cell: &StudyCell) -> Option<String> {
    let limiters: Vec<&Limiter> = cell.runs.iter().filter_map(|run| run.limiter.as_ref()).collect();
    let times = |kind: LimiterKind| limiters.iter().filter(|limiter| limiter.kind == kind).count();
    // Of equally frequent ones the first: `max_by_key` would take the last.
    let most = limiters.iter().rev().max_by_key(|limiter| times(limiter.kind))?;
    let first = limiters.iter().find(|limiter| limiter.kind == most.kind)?;
    Some(format!("{} ({} of {})", first.sentence, times(most.kind), plural(limiters.len() as u64, "run")))
}

/// Name of the cell with this index.
pub(crate) fn cell_name(result: &StudyResult, cell: u32) -> &str {
    result.cells.get(cell as usize).map_or("–", |cell| cell.name.as_str())
}

/// Where a finding was seen: cells, with their repeats where not all.
pub(super) fn places(result: &StudyResult, places: &[FindingPlace]) -> String {
    let is_all = places.len() == result.cells.len() && places.iter().all(|place| is_whole(result, place));
    if is_all {
        return "in every run".to_owned();
    }
    let named: Vec<String> = places.iter().take(NAMED_MAX).map(|place| one_place(result, place)).collect();
    let more = match places.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "more cell")),
    };
    format!("in {}{more}", named.join("; "))
}

fn is_whole(result: &StudyResult, place: &FindingPlace) -> bool {
    result.cells.get(place.cell as usize).is_some_and(|cell| cell.runs.len() == place.repeats.len())
}

fn one_place(result: &StudyResult, place: &FindingPlace) -> String {
    let name = cell_name(result, place.cell);
    if is_whole(result, place) {
        return name.to_owned();
    }
    let word = if place.repeats.len() == 1 { "repeat" } else { "repeats" };
    let repeats: Vec<String> = place.repeats.iter().map(u32::to_string).collect();
    format!("{name} ({word} {})", repeats.join(", "))
}

/// Ours beside theirs: "443 /s published, 18,234 /s here: 41x".
pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(
        dash,
        |ratio| if ratio < 0.0995 { format!("{}x", significant(ratio)) } else { times(ratio) },
    )
}
