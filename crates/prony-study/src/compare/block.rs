//! One load on one side: what a comparison takes from a run.

use std::collections::BTreeMap;

use prony_model::{ComparedBlock, FindingCode, Load, Metric, QUANTILES, RunResult, Severity};
use prony_stats::{DecodeError, Histogram, SIGNIFICANT_DIGITS, Sparse, Weighted};

/// A's block and B's.
pub type BlockPair = (Block, Block);

/// What a comparison knows of one run.
#[derive(Debug, Clone)]
pub struct Block {
    /// What is stored of it.
    pub summary: ComparedBlock,
    /// Response times of the good responses.
    pub responses: Sparse,
    /// Connections of a closed loop; 0 in an open one.
    pub connections: u32,
    /// Requests that the CPU time of the server stands for.
    pub cpu_requests: u64,
    /// It is a run of its own whose slowest responses are the client's: its pair says nothing of the tail. Of the many
    /// short blocks of a live comparison all are evaluated together instead: see [`Block::clients_tail`].
    pub has_client_tail: bool,
}

impl Block {
    /// From `result`, one block of many; an error only where its distribution is damaged.
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
        let cpu = result.server.as_ref().and_then(|server| server.cpu_per_request_us);
        let connections = match result.plan.load {
            Load::Closed { connections } => connections,
            Load::Open { .. } => 0,
        };
        // At the end of a closed loop it is the client that gives the last connections up.
        let never_sent = if connections == 0 { requests.never_sent } else { 0 };
        let invalid = result.findings.iter().filter(|finding| finding.severity == Severity::Invalid);
        let summary = ComparedBlock {
            file,
            started_at: result.timing.started_at.clone(),
            measured_s: result.timing.measured_s,
            requests: requests.intended,
            failed: requests.failed,
            failed_by_kind: requests.failed_by_kind.clone(),
            unanswered: requests.censored + never_sent,
            rate_per_s: result.rate.done_per_s,
            whole_rounds_per_s: result.rate.whole_rounds_per_s,
            mean_response_ms: result.latency.response.mean_ms,
            cpu_per_request_us: cpu.map(|figure| figure.value),
            response_ms: QUANTILES.into_iter().filter_map(quantile).collect::<BTreeMap<_, _>>(),
            client_cpu_share: shares.fold(0.0, f64::max),
            run_queue_wait_s: waits.reduce(f64::max),
            steal_share: result.machine.steal_share,
            invalid: invalid.map(|finding| finding.code).collect(),
            histogram: histogram.clone(),
        };
        let cpu_requests = cpu.map_or(0, |figure| figure.requests);
        Ok(Self { summary, responses, connections, cpu_requests, has_client_tail: false })
    }

    /// From `result`, a run of its own; an error only where its distribution is damaged.
    pub fn of_run(result: &RunResult, file: String) -> Result<Self, DecodeError> {
        Ok(Self { has_client_tail: result.has_client_tail(), ..Self::of(result, Some(file))? })
    }

    /// What is compared: milliseconds, responses per second, microseconds of CPU time per request; `None` where
    /// nothing was good, or where the CPU time is not known.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let value = match (metric, metric.quantile()) {
            (Metric::Cpu, _) => self.summary.cpu_per_request_us,
            (Metric::Capacity, _) => None,
            (_, None) => Some(self.summary.whole_rounds_per_s.unwrap_or(self.summary.rate_per_s)),
            (_, Some((_, q))) => self.responses.value_at_quantile(q).map(|nanos| nanos as f64 / 1e6),
        };
        value.filter(|value| *value > 0.0 && value.is_finite())
    }

    /// [`value`](Self::value) with its weight in the mean of all blocks; `None` for quantiles, which have no mean.
    pub fn weighted(&self, metric: Metric) -> Option<Weighted> {
        let weight = match metric {
            // The time of all requests that began in the block: a rate is rounds per time.
            Metric::Rate => match (self.summary.mean_response_ms, self.responses.count()) {
                (Some(mean_ms), count @ 1..) if self.summary.whole_rounds_per_s.is_some() => {
                    mean_ms / 1e3 * count as f64
                }
                _ => self.summary.measured_s * f64::from(self.connections.max(1)),
            },
            Metric::Cpu => self.cpu_requests as f64,
            _ => return None,
        };
        Some(Weighted { value: self.value(metric)?, weight })
    }

    /// The steps in which [`value`](Self::value) moves, as a share of it.
    pub fn resolution(&self, metric: Metric) -> f64 {
        match metric {
            // A count is off by up to a round.
            Metric::Rate if self.summary.whole_rounds_per_s.is_none() => {
                f64::from(self.connections) / self.responses.count().max(1) as f64
            }
            Metric::Rate | Metric::Cpu | Metric::Capacity => 0.0,
            _ => 0.1_f64.powi(i32::from(SIGNIFICANT_DIGITS)),
        }
    }

    /// How many rounds of its connections the block lasted; `None` where nothing was good.
    pub fn rounds(&self) -> Option<f64> {
        Some(1e3 * self.summary.measured_s / self.summary.mean_response_ms?)
    }

    /// Why a pair with this block does not count: signals of the machine that were chosen before anything was
    /// measured, so that nobody drops what he does not like.
    pub fn disturbance(&self) -> Option<&'static str> {
        self.summary.invalid.iter().find_map(|code| match code {
            FindingCode::Steal => Some("the hypervisor gave the CPUs to others"),
            FindingCode::ClockSource => Some("the kernel changed its clock"),
            _ => None,
        })
    }

    /// By what all numbers of this block are the client's rather than the server's, if they are. Waiting for a core
    /// is evaluated over all blocks: in a short one a single wait is a great share.
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
        codes.iter().copied().find(|code| self.summary.invalid.contains(code))
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
        let summary = ComparedBlock {
            file: None,
            started_at: "2026-01-02T03:04:05.000Z".to_owned(),
            measured_s: 0.2,
            requests: responses,
            failed: 0,
            failed_by_kind: BTreeMap::new(),
            unanswered: 0,
            rate_per_s: 1000.0 / middle_ms,
            whole_rounds_per_s: Some(1000.0 / middle_ms),
            mean_response_ms: Some(middle_ms),
            cpu_per_request_us: None,
            response_ms: BTreeMap::new(),
            client_cpu_share: 0.3,
            run_queue_wait_s: Some(0.0),
            steal_share: Some(0.0),
            invalid: Vec::new(),
            histogram: prony_model::HistogramData::default(),
        };
        Block {
            summary,
            responses: histogram.to_sparse(),
            connections: 1,
            cpu_requests: 0,
            has_client_tail: false,
        }
    }

    #[test]
    fn only_what_was_chosen_beforehand_drops_a_pair() {
        let with = |code| {
            let mut block = block(10, 1.0);
            block.summary.invalid = vec![code];
            (block.disturbance().is_some(), block.clients_fault().is_some(), block.clients_tail().is_some())
        };
        assert_eq!(with(FindingCode::Steal), (true, false, false));
        assert_eq!(with(FindingCode::ClockSource), (true, false, false));
        assert_eq!(with(FindingCode::ClientCpu), (false, true, false));
        assert_eq!(with(FindingCode::SendLag), (false, false, true));
        assert_eq!(with(FindingCode::LittlesLaw), (false, false, false));
    }
}
