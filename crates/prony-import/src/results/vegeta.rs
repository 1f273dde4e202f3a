//! vegeta: `report` as text, and `report -type=json`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

use super::figures::{Figures, after, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Vegeta);
/// Times are in nanoseconds.
const PER_MS: f64 = 1e6;

/// Reads `text` if vegeta wrote it.
pub(super) fn read_text(text: &str) -> Option<Read> {
    let is_vegeta = after(text, "Requests").is_some_and(|line| line.starts_with("[total, rate"));
    is_vegeta.then(|| of_text(text).map(|series| ExternalResult::new(ExternalTool::Vegeta, vec![series])))
}

/// Reads `root` if vegeta wrote it.
pub(super) fn read_json(root: &Value) -> Option<Read> {
    let is_vegeta = root.get("latencies").is_some() && root.get("bytes_in").is_some();
    is_vegeta.then(|| of_json(root).map(|series| ExternalResult::new(ExternalTool::Vegeta, vec![series])))
}

fn of_text(text: &str) -> Result<ExternalSeries, ReportError> {
    // `Status Codes  [code:count]  0:3  200:397`; 0 is no response at all.
    let codes = FIGURES.must("status codes", after(text, "Status Codes"))?;
    let codes = codes.split_once(']').map_or("", |(_, codes)| codes);
    let mut series = ExternalSeries { name: "vegeta".to_owned(), ..ExternalSeries::default() };
    for part in codes.split_whitespace() {
        let (code, number) = part.split_once(':').unwrap_or((part, ""));
        count(&mut series, code, FIGURES.count(number)?);
    }
    for (name, value) in columns(text, "Duration") {
        if name == "total" {
            series.duration_s = Some(FIGURES.span_ms(value)? / 1e3);
        }
    }
    for (name, value) in columns(text, "Requests") {
        if name == "throughput" {
            series.rate_per_s = Some(FIGURES.number(value)?);
        }
    }
    for (name, value) in columns(text, "Latencies") {
        let ms = FIGURES.span_ms(value)?;
        match name {
            "min" => series.min_ms = Some(ms),
            "mean" => series.mean_ms = Some(ms),
            "max" => series.max_ms = Some(ms),
            percent => series.quantiles.extend(quantile(FIGURES.number(percent)?, ms)),
        }
    }
    Ok(series)
}

/// Names and values of `Latencies     [min, mean, 50]  37.9µs, 981µs, 155µs`.
fn columns<'a>(text: &'a str, label: &str) -> Vec<(&'a str, &'a str)> {
    let row = after(text, label).unwrap_or_default();
    let Some((names, values)) = row.trim_start_matches('[').split_once(']') else { return Vec::new() };
    names.split(", ").zip(values.trim().split(", ")).collect()
}

/// Counts responses as vegeta does: good ones have a status of 200 to 399.
fn count(series: &mut ExternalSeries, code: &str, number: u64) {
    let is_good = code.starts_with(['2', '3']);
    let (good, other) = if is_good { (number, 0) } else { (0, number) };
    series.done = Some(series.done.unwrap_or(0).saturating_add(good));
    series.failed = Some(series.failed.unwrap_or(0).saturating_add(other));
}

fn of_json(root: &Value) -> Result<ExternalSeries, ReportError> {
    let time = |name: &str| FIGURES.at(root, &["latencies", name]).map(|time| time.map(|time| time / PER_MS));
    let mut series = ExternalSeries {
        name: "vegeta".to_owned(),
        duration_s: FIGURES.at(root, &["duration"])?.map(|time| time / PER_MS / 1e3),
        rate_per_s: FIGURES.at(root, &["throughput"])?,
        min_ms: time("min")?,
        mean_ms: time("mean")?,
        max_ms: time("max")?,
        ..ExternalSeries::default()
    };
    let codes = root.get("status_codes").and_then(Value::as_object);
    for (code, _) in FIGURES.must("status codes", codes)? {
        let number = FIGURES.count_at(root, &["status_codes", code])?;
        count(&mut series, code, number.unwrap_or(0));
    }
    for percent in [50.0, 90.0, 95.0, 99.0] {
        let ms = time(&format!("{percent}th"))?;
        series.quantiles.extend(ms.and_then(|ms| quantile(percent, ms)));
    }
    Ok(series)
}
