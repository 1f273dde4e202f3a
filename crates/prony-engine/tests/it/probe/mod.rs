//! Single requests, phase by phase. What a script delays is a lower bound of the phase; there are no upper ones. A
//! client that has to wait for a core notes the first byte late, so a script delays a body only when it can be sure
//! that the client has noted it.

mod connections;
mod responses;

use prony_engine::{Control, KeptBody};
use prony_model::{
    ErrorKind, ProbeFailure, ProbePhase, ProbePlan, ProbeResult, ProbedRequest, ProbedResponse, StatusSet,
    Target, Timeouts,
};

use crate::plans::get;

/// One GET of `url`.
fn plan(url: &str) -> ProbePlan {
    ProbePlan {
        target: Target::parse(url).expect("a URL"),
        request: get(),
        count: 1,
        reuse: false,
        timeouts: Timeouts::default(),
        expected: StatusSet::default(),
        sources: Vec::new(),
    }
}

fn probe(plan: &ProbePlan) -> ProbeResult {
    probe_with(plan, &Control::default(), None)
}

fn probe_with(plan: &ProbePlan, control: &Control, body: Option<&mut KeptBody>) -> ProbeResult {
    let mut numbers = Vec::new();
    let result = prony_engine::probe(plan, control, body, &mut |number| numbers.push(number))
        .expect("the request can be sent");
    assert_eq!(result.plan, *plan);
    assert_eq!(numbers.len(), result.requests.len());
    result.requests.iter().for_each(check);
    result
}

/// What must hold for every request, whatever the server did.
fn check(request: &ProbedRequest) {
    let phases = request.phases;
    let all = ProbePhase::ALL.map(|phase| phases.of(phase));
    assert!(all.into_iter().flatten().all(|time_ms| time_ms >= 0.0), "{phases:?}");
    assert_eq!(phases.tls_ms, None);
    assert!(request.sent_bytes <= request.request_bytes, "{request:?}");
    let complete = request.failure.as_ref().is_none_or(|failure| failure.kind == Some(ErrorKind::Status));
    assert_eq!(phases.total_ms.is_some(), complete, "{request:?}");
    if let Some(total_ms) = phases.total_ms {
        let sum_ms: f64 = all.into_iter().flatten().sum();
        assert!((sum_ms - total_ms).abs() < 1e-6, "nothing between the phases: {phases:?}");
    }
    let failed = request.failure.as_ref().and_then(|failure| failure.phase);
    if let Some(failed) = failed {
        assert_eq!(phases.of(failed), None, "a phase that did not end has no time: {request:?}");
    }
}

/// The only request of `plan`.
fn one(plan: &ProbePlan) -> ProbedRequest {
    let mut requests = probe(plan).requests;
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// The same for one that must get a complete response of a good status.
fn good(plan: &ProbePlan) -> (ProbedRequest, ProbedResponse) {
    let mut request = one(plan);
    assert_eq!(request.failure, None, "{request:?}");
    let response = request.response.take().expect("a response");
    (request, response)
}

fn failure(request: &ProbedRequest) -> &ProbeFailure {
    request.failure.as_ref().unwrap_or_else(|| panic!("it must fail: {request:?}"))
}
