//! k6: `--summary-export`, and the data that `handleSummary` gets.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

use super::figures::{Figures, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::K6);

/// Reads `root` if k6 wrote it.
pub(super) fn read(root: &Value) -> Option<Read> {
    let metrics = root.get("metrics")?;
    let is_k6 = metrics.get("http_reqs").is_some() || metrics.get("iterations").is_some();
    is_k6.then(|| {
        let mut result = ExternalResult::new(ExternalTool::K6, vec![series(root, metrics)?]);
        let dropped = FIGURES.count_at(of(metrics, "dropped_iterations"), &["count"])?;
        if let Some(dropped) = dropped.filter(|dropped| *dropped > 0) {
            result
                .unknown
                .push(format!("{dropped} iterations that were due and never began: they have no time"));
        }
        Ok(result)
    })
}

/// The values of the metric `name`: of themselves, or in an object of their own.
fn of<'a>(metrics: &'a Value, name: &str) -> &'a Value {
    let metric = metrics.get(name).unwrap_or(&Value::Null);
    metric.get("values").unwrap_or(metric)
}

fn series(root: &Value, metrics: &Value) -> Result<ExternalSeries, ReportError> {
    let times = of(metrics, "http_req_duration");
    let time = |name| FIGURES.at(times, &[name]);
    let total = FIGURES.count_at(of(metrics, "http_reqs"), &["count"])?;
    let total = FIGURES.must("a number of requests (`http_reqs`)", total)?;
    // What is counted is whether a request failed, so that those that did are its passes.
    let failed = FIGURES.count_at(of(metrics, "http_req_failed"), &["passes"])?;
    let mut series = ExternalSeries {
        name: "k6".to_owned(),
        done: Some(total.saturating_sub(failed.unwrap_or(0))),
        failed,
        connections: FIGURES.count_at(of(metrics, "vus_max"), &["max"])?,
        duration_s: FIGURES.at(root, &["state", "testRunDurationMs"])?.map(|ms| ms / 1e3),
        rate_per_s: FIGURES.at(of(metrics, "http_reqs"), &["rate"])?,
        min_ms: time("min")?,
        mean_ms: time("avg")?,
        max_ms: time("max")?,
        ..ExternalSeries::default()
    };
    series.quantiles.extend(time("med")?.and_then(|ms| quantile(50.0, ms)));
    for (name, _) in times.as_object().into_iter().flatten() {
        let percent = name.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
        if let (Some(percent), Some(ms)) = (percent, time(name)?) {
            series.quantiles.extend(quantile(FIGURES.number(percent)?, ms));
        }
    }
    Ok(series)
}
