//! ab of Apache httpd, and what prints the same: `prony ab`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};

use super::Read;
use super::figures::{Figures, after, first_word, quantile};

const FIGURES: Figures = Figures(ExternalTool::Ab);

/// Reads `text` if ab wrote it.
pub(super) fn read(text: &str) -> Option<Read> {
    let is_ab = after(text, "Concurrency Level:").is_some() && text.contains("\nServer Hostname:");
    is_ab.then(|| series(text).map(|series| ExternalResult::new(ExternalTool::Ab, vec![series])).map(|mut result| {
        if let Some(others) = after(text, "Non-2xx responses:") {
            result.unknown.push(format!(
                "whether {others} responses with another status than 2xx were meant: ab counts them as complete"
            ));
        }
        result
    }))
}

fn series(text: &str) -> Result<ExternalSeries, super::ReportError> {
    let label = |label: &'static str| FIGURES.must(label, after(text, label));
    let mut series = ExternalSeries {
        name: url(text),
        done: Some(FIGURES.count(label("Complete requests:")?)?),
        failed: Some(FIGURES.count(label("Failed requests:")?)?),
        connections: Some(FIGURES.count(label("Concurrency Level:")?)?),
        duration_s: Some(FIGURES.number(first_word(label("Time taken for tests:")?))?),
        rate_per_s: after(text, "Requests per second:")
            .map(|rate| FIGURES.number(first_word(rate)))
            .transpose()?,
        ..ExternalSeries::default()
    };
    // Columns: min, mean, standard deviation, median, max.
    if let Some(total) = after(text, "Total:").filter(|_| text.contains("\nConnection Times (ms)")) {
        let columns =
            total.split_whitespace().map(|word| FIGURES.number(word)).collect::<Result<Vec<_>, _>>()?;
        if let [min, mean, sd, _, max] = columns[..] {
            (series.min_ms, series.mean_ms) = (Some(min), Some(mean));
            (series.sd_ms, series.max_ms) = (Some(sd), Some(max));
        }
    }
    let rows = text.lines().skip_while(|line| !line.starts_with("Percentage of the requests"));
    for row in rows.skip(1) {
        let Some((percent, time)) = row.split_once('%') else { break };
        let (percent, ms) = (FIGURES.number(percent)?, FIGURES.number(first_word(time))?);
        // The last row is the greatest time.
        if percent < 100.0 {
            series.quantiles.extend(quantile(percent, ms));
        }
    }
    Ok(series)
}

fn url(text: &str) -> String {
    let part = |label| after(text, label).unwrap_or_default();
    let scheme = if after(text, "SSL/TLS Protocol:").is_some() { "https" } else { "http" };
    format!("{scheme}://{}:{}{}", part("Server Hostname:"), part("Server Port:"), part("Document Path:"))
}
