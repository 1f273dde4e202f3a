//! autocannon, `-j`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

use super::figures::{Figures, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Autocannon);

/// Reads `root` if autocannon wrote it.
pub(super) fn read(root: &Value) -> Option<Read> {
    let is_autocannon = root.get("non2xx").is_some() && root.get("latency").is_some();
    is_autocannon
        .then(|| series(root).map(|series| ExternalResult::new(ExternalTool::Autocannon, vec![series])))
}

fn series(root: &Value) -> Result<ExternalSeries, ReportError> {
    let time = |name| FIGURES.at(root, &["latency", name]);
    let count = |path: &[&str]| FIGURES.count_at(root, path);
    let failed = ["errors", "non2xx", "mismatches"].iter().try_fold(0_u64, |sum, name| {
        Ok::<_, ReportError>(sum.saturating_add(count(&[name])?.unwrap_or(0)))
    })?;
    let mut series = ExternalSeries {
        name: root.get("url").and_then(Value::as_str).unwrap_or("autocannon").to_owned(),
        done: count(&["2xx"])?,
        failed: Some(failed),
        connections: count(&["connections"])?,
        duration_s: FIGURES.at(root, &["duration"])?,
        rate_per_s: FIGURES.at(root, &["requests", "average"])?,
        ..ExternalSeries::default()
    };
    // Its percentiles of no times are zeros.
    if count(&["latency", "totalCount"])? != Some(0) {
        (series.min_ms, series.mean_ms) = (time("min")?, time("mean")?);
        (series.sd_ms, series.max_ms) = (time("stddev")?, time("max")?);
        for (name, _) in root.get("latency").and_then(Value::as_object).into_iter().flatten() {
            // `p97_5` is 97.5 %.
            let Some(percent) = name.strip_prefix('p') else { continue };
            let percent = FIGURES.number(&percent.replace('_', "."))?;
            series.quantiles.extend(time(name)?.and_then(|ms| quantile(percent, ms)));
        }
    }
    Ok(series)
}
