//! Figures as rows of a table, those of one cell together, beside those of the baseline.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use super::paired::Paired;
use crate::web::pages::format;
use prony_lab_core::ansi_stripper;
use prony_lab_model::SeriesId;
use prony_lab_store::figures::Figure;

/// The figures of one cell of a study.
pub(in crate::web::pages) struct Group {
    pub(in crate::web::pages) name: String,
    /// For the `id`s of its rows: no two groups have the same.
    pub(in crate::web::pages) slug: String,
    pub(in crate::web::pages) rows: Vec<Line>,
}

/// One figure.
pub(in crate::web::pages) struct Line {
    /// `r-CELL-METRIC`.
    pub(in crate::web::pages) id: String,
    pub(in crate::web::pages) metric: String,
    pub(in crate::web::pages) unit: String,
    /// The way to its history.
    pub(in crate::web::pages) link: Option<String>,
    pub(in crate::web::pages) title: String,
    /// As it is stored, not rounded.
    pub(in crate::web::pages) exact: String,
    pub(in crate::web::pages) value: String,
    pub(in crate::web::pages) interval: String,
    pub(in crate::web::pages) baseline: String,
    pub(in crate::web::pages) change: String,
    pub(in crate::web::pages) runs: i64,
    pub(in crate::web::pages) samples: String,
    pub(in crate::web::pages) is_valid: bool,
    pub(in crate::web::pages) note: String,
}

/// Metrics that stand for all others of their cell: how much, how slow at the worst usual case, how long a command or a probe.
const MAIN_METRICS: [&str; 4] = ["rate", "p99", "wall", "probe"];

/// At most `most` of `found`: those of main metrics and others that are `wanted`; where there is none, the first.
pub(in crate::web::pages) fn main(
    mut found: Vec<Figure>,
    wanted: impl Fn(&Figure) -> bool,
    most: usize,
) -> Vec<Figure> {
    let is_main = |figure: &Figure| MAIN_METRICS.contains(&figure.metric.as_str()) || wanted(figure);
    if found.iter().any(is_main) {
        found.retain(is_main);
    }
    found.truncate(most);
    found
}

/// What a figure is of: "p99 of GET /, ms".
pub(in crate::web::pages) fn title(figure: &Figure) -> String {
    let metric = ansi_stripper::line(&figure.metric);
    let cell = if figure.cell.is_empty() {
        String::new()
    } else {
        format!(" of {}", ansi_stripper::line(&figure.cell))
    };
    let unit =
        if figure.unit.is_empty() { String::new() } else { format!(", {}", format::unit(&figure.unit)) };
    format!("{metric}{cell}{unit}")
}

/// `found` as rows, in its order, each beside the figure of the same series in `before`, with the difference of `paired`
/// runs where there is one.
pub(in crate::web::pages) fn groups(
    found: &[Figure],
    before: &[Figure],
    paired: &Paired,
    project: Option<&str>,
) -> Vec<Group> {
    let before: HashMap<SeriesId, &Figure> = before.iter().map(|figure| (figure.series, figure)).collect();
    let mut taken = HashSet::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for figure in found {
        let place = *places.entry(figure.cell.as_str()).or_insert_with(|| {
            let name =
                if figure.cell.is_empty() { "all".to_owned() } else { ansi_stripper::line(&figure.cell) };
            groups.push(Group { slug: free(&format::slug(&name), &mut taken), name, rows: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[place];
        let id = free(&format!("r-{}-{}", group.slug, format::slug(&figure.metric)), &mut taken);
        let mut row = line(figure, id, before.get(&figure.series).copied(), project);
        if let Some(difference) = paired.difference(figure) {
            row.change = difference;
        }
        group.rows.push(row);
    }
    groups
}

/// `wanted`, or with a number behind it where that is taken.
fn free(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut slug = wanted.to_owned();
    let mut number = 2;
    while !taken.insert(slug.clone()) {
        slug = format!("{wanted}-{number}");
        number += 1;
    }
    slug
}

fn line(figure: &Figure, id: String, before: Option<&Figure>, project: Option<&str>) -> Line {
    Line {
        id,
        title: title(figure),
        metric: ansi_stripper::line(&figure.metric),
        unit: format::unit(&figure.unit),
        link: project.map(|project| format!("/history/{project}/{}", figure.series)),
        exact: figure.value.map_or_else(String::new, |value| value.to_string()),
        value: shown(figure.value),
        interval: interval(figure.low, figure.high),
        baseline: before.map_or_else(|| "–".to_owned(), |before| shown(before.value)),
        change: change(before, figure),
        runs: figure.runs,
        samples: prony_report::count(figure.samples.cast_unsigned()),
        is_valid: figure.is_valid,
        note: figure.note.as_deref().map_or_else(String::new, ansi_stripper::line),
    }
}

/// Three significant digits, or a dash.
pub(in crate::web::pages) fn shown(value: impl Borrow<Option<f64>>) -> String {
    value.borrow().map_or_else(|| "–".to_owned(), prony_report::rate)
}

/// `2.60 to 2.83`, or a dash.
pub(in crate::web::pages) fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", prony_report::rate(low), prony_report::rate(high)),
        _ => "–".to_owned(),
    }
}

/// How `after` differs from `before`, with a word where their intervals don't touch: markup.
pub(in crate::web::pages) fn change(before: Option<&Figure>, after: &Figure) -> String {
    let Some(before) = before else { return "–".to_owned() };
    let (Some(from), Some(to)) = (before.value, after.value) else { return "–".to_owned() };
    if from == 0.0 || !before.is_valid || !after.is_valid {
        return "–".to_owned();
    }
    let size = prony_report::signed_percent(to / from - 1.0);
    let (Some(low), Some(high), Some(old_low), Some(old_high)) =
        (after.low, after.high, before.low, before.high)
    else {
        return size;
    };
    let is_higher = low > old_high;
    if !is_higher && high >= old_low {
        return format!("{size} <span class=\"soft\">within the intervals</span>");
    }
    if is_higher == after.is_better_high {
        format!("<span class=\"word good\"><span aria-hidden=\"true\">▲</span> better</span> {size}")
    } else {
        format!("<span class=\"word bad\"><span aria-hidden=\"true\">▼</span> worse</span> {size}")
    }
}

#[cfg(test)]
pub(in crate::web::pages) mod tests {
    use super::*;
    use prony_lab_model::BuildId;

    pub(in crate::web::pages) fn figure(cell: &str, metric: &str, range: [f64; 3]) -> Figure {
        Figure {
            build: BuildId(1),
            series: SeriesId(1),
            cell: cell.to_owned(),
            metric: metric.to_owned(),
            unit: "ms".to_owned(),
            is_better_high: false,
            fingerprint: String::new(),
            value: Some(range[1]),
            low: Some(range[0]),
            high: Some(range[2]),
            runs: 5,
            samples: 1_000,
            is_valid: true,
            note: None,
        }
    }

    #[test]
    fn words_stand_only_where_intervals_are_apart() {
        let before = figure("a", "p99", [1.9, 2.0, 2.1]);
        let markup = |range| change(Some(&before), &figure("a", "p99", range));
        assert!(markup([2.2, 2.3, 2.4]).contains("worse</span> +15 %"), "{}", markup([2.2, 2.3, 2.4]));
        assert!(markup([1.2, 1.3, 1.4]).contains("better"));
        assert!(markup([2.0, 2.2, 2.4]).contains("within the intervals"));
        let invalid = Figure { is_valid: false, ..figure("a", "p99", [5.0, 6.0, 7.0]) };
        assert_eq!((change(Some(&before), &invalid).as_str(), change(None, &before).as_str()), ("–", "–"));
    }

    #[test]
    fn the_main_figures_are_chosen_or_the_first() {
        let all =
            || ["p50", "p99", "max", "rate"].map(|metric| figure("a", metric, [1.0, 2.0, 3.0])).to_vec();
        let names = |found: Vec<Figure>| found.into_iter().map(|figure| figure.metric).collect::<Vec<_>>();
        assert_eq!(names(main(all(), |_| false, 9)), ["p99", "rate"]);
        assert_eq!(names(main(all(), |figure| figure.metric == "p50", 2)), ["p50", "p99"]);
        let other = vec![figure("a", "x", [1.0, 2.0, 3.0]), figure("a", "y", [1.0, 2.0, 3.0])];
        assert_eq!(names(main(other, |_| false, 1)), ["x"]);
    }

    #[test]
    fn every_id_is_its_own() {
        let found = [
            figure("a b", "p99", [1.0, 2.0, 3.0]),
            figure("a+b", "p99", [1.0, 2.0, 3.0]),
            figure("a b", "P99", [1.0, 2.0, 3.0]),
        ];
        let groups = groups(&found, &[], &Paired::default(), Some("x"));
        let ids: Vec<_> =
            groups.iter().flat_map(|group| group.rows.iter().map(|row| row.id.as_str())).collect();
        assert_eq!(ids, ["r-a-b-p99", "r-a-b-p99-2", "r-a-b-2-p99"]);
        assert_eq!(groups[0].rows[0].link.as_deref(), Some("/history/x/1"));
    }
}
