//! One session: where it stands in its flow, and what it has learned. Its memory is used again by the next one.

use prony_model::{FeedEnd, FeedOrder, Think};
use rand_pcg::Pcg64;

use super::block::StreamRequest;
use super::compile::{Compiled, CompiledFlow, CompiledStep};
use super::cookies::Cookies;
use super::fault::StepFault;
use super::text::{Goes, Values, below_or_at, exponential};
use crate::clock::{Nanos, span};
use crate::load::driver::Slot;
use crate::load::retry::Retry;
use crate::load::trace::Trace;

/// Streams of sessions are numbered from here on: those below are of the schedules.
const STREAMS: u128 = 1 << 64;

/// The only feed of a replay.
const REPLAY_FEED: usize = 0;

/// A session.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Session {
    pub(super) flow: usize,
    pub(super) step: usize,
    pub(super) number: u64,
    /// Variables and extracted values, by number; only those in `set` mean anything.
    pub(super) values: Vec<Vec<u8>>,
    pub(super) set: u64,
    /// The row of each feed.
    pub(super) rows: Vec<usize>,
    pub(super) cookies: Cookies,
    pub(super) random: Pcg64,
    /// When it arrived.
    pub(super) began: Nanos,
    /// Its think times so far.
    pub(super) thought: Nanos,
    /// When its current step was due; redirects don't change it.
    pub(super) due: Nanos,
    /// Redirects that the current step has followed.
    pub(super) redirects: u32,
    /// What was wrong with the current response so far.
    pub(super) fault: Option<StepFault>,
    /// The path of the current request.
    pub(super) path: Vec<u8>,
    /// The current request in HTTP/2, which may have to be sent again.
    pub(super) request: StreamRequest,
    /// The same in HTTP/1.1, where requests are retried.
    pub(super) lines: Vec<u8>,
    /// What the current request waits for, if it is to be sent again.
    pub(super) retry: Option<Retry>,
    /// Retries of the current step so far.
    pub(super) retries: u32,
    /// Cookies that the current response sets, where it may not be the last one of its request: a `Set-Cookie` on each line.
    pub(super) held_cookies: Vec<u8>,
    /// Where the current step was redirected to, and whether a GET goes there; empty for nowhere.
    pub(super) location: Vec<u8>,
    pub(super) as_get: bool,
    /// Content-Encoding of the current response.
    pub(super) coding: Vec<u8>,
    pub(super) in_use: bool,
    /// In a replay, the status that was recorded; 0 for none.
    pub(super) recorded_status: u16,
    /// The status of the current response; 0 for none.
    pub(super) status: u16,
    /// The trace of its current request, and where its traceparent stands in it.
    pub(super) trace: Trace,
    pub(super) trace_at: usize,
    /// Whether its current request was sent.
    pub(super) was_sent: bool,
    /// The connection that its last request went over.
    pub(super) slot: Slot,
    /// Whether no other request of any thread was in flight when its last one was sent.
    pub(super) is_alone: bool,
}

impl Session {
    /// Memory for sessions of `scenario`.
    pub(super) fn new(scenario: &Compiled) -> Self {
        Self {
            flow: 0,
            step: 0,
            number: 0,
            values: Vec::new(),
            set: 0,
            rows: vec![0; scenario.shared.feeds.len()],
            cookies: Cookies::default(),
            random: Pcg64::new(0, 0),
            began: 0,
            thought: 0,
            due: 0,
            redirects: 0,
            fault: None,
            path: Vec::new(),
            request: StreamRequest::default(),
            lines: Vec::new(),
            retry: None,
            retries: 0,
            held_cookies: Vec::new(),
            location: Vec::new(),
            as_get: false,
            coding: Vec::new(),
            in_use: false,
            recorded_status: 0,
            status: 0,
            trace: Trace::NONE,
            trace_at: 0,
            was_sent: false,
            slot: 0,
            is_alone: false,
        }
    }

    /// Begins session `number`, which arrived at `now`. Fails with the feed that has no row for it.
    pub(super) fn begin(&mut self, scenario: &Compiled, number: u64, now: Nanos) -> Result<(), usize> {
        self.random = Pcg64::new(u128::from(scenario.seed), STREAMS + u128::from(number));
        self.pick(scenario, number)?;
        let flow = &scenario.flows[self.flow];
        self.step = 0;
        self.number = number;
        self.set = 0;
        self.cookies.clear();
        self.began = now;
        self.thought = 0;
        self.begin_step(now);
        self.in_use = true;
        self.make_variables(scenario, flow);
        Ok(())
    }

    /// Its flow, and its row of each feed.
    fn pick(&mut self, scenario: &Compiled, number: u64) -> Result<(), usize> {
        if let Some(rows) = &scenario.replay {
            let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
            let (request, flow, status) = rows.at(at).ok_or(REPLAY_FEED)?;
            self.rows[REPLAY_FEED] = request;
            self.flow = flow;
            self.recorded_status = status;
            return Ok(());
        }
        let mut pick = below_or_at(&mut self.random, scenario.weights - 1);
        self.flow = 0;
        for (at, flow) in scenario.flows.iter().enumerate() {
            self.flow = at;
            match pick.checked_sub(flow.weight) {
                Some(rest) => pick = rest,
                None => break,
            }
        }
        let flow = &scenario.flows[self.flow];
        for &feed in &flow.feeds {
            self.rows[feed] = self.row(scenario, feed).ok_or(feed)?;
        }
        Ok(())
    }

    /// The current step becomes due at `due`.
    pub(super) fn begin_step(&mut self, due: Nanos) {
        self.due = due;
        self.redirects = 0;
        self.retries = 0;
        self.status = 0;
        self.was_sent = false;
        self.location.clear();
    }

    /// The next row of a feed; none if it has ended.
    fn row(&mut self, scenario: &Compiled, feed: usize) -> Option<usize> {
        let feed = &scenario.shared.feeds[feed];
        let rows = feed.data.len() as u64;
        let row = match feed.order {
            FeedOrder::Random => below_or_at(&mut self.random, rows.checked_sub(1)?),
            FeedOrder::Sequential | FeedOrder::Unique => {
                let taken = feed.taken.take();
                if feed.at_end == FeedEnd::Stop && taken >= rows {
                    return None;
                }
                taken.checked_rem(rows)?
            }
        };
        usize::try_from(row).ok()
    }

    fn make_variables(&mut self, scenario: &Compiled, flow: &CompiledFlow) {
        for (number, text) in &flow.variables {
            let mut value = std::mem::take(self.value(*number));
            // What can't be made stays unset, and the step that needs it fails.
            let made = text.render(Goes::Plain, &mut self.values(scenario), &mut value).is_ok();
            *self.value(*number) = value;
            self.set |= u64::from(made) << number;
        }
    }

    /// The memory of value `number`, emptied.
    pub(super) fn value(&mut self, number: usize) -> &mut Vec<u8> {
        if self.values.len() <= number {
            self.values.resize_with(number + 1, Vec::new);
        }
        let value = &mut self.values[number];
        value.clear();
        value
    }

    /// What it has to fill in.
    pub(super) fn values<'a>(&'a mut self, scenario: &'a Compiled) -> Values<'a> {
        Values {
            own: &self.values,
            set: self.set,
            rows: &self.rows,
            session: self.number,
            random: &mut self.random,
            shared: &scenario.shared,
        }
    }

    /// How long it thinks after the current step.
    pub(super) fn think(&mut self, step: &CompiledStep) -> Nanos {
        match step.think {
            Think::None => 0,
            Think::Constant { time } => span(time),
            Think::Uniform { min, max } => {
                let (min, max) = (span(min), span(max));
                min + below_or_at(&mut self.random, max - min)
            }
            Think::Exponential { mean } => span(exponential(&mut self.random, mean)),
        }
    }
}
