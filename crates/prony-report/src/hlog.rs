//! The distributions of runs as a log of HdrHistogram (`.hlog`), for its log processor and analyser.
//!
//! Source of the format, version 1.3: HdrHistogram `HistogramLogWriter.java` and `HistogramLogReader.java`. Every
//! run is one interval for each clock, which is its tag. Intervals begin so many seconds after the start time of
//! the log, which is the start of the first run's load; values are nanoseconds, the maximum is in milliseconds.

use std::fmt::Write as _;
use std::time::Duration;

use prony_model::{Clock, RunResult, since_1970};

use prony_summary::{DistributionError, distribution};

const NS_PER_MS: f64 = 1e6;

/// One log of all `results`; an error where a distribution is damaged.
pub fn runs(results: &[&RunResult]) -> Result<String, DistributionError> {
    let started = |result: &RunResult| since_1970(&result.timing.started_at).unwrap_or_default();
    let first = results.iter().min_by_key(|result| started(result));
    let start = first.map_or(Duration::ZERO, |result| started(result));
    let started_at = first.map_or("", |result| result.timing.started_at.as_str());
    let mut intervals = Vec::new();
    for result in results {
        let begins_s = started(result).saturating_sub(start).as_secs_f64() + result.timing.warmup_s;
        for clock in Clock::ALL {
            if let Some(histogram) = distribution(result, clock)? {
                let max_ms = histogram.max().unwrap_or_default() as f64 / NS_PER_MS;
                let length_s = result.timing.measured_s;
                let data = histogram.to_base64_v2();
                intervals.push((
                    begins_s,
                    format!("Tag={},{begins_s:.3},{length_s:.3},{max_ms:.3},{data}", clock.name()),
                ));
            }
        }
    }
    // Readers expect them in the order of their beginnings.
    intervals.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut text = format!(
        "#[Logged by prony]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {:.3} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        start.as_secs_f64(),
        crate::clean(started_at)
    );
    for (_, interval) in intervals {
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "{interval}");
    }
    Ok(text)
}
