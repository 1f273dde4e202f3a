//! Reports of other tools: the figures that they printed, as [`ExternalResult`].
//!
//! A figure that a report lacks is absent, and never computed from others; figures that contradict each other are left
//! out, and the result says which. Reading order: this file, `figures` (numbers with units), then one file for each
//! tool.

mod ab;
mod autocannon;
mod error;
mod figures;
mod h2load;
mod hey;
mod hyperfine;
mod k6;
mod locust;
mod oha;
#[cfg(test)]
mod tests;
mod vegeta;
mod wrk;

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

pub use error::ReportError;

/// Things that one report measures.
const SERIES_MAX: usize = 1000;
/// Characters of the name of one.
const NAME_MAX: usize = 200;

/// Reads `text` as a report of another tool; `None` if it is none that is known.
///
/// # Errors
/// A known report that lacks what it must have, or that has something else where a number belongs.
pub fn read_report(text: &str) -> Option<Result<ExternalResult, ReportError>> {
    let text = text.trim_start_matches('\u{feff}');
    let read = if text.trim_start().starts_with('{') {
        let root: Value = serde_json::from_str(text).ok()?;
        of_json(&root)?
    } else {
        of_text(text)?
    };
    Some(read.and_then(settled))
}

type Read = Result<ExternalResult, ReportError>;

fn of_text(text: &str) -> Option<Read> {
    [ab::read, wrk::read, h2load::read, hey::read, vegeta::read_text, locust::read, unreadable]
        .into_iter()
        .find_map(|read| read(text))
}

fn of_json(root: &Value) -> Option<Read> {
    [vegeta::read_json, oha::read, k6::read, autocannon::read, hyperfine::read]
        .into_iter()
        .find_map(|read| read(root))
}

/// Reports that are known, and hold less than another form of the same.
fn unreadable(text: &str) -> Option<Read> {
    let advice = if text.contains("│ Latency │") {
        (ExternalTool::Autocannon, "its JSON has all figures: autocannon -j URL > FILE")
    } else if text.starts_with("command,mean,stddev") {
        (ExternalTool::Hyperfine, "its JSON has all figures: hyperfine --export-json FILE")
    } else if text.starts_with("response-time,DNS+dialup,DNS") {
        (ExternalTool::Hey, "its summary can be read: leave -o csv out")
    } else if text.contains("http_req_duration") && text.contains("http_reqs") {
        (ExternalTool::K6, "its JSON has all figures: k6 run --summary-export FILE")
    } else if text.contains("Success rate:") && text.contains("Requests/sec:") {
        (ExternalTool::Oha, "its JSON has all figures: oha --output-format json")
    } else {
        return None;
    };
    Some(Err(ReportError::Form { tool: advice.0, advice: advice.1 }))
}

/// Leaves out what contradicts something else, and says so.
fn settled(mut result: ExternalResult) -> Read {
    if result.series.is_empty() {
        return Err(ReportError::Missing { tool: result.tool, what: "anything measured" });
    }
    if result.series.len() > SERIES_MAX {
        return Err(ReportError::TooMuch {
            tool: result.tool,
            number: result.series.len(),
            most: SERIES_MAX,
        });
    }
    let mut unknown = Vec::new();
    for series in &mut result.series {
        series.name =
            series.name.chars().filter(|character| !character.is_control()).take(NAME_MAX).collect();
        settle(series, &mut unknown);
    }
    result.unknown.extend(unknown);
    Ok(result)
}

fn settle(series: &mut ExternalSeries, unknown: &mut Vec<String>) {
    let mut leave_out = |what: &str, why: String| {
        unknown.push(format!("{what} of {}: {why}, which can't be", series.name));
    };
    series.quantiles.sort_by(|a, b| a.q.total_cmp(&b.q));
    series.quantiles.dedup_by(|a, b| a.q.total_cmp(&b.q).is_eq());
    let falls =
        series.quantiles.windows(2).find(|pair| pair[1].ms < pair[0].ms).map(|pair| (pair[0], pair[1]));
    if let Some((low, high)) = falls {
        let why = format!("p{} is {} ms and p{} is {} ms", low.q * 100.0, low.ms, high.q * 100.0, high.ms);
        leave_out("quantiles", why);
        series.quantiles.clear();
    }
    let least = series.quantiles.first().map(|quantile| quantile.ms).or(series.max_ms);
    if let (Some(min), Some(least)) = (series.min_ms, least)
        && min > least
    {
        leave_out("least time", format!("{min} ms is more than {least} ms, a later figure"));
        series.min_ms = None;
    }
    let greatest = series.quantiles.last().map(|quantile| quantile.ms);
    if let (Some(max), Some(greatest)) = (series.max_ms, greatest)
        && max < greatest
    {
        leave_out("greatest time", format!("{max} ms is less than the highest quantile, {greatest} ms"));
        series.max_ms = None;
    }
    let is_outside = |mean: f64| {
        series.min_ms.is_some_and(|min| mean < min) || series.max_ms.is_some_and(|max| mean > max)
    };
    if let Some(mean) = series.mean_ms.filter(|mean| is_outside(*mean)) {
        leave_out("mean", format!("{mean} ms is outside the least and the greatest time"));
        series.mean_ms = None;
    }
}
