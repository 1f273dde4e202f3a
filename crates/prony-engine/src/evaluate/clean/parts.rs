//! From the clean slices to the figures of a result.

use prony_model::{CleanParts, Interval, LatencySummary, Outcome, RateSummary, Requests, RunPlan};
use prony_stats::{Censored, Histogram, rate_interval};
use prony_summary::{add_intervals, histogram_data, summary};

use super::totals::CleanTotals;
use crate::record::collect::Totals;
use crate::record::latency::sent_in_vain;
use crate::record::slice::Slice;
use crate::record::summary::{cut_off, seconds};

/// The clean parts of a run; `None` where the machine does not say what was taken from it, and of a load in stages: what
/// is left of it would have more of one stage than of another. `all` are the requests of the whole run.
pub(crate) fn clean_parts(plan: &RunPlan, totals: &Totals, all: &Requests) -> Option<CleanParts> {
    if plan.stages.is_some() {
        return None;
    }
    let clean = &totals.clean;
    let taken = clean.taken?;
    let (responses, services) = (clean.all.good_responses(), clean.all.good_services());
    // Requests that never ended belong to no slice. All of them count here, too: their quantiles are withheld.
    let waits = cut_off(&totals.all.censored, &clean.all);
    let clean_s = seconds(clean.clean_wall()) / f64::from(plan.threads);
    Some(CleanParts {
        share: clean.share(),
        clean_s,
        slices: clean.slices,
        clean_slices: clean.clean_slices,
        cut: clean.cut.clone(),
        taken_s: Some(seconds(taken)),
        requests: requests(&clean.all, all),
        rate: rate(plan, clean, clean_s),
        response: response(clean, &responses, &waits),
        service: summary(&services, Censored::Count(sent_in_vain(all.censored, &clean.all))),
        lag: summary(&clean.all.lag, Censored::NONE),
        run_queue_wait_share: run_queue_wait_share(clean),
        response_histogram: histogram_data(&responses),
        service_histogram: histogram_data(&services),
    })
}

/// Greatest share of its clean time that a thread waited for a core.
fn run_queue_wait_share(clean: &CleanTotals) -> Option<f64> {
    let shares = clean.threads.iter().filter(|thread| thread.wall > 0);
    shares.filter_map(|thread| Some(thread.run_queue_wait_ns? as f64 / thread.wall as f64)).reduce(f64::max)
}

fn requests(ended: &Slice, all: &Requests) -> Requests {
    let mut requests = Requests {
        answered: ended.statuses.iter().sum(),
        censored: all.censored,
        never_sent: all.never_sent,
        ..Requests::default()
    };
    for outcome in Outcome::all() {
        let count = ended.outcomes[outcome.index()].response.count();
        match outcome.error_kind() {
            None => requests.done += count,
            Some(kind) if count > 0 => {
                requests.failed += count;
                *requests.failed_by_kind.entry(kind).or_default() += count;
            }
            Some(_) => {}
        }
    }
    requests.sent = requests.done + requests.failed + requests.censored;
    requests.intended = requests.sent + requests.never_sent;
    requests
}

fn rate(plan: &RunPlan, clean: &CleanTotals, clean_s: f64) -> RateSummary {
    let counters = &clean.all.counters;
    let per_s = |count: u64| if clean_s > 0.0 { count as f64 / clean_s } else { 0.0 };
    let (_, done) = clean.parts.before(clean.whole_to());
    let done_per_s = per_s(counters.done_now);
    let interval = rate_interval(done, seconds(clean.parts.part)).ok().filter(|_| counters.done_now > 0);
    RateSummary {
        asked_per_s: plan.request_rate().map(prony_model::Rate::as_per_second),
        sent_per_s: per_s(counters.sent_now),
        answered_per_s: per_s(counters.answered_now),
        done_per_s,
        interval_per_s: interval.map(|found| {
            let half = (found.interval.high - found.per_second).max(0.0);
            Interval { low: (done_per_s - half).max(0.0), high: done_per_s + half, indicative: false }
        }),
        // Rounds reach beyond the slices that are left.
        whole_rounds_per_s: None,
    }
}

fn response(clean: &CleanTotals, responses: &Histogram, waits: &Histogram) -> LatencySummary {
    let mut response = summary(responses, Censored::Waited(waits));
    let (parts, _) = clean.parts.before(clean.whole_to());
    add_intervals(&mut response, responses, parts, clean.parts.part);
    response
}
