//! The requests after the first one, together.

use prony_model::{LaterPhases, PhaseSummary, PhaseTimes, ProbedRequest};
use prony_stats::median;

/// Values that a median needs: the middle one of two is none of them.
const LEAST_FOR_MEDIAN: usize = 3;

/// The phases of the good requests after the first one, which pays for the cache of names and for connections that
/// are used again.
pub(super) fn later(requests: &[ProbedRequest]) -> Option<LaterPhases> {
    let (_, later) = requests.split_first().filter(|(_, later)| !later.is_empty())?;
    let good: Vec<&PhaseTimes> =
        later.iter().filter(|request| request.failure.is_none()).map(|request| &request.phases).collect();
    let of = |phase: fn(&PhaseTimes) -> Option<f64>| {
        summary(&good.iter().filter_map(|phases| phase(phases)).collect::<Vec<_>>())
    };
    Some(LaterPhases {
        dns: of(|phases| phases.dns_ms),
        connect: of(|phases| phases.connect_ms),
        tls: of(|phases| phases.tls_ms),
        send: of(|phases| phases.send_ms),
        server: of(|phases| phases.server_ms),
        transfer: of(|phases| phases.transfer_ms),
        total: of(|phases| phases.total_ms),
    })
}

fn summary(values_ms: &[f64]) -> PhaseSummary {
    PhaseSummary {
        count: values_ms.len() as u64,
        min_ms: values_ms.iter().copied().min_by(f64::total_cmp),
        median_ms: median(values_ms).filter(|_| values_ms.len() >= LEAST_FOR_MEDIAN),
        max_ms: values_ms.iter().copied().max_by(f64::total_cmp),
    }
}

#[cfg(test)]
mod tests {
    use prony_model::ProbeFailure;

    use super::*;

    fn request(total_ms: f64, good: bool) -> ProbedRequest {
        let failure =
            ProbeFailure { phase: None, after_ms: None, kind: None, message: "stopped by hand".to_owned() };
        ProbedRequest {
            phases: PhaseTimes { total_ms: Some(total_ms), ..PhaseTimes::default() },
            failure: (!good).then_some(failure),
            ..ProbedRequest::default()
        }
    }

    /// The number of later requests, and the least, middle and greatest total.
    fn check(requests: &[ProbedRequest], expected: Option<(u64, [Option<f64>; 3])>) {
        let total = later(requests).map(|later| later.total);
        let found = total.map(|total| (total.count, [total.min_ms, total.median_ms, total.max_ms]));
        assert_eq!(found, expected, "{requests:?}");
    }

    #[test]
    fn the_first_request_and_failed_ones_are_left_out() {
        let first = request(90.0, true);
        check(&[], None);
        check(std::slice::from_ref(&first), None);
        let bad = request(1.0, false);
        check(&[first.clone(), bad.clone()], Some((0, [None; 3])));
        let two = [request(3.0, true), request(5.0, true)];
        check(&[first.clone(), two[0].clone(), bad, two[1].clone()], Some((2, [Some(3.0), None, Some(5.0)])));
        let all = [first, two[1].clone(), two[0].clone(), request(4.0, true)];
        check(&all, Some((3, [Some(3.0), Some(4.0), Some(5.0)])));
        assert_eq!(later(&all).expect("later ones").dns, PhaseSummary::default());
    }
}
