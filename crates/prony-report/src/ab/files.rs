//! The files of `-e` and `-g`.

use std::fmt::Write as _;

use prony_model::RunResult;

use super::Requests;
use super::times::round_ms;
use crate::calendar::Moment;

/// The times of the percentages 0 to 100 as CSV, in milliseconds with three decimals; only the heading without
/// any request.
pub fn csv(requests: &Requests) -> String {
    let mut text = "Percentage served,Time in ms\n".to_owned();
    if let Some(times) = requests.times() {
        for percent in 0..=100 {
            // Writing to a `String` can't fail.
            let _ = writeln!(text, "{percent},{:.3}", f64::from(times.exported_us(percent)) / 1000.0);
        }
    }
    text
}

/// Every request on a line with tabs, the quickest first: start in words (UTC) and in seconds since 1970, then
/// connecting, processing, total and waiting time in whole milliseconds.
pub fn gnuplot(result: &RunResult, requests: &Requests) -> String {
    let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
    let Some(times) = requests.times() else { return text };
    let first_ns = times.requests().iter().map(|request| request.began_ns).min().unwrap_or_default();
    let load_began = Moment::parse(&result.timing.started_at).unwrap_or_default();
    for request in times.requests() {
        let began = load_began.later((request.began_ns - first_ns) / 1_000_000_000);
        let [connect, processing, total, wait] =
            [request.connect_us, request.processing_us(), request.total_us, request.wait_us]
                .map(|time_us| round_ms(time_us.into()));
        let seconds = began.unix_s();
        let _ = writeln!(text, "{began}\t{seconds}\t{connect}\t{processing}\t{total}\t{wait}");
    }
    text
}
