//! oha, `--output-format json`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

use super::figures::{Figures, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Oha);

/// Reads `root` if oha wrote it.
pub(super) fn read(root: &Value) -> Option<Read> {
    let is_oha = root.get("latencyPercentiles").is_some() && root.get("summary").is_some();
    is_oha.then(|| series(root).map(|series| ExternalResult::new(ExternalTool::Oha, vec![series])))
}

fn series(root: &Value) -> Result<ExternalSeries, ReportError> {
    let seconds = |name| FIGURES.at(root, &["summary", name]);
    let ms = |name| seconds(name).map(|time| time.map(|time| time * 1e3));
    let mut series = ExternalSeries {
        name: "oha".to_owned(),
        done: Some(sum(root, "statusCodeDistribution", |_| true)?),
        // Requests that its own end cut off are no errors.
        failed: Some(sum(root, "errorDistribution", |error| !error.contains("deadline"))?),
        duration_s: seconds("total")?,
        rate_per_s: seconds("requestsPerSec")?,
        min_ms: ms("fastest")?,
        mean_ms: ms("average")?,
        max_ms: ms("slowest")?,
        ..ExternalSeries::default()
    };
    let percentiles = root.get("latencyPercentiles").and_then(Value::as_object).into_iter().flatten();
    for (name, _) in percentiles {
        let Some(percent) = name.strip_prefix('p') else { continue };
        let time = FIGURES.at(root, &["latencyPercentiles", name])?;
        let percent = FIGURES.number(percent)?;
        series.quantiles.extend(time.and_then(|time| quantile(percent, time * 1e3)));
    }
    Ok(series)
}

fn sum(root: &Value, name: &str, is_counted: impl Fn(&str) -> bool) -> Result<u64, ReportError> {
    let mut total = 0_u64;
    for (key, _) in root.get(name).and_then(Value::as_object).into_iter().flatten() {
        if is_counted(key) {
            total = total.saturating_add(FIGURES.count_at(root, &[name, key])?.unwrap_or(0));
        }
    }
    Ok(total)
}
