//! Which of a run's records are its latencies; what numbers they make is prony-summary's.

use prony_model::{ErrorKind, LatencySummary, Outcome};
use prony_stats::Histogram;
use prony_summary::{Distributions, add_intervals};

use crate::record::collect::Totals;
use crate::record::slice::Slice;

/// The clocks of the good responses; `cut_off` are the waits of the requests without an answer.
pub(crate) fn distributions<'a>(
    totals: &'a Totals,
    responses: &'a Histogram,
    services: &'a Histogram,
    cut_off: &'a Histogram,
) -> Distributions<'a> {
    Distributions {
        response: responses,
        kernel_response: &totals.stamps.response,
        service: services,
        first_byte: &totals.all.first_byte,
        connect: &totals.all.connect,
        lag: &totals.all.lag,
        blocked: &totals.all.blocked,
        cut_off,
        departure: &totals.stamps.departure,
        network: &totals.stamps.network,
        arrival: &totals.stamps.arrival,
        sent_in_vain: sent_in_vain(totals.all.tally.unfinished, &totals.all),
        sampled: totals.stamps.sampled,
    }
}

/// Requests that were sent and had no answer when they were given up, each of which took longer than it was waited for:
/// `unfinished` ones, and those of `ended` that timed out.
pub(crate) fn sent_in_vain(unfinished: u64, ended: &Slice) -> u64 {
    unfinished + ended.outcomes[Outcome::Failed(ErrorKind::RequestTimeout).index()].service.count()
}

/// Adds the intervals of the response time's quantiles, from the parts of the run.
pub(crate) fn add_response_intervals(summary: &mut LatencySummary, responses: &Histogram, totals: &Totals) {
    let (parts, _) = totals.series.parts(totals.measured_to);
    add_intervals(summary, responses, parts, totals.series.part());
}
