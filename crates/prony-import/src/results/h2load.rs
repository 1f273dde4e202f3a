//! h2load of nghttp2.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};

use super::figures::{Figures, after, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::H2load);

/// Reads `text` if h2load wrote it.
pub(super) fn read(text: &str) -> Option<Read> {
    let is_h2load = after(text, "finished in").is_some() && after(text, "time for request:").is_some();
    is_h2load.then(|| series(text).map(|series| ExternalResult::new(ExternalTool::H2load, vec![series])))
}

fn series(text: &str) -> Result<ExternalSeries, ReportError> {
    // `363.92ms, 5495.74 req/s, 413.25KB/s`
    let finished: Vec<&str> = after(text, "finished in").unwrap_or_default().split(", ").collect();
    let [span, rate, ..] = finished[..] else {
        return Err(ReportError::Missing { tool: FIGURES.0, what: "a rate" });
    };
    // `2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout`; an error is a failure, too.
    let requests = FIGURES.must("`requests: …`", after(text, "requests:"))?;
    let of = |word: &str| {
        let part = requests.split(", ").find_map(|part| part.strip_suffix(word));
        part.map(|number| FIGURES.count(number)).transpose()
    };
    let mut connections = None;
    for line in text.lines().filter(|line| line.starts_with("spawning thread")) {
        let own = line.split(' ').zip(line.split(' ').skip(1)).find(|(_, word)| *word == "total");
        let own = own.map(|(number, _)| FIGURES.count(number)).transpose()?;
        connections = Some(connections.unwrap_or(0) + own.unwrap_or(0));
    }
    let mut series = ExternalSeries {
        name: "h2load".to_owned(),
        done: of(" succeeded")?,
        failed: of(" failed")?,
        connections,
        duration_s: Some(FIGURES.span_ms(span)? / 1e3),
        rate_per_s: Some(FIGURES.number(rate.trim_end_matches(" req/s"))?),
        ..ExternalSeries::default()
    };
    // Newer versions have more columns, with the same headings.
    let headings = text.lines().find(|line| line.contains(" min ") && line.contains(" max "));
    let headings = headings.unwrap_or_default().replace("+/- sd", "share");
    let times = after(text, "time for request:").unwrap_or_default();
    for (heading, time) in headings.split_whitespace().zip(times.split_whitespace()) {
        let ms = || FIGURES.span_ms(time);
        match heading {
            "min" => series.min_ms = Some(ms()?),
            "max" => series.max_ms = Some(ms()?),
            "mean" => series.mean_ms = Some(ms()?),
            "sd" => series.sd_ms = Some(ms()?),
            "median" => series.quantiles.extend(quantile(50.0, ms()?)),
            _ => {
                if let Some(percent) = heading.strip_prefix('p') {
                    series.quantiles.extend(quantile(FIGURES.number(percent)?, ms()?));
                }
            }
        }
    }
    Ok(series)
}
