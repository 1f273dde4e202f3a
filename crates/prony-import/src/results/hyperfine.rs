//! hyperfine, `--export-json`, and what writes the same: `prony exec --export-json`.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use serde_json::Value;

use super::figures::{Figures, quantile};
use super::{Read, ReportError};

const FIGURES: Figures = Figures(ExternalTool::Hyperfine);

/// Reads `root` if hyperfine wrote it.
pub(super) fn read(root: &Value) -> Option<Read> {
    let results = root.get("results")?.as_array()?;
    let is_hyperfine = results.first().is_some_and(|result| result.get("command").is_some());
    is_hyperfine.then(|| {
        let series = results.iter().map(series).collect::<Result<Vec<_>, _>>()?;
        Ok(ExternalResult::new(ExternalTool::Hyperfine, series))
    })
}

fn series(result: &Value) -> Result<ExternalSeries, ReportError> {
    // Times are in seconds.
    let ms = |name| FIGURES.at(result, &[name]).map(|time| time.map(|time| time * 1e3));
    let command = FIGURES.must("a command", result.get("command").and_then(Value::as_str))?;
    let list = |name: &str| result.get(name).and_then(Value::as_array);
    let codes = list("exit_codes").map(|codes| codes.iter().filter(|code| code.as_i64() != Some(0)).count());
    let mut series = ExternalSeries {
        name: command.to_owned(),
        done: list("times").map(|times| times.len() as u64),
        failed: codes.map(|codes| codes as u64),
        min_ms: ms("min")?,
        mean_ms: ms("mean")?,
        sd_ms: ms("stddev")?,
        max_ms: ms("max")?,
        ..ExternalSeries::default()
    };
    series.quantiles.extend(ms("median")?.and_then(|ms| quantile(50.0, ms)));
    Ok(series)
}
