//! What selects cells by their values on axes: comparisons, thresholds, published figures.

use std::collections::BTreeMap;
use std::ops::Range;

use prony_model::{
    Amount, Bound, Figure, LoadKind, Metric, Operator, StudyAxis, StudyMetric, Threshold, ThresholdError,
};

use super::keys::{CompareKeys, OneOrMoreScalars, PublishedKeys, ThresholdKeys, WhereKeys};
use super::mistake::Mistakes;
use super::scalar::{Scalar, amount};
use super::schema::help;
use super::tree::Section;
use crate::study::{Cell, CellThreshold, ComparisonSpec, Publication};

/// Entries of `compare`, `threshold` and `published` each: every one looks at all cells.
const ENTRIES_MAX: usize = 500;
/// What all entries of one kind may come to: more fits no report.
const RESULTS_MAX: usize = 20_000;
/// As in `prony compare`.
const MARGIN: f64 = 0.02;

/// What the cells of a study are, for those who choose among them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) axes: &'a [StudyAxis],
    pub(super) cells: &'a [Cell],
}

pub(super) fn comparisons(
    root: &Section<'_>,
    cells: &Cells<'_>,
    mistakes: &mut Mistakes,
) -> Vec<ComparisonSpec> {
    each(root, "compare", mistakes, |section, mistakes| {
        let keys: CompareKeys = section.read(mistakes)?;
        for side in ["a", "b"] {
            if !section.table.contains_key(side) {
                mistakes.add(
                    section.at(),
                    format!("this comparison has no {side}"),
                    format!("add {side} = {{ … }}"),
                );
                return None;
            }
        }
        let metric = match keys.metric.as_deref() {
            None => None,
            Some(typed) if typed == Metric::Capacity.name() => Some(Metric::Capacity),
            Some(typed) => {
                let names = Metric::ALL.map(Metric::name);
                let found = Metric::ALL.into_iter().find(|metric| metric.name() == typed);
                if found.is_none() {
                    mistakes.add(
                        section.span("metric"),
                        format!("`{typed}` can't be compared"),
                        help(typed, &names),
                    );
                    return None;
                }
                found
            }
        };
        let margin = keys.margin.as_ref().map_or(MARGIN, |share| share.0);
        let all_of_b = matching(section, "b", &keys.b, None, cells, mistakes)?;
        let is_run = |cell: &usize| cells.cells[*cell].load.kind() == LoadKind::Run;
        let is_search = |cell: &usize| cells.cells[*cell].load.kind() == LoadKind::Capacity;
        let of_searches = match metric {
            Some(metric) => metric == Metric::Capacity,
            None => all_of_b.iter().any(is_search) && !all_of_b.iter().any(is_run),
        };
        let kind = if of_searches { LoadKind::Capacity } else { LoadKind::Run };
        let a = matching(section, "a", &keys.a, Some(kind), cells, mistakes)?;
        let b = matching(section, "b", &keys.b, Some(kind), cells, mistakes)?;
        let pairs = pairs(&keys, &a, &b, cells.cells);
        if pairs.is_empty() {
            let help =
                "a pair agrees on every axis that neither a nor b names: name the axes in which they differ";
            mistakes.add(section.at(), "no cell of b has a partner in a", help);
        }
        let spec = |(a, b): (usize, usize)| {
            let [name_a, name_b] = [a, b].map(|cell| cells.cells[cell].name.as_str());
            let title = keys.title.clone().unwrap_or_else(|| format!("{name_b} against {name_a}"));
            ComparisonSpec { kind, title, a, b, metric, margin }
        };
        Some(pairs.into_iter().map(spec).collect())
    })
}

/// Cells of `a` and `b` that agree on every axis that neither of them names.
fn pairs(keys: &CompareKeys, a: &[usize], b: &[usize], cells: &[Cell]) -> Vec<(usize, usize)> {
    let rest = |cell: usize| -> BTreeMap<&String, &String> {
        let others = cells[cell]
            .key
            .iter()
            .filter(|(axis, _)| !keys.a.contains_key(*axis) && !keys.b.contains_key(*axis));
        others.collect()
    };
    let mut partners: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for &cell in a {
        partners.entry(rest(cell)).or_default().push(cell);
    }
    let of = |b: usize| {
        let partners = partners.get(&rest(b)).cloned().unwrap_or_default();
        partners.into_iter().filter(move |a| *a != b).map(move |a| (a, b))
    };
    b.iter().flat_map(|&cell| of(cell)).take(RESULTS_MAX + 1).collect()
}

/// What is required: the list `thresholds` of every cell that has the figure, the entries of `threshold` of those that
/// they select.
pub(super) fn thresholds(
    root: &Section<'_>,
    listed: &[String],
    cells: &Cells<'_>,
    mistakes: &mut Mistakes,
) -> Vec<CellThreshold> {
    if listed.len() > ENTRIES_MAX {
        let message = format!("{ENTRIES_MAX} thresholds are the most");
        mistakes.add(root.span("thresholds"), message, "leave some out");
        return Vec::new();
    }
    let mut all = Vec::new();
    for (item, text) in listed.iter().enumerate() {
        let span = root.item_span("thresholds", item);
        let Some(threshold) = threshold(text, &span, mistakes) else { continue };
        let kind = Some(threshold.figure.kind());
        let cells =
            matching(root, "thresholds", &WhereKeys::new(), kind, cells, mistakes).unwrap_or_default();
        all.extend(cells.into_iter().map(|cell| CellThreshold { cell, threshold }));
    }
    if all.len() > RESULTS_MAX {
        let message = format!("`thresholds` comes to more than {RESULTS_MAX} cells");
        mistakes.add(root.span("thresholds"), message, "write [[threshold]], and name fewer of them");
        return Vec::new();
    }
    all.extend(each(root, "threshold", mistakes, |section, mistakes| {
        let keys: ThresholdKeys = section.read(mistakes)?;
        let thresholds = required(section, &keys, mistakes)?;
        let kind = thresholds.first()?.figure.kind();
        let cells = matching(section, "where", &keys.cells, Some(kind), cells, mistakes)?;
        let of_cell =
            |cell| thresholds.iter().map(move |threshold| CellThreshold { cell, threshold: *threshold });
        Some(cells.into_iter().flat_map(of_cell).collect())
    }));
    all
}

/// What an entry of `threshold` requires: `require`, or a metric with its limits, which come to a threshold each.
fn required(section: &Section<'_>, keys: &ThresholdKeys, mistakes: &mut Mistakes) -> Option<Vec<Threshold>> {
    if let Some(text) = &keys.require {
        if keys.metric.is_some() || keys.at_least.is_some() || keys.at_most.is_some() {
            let help = "leave out metric, at-least and at-most, or require";
            mistakes.add(section.span("require"), "this threshold is written in two ways", help);
            return None;
        }
        return threshold(text, &section.span("require"), mistakes).map(|threshold| vec![threshold]);
    }
    let metric = metric(section, keys.metric.as_deref(), mistakes)?;
    if keys.at_least.is_none() && keys.at_most.is_none() {
        mistakes.add(section.at(), "this threshold has no limit", "add at-most = … or at-least = …");
        return None;
    }
    let at_least = bound(section, "at-least", keys.at_least.as_ref(), metric, mistakes)?;
    let at_most = bound(section, "at-most", keys.at_most.as_ref(), metric, mistakes)?;
    if at_least.zip(at_most).is_some_and(|(least, most)| least > most) {
        mistakes.add(section.span("at-least"), "`at-least` is more than `at-most`", "nothing can meet both");
        return None;
    }
    let figure = Figure::of_metric(metric);
    let unit = figure.unit();
    let limit = |operator, value: Option<f64>, typed: Option<&Scalar>| {
        let value = value?;
        // As it was typed, where the language of thresholds means the same by it.
        let as_typed = match typed {
            Some(Scalar::Text(text)) => Amount::parse(text, unit).ok(),
            _ => None,
        };
        let amount = as_typed
            .filter(|amount| amount.in_unit(unit).total_cmp(&value).is_eq())
            .or_else(|| Amount::of_value(value, unit))?;
        Some(Threshold { figure, operator, bound: Bound::Amount(amount) })
    };
    let limits = [
        limit(Operator::AtLeast, at_least, keys.at_least.as_ref()),
        limit(Operator::AtMost, at_most, keys.at_most.as_ref()),
    ];
    Some(limits.into_iter().flatten().collect())
}

/// Reads one in the language of thresholds; `span` is where it stands, with its quotes.
pub(super) fn threshold(text: &str, span: &Range<usize>, mistakes: &mut Mistakes) -> Option<Threshold> {
    text.parse()
        .map_err(|error: ThresholdError| {
            // Without escapes, every byte of the text is one of the file.
            let is_plain = span.len() == text.len() + 2;
            let inner = |at: usize| span.start + 1 + at;
            let place = if is_plain { inner(error.span.start)..inner(error.span.end) } else { span.clone() };
            mistakes.add_problem(place, error.problem);
        })
        .ok()
}

pub(super) fn published(root: &Section<'_>, cells: &Cells<'_>, mistakes: &mut Mistakes) -> Vec<Publication> {
    each(root, "published", mistakes, |section, mistakes| {
        let keys: PublishedKeys = section.read(mistakes)?;
        let metric = metric(section, keys.metric.as_deref(), mistakes)?;
        let Some(value) = bound(section, "value", keys.value.as_ref(), metric, mistakes)? else {
            mistakes.add(section.at(), "this figure has no value", "add value = …");
            return None;
        };
        let cells = matching(section, "where", &keys.cells, Some(metric.kind()), cells, mistakes)?;
        let publication =
            |cell| Publication { cell, metric, value, source: keys.source.clone(), note: keys.note.clone() };
        Some(cells.into_iter().map(publication).collect())
    })
}

/// What every entry of the list `key` comes to.
fn each<T>(
    root: &Section<'_>,
    key: &str,
    mistakes: &mut Mistakes,
    entry: impl Fn(&Section<'_>, &mut Mistakes) -> Option<Vec<T>>,
) -> Vec<T> {
    let sections = root.list(key, mistakes);
    if sections.len() > ENTRIES_MAX {
        mistakes.add(
            root.span(key),
            format!("{ENTRIES_MAX} entries of `{key}` are the most"),
            "leave some out",
        );
        return Vec::new();
    }
    let mut all = Vec::new();
    for section in sections {
        all.extend(entry(&section, mistakes).unwrap_or_default());
        if all.len() > RESULTS_MAX {
            let message = format!("`{key}` comes to more than {RESULTS_MAX} cells");
            mistakes.add(section.at(), message, "name fewer of them");
            break;
        }
    }
    all
}

fn metric(section: &Section<'_>, typed: Option<&str>, mistakes: &mut Mistakes) -> Option<StudyMetric> {
    let names = StudyMetric::ALL.map(StudyMetric::name);
    let Some(typed) = typed else {
        mistakes.add(section.at(), "this has no metric", "add metric = \"rate\" or another");
        return None;
    };
    let found = StudyMetric::ALL.into_iter().find(|metric| metric.name() == typed);
    if found.is_none() {
        let near = prony_model::nearest(typed, names);
        let help = near.map_or_else(
            || format!("there is {}", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        mistakes.add(section.span("metric"), format!("`{typed}` is not a metric"), help);
    }
    found
}

#[expect(clippy::option_option, reason = "a bound that can't be read is something else than no bound")]
fn bound(
    section: &Section<'_>,
    key: &str,
    typed: Option<&Scalar>,
    metric: StudyMetric,
    mistakes: &mut Mistakes,
) -> Option<Option<f64>> {
    let Some(typed) = typed else { return Some(None) };
    let amount = amount(typed, metric.unit());
    amount.map(Some).map_err(|problem| mistakes.add_problem(section.span(key), problem)).ok()
}

/// The cells that a selector matches; `None` where there is none, which is reported with what there is.
fn matching(
    section: &Section<'_>,
    key: &str,
    selector: &WhereKeys,
    kind: Option<LoadKind>,
    cells: &Cells<'_>,
    mistakes: &mut Mistakes,
) -> Option<Vec<usize>> {
    let mut selected: Vec<(&str, Vec<String>)> = Vec::new();
    for (axis, values) in selector {
        let Some(known) = cells.axes.iter().find(|known| known.name == *axis) else {
            let names: Vec<&str> = cells.axes.iter().map(|axis| axis.name.as_str()).collect();
            mistakes.add(section.span(key), format!("there is no axis `{axis}`"), help(axis, &names));
            return None;
        };
        let values = match values {
            OneOrMoreScalars::One(value) => vec![value.to_string()],
            OneOrMoreScalars::More(values) => values.iter().map(Scalar::to_string).collect(),
        };
        if let Some(wrong) = values.iter().find(|value| !known.values.contains(value)) {
            let names: Vec<&str> = known.values.iter().map(String::as_str).collect();
            mistakes.add(
                section.span(key),
                format!("`{wrong}` is not on the axis `{axis}`"),
                help(wrong, &names),
            );
            return None;
        }
        selected.push((axis, values));
    }
    let is_selected = |cell: &Cell| {
        selected.iter().all(|(axis, values)| cell.key.get(*axis).is_some_and(|value| values.contains(value)))
    };
    let matching: Vec<usize> =
        cells.cells.iter().enumerate().filter(|(_, cell)| is_selected(cell)).map(|(at, _)| at).collect();
    if matching.is_empty() {
        let axes: Vec<String> =
            cells.axes.iter().map(|axis| format!("{}: {}", axis.name, axis.values.join(", "))).collect();
        mistakes.add(section.span(key), "no cell is like this", format!("the axes are {}", axes.join("; ")));
        return None;
    }
    let Some(kind) = kind else { return Some(matching) };
    let of_kind: Vec<usize> =
        matching.into_iter().filter(|cell| cells.cells[*cell].load.kind() == kind).collect();
    if of_kind.is_empty() {
        let message = format!("none of these cells has a load of kind {}", kind.name());
        mistakes.add(section.span(key), message, "name other cells, or another metric");
        return None;
    }
    Some(of_kind)
}
