//! The `traceparent` of each request (W3C Trace Context, level 1): an id of its own for its trace, one for each attempt, and
//! whether the server is asked to record it. Runs without traces have none of this: `Worker::tracer` is `None`.
//!
//! Ids are random by keys from the system, so that no two runs, agents or threads share one. Which requests are sampled
//! follows from the seed of the run. An id is computed from the number of its request, so that nothing but the number need
//! be kept of a request in flight.

use std::sync::Arc;

use prony_http::RequestKind;
use prony_http::h2::OneRequest;
use prony_http::h2::plain_fields::{write_literal_value, write_name};
use prony_model::{RunPlan, TRACEPARENT};

use crate::RunError;
use crate::run::Encoded;

/// What is overwritten for each request: version, id of the trace, id of the span, flags (section 3.2).
pub(crate) const PLACEHOLDER: &str = "00-00000000000000000000000000000000-0000000000000000-00";
/// Its bytes.
pub(crate) const LENGTH: usize = PLACEHOLDER.len();

/// Where the ids of trace and span begin in it, and its last digit, which is 1 for a sampled trace.
const ID_AT: usize = 3;
const SPAN_AT: usize = 36;
const FLAG_AT: usize = 54;

/// An odd number whose multiples fill 64 bits evenly (2^64 over the golden ratio), as in SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is known of a request in flight beside its moments: which request of its worker it is, where there are traces; which
/// step of its scenario; how often it was sent before; and whether it is the first one on its connection.
///
/// All in 64 bits, for every request in flight has it: 47 count a worker's requests, 1.4e14 of them, from 1; one says that
/// the connection is new; 8 are the number of the step, of which a scenario has 256 at most; and 8 are the retries, of which a
/// request has 100 at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Trace(u64);

const NEW_AT: u32 = 47;
const STEP_AT: u32 = 48;
const RETRIES_AT: u32 = 56;

impl Trace {
    /// Nothing is known, and there is no trace.
    pub(crate) const NONE: Self = Self(0);

    fn new(number: u64, step: usize) -> Self {
        Self((step as u64 & 0xff) << STEP_AT | number & ((1 << NEW_AT) - 1))
    }

    /// That of a request without a trace, which is `step` of a scenario.
    pub(crate) fn of_step(step: usize) -> Self {
        Self::new(0, step)
    }

    /// Whether the request has a trace.
    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.number() != 0
    }

    /// It, or `other` if it says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::NONE { other } else { self }
    }

    /// The same without a trace.
    pub(crate) fn without_trace(self) -> Self {
        Self(self.0 & !((1 << NEW_AT) - 1))
    }

    /// The same on a connection that is new, or not.
    #[inline]
    pub(crate) fn on_connection(self, is_new: bool) -> Self {
        Self(self.0 & !(1 << NEW_AT) | u64::from(is_new) << NEW_AT)
    }

    /// Whether the request is the first one on its connection.
    #[inline]
    pub(crate) fn is_first_on_connection(self) -> bool {
        self.0 & 1 << NEW_AT != 0
    }

    #[inline]
    fn number(self) -> u64 {
        self.0 & ((1 << NEW_AT) - 1)
    }

    /// The number of its step among all steps.
    pub(crate) fn step(self) -> usize {
        usize::from(self.0.to_be_bytes()[1])
    }

    /// How often its request was sent before.
    pub(crate) fn retries(self) -> u32 {
        u32::from(self.0.to_be_bytes()[0])
    }

    /// The same, of a request that is sent once more.
    pub(crate) fn again(self) -> Self {
        if self.retries() < 0xff { Self(self.0 + (1 << RETRIES_AT)) } else { self }
    }
}

/// What ids are made of, and what decides which are sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceIds {
    /// From the system.
    high: u64,
    low: u64,
    /// From the seed of the run and the number of the thread.
    chance: u64,
    /// A request is sampled whose chance is not above this.
    share: u64,
}

impl TraceIds {
    /// The id of `trace`. The first half alone is different for each request of a worker; together they differ between workers
    /// but for a chance of 2^-64.
    pub(crate) fn id(&self, trace: Trace) -> u128 {
        let number = trace.number();
        let id = u128::from(at(self.high, number)) << 64 | u128::from(at(self.low, number));
        // All zeros are no id.
        id.max(1)
    }

    /// Whether the server is asked to record `trace`.
    #[inline]
    pub(crate) fn is_sampled(&self, trace: Trace) -> bool {
        at(self.chance, trace.number()) <= self.share
    }
}

/// Number `number` of the random sequence of `key`: SplitMix64, whose step and mixture are one to one.
#[inline]
fn at(key: u64, number: u64) -> u64 {
    mixed(key.wrapping_add(number.wrapping_mul(STEP)))
}

/// SplitMix64's mixture (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", variant 13).
#[inline]
fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// The traces of one worker.
pub(crate) struct Tracer {
    ids: TraceIds,
    /// What ids of spans are made of; how many there were.
    span: u64,
    spans: u64,
    /// Requests that have begun.
    begun: u64,
    /// The request of the run, whose traceparent is overwritten; empty with a scenario, whose requests are made one by one.
    request: Box<[u8]>,
    /// Where it stands.
    place: usize,
    /// In HTTP/2, the request's body and what the framing of its response depends on.
    body: Option<Arc<[u8]>>,
    kind: RequestKind,
}

impl Tracer {
    /// That of worker `thread` of all agents, where `plan` has traces.
    pub(crate) fn of(plan: &RunPlan, request: &Encoded, thread: u32) -> Result<Option<Self>, RunError> {
        let Some(trace) = &plan.trace else { return Ok(None) };
        let ids = TraceIds {
            high: random()?,
            low: random()?,
            chance: mixed(plan.seed ^ mixed(u64::from(thread) + 1)),
            share: share_of_64_bits(trace.share),
        };
        let mut bytes = match request {
            Encoded::Http1(request) => request.bytes().to_vec(),
            Encoded::Http2(request) => {
                let mut block = request.plain_block().to_vec();
                write_traceparent(&mut block);
                block
            }
        };
        let body = match request {
            Encoded::Http1(_) => None,
            Encoded::Http2(request) => Some(request.body()).filter(|body| !body.is_empty()).map(Arc::from),
        };
        // Behind the user's headers; a body may have anything in it.
        let head = match request {
            Encoded::Http1(request) => request.head().len(),
            Encoded::Http2(_) => bytes.len(),
        };
        let is_placeholder = |window: &[u8]| window == PLACEHOLDER.as_bytes();
        let place = bytes[..head].windows(LENGTH).rposition(is_placeholder).unwrap_or(head);
        if plan.scenario.is_some() {
            bytes.clear();
        }
        let (request, kind) = (bytes.into_boxed_slice(), request.kind());
        Ok(Some(Self { ids, span: random()?, spans: 0, begun: 0, request, place, body, kind }))
    }

    /// What its ids are made of.
    pub(crate) fn ids(&self) -> TraceIds {
        self.ids
    }

    /// A trace for the next request, which is `step` of a scenario if there is one.
    #[inline]
    pub(crate) fn begin(&mut self, step: usize) -> Trace {
        self.begun += 1;
        Trace::new(self.begun, step)
    }

    /// `before`, the trace of a request that was sent before, or else a new one.
    #[inline]
    pub(crate) fn resume(&mut self, before: Trace) -> Trace {
        if before.is_some() { before } else { self.begin(0) }
    }

    /// Writes the traceparent of one more attempt of `trace` over the one that begins at `place` of `request`.
    pub(crate) fn stamp(&mut self, trace: Trace, request: &mut [u8], place: usize) {
        let Some(Ok(value)) = request.get_mut(place..place + LENGTH).map(<&mut [u8; LENGTH]>::try_from)
        else {
            return;
        };
        self.spans += 1;
        write(value, self.ids, trace, at(self.span, self.spans));
    }

    /// The bytes of the run's request for one more attempt of `trace`; in HTTP/2 those of its fields.
    pub(crate) fn request(&mut self, trace: Trace) -> &[u8] {
        let mut request = std::mem::take(&mut self.request);
        self.stamp(trace, &mut request, self.place);
        self.request = request;
        &self.request
    }

    /// The same in HTTP/2.
    pub(crate) fn stream_request(&mut self, trace: Trace) -> OneRequest<'_> {
        self.request(trace);
        OneRequest { block: &self.request, body: self.body.as_ref(), kind: self.kind }
    }
}

/// Appends a traceparent that can be overwritten to the fields of a request in HTTP/2: its last [`LENGTH`] bytes.
pub(crate) fn write_traceparent(block: &mut Vec<u8>) {
    write_name(block, TRACEPARENT);
    write_literal_value(block, PLACEHOLDER.as_bytes());
}

fn write(value: &mut [u8; LENGTH], ids: TraceIds, trace: Trace, span: u64) {
    value.copy_from_slice(PLACEHOLDER.as_bytes());
    write_hex(&mut value[ID_AT..SPAN_AT - 1], &ids.id(trace).to_be_bytes());
    // All zeros are no id.
    write_hex(&mut value[SPAN_AT..FLAG_AT - 2], &span.max(1).to_be_bytes());
    value[FLAG_AT] = b'0' + u8::from(ids.is_sampled(trace));
}

fn write_hex(out: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// The largest of 2^64 equal chances that are this `share` of them.
fn share_of_64_bits(share: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates: all is all"
    )]
    let share = (share * 2_f64.powi(64)) as u64;
    share
}

fn random() -> Result<u64, RunError> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match got {
        Ok(8) => Ok(u64::from_ne_bytes(bytes)),
        Ok(_) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error.into()),
    }
    .map_err(|source: std::io::Error| RunError::System { action: "read random numbers", source })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn ids(keys: [u64; 3], share: f64) -> TraceIds {
        TraceIds { high: keys[0], low: keys[1], chance: keys[2], share: share_of_64_bits(share) }
    }

    #[test]
    fn a_traceparent_is_as_the_standard_writes_it() {
        let check = |share: f64, expected: &str| {
            let mut value = [b'x'; LENGTH];
            // A key that makes the first number zero, and one that makes it one.
            let key = 0_u64.wrapping_sub(STEP);
            write(&mut value, ids([key, key, 7], share), Trace::new(1, 3), 0xab);
            assert_eq!(str::from_utf8(&value).unwrap(), expected);
        };
        check(1.0, "00-00000000000000000000000000000001-00000000000000ab-01");
        check(f64::MIN_POSITIVE, "00-00000000000000000000000000000001-00000000000000ab-00");
    }

    #[test]
    fn ids_differ_between_requests_and_between_workers() {
        let mut seen = HashSet::new();
        for keys in [[1, 2, 3], [1, 3, 3], [2, 2, 3]] {
            let ids = ids(keys, 0.01);
            for number in 1..10_000 {
                assert!(seen.insert(ids.id(Trace::new(number, 0))));
                assert_eq!(ids.id(Trace::new(number, 9)), ids.id(Trace::new(number, 0)));
            }
        }
    }

    #[test]
    fn the_share_is_as_asked_and_the_seed_decides() {
        const COUNT: u64 = 200_000;
        let sampled =
            |ids: TraceIds| (1..=COUNT).filter(|number| ids.is_sampled(Trace::new(*number, 0))).count();
        for share in [0.001, 0.01, 0.1, 0.5, 0.99] {
            for key in 0..20 {
                let found = sampled(ids([0, 0, mixed(key)], share)) as f64;
                // Six standard deviations: the keys are fixed, so that this holds always or never.
                let (mean, deviation) = (COUNT as f64 * share, (COUNT as f64 * share * (1.0 - share)).sqrt());
                assert!((found - mean).abs() < 6.0 * deviation, "{share}, {key}: {found}");
            }
        }
        assert_eq!(sampled(ids([0, 0, 5], 1.0)), 200_000, "all is all");
        assert_eq!(sampled(ids([1, 2, 5], 0.1)), sampled(ids([3, 4, 5], 0.1)), "ids do not matter");
    }

    #[test]
    fn a_trace_holds_its_number_and_its_step() {
        let trace = Trace::new(123_456, 255);
        assert_eq!((trace.number(), trace.step(), trace.is_some()), (123_456, 255, true));
        assert_eq!((Trace::NONE.or(trace), trace.or(Trace::new(1, 1))), (trace, trace));
        let again = trace.again().again();
        assert_eq!((again.number(), again.step(), again.retries()), (123_456, 255, 2));
        assert!(!Trace::NONE.is_some() && !Trace::NONE.again().is_some());
    }

    #[test]
    fn step_attempts_and_connection_are_known_without_a_trace() {
        let of_step = Trace::of_step(255).again().on_connection(true);
        assert_eq!((of_step.step(), of_step.retries(), of_step.is_some()), (255, 1, false));
        assert!(of_step.is_first_on_connection() && !of_step.on_connection(false).is_first_on_connection());
        let traced = Trace::new((1 << NEW_AT) - 1, 3).on_connection(true);
        assert_eq!((traced.number(), traced.step()), ((1 << NEW_AT) - 1, 3), "each has bits of its own");
        assert_eq!(traced.without_trace(), Trace::of_step(3).on_connection(true));
        assert_eq!((Trace::NONE.or(of_step), of_step.or(traced)), (of_step, of_step));
    }
}
