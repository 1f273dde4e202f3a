//! wrk and wrk2, and what prints the same: `prony wrk`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};

use super::figures::{Figures, after, first_word, quantile};
use super::{Read, ReportError};

/// Reads `text` if wrk or wrk2 wrote it.
pub(super) fn read(text: &str) -> Option<Read> {
    let is_wrk = after(text, "Running").is_some_and(|line| line.contains(" test @ "))
        && after(text, "Thread Stats").is_some();
    let is_wrk2 = text.contains("Thread calibration:") || text.contains("(HdrHistogram - ");
    let tool = if is_wrk2 { ExternalTool::Wrk2 } else { ExternalTool::Wrk };
    is_wrk.then(|| series(text, Figures(tool)).map(|series| ExternalResult::new(tool, vec![series])))
}

fn series(text: &str, figures: Figures) -> Result<ExternalSeries, ReportError> {
    let running = figures.must("`Running …`", after(text, "Running"))?;
    // `36816 requests in 2.14s, 2.70MB read`
    let total = text.lines().find_map(|line| line.split_once(" requests in "));
    let (done, rest) = figures.must("`… requests in …`", total)?;
    let span = rest.split(',').next().unwrap_or_default();
    // `1 threads and 4 connections`
    let connections = text.lines().find_map(|line| line.split_once(" threads and "));
    let errors = after(text, "Socket errors:").unwrap_or_default();
    let mut failed = 0;
    for part in errors.split(',').filter(|part| !part.trim().is_empty()) {
        failed += figures.count(part.split_whitespace().nth(1).unwrap_or_default())?;
    }
    if let Some(others) = after(text, "Non-2xx or 3xx responses:") {
        failed += figures.count(others)?;
    }
    let mut series = ExternalSeries {
        name: running.split_once(" test @ ").map(|(_, url)| url.to_owned()).unwrap_or_default(),
        done: Some(figures.count(done)?),
        failed: Some(failed),
        connections: connections.map(|(_, number)| figures.count(first_word(number))).transpose()?,
        duration_s: Some(figures.span_ms(span)? / 1e3),
        rate_per_s: after(text, "Requests/sec:").map(|rate| figures.number(rate)).transpose()?,
        ..ExternalSeries::default()
    };
    // Of the first table: mean, standard deviation, max. Later lines of this name are headings.
    let latency = after(text, "Latency ").filter(|row| !row.starts_with("Distribution"));
    let columns: Vec<&str> = latency.unwrap_or_default().split_whitespace().collect();
    if let [mean, sd, max, ..] = columns[..] {
        // Of no responses there are no numbers.
        let span =
            |text| if text == "-nan" || text == "nan" { Ok(None) } else { figures.span_ms(text).map(Some) };
        (series.mean_ms, series.sd_ms, series.max_ms) = (span(mean)?, span(sd)?, span(max)?);
    }
    let rows = text.lines().skip_while(|line| !line.trim_start().starts_with("Latency Distribution"));
    for row in rows.skip(1) {
        let Some((percent, time)) = row.split_once('%') else { break };
        let (percent, ms) = (figures.number(percent)?, figures.span_ms(time)?);
        if percent < 100.0 {
            series.quantiles.extend(quantile(percent, ms));
        } else {
            // wrk2's, with more digits than that of the first table.
            series.max_ms = Some(ms);
        }
    }
    Ok(series)
}
