//! The run evaluates itself: every signal that makes a number doubtful becomes a finding.
//!
//! Thresholds are those of docs/findings.md, one section for each code.

mod answers;
mod client;
mod delay;
mod load;
mod machine;
mod network;
mod replay;
mod retries;
mod spikes;
mod timeline;
mod tls;

use prony_model::{Finding, RunPlan, RunResult, Severity};
use prony_stats::Histogram;

pub(crate) use timeline::latency_drift;

use crate::evaluate::clean::CleanTotals;
use crate::record::collect::{ThreadTotals, Totals};
use crate::record::slice::Slice;

/// What the rules look at.
pub(crate) struct Facts<'a> {
    /// The result, complete but for its findings.
    pub result: &'a RunResult,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// Whether the target is on this machine.
    pub here: bool,
    /// What was recorded.
    pub totals: &'a Totals,
    /// Response times of the good responses.
    pub responses: &'a Histogram,
    /// Service times of the good responses.
    pub services: &'a Histogram,
}

impl Facts<'_> {
    fn plan(&self) -> &RunPlan {
        &self.result.plan
    }

    /// The clean parts, where the figures come from them.
    fn clean(&self) -> Option<&CleanTotals> {
        self.result.clean.as_ref().filter(|clean| clean.is_used()).map(|_| &self.totals.clean)
    }

    /// What the workers used in the time that the figures come from.
    fn threads(&self) -> &[ThreadTotals] {
        self.clean().map_or(&self.totals.threads, |clean| &clean.threads)
    }

    /// The records that the figures come from.
    fn records(&self) -> &Slice {
        self.clean().map_or(&self.totals.all, |clean| &clean.all)
    }

    /// A quantile of the response time, milliseconds, also where the samples are too few to print it. Where
    /// requests without an answer reach it, their bound stands for it.
    fn response_ms(&self, name: &str, q: f64) -> Option<f64> {
        let printed = self.result.figures().response;
        let bound = printed.withheld.get(name).and_then(|note| note.above_ms);
        let value = || match self.clean() {
            Some(clean) => clean.all.good_responses().value_at_quantile(q),
            None => self.responses.value_at_quantile(q),
        };
        bound.or_else(|| value().map(|nanos| nanos as f64 / 1e6))
    }

    /// `count` as a share of the intended requests.
    fn share(&self, count: u64) -> f64 {
        count as f64 / self.result.requests.intended.max(1) as f64
    }
}

/// A rule that makes one finding at most.
type Rule = fn(&Facts<'_>) -> Option<Finding>;
/// A rule that makes several.
type Rules = fn(&Facts<'_>) -> Vec<Finding>;

/// Rules that hold of a part of a run as well as of all of it.
const AT_ANY_TIME: [Rule; 13] = [
    answers::no_success,
    answers::error_share,
    answers::mixed_lengths,
    client::client_cpu,
    client::run_queue_wait,
    client::send_lag,
    client::loop_gap,
    delay::tail_blame,
    delay::receive_delay,
    load::blocked,
    load::connections_not_reached,
    load::descriptors,
    load::not_reused,
];

const SEVERAL_AT_ANY_TIME: [Rules; 5] =
    [timeline::findings, network::findings, spikes::findings, machine::findings, tls::findings];

/// Rules that need the whole run: they compare with its length, count what was unanswered or unsent at the end, need
/// what workers hand over last or ask the kernel for long lists, or advise on the next run.
const AT_THE_END: [Rule; 14] = [
    answers::censored,
    answers::latency_near_run_length,
    answers::littles_law,
    answers::few_samples,
    answers::interrupted,
    answers::no_events,
    load::rate_not_reached,
    load::ports,
    load::closed_loop,
    load::connection_per_request,
    load::stream_limit,
    retries::retry_storm,
    replay::made_up_order,
    |facts| prony_summary::memory_growth(facts.result.server.as_ref()?),
];

/// All findings, the worst first.
pub(crate) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = unsorted_so_far(facts);
    findings.extend(AT_THE_END.iter().filter_map(|rule| rule(facts)));
    sorted(findings)
}

/// Those that hold of the run so far, the worst first.
pub(crate) fn findings_so_far(facts: &Facts<'_>) -> Vec<Finding> {
    sorted(unsorted_so_far(facts))
}

fn unsorted_so_far(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = AT_ANY_TIME.iter().filter_map(|rule| rule(facts)).collect();
    findings.extend(SEVERAL_AT_ANY_TIME.iter().flat_map(|rules| rules(facts)));
    findings
}

fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// The severity of `value` between two thresholds; `None` below the first.
fn graded(value: f64, warn: f64, invalid: f64) -> Option<Severity> {
    match value {
        value if value > invalid => Some(Severity::Invalid),
        value if value > warn => Some(Severity::Warning),
        _ => None,
    }
}
