//! What a client reported, held against what the server did.

use std::collections::HashMap;

use prony_model::{ErrorKind, LatencySummary, Outcome, RunResult, SampleRecord};
use prony_targets::truth::log::{Outcome as Served, Record};

/// The server's arrivals are the kernel's, converted from another clock: what that may be off by, ns.
const CLOCKS_NS: u64 = 50_000;
/// The width of a bucket of a distribution relative to its values: 2^-10, as stored results have it.
const BUCKET: f64 = 1.0 / 1024.0;

/// A load on a truth server.
pub(super) struct Observed {
    /// What was reported.
    pub(super) result: RunResult,
    /// What the client saw of each request.
    pub(super) samples: Vec<SampleRecord>,
    /// What the server did with each request.
    pub(super) records: Vec<Record>,
    /// Samples and records that are missing.
    pub(super) lost: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Requests that were compared.
    pub(super) requests: u64,
    /// The first thing that is wrong.
    pub(super) mistake: Option<String>,
    /// What machine and client add to a service time: that of the client less that of the server, ns, ascending.
    pub(super) added_ns: Vec<u64>,
}

impl Checked {
    /// The quantile `q` of what was added, ms.
    pub(super) fn added_ms(&self, q: f64) -> Option<f64> {
        let last = self.added_ns.len().checked_sub(1)?;
        Some(self.added_ns[(rank(q, self.added_ns.len() as u64) - 1).min(last)] as f64 / 1e6)
    }
}

/// Holds every request and every reported number of `observed` against the truth.
pub(super) fn check(observed: &Observed) -> Checked {
    let mut checked = Checked::default();
    checked.mistake =
        counts(observed).or_else(|| each(observed, &mut checked)).or_else(|| quantiles(observed));
    checked.added_ns.sort_unstable();
    checked
}

/// Whether all requests are there, by how they ended.
fn counts(Observed { result, samples, records, lost }: &Observed) -> Option<String> {
    let requests = &result.requests;
    let served = |outcome| records.iter().filter(|record| record.outcome == outcome).count() as u64;
    let of =
        |kinds: &[ErrorKind]| kinds.iter().filter_map(|kind| requests.failed_by_kind.get(kind)).sum::<u64>();
    let pairs = [
        ("samples or records lost", *lost, 0),
        (
            "requests due",
            requests.intended,
            requests.done + requests.failed + requests.censored + requests.never_sent,
        ),
        ("requests sent", requests.sent, records.len() as u64),
        ("requests written down by the client", samples.len() as u64, requests.done + requests.failed),
        ("good responses", requests.done, served(Served::Success)),
        ("errors", of(&[ErrorKind::Status]), served(Served::Error)),
        ("resets", of(&[ErrorKind::Reset, ErrorKind::StreamReset]), served(Served::Reset)),
    ];
    let wrong = pairs.into_iter().find(|(_, reported, truth)| reported != truth);
    wrong.map(|(what, reported, truth)| format!("{what}: {reported} reported, {truth} in truth"))
}

/// Each request: how it ended, and that it took no less time than the server spent on it.
fn each(observed: &Observed, checked: &mut Checked) -> Option<String> {
    let mut served: HashMap<u16, Vec<&Record>> = HashMap::new();
    let mut records: Vec<&Record> = observed.records.iter().collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.last_ns));
    for record in records {
        served.entry(record.peer_port).or_default().push(record);
    }
    let mut samples: Vec<&SampleRecord> = observed.samples.iter().collect();
    // Responses of several streams that are read at once end at one time, and stay in their order.
    samples.sort_by_key(|sample| sample.done_ns);
    for sample in samples {
        // The n-th that ended on a connection is the n-th that was answered on it.
        let Some(record) = served.get_mut(&sample.port).and_then(Vec::pop) else {
            return Some("the client reports a request that the server did not see".to_owned());
        };
        checked.requests += 1;
        let is_same = match record.outcome {
            Served::Success => matches!(sample.outcome, Outcome::Done(_)),
            Served::Error => sample.status == 500,
            Served::Reset => matches!(sample.outcome, Outcome::Failed(_)),
            Served::Unfinished => false,
        };
        if !is_same {
            return Some(format!(
                "a request ended as {:?}, and is reported as {:?}",
                record.outcome, sample.outcome
            ));
        }
        if record.clock_moved || record.outcome != Served::Success {
            continue;
        }
        let (service_ns, truth_ns) = (sample.done_ns - sample.sent_ns, record.residence_ns());
        if service_ns + CLOCKS_NS < truth_ns {
            return Some(format!(
                "a service time of {service_ns} ns is reported, and the server took {truth_ns} ns"
            ));
        }
        // From when it was due: nothing that the server did after that may be missing.
        let (response_ns, truth_ns) =
            (sample.done_ns - sample.intended_ns, record.first_ns.saturating_sub(sample.intended_ns));
        if response_ns < truth_ns {
            return Some(format!(
                "a response time of {response_ns} ns is reported, and {truth_ns} ns had passed"
            ));
        }
        checked.added_ns.push(service_ns.saturating_sub(record.residence_ns()));
    }
    None
}

/// Whether each reported quantile is that of the requests.
fn quantiles(Observed { result, samples, .. }: &Observed) -> Option<String> {
    let good: Vec<&SampleRecord> =
        samples.iter().filter(|sample| sample.outcome.error_kind().is_none()).collect();
    let requests = &result.requests;
    // Requests without a response count as slower than all others; those never sent have no service time.
    let timed_out = requests.failed_by_kind.get(&ErrorKind::RequestTimeout).copied().unwrap_or(0);
    let unanswered = requests.censored + timed_out;
    let of = |time: fn(&SampleRecord) -> u64| {
        let mut times: Vec<u64> = good.iter().map(|sample| time(sample)).collect();
        times.sort_unstable();
        times
    };
    let response = of(|sample| sample.done_ns - sample.intended_ns);
    let service = of(|sample| sample.done_ns - sample.sent_ns);
    clock("response", &result.latency.response, &response, unanswered + requests.never_sent)
        .or_else(|| clock("service", &result.latency.service, &service, unanswered))
}

fn clock(name: &str, reported: &LatencySummary, times: &[u64], cut_off: u64) -> Option<String> {
    if reported.count != times.len() as u64 {
        return Some(format!("{name}: {} times are reported of {}", reported.count, times.len()));
    }
    for (quantile, value) in &reported.quantiles_ms {
        let (Some(value), Ok(q)) = (value, quantile.parse::<f64>()) else { continue };
        let Some(truth) = times.get(rank(q, times.len() as u64 + cut_off) - 1) else {
            return Some(format!("{name} p{}: {value} ms is reported, and no request says so", q * 100.0));
        };
        let truth = *truth as f64 / 1e6;
        if !(truth..=truth * (1.0 + BUCKET) + 1e-6).contains(value) {
            return Some(format!(
                "{name} p{}: {value} ms is reported, and the requests say {truth} ms",
                q * 100.0
            ));
        }
    }
    None
}

/// ⌈q·n⌉, at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is small and positive")]
fn rank(q: f64, count: u64) -> usize {
    // The product of two doubles may lie a hair above the whole number that it stands for.
    ((q * count as f64 - 1e-9).ceil() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_engine::Control;

    use super::super::observe;
    use super::super::trials::trials;
    use super::*;

    /// A real load of the first kind of trial with a length of its own.
    fn observed(which: usize) -> Observed {
        let trial = trials(Duration::from_millis(300), 7).remove(which);
        observe(&trial, &Control::default()).expect("it is measured")
    }

    fn mistake(which: usize, spoil: impl FnOnce(&mut Observed)) -> String {
        let mut observed = observed(which);
        assert_eq!(check(&observed).mistake, None);
        spoil(&mut observed);
        check(&observed).mistake.expect("it is found")
    }

    #[test]
    fn what_is_reported_is_the_truth() {
        for which in 0..trials(Duration::from_millis(300), 7).len() {
            let checked = check(&observed(which));
            assert_eq!(checked.mistake, None, "{which}");
            assert!(checked.requests > 20 && !checked.added_ns.is_empty(), "{which}: {checked:?}");
            assert!(checked.added_ms(0.5) <= checked.added_ms(0.99), "{which}");
        }
    }

    #[test]
    fn wrong_counts_are_found() {
        assert!(mistake(0, |observed| observed.result.requests.done += 1).contains("requests due"));
        let lost = |observed: &mut Observed| {
            observed.records.pop();
        };
        assert!(mistake(1, lost).contains("requests sent"));
        assert!(mistake(1, |observed| observed.lost = 3).contains("3 reported, 0 in truth"));
        let hidden = |observed: &mut Observed| {
            let kinds = &mut observed.result.requests.failed_by_kind;
            let errors = kinds.remove(&ErrorKind::Status).expect("there are errors");
            *kinds.entry(ErrorKind::Reset).or_default() += errors;
        };
        assert!(mistake(0, hidden).contains("errors: 0 reported"));
    }

    #[test]
    fn times_that_are_too_short_are_found() {
        let sent_late = |observed: &mut Observed| {
            for sample in &mut observed.samples {
                sample.sent_ns = sample.done_ns;
            }
        };
        assert!(mistake(1, sent_late).contains("a service time of 0 ns"));
        // As if a stall hid the requests that were due in it.
        let due_late = |observed: &mut Observed| {
            for sample in &mut observed.samples {
                sample.intended_ns = sample.done_ns;
            }
        };
        assert!(mistake(3, due_late).contains("response p"), "the quantiles are of other times");
    }

    #[test]
    fn quantiles_of_other_times_are_found() {
        let greater = |observed: &mut Observed| {
            let quantiles = &mut observed.result.latency.service.quantiles_ms;
            let median = quantiles.get_mut("0.5").and_then(Option::as_mut).expect("there is a median");
            *median *= 1.01;
        };
        assert!(mistake(1, greater).contains("service p50"));
    }
}
