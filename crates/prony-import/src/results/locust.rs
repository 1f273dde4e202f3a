//! Locust, the file `…_stats.csv` of `--csv`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};

use super::figures::{Figures, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Locust);

/// Reads `text` if Locust wrote it.
pub(super) fn read(text: &str) -> Option<Read> {
    let mut rows = text.lines();
    let headings = cells(rows.next()?);
    let is_locust = headings.starts_with(&["Type".to_owned(), "Name".to_owned(), "Request Count".to_owned()]);
    is_locust.then(|| {
        let rows = rows.filter(|row| !row.trim().is_empty());
        let series = rows.map(|row| series(&headings, &cells(row))).collect::<Result<Vec<_>, _>>()?;
        Ok(ExternalResult::new(ExternalTool::Locust, series))
    })
}

fn series(headings: &[String], cells: &[String]) -> Result<ExternalSeries, ReportError> {
    if cells.len() != headings.len() {
        return Err(ReportError::Missing { tool: FIGURES.0, what: "as many cells in each row as headings" });
    }
    let mut series = ExternalSeries::default();
    let mut method = String::new();
    for (heading, cell) in headings.iter().zip(cells) {
        match heading.as_str() {
            "Type" => method.clone_from(cell),
            "Name" => series.name.clone_from(cell),
            _ if cell.is_empty() || cell == "N/A" => {}
            "Request Count" => series.done = Some(FIGURES.count(cell)?),
            "Failure Count" => series.failed = Some(FIGURES.count(cell)?),
            "Average Response Time" => series.mean_ms = Some(FIGURES.number(cell)?),
            "Min Response Time" => series.min_ms = Some(FIGURES.number(cell)?),
            "Max Response Time" => series.max_ms = Some(FIGURES.number(cell)?),
            "Requests/s" => series.rate_per_s = Some(FIGURES.number(cell)?),
            heading => {
                let percent = heading.strip_suffix('%').map(|percent| FIGURES.number(percent)).transpose()?;
                // The last is the greatest time, rounded.
                if let Some(percent) = percent.filter(|percent| *percent < 100.0) {
                    series.quantiles.extend(quantile(percent, FIGURES.number(cell)?));
                }
            }
        }
    }
    // Its quantiles are rounded, and the least and the greatest time are not.
    for quantile in &mut series.quantiles {
        quantile.ms = quantile.ms.max(series.min_ms.unwrap_or(0.0)).min(series.max_ms.unwrap_or(f64::MAX));
    }
    if !method.is_empty() {
        series.name = format!("{method} {}", series.name);
    }
    Ok(series)
}

/// The cells of a row of RFC 4180.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for character in row.trim_end_matches('\r').chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().expect("invariant: there is a cell").push(other),
        }
    }
    cells
}
