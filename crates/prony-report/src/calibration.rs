//! The report of a calibration: what the client can do, setting by setting.

use prony_model::{CalibrationLimit, CalibrationPoint, CalibrationSetting};

use crate::Style;
use crate::number::{bytes, cell, count, dash, plural, rate, rough_percent, significant, two_digits};
use crate::page::{Colour, Page};

/// The headings and the columns of each at least; all together fit 80 columns.
const COLUMNS: [(&str, usize); 7] = [
    ("connections", 11),
    ("rate /s", 10),
    ("client", 8),
    ("server", 8),
    ("can do /s", 11),
    ("p50 ms", 8),
    ("p99 ms", 8),
];
/// What the rate was limited by, as the last column, two spaces before it.
const LIMIT: &str = "limit";
const LIMIT_COLUMNS: usize = 12;

/// The settings in groups that differ by connections only. `doubts` say what is wrong with the measurement: none
/// for a good one, `None` where it is not the question.
pub fn text(points: &[CalibrationPoint], doubts: Option<&[String]>, style: &Style) -> String {
    let mut page = Page::new(style);
    if let Some(doubts) = doubts {
        verdict(&mut page, points.len() as u64, doubts);
    }
    let mut left: Vec<&CalibrationPoint> = points.iter().collect();
    while let Some(first) = left.first() {
        let title = title(&first.setting);
        let (mut group, rest): (Vec<&CalibrationPoint>, Vec<&CalibrationPoint>) =
            left.iter().copied().partition(|point| self::title(&point.setting) == title);
        group.sort_by_key(|point| (point.setting.asked_per_s.is_some(), point.setting.connections));
        page.gap();
        page.parts(&title);
        rows(&mut page, &group);
        left = rest;
    }
    if points.iter().any(|point| can_do(point).is_some_and(|rate| rate.starts_with('~'))) {
        page.gap();
        page.labelled(
            "~",
            None,
            "the null server had no time left and the client had: it can do more than was seen, about the rate \
             divided by the share of a core that it used",
        );
    }
    page.finish()
}

fn verdict(page: &mut Page, settings: u64, doubts: &[String]) {
    let Some((first, rest)) = doubts.split_first() else {
        page.labelled("VALID", Some(Colour::Green), &format!("{} measured", plural(settings, "setting")));
        return;
    };
    page.labelled("DOUBTFUL", Some(Colour::Yellow), first);
    for doubt in rest {
        page.labelled("", None, doubt);
    }
}

/// What the settings of a group have in common.
fn title(setting: &CalibrationSetting) -> Vec<String> {
    let mut parts = vec![plural(setting.threads.into(), "thread")];
    let version = setting.version.name();
    let connections = if setting.keep_alive { "keep-alive" } else { "a connection per request" };
    parts.push(format!("{version} {connections}"));
    if setting.pipeline > 1 {
        parts.push(format!("pipeline {}", setting.pipeline));
    }
    if setting.request_bytes > 0 {
        parts.push(format!("requests of {}", bytes(setting.request_bytes as f64)));
    }
    parts.push(format!("answers of {}", bytes(setting.response_bytes as f64)));
    parts.push(setting.driver.clone());
    parts.extend(setting.host.as_ref().map(|host| format!("null server on {host}")));
    parts
}

fn rows(page: &mut Page, points: &[&CalibrationPoint]) {
    let width: usize = COLUMNS.iter().map(|(_, columns)| columns).sum::<usize>() + 2 + LIMIT_COLUMNS;
    if page.style().columns() < width {
        for point in points {
            page.labelled(&load(point), None, &sentence(point));
        }
        return;
    }
    let line = |cells: &[String; 7], limit: &str| {
        let cells = cells.iter().zip(COLUMNS).map(|(cell, (_, columns))| format!("{cell:>columns$}"));
        format!("{}  {limit}", cells.collect::<Vec<_>>().concat())
    };
    page.line(&line(&COLUMNS.map(|(heading, _)| heading.to_owned()), LIMIT));
    for point in points {
        page.line(&line(&cells(point), limit(point)));
    }
}

fn cells(point: &CalibrationPoint) -> [String; 7] {
    let or_dash = |value: Option<String>| value.unwrap_or_else(dash);
    [
        load(point),
        rate(point.rate_per_s),
        rough_percent(point.client_cpu_share),
        or_dash(point.server_cpu_share.map(rough_percent)),
        or_dash(can_do(point)),
        or_dash(point.p50_ms.map(cell)),
        or_dash(point.p99_ms.map(cell)),
    ]
}

/// The same where the terminal is too narrow for a table.
fn sentence(point: &CalibrationPoint) -> String {
    let mut parts = vec![
        format!("{} /s", rate(point.rate_per_s)),
        format!("client {}", rough_percent(point.client_cpu_share)),
    ];
    parts.extend(point.server_cpu_share.map(|share| format!("server {}", rough_percent(share))));
    parts.extend(can_do(point).map(|per_s| format!("can do {per_s} /s")));
    parts.extend(point.doubt.as_ref().map(|_| "disturbed".to_owned()));
    parts.extend(point.p50_ms.map(|p50_ms| format!("p50 {} ms", cell(p50_ms))));
    parts.extend(point.p99_ms.map(|p99_ms| format!("p99 {} ms", cell(p99_ms))));
    parts.join(", ")
}

/// The load: a number of connections, or a rate.
fn load(point: &CalibrationPoint) -> String {
    match point.setting.asked_per_s {
        Some(target) => format!("{} /s", rate(target.as_per_second())),
        None => count(point.setting.connections.into()),
    }
}

/// What the client can do, if that is known; an estimate is marked.
fn can_do(point: &CalibrationPoint) -> Option<String> {
    match point.limit() {
        CalibrationLimit::TargetRate => None,
        _ if point.doubt.is_some() => None,
        _ if point.is_estimate() => Some(format!("~{}", significant(two_digits(point.capacity_per_s())))),
        _ => Some(rate(point.capacity_per_s())),
    }
}

/// What kept the rate from being higher, or that this is unknown.
fn limit(point: &CalibrationPoint) -> &'static str {
    match point.limit() {
        _ if point.doubt.is_some() => "disturbed",
        CalibrationLimit::TargetRate => "none",
        CalibrationLimit::Client => "client",
        CalibrationLimit::Server => "null server",
        CalibrationLimit::RoundTrip => "round trip",
        CalibrationLimit::NotClient => "elsewhere",
    }
}
