//! hey.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};

use super::figures::{Figures, after, first_word, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Hey);

/// Reads `text` if hey wrote it.
pub(super) fn read(text: &str) -> Option<Read> {
    let is_hey =
        after(text, "Summary:").is_some() && text.contains("\n  Slowest:") && !text.contains("Success rate:");
    is_hey.then(|| {
        let mut series = series(text)?;
        let mut unknown = None;
        if series.failed.is_some_and(|failed| failed > 0) {
            series.rate_per_s = None;
            unknown = Some("the rate of responses: hey's includes requests without one".to_owned());
        }
        let mut result = ExternalResult::new(ExternalTool::Hey, vec![series]);
        result.unknown.extend(unknown);
        Ok(result)
    })
}

fn series(text: &str) -> Result<ExternalSeries, ReportError> {
    let seconds = |label: &'static str| -> Result<Option<f64>, ReportError> {
        after(text, label).map(|value| FIGURES.number(first_word(value))).transpose()
    };
    let ms = |label| seconds(label).map(|found| found.map(|seconds| seconds * 1e3));
    let mut series = ExternalSeries {
        name: "hey".to_owned(),
        // `[200]	9821 responses`
        done: Some(bracketed(text, "Status code distribution:", |line| {
            FIGURES.count(first_word(line.split_once(']').map_or("", |(_, rest)| rest)))
        })?),
        // `[12]	Get "http://…": dial tcp …`
        failed: Some(bracketed(text, "Error distribution:", |line| {
            FIGURES.count(line.trim_start_matches('[').split(']').next().unwrap_or_default())
        })?),
        duration_s: FIGURES.must("`Total:`", seconds("Total:")?).map(Some)?,
        rate_per_s: seconds("Requests/sec:")?,
        ..ExternalSeries::default()
    };
    // Of no responses it writes zeros and NaN.
    if series.done != Some(0) {
        (series.min_ms, series.mean_ms, series.max_ms) = (ms("Fastest:")?, ms("Average:")?, ms("Slowest:")?);
    }
    // `50% in 0.0001 secs`; some versions write two signs.
    let rows = text.lines().skip_while(|line| !line.starts_with("Latency distribution:"));
    for row in rows.skip(1) {
        let Some((percent, time)) = row.split_once('%') else { break };
        let time =
            time.trim_start_matches('%').trim_start().trim_start_matches("in").trim_end_matches("secs");
        series.quantiles.extend(quantile(FIGURES.number(percent)?, FIGURES.number(time)? * 1e3));
    }
    Ok(series)
}

/// The sum over the lines `[…]` under `heading`.
fn bracketed(
    text: &str,
    heading: &str,
    number: impl Fn(&str) -> Result<u64, ReportError>,
) -> Result<u64, ReportError> {
    let rows = text.lines().skip_while(|line| line.trim() != heading).skip(1);
    let rows = rows.map(str::trim).take_while(|line| line.starts_with('['));
    rows.map(number).try_fold(0_u64, |sum, number| Ok(sum.saturating_add(number?)))
}
