//! The matrix: axes, their product, what is excluded from it and included in it.

use std::collections::BTreeMap;
use std::ops::Range;

use prony_model::StudyAxis;
use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::mistake::Mistakes;
use super::scalar::Scalar;
use super::schema::help;
use super::tree::{Section, in_order};

/// Cells of one study: what has more is several studies, and no report of it would be read.
const CELLS_MAX: usize = 10_000;
/// Entries of `exclude` and of `include` each: each looks at every cell.
const ENTRIES_MAX: usize = 1_000;
/// Values that targets and services fill in themselves.
pub(super) const OWN_NAMES: [&str; 2] = ["port", "url"];
/// The axes that choose instead of setting something.
pub(super) const CHOOSING: [&str; 2] = ["target", "load"];

/// One axis.
#[derive(Debug, Clone)]
pub(super) struct Axis<'a> {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    pub(super) values: Vec<AxisValue<'a>>,
}

/// A value on an axis, as text and, where the file has it, as it stands there.
#[derive(Debug, Clone)]
pub(super) struct AxisValue<'a> {
    pub(super) text: String,
    pub(super) written: Option<&'a Spanned<DeValue<'a>>>,
}

/// One point: a value for each axis, by its name.
#[derive(Debug, Clone)]
pub(super) struct Point<'a> {
    pub(super) values: BTreeMap<String, AxisValue<'a>>,
    /// What to point at where something is wrong with it.
    pub(super) span: Range<usize>,
}

impl Point<'_> {
    pub(super) fn text(&self, axis: &str) -> Option<&str> {
        self.values.get(axis).map(|value| value.text.as_str())
    }

    pub(super) fn key(&self) -> BTreeMap<String, String> {
        self.values.iter().map(|(name, value)| (name.clone(), value.text.clone())).collect()
    }
}

/// The matrix, multiplied out.
#[derive(Debug)]
pub(super) struct Matrix<'a> {
    pub(super) axes: Vec<Axis<'a>>,
    pub(super) points: Vec<Point<'a>>,
}

impl Matrix<'_> {
    pub(super) fn study_axes(&self) -> Vec<StudyAxis> {
        let axis = |axis: &Axis<'_>| StudyAxis {
            name: axis.name.clone(),
            values: axis.values.iter().map(|value| value.text.clone()).collect(),
        };
        self.axes.iter().map(axis).collect()
    }
}

/// The matrix of the file; all `targets` and all `loads` stand in for axes that it doesn't have.
pub(super) fn matrix<'a>(
    section: Option<Section<'a>>,
    targets: &[&str],
    loads: &[&str],
    whole: &Range<usize>,
    mistakes: &mut Mistakes,
) -> Option<Matrix<'a>> {
    let before = mistakes.count();
    let mut axes = section.map(|section| axes(&section, mistakes)).unwrap_or_default();
    for (axis, names) in CHOOSING.into_iter().zip([targets, loads]) {
        match axes.iter().find(|found| found.name == axis) {
            Some(found) => check_names(found, names, mistakes),
            None if names.is_empty() => {}
            None => axes.push(Axis {
                name: axis.to_owned(),
                span: whole.clone(),
                values: names
                    .iter()
                    .map(|name| AxisValue { text: (*name).to_owned(), written: None })
                    .collect(),
            }),
        }
    }
    // Target and load are what people look for first.
    axes.sort_by_key(|axis| CHOOSING.iter().position(|name| *name == axis.name).unwrap_or(CHOOSING.len()));
    if mistakes.count() > before {
        return None;
    }
    let span = section.map_or_else(|| whole.clone(), |section| section.at());
    let number = axes.iter().try_fold(1_usize, |number, axis| number.checked_mul(axis.values.len()));
    if number.is_none_or(|number| number > CELLS_MAX) {
        let sizes: Vec<String> = axes.iter().map(|axis| axis.values.len().to_string()).collect();
        let message = format!("the matrix has {} points, and {CELLS_MAX} are the most", sizes.join(" × "));
        mistakes.add(span, message, "use shorter lists, or several studies");
        return None;
    }
    let mut points = product(&axes, &span);
    if let Some(section) = section {
        exclude(&section, &axes, &mut points, mistakes);
        include(&section, targets, loads, &mut axes, &mut points, mistakes);
    }
    if points.is_empty() && mistakes.count() == before {
        mistakes.add(span, "nothing is left of the matrix", "exclude less");
    }
    (mistakes.count() == before).then_some(Matrix { axes, points })
}

fn axes<'a>(section: &Section<'a>, mistakes: &mut Mistakes) -> Vec<Axis<'a>> {
    let mut axes = Vec::new();
    for (key, list) in in_order(section.table) {
        let name = key.get_ref().as_ref();
        if ["exclude", "include"].contains(&name) {
            continue;
        }
        if !is_axis_name(name) {
            let help = "an axis is a word of letters, digits, - and _ that begins with a letter; port and url are taken";
            mistakes.add(key.span(), format!("`{name}` can't be the name of an axis"), help);
            continue;
        }
        let Some(items) = list.get_ref().as_array().filter(|items| !items.is_empty()) else {
            let help = format!("write {name} = [1, 2]");
            mistakes.add(list.span(), format!("the axis `{name}` is no list of values"), help);
            continue;
        };
        let mut values: Vec<AxisValue<'a>> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for item in items {
            let Some(value) = axis_value(item, mistakes) else { continue };
            if !seen.insert(value.text.clone()) {
                mistakes.add(
                    item.span(),
                    format!("`{}` stands twice on the axis `{name}`", value.text),
                    "leave out one",
                );
            }
            values.push(value);
        }
        axes.push(Axis { name: name.to_owned(), span: key.span(), values });
    }
    axes
}

fn is_axis_name(name: &str) -> bool {
    name.starts_with(|character: char| character.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
        && !OWN_NAMES.contains(&name)
}

fn axis_value<'a>(item: &'a Spanned<DeValue<'a>>, mistakes: &mut Mistakes) -> Option<AxisValue<'a>> {
    let Ok(scalar) = Scalar::deserialize(ValueDeserializer::from(item.clone())) else {
        mistakes.add(
            item.span(),
            "this can't be a value of an axis",
            "write a text, a number, true or false",
        );
        return None;
    };
    // As every other place of the file writes the same value.
    let text = scalar.to_string();
    if text.chars().any(char::is_control) {
        mistakes.add(
            item.span(),
            "a value of an axis has one line",
            "name it, and write what it means elsewhere",
        );
        return None;
    }
    Some(AxisValue { text, written: Some(item) })
}

/// Axes that choose may hold names that exist, nothing else.
fn check_names(axis: &Axis<'_>, names: &[&str], mistakes: &mut Mistakes) {
    for value in &axis.values {
        check_name(&axis.name, value, names, &axis.span, mistakes);
    }
}

fn check_name(
    axis: &str,
    value: &AxisValue<'_>,
    names: &[&str],
    span: &Range<usize>,
    mistakes: &mut Mistakes,
) {
    if !names.contains(&value.text.as_str()) {
        let span = value.written.map_or_else(|| span.clone(), Spanned::span);
        mistakes.add(span, format!("there is no {axis} `{}`", value.text), help(&value.text, names));
    }
}

/// Every combination; the last axis changes first.
fn product<'a>(axes: &[Axis<'a>], span: &Range<usize>) -> Vec<Point<'a>> {
    let mut points = vec![Point { values: BTreeMap::new(), span: span.clone() }];
    for axis in axes {
        points = points
            .iter()
            .flat_map(|point| axis.values.iter().map(move |value| (point, value)))
            .map(|(point, value)| {
                let mut longer = point.clone();
                longer.values.insert(axis.name.clone(), value.clone());
                longer
            })
            .collect();
    }
    points
}

fn exclude(section: &Section<'_>, axes: &[Axis<'_>], points: &mut Vec<Point<'_>>, mistakes: &mut Mistakes) {
    for entry in entries(section, "exclude", mistakes) {
        let Some(values) = entry_values(&entry, axes, mistakes) else { continue };
        let unknown = values.iter().find(|(name, value)| {
            let axis = axes.iter().find(|axis| axis.name == **name);
            axis.is_some_and(|axis| axis.values.iter().all(|known| known.text != value.text))
        });
        if let Some((name, value)) = unknown {
            let axis = axes.iter().find(|axis| axis.name == **name);
            let names: Vec<&str> =
                axis.into_iter().flat_map(|axis| &axis.values).map(|value| value.text.as_str()).collect();
            let message = format!("`{}` is not on the axis `{name}`", value.text);
            mistakes.add(entry.span(name), message, help(&value.text, &names));
            continue;
        }
        let before = points.len();
        points.retain(|point| {
            !values.iter().all(|(name, value)| point.text(name) == Some(value.text.as_str()))
        });
        if points.len() == before {
            mistakes.add(
                entry.at(),
                "this excludes nothing",
                "an entry before it excludes the same: leave out this one",
            );
        }
    }
}

fn include<'a>(
    section: &Section<'a>,
    targets: &[&str],
    loads: &[&str],
    axes: &mut [Axis<'a>],
    points: &mut Vec<Point<'a>>,
    mistakes: &mut Mistakes,
) {
    let mut known: std::collections::BTreeSet<BTreeMap<String, String>> =
        points.iter().map(Point::key).collect();
    for entry in entries(section, "include", mistakes) {
        let Some(values) = entry_values(&entry, axes, mistakes) else { continue };
        for (axis, names) in CHOOSING.into_iter().zip([targets, loads]) {
            if let Some(value) = values.get(axis) {
                check_name(axis, value, names, &entry.at(), mistakes);
            }
        }
        let point = Point { values, span: entry.at() };
        if !known.insert(point.key()) {
            mistakes.add(entry.at(), "this point is in the matrix already", "leave it out");
            continue;
        }
        if points.len() >= CELLS_MAX {
            mistakes.add(entry.at(), format!("{CELLS_MAX} cells are the most"), "use several studies");
            return;
        }
        for axis in axes.iter_mut() {
            let Some(value) = point.values.get(&axis.name) else { continue };
            if axis.values.iter().all(|known| known.text != value.text) {
                axis.values.push(value.clone());
            }
        }
        points.push(point);
    }
}

fn entries<'a>(section: &Section<'a>, key: &str, mistakes: &mut Mistakes) -> Vec<Section<'a>> {
    let mut entries = section.list(key, mistakes);
    if entries.len() > ENTRIES_MAX {
        mistakes.add(
            section.span(key),
            format!("{ENTRIES_MAX} entries are the most"),
            "use shorter lists instead",
        );
        entries.clear();
    }
    entries
}

/// The values of an entry of `exclude` or `include`, by axis; `None` where one names no axis.
fn entry_values<'a>(
    entry: &Section<'a>,
    axes: &[Axis<'_>],
    mistakes: &mut Mistakes,
) -> Option<BTreeMap<String, AxisValue<'a>>> {
    let mut values = BTreeMap::new();
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    for (key, item) in in_order(entry.table) {
        let name = key.get_ref().as_ref();
        if !names.contains(&name) {
            mistakes.add(key.span(), format!("there is no axis `{name}`"), help(name, &names));
            return None;
        }
        values.insert(name.to_owned(), axis_value(item, mistakes)?);
    }
    Some(values)
}
