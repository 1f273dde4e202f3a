//! What a reader of ab's report should know besides: findings that only this format makes.

use prony_model::{Evidence, Finding, FindingCode, RunResult, Severity};

use super::times::round_ms;
use super::{Options, Requests};
use crate::number::seconds;

/// A rounding by more than this share of the number is reported: a difference that small would be hidden.
const COARSE: f64 = 0.05;

/// The first number of the tables of times that whole milliseconds round by more than 5 %, if one of those that
/// are printed does: the median, then the higher percentages.
pub fn resolution(requests: &Requests, options: &Options) -> Option<Finding> {
    let times = requests.times()?;
    let percentages: &[u64] = if options.percentiles { &[50, 90, 99, 100] } else { &[50] };
    let coarse = percentages.iter().find_map(|percent| {
        let true_us = times.served_us(*percent);
        let printed_ms = round_ms(true_us.into());
        let true_ms = f64::from(true_us) / 1000.0;
        let off = (printed_ms as f64 - true_ms).abs();
        (off > COARSE * true_ms).then_some((*percent, printed_ms, true_ms))
    });
    let (percent, printed_ms, true_ms) = coarse?;
    let which = match percent {
        50 => "median".to_owned(),
        100 => "longest".to_owned(),
        percent => format!("{percent} %"),
    };
    Some(Finding {
        code: FindingCode::Resolution,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("percentage", percent as f64, "percent"),
            Evidence::new("printed", printed_ms as f64, "ms"),
            Evidence::new("measured", true_ms, "ms"),
        ],
        message: format!(
            "ab's tables round to whole milliseconds: {printed_ms} ms stands for a {which} total time of {}",
            seconds(true_ms / 1000.0)
        ),
        advice: "for the digits: -e FILE, or prony's own report".to_owned(),
    })
}

/// What ab's second “Time per request” is, in a sentence; `None` with one connection, where both are the same.
pub fn across_all(result: &RunResult) -> Option<String> {
    let connections = result.plan.load.connections();
    (connections > 1).then(|| {
        format!(
            "“Time per request (mean, across all concurrent requests)” is 1 / throughput: no request took that \
             long. What {connections} connections waited for each answer is the line above it"
        )
    })
}

#[cfg(test)]
mod tests {
    use prony_model::{Outcome, SampleRecord, StatusClass};

    use super::*;

    fn check(totals_us: &[u64], percentiles: bool, expected: Option<&str>) {
        let mut requests = Requests::default();
        for total_us in totals_us {
            requests.add(&SampleRecord {
                thread: 0,
                port: 1,
                intended_ns: 1000,
                ready_ns: 1000,
                sent_ns: 1000,
                tx_ns: 0,
                rx_ns: 0,
                first_byte_ns: 1000,
                done_ns: 1000 + total_us * 1000,
                connect_ns: 0,
                outcome: Outcome::Done(StatusClass::Success),
                status: 200,
                body_bytes: 0,
            });
        }
        let options = Options {
            host: "h".to_owned(),
            port: 80,
            path: "/".to_owned(),
            proxy: None,
            keep_alive: false,
            sends_body: false,
            percentiles,
            confidence: true,
            variable_length: false,
            progress: false,
            html: None,
        };
        let message = resolution(&requests.sorted(), &options).map(|finding| finding.message);
        let rest = message.as_deref().and_then(|message| message.split(": ").nth(1));
        assert_eq!(rest, expected, "{totals_us:?}");
    }

    #[test]
    fn coarse_milliseconds_are_reported() {
        check(&[], true, None);
        check(&[213], true, Some("0 ms stands for a median total time of 213 µs"));
        check(&[1_400, 1_400, 20_000], true, Some("1 ms stands for a median total time of 1.4 ms"));
        check(&[20_400], true, None);
        check(&[8_000, 8_001, 8_002, 8_500], true, Some("9 ms stands for a 90 % total time of 8.5 ms"));
        check(&[8_000, 8_001, 8_002, 8_500], false, None);
    }
}
