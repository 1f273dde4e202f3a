//! Which cells share a chart, and which share a colour.

use std::collections::BTreeMap;

use prony_model::{LoadKind, StudyCell, StudyResult};

/// Series of one chart at most: as many as there are colours that can be distinguished.
pub(super) const SERIES_MAX: usize = 8;

/// Axes that say how many requests were in flight.
const CONCURRENCY: [&str; 4] = ["connections", "concurrency", "clients", "threads"];

/// How a study is spread over charts: cells of one colour share a value on one axis, the variants; those in one
/// chart share the values of all others.
pub(super) struct Layout<'a> {
    result: &'a StudyResult,
    /// The axis whose values are the variants; absent where all cells are one.
    variants: Option<&'a str>,
}

/// Cells that are drawn together.
pub(super) struct Panel {
    /// What they have in common; empty where there is only one panel.
    pub(super) name: String,
    /// Indices of the cells.
    pub(super) cells: Vec<usize>,
}

impl<'a> Layout<'a> {
    /// The layout of all charts of `result`.
    pub(super) fn new(result: &'a StudyResult) -> Self {
        let varied: Vec<&str> = varied(result).collect();
        // The axis that the study asks about most, then what is loaded, then what comes first.
        let compared = varied.iter().copied().max_by_key(|axis| {
            // Of equals the first in the file, as `max_by_key` takes the last.
            let place = varied.iter().position(|other| other == axis);
            (comparisons_on(result, axis), std::cmp::Reverse(place))
        });
        let variants = compared
            .filter(|axis| comparisons_on(result, axis) > 0)
            .or_else(|| varied.iter().copied().find(|axis| *axis == "target"))
            .or_else(|| varied.iter().copied().find(|axis| !CONCURRENCY.contains(axis)))
            .or_else(|| varied.first().copied());
        Self { result, variants }
    }

    /// The study.
    pub(super) fn result(&self) -> &'a StudyResult {
        self.result
    }

    /// The number of the colour of `cell`; more variants than colours share them, in different charts.
    pub(super) fn colour(&self, cell: &StudyCell) -> usize {
        self.rank(cell) % SERIES_MAX
    }

    /// What `cell` is called where its colour is explained.
    pub(super) fn label(&self, cell: &StudyCell) -> String {
        match self.variants {
            Some(axis) => axis_value(axis, cell.key.get(axis).map_or("–", String::as_str)),
            None => cell.name.clone(),
        }
    }

    /// The cells of `kind` in charts that overlay the variants.
    pub(super) fn panels(&self, kind: LoadKind) -> Vec<Panel> {
        self.coloured(self.races(kind))
    }

    /// The cells of `kind` that differ in nothing but the variant, however many.
    pub(super) fn races(&self, kind: LoadKind) -> Vec<Panel> {
        self.panels_without(kind, &[])
    }

    /// The same where the values of `axis` belong into one chart.
    pub(super) fn panels_along(&self, kind: LoadKind, axis: &str) -> Vec<Panel> {
        self.coloured(self.panels_without(kind, &[axis]))
    }

    /// The axis that says how many requests were in flight, if it has several numbers among runs.
    pub(super) fn concurrency(&self) -> Option<&'a str> {
        varied(self.result).find(|axis| {
            let numbers: Vec<f64> =
                self.of_kind(LoadKind::Run).filter_map(|index| self.number(index, axis)).collect();
            let differ = numbers.iter().any(|number| Some(number) != numbers.first());
            CONCURRENCY.contains(axis) && differ
        })
    }

    /// The value of cell `index` on `axis`, if it is a number above zero.
    pub(super) fn number(&self, index: usize, axis: &str) -> Option<f64> {
        let value: f64 = self.result.cells.get(index)?.key.get(axis)?.parse().ok()?;
        (value.is_normal() && value > 0.0).then_some(value)
    }

    /// Indices of the cells of `kind`.
    pub(super) fn of_kind(&self, kind: LoadKind) -> impl Iterator<Item = usize> {
        self.result
            .cells
            .iter()
            .enumerate()
            .filter(move |(_, cell)| cell.kind == kind)
            .map(|(index, _)| index)
    }

    /// Panels whose variants have different colours: the ninth begins another panel.
    fn coloured(&self, panels: Vec<Panel>) -> Vec<Panel> {
        let part = |index: &usize| self.rank(&self.result.cells[*index]) / SERIES_MAX;
        let mut coloured = Vec::new();
        for Panel { name, cells } in panels {
            let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for index in cells {
                parts.entry(part(&index)).or_default().push(index);
            }
            let all = parts.len();
            for (number, cells) in parts.into_values().enumerate() {
                let part = if all > 1 { format!("part {} of {all}", number + 1) } else { String::new() };
                let names: Vec<&str> =
                    [name.as_str(), &part].into_iter().filter(|text| !text.is_empty()).collect();
                coloured.push(Panel { name: names.join(" · "), cells });
            }
        }
        coloured
    }

    fn panels_without(&self, kind: LoadKind, inner: &[&str]) -> Vec<Panel> {
        let outer: Vec<&str> = varied(self.result)
            .filter(|axis| Some(*axis) != self.variants && !inner.contains(axis))
            .collect();
        let mut order: Vec<Vec<&str>> = Vec::new();
        let mut groups: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for index in self.of_kind(kind) {
            let key = &self.result.cells[index].key;
            let place: Vec<&str> =
                outer.iter().map(|axis| key.get(*axis).map_or("", String::as_str)).collect();
            let group = groups.entry(place.clone()).or_default();
            if group.is_empty() {
                order.push(place);
            }
            group.push(index);
        }
        let mut panels = Vec::new();
        for place in &order {
            let parts: Vec<String> = outer
                .iter()
                .zip(place)
                // What all panels have in common is no name.
                .filter(|(axis, value)| !value.is_empty() && differs(&order, &outer, axis))
                .map(|(axis, value)| axis_value(axis, value))
                .collect();
            let cells = groups.remove(place).unwrap_or_default();
            panels.push(Panel { name: parts.join(" · "), cells });
        }
        panels
    }

    /// The place of the cell's variant among all.
    fn rank(&self, cell: &StudyCell) -> usize {
        let Some(axis) = self.variants else { return 0 };
        let values =
            self.result.axes.iter().find(|candidate| candidate.name == axis).map(|axis| &axis.values);
        let value = cell.key.get(axis);
        values
            .and_then(|values| values.iter().position(|known| Some(known) == value))
            .unwrap_or_else(|| values.map_or(0, Vec::len))
    }
}

/// A value of an axis in words: a bare number needs the name of what it counts.
fn axis_value(axis: &str, value: &str) -> String {
    let is_word = value.parse::<f64>().is_err() && !matches!(value, "true" | "false");
    if is_word { value.to_owned() } else { format!("{axis} {value}") }
}

/// Axes on which cells differ, in the order of the file.
fn varied(result: &StudyResult) -> impl Iterator<Item = &str> {
    result.axes.iter().map(|axis| axis.name.as_str()).filter(|axis| {
        let mut values = result.cells.iter().map(|cell| cell.key.get(*axis));
        let first = values.next();
        values.any(|value| Some(value) != first)
    })
}

fn differs(places: &[Vec<&str>], axes: &[&str], axis: &str) -> bool {
    let Some(column) = axes.iter().position(|candidate| *candidate == axis) else { return false };
    places.iter().any(|place| place[column] != places[0][column])
}

/// How many comparisons are between cells that differ on `axis`.
fn comparisons_on(result: &StudyResult, axis: &str) -> usize {
    let value = |cell: u32| result.cells.get(cell as usize).map(|cell| cell.key.get(axis));
    result.comparisons.iter().filter(|compared| value(compared.a) != value(compared.b)).count()
}
