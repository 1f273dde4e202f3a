//! Signals that segments or connections were lost, or lay in the client's own buffer.

use prony_model::words::{grouped, percent, plural};
use prony_model::{Finding, FindingCode, MachineUse, RunPlan, Severity};

use super::Facts;
use crate::kernel::tcp_sampling::TcpSamples;

/// Share of the segments that may be sent again: more is loss that quantiles show.
const RETRANSMITTED_SHARE: f64 = 0.001;
/// Samples of connections below which nothing is called lasting: half a second of one worker.
const LEAST_SAMPLES: u64 = 4;
/// Share of the samples that may find a request held back.
const HELD_BACK_SHARE: f64 = 0.25;

/// What is known of the network.
#[derive(Debug, Clone, Copy)]
struct Network<'a> {
    used: &'a MachineUse,
    /// Samples in the measured part.
    samples: &'a TcpSamples,
    /// Those at the end of the run.
    last_samples: &'a TcpSamples,
    plan: &'a RunPlan,
    /// Whether the target is on this machine.
    here: bool,
}

/// All findings of this kind.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let network = Network {
        used: &facts.result.machine,
        samples: &facts.totals.all.counters.tcp_samples,
        last_samples: &facts.totals.whole_run.tcp_samples,
        plan: facts.plan(),
        here: facts.here,
    };
    // A Unix socket loses nothing, and what others lose is none of its business.
    if facts.plan().target.unix.is_some() { Vec::new() } else { network.findings() }
}

impl Network<'_> {
    fn findings(&self) -> Vec<Finding> {
        [self.send_buffer(), self.retransmissions(), self.listen_queue()].into_iter().flatten().collect()
    }

    /// Requests lay in the client's send buffer.
    fn send_buffer(&self) -> Option<Finding> {
        let samples = self.samples;
        let caught = samples.unsent.max(samples.held_back);
        let share = caught as f64 / samples.taken.max(1) as f64;
        if samples.taken < LEAST_SAMPLES || share <= HELD_BACK_SHARE {
            return None;
        }
        let advice = if self.plan.request.pipeline > 1 {
            "use a smaller --pipeline, or fewer --connections; a larger receive buffer is for the server to set"
        } else {
            "send a smaller body, or use fewer --connections; a larger receive buffer is for the server to set"
        };
        Some(Finding::new(
            FindingCode::SendBuffer,
            Severity::Warning,
            &[
                ("looks", samples.taken as f64, "count"),
                ("unsent", samples.unsent as f64, "count"),
                ("unsent_max", samples.unsent_bytes_max as f64, "bytes"),
                ("held_back", samples.held_back as f64, "count"),
            ],
            format!(
                "{} of {} at connections found requests held back in the client's send buffer (up to {} \
                 unsent): the server or the network takes them more slowly than they come, which is in the latency",
                grouped(caught),
                plural(samples.taken, "look"),
                plural(samples.unsent_bytes_max, "byte")
            ),
            advice,
        ))
    }

    /// TCP segments were sent again.
    fn retransmissions(&self) -> Option<Finding> {
        let machine = self.used.retransmitted.unwrap_or_default();
        // Connecting again is another finding.
        let machine = machine.saturating_sub(self.used.syn_retransmitted.unwrap_or_default());
        let sent = self.used.segments_sent.unwrap_or_default();
        let share = machine as f64 / sent.max(1) as f64;
        let TcpSamples { resent, retransmitted: own, .. } = *self.last_samples;
        let lossy = share > RETRANSMITTED_SHARE;
        // Loopback loses nothing unless it is overrun; elsewhere, a few losses are everyday.
        let severity = match self.here {
            true if own > 0 || lossy => Severity::Warning,
            true if machine > 0 => Severity::Note,
            false if lossy => Severity::Warning,
            _ => return None,
        };
        let whose = match own {
            0 => "none by this run's own connections that were open at the end, but a server here or another program \
                  counts as well"
                .to_owned(),
            own => format!("{} by {} of this run's own connections", grouped(own), grouped(resent)),
        };
        Some(Finding::new(
            FindingCode::Retransmissions,
            severity,
            &[
                ("retransmitted", machine as f64, "count"),
                ("segments_sent", sent as f64, "count"),
                ("share", share, "share"),
                ("own", own as f64, "count"),
            ],
            format!(
                "this machine sent {} again ({} of {}), {whose}: each costs its request 200 ms or more",
                plural(machine, "TCP segment"),
                percent(share),
                grouped(sent)
            ),
            if self.here {
                "offer less load (--rate, fewer --connections), and see softnet-drops and listen-queue; read p99.9 \
                 and the maximum with this in mind"
            } else {
                "look at the network between client and server before you read p99 and above"
            },
        ))
    }

    /// A listen queue of this machine was full.
    fn listen_queue(&self) -> Option<Finding> {
        let overflows = self.used.listen_overflows.unwrap_or_default();
        let drops = self.used.listen_drops.unwrap_or_default();
        let worst = overflows.max(drops);
        // The counts are of this machine: of a server elsewhere they say nothing.
        if !self.here || worst == 0 {
            return None;
        }
        Some(Finding::new(
            FindingCode::ListenQueue,
            Severity::Warning,
            &[("overflows", overflows as f64, "count"), ("drops", drops as f64, "count")],
            format!(
                "listeners of this machine turned away {}, {} of them because a listen queue was \
                 full: most likely the server's, unless another program here listens under load",
                plural(worst, "connection request"),
                grouped(overflows)
            ),
            format!(
                "let the server listen with a longer backlog (and raise net.core.somaxconn), or use fewer than {} \
                 --connections",
                grouped(u64::from(self.plan.own_load().connections()))
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_model::{End, Load, Target};

    use super::*;

    fn plan() -> RunPlan {
        let target = Target::parse("http://127.0.0.1/").expect("a URL");
        let load = Load::Closed { connections: 500 };
        RunPlan::new(target, load, End::Duration(Duration::from_secs(1)), 1)
    }

    /// What is found where the machine did `used` and the connections showed `samples`, with these words in it.
    fn check(
        used: &MachineUse,
        samples: &TcpSamples,
        here: bool,
        expected: Option<(FindingCode, Severity, &str)>,
    ) {
        let found = Network { used, samples, last_samples: samples, plan: &plan(), here }.findings();
        let got: Vec<_> = found.iter().map(|finding| (finding.code, finding.severity)).collect();
        assert_eq!(got, expected.iter().map(|(code, severity, _)| (*code, *severity)).collect::<Vec<_>>());
        if let Some((_, _, words)) = expected {
            let text = format!("{} {}", found[0].message, found[0].advice);
            assert!(text.contains(words), "`{text}` does not say `{words}`");
        }
    }

    #[test]
    fn requests_held_back() {
        let samples =
            |taken, unsent, held_back| TcpSamples { taken, unsent, held_back, ..TcpSamples::default() };
        let held = Some((FindingCode::SendBuffer, Severity::Warning, "looks at connections"));
        let used = MachineUse::default();
        check(&used, &samples(3, 3, 3), true, None);
        check(&used, &samples(8, 2, 2), true, None);
        check(&used, &samples(8, 3, 0), true, held);
        check(&used, &samples(8, 0, 3), false, held);
    }

    #[test]
    fn segments_sent_again() {
        let used = |again, syn, sent| MachineUse {
            retransmitted: Some(again),
            syn_retransmitted: Some(syn),
            segments_sent: Some(sent),
            ..MachineUse::default()
        };
        let none = TcpSamples::default();
        let found = |severity, words| Some((FindingCode::Retransmissions, severity, words));
        check(&used(0, 0, 1000), &none, true, None);
        check(&used(2, 2, 1000), &none, true, None);
        check(&used(1, 0, 100_000), &none, true, found(Severity::Note, "another program"));
        check(&used(1, 0, 100_000), &none, false, None);
        check(&used(101, 0, 100_000), &none, true, found(Severity::Warning, "101 TCP segments again"));
        check(&used(101, 0, 100_000), &none, false, found(Severity::Warning, "the network between"));
        let own = TcpSamples { resent: 2, retransmitted: 3, ..none };
        check(&used(3, 0, 100_000), &own, true, found(Severity::Warning, "3 by 2 of this run's own"));
        check(&used(3, 0, 100_000), &own, false, None);
        check(&MachineUse::default(), &none, true, None);
    }

    #[test]
    fn full_listen_queues() {
        let used = |overflows, drops| MachineUse {
            listen_overflows: Some(overflows),
            listen_drops: Some(drops),
            ..MachineUse::default()
        };
        let none = TcpSamples::default();
        let found = |words| Some((FindingCode::ListenQueue, Severity::Warning, words));
        check(&used(0, 0), &none, true, None);
        check(&used(4, 9), &none, true, found("turned away 9 connection requests, 4 of them"));
        check(&used(0, 1), &none, true, found("fewer than 500 --connections"));
        check(&used(4, 9), &none, false, None);
    }
}
