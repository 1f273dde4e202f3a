//! One load on one side: what a comparison takes from a run.

use std::collections::BTreeMap;

use prony_model::{ComparedBlock, FindingCode, Metric, QUANTILES, RunResult, Severity};
use prony_stats::{DecodeError, Histogram, Sparse};

/// A's block and B's.
pub type BlockPair = (Block, Block);

/// What a comparison knows of one run.
#[derive(Debug, Clone)]
pub struct Block {
    /// What is stored of it.
    pub told: ComparedBlock,
    /// Response times of the good responses.
    pub responses: Sparse,
}

impl Block {
    /// What `result` says; an error only where its distribution is damaged.
    pub fn of(result: &RunResult, file: Option<String>) -> Result<Self, DecodeError> {
        let histogram = &result.histograms.response;
        let responses = if histogram.data.is_empty() {
            Histogram::new()
        } else {
            Histogram::from_base64_v2(&histogram.data)?
        }
        .to_sparse();
        let requests = &result.requests;
        let measured_s = result.timing.measured_s.max(f64::MIN_POSITIVE);
        let shares = result.client.threads.iter().map(|thread| thread.cpu_s / measured_s);
        let waits = result.client.threads.iter().filter_map(|thread| thread.run_queue_wait_s);
        let quantile = |(key, q): (&str, f64)| {
            responses.value_at_quantile(q).map(|nanos| (key.to_owned(), nanos as f64 / 1e6))
        };
        let invalid = result.findings.iter().filter(|finding| finding.severity == Severity::Invalid);
        let told = ComparedBlock {
            file,
            started_at: result.timing.started_at.clone(),
            measured_s: result.timing.measured_s,
            requests: requests.intended,
            failed: requests.failed + requests.censored + requests.never_sent,
            rate_per_s: result.rate.done_per_s,
            response_ms: QUANTILES.into_iter().filter_map(quantile).collect::<BTreeMap<_, _>>(),
            client_cpu_share: shares.fold(0.0, f64::max),
            run_queue_wait_s: waits.reduce(f64::max),
            steal_share: result.machine.steal_share,
            invalid: invalid.map(|finding| finding.code).collect(),
            histogram: histogram.clone(),
        };
        Ok(Self { told, responses })
    }

    /// What is compared: milliseconds, or responses per second; `None` where nothing was good.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric.quantile() {
            None => Some(self.told.rate_per_s).filter(|rate| *rate > 0.0),
            Some((_, q)) => self.responses.value_at_quantile(q).map(|nanos| nanos as f64 / 1e6),
        }
    }

    /// Why a pair with this block does not count: signals of the machine that were chosen before anything was
    /// measured, so that nobody drops what he does not like.
    pub fn disturbance(&self) -> Option<&'static str> {
        self.told.invalid.iter().find_map(|code| match code {
            FindingCode::Steal => Some("the hypervisor gave the CPUs to others"),
            FindingCode::ClockSource => Some("the kernel changed its clock"),
            _ => None,
        })
    }

    /// By what all numbers of this block are the client's rather than the server's, if they are. Waiting for a core
    /// is judged over all blocks: in a short one a single wait is a great share.
    pub fn clients_fault(&self) -> Option<FindingCode> {
        self.first_of(&[
            FindingCode::RateNotReached,
            FindingCode::ClientCpu,
            FindingCode::Ports,
            FindingCode::Descriptors,
            FindingCode::NearClientLimit,
        ])
    }

    /// By what the slowest responses of this block are the client's, if they are.
    pub fn clients_tail(&self) -> Option<FindingCode> {
        self.first_of(&[FindingCode::SendLag, FindingCode::TailBlame, FindingCode::ReceiveDelay])
    }

    fn first_of(&self, codes: &[FindingCode]) -> Option<FindingCode> {
        codes.iter().copied().find(|code| self.told.invalid.contains(code))
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    /// `responses` responses of 200 ms, spread by a tenth around `middle_ms`.
    pub(crate) fn block(responses: u64, middle_ms: f64) -> Block {
        let nanos = |k: u64| middle_ms * 1e6 * (0.95 + 0.1 * k as f64 / responses as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
        let histogram: Histogram = (0..responses).map(|k| nanos(k) as u64).collect();
        let told = ComparedBlock {
            file: None,
            started_at: "2026-01-02T03:04:05.000Z".to_owned(),
            measured_s: 0.2,
            requests: responses,
            failed: 0,
            rate_per_s: 1000.0 / middle_ms,
            response_ms: BTreeMap::new(),
            client_cpu_share: 0.3,
            run_queue_wait_s: Some(0.0),
            steal_share: Some(0.0),
            invalid: Vec::new(),
            histogram: prony_model::HistogramData::default(),
        };
        Block { told, responses: histogram.to_sparse() }
    }

    #[test]
    fn only_what_was_chosen_beforehand_drops_a_pair() {
        let with = |code| {
            let mut block = block(10, 1.0);
            block.told.invalid = vec![code];
            (block.disturbance().is_some(), block.clients_fault().is_some(), block.clients_tail().is_some())
        };
        assert_eq!(with(FindingCode::Steal), (true, false, false));
        assert_eq!(with(FindingCode::ClockSource), (true, false, false));
        assert_eq!(with(FindingCode::ClientCpu), (false, true, false));
        assert_eq!(with(FindingCode::SendLag), (false, false, true));
        assert_eq!(with(FindingCode::LittlesLaw), (false, false, false));
    }
}
