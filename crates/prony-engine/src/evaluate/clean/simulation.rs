//! Known truth: a server behind a queue, on a machine that stands still at times. Clean figures must be those of the
//! same server on a machine that never does.

use prony_stats::Histogram;

use super::marks::{Marks, Stretch, TICK};
use crate::clock::Nanos;
use crate::record::slice::SLICE;

const MS: Nanos = 1_000_000;
const RUN: Nanos = 200_000 * MS;

/// Uniform numbers in 0..1 (xorshift64*, Vigna 2016).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a drawn time of some seconds at most"
    )]
    fn exponential(&mut self, mean: f64) -> Nanos {
        (-mean * (1.0 - self.next()).ln()) as Nanos
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length of time")]
    fn between(&mut self, least: Nanos, most: Nanos) -> Nanos {
        least + (self.next() * (most - least) as f64) as Nanos
    }
}

/// Stretches in which something stands still, one after the other.
struct Stops(Vec<(Nanos, Nanos)>);

impl Stops {
    fn none() -> Self {
        Self(Vec::new())
    }

    /// Of `least..most`, with pauses between them so that they take `share` of the time.
    fn bursts(chance: &mut Chance, least: Nanos, most: Nanos, share: f64) -> Self {
        let pause = (least + most) as f64 / 2.0 * (1.0 - share) / share;
        let (mut at, mut stops) = (0, Vec::new());
        while at < RUN {
            at += chance.exponential(pause).max(1);
            let to = at + chance.between(least, most);
            stops.push((at, to));
            at = to;
        }
        Self(stops)
    }

    /// A quota of a hypervisor that ran out: 35 ms of each of five tenths of a second, every three seconds or so.
    fn quota(chance: &mut Chance) -> Self {
        let (mut at, mut stops) = (0, Vec::new());
        while at < RUN {
            at += chance.between(2_000 * MS, 4_000 * MS);
            stops.extend((0..5).map(|period| (at + period * 100 * MS, at + period * 100 * MS + 35 * MS)));
            at += 500 * MS;
        }
        Self(stops)
    }

    /// When `work` that begins at `from` is done.
    fn done(&self, from: Nanos, work: Nanos) -> Nanos {
        let first = self.0.partition_point(|stop| stop.1 <= from);
        let mut done = from + work;
        for (begins, ends) in &self.0[first..] {
            if *begins >= done {
                break;
            }
            done += ends - (*begins).max(from);
        }
        done
    }

    /// Time that was taken before `at`.
    fn taken(&self, at: Nanos) -> Nanos {
        let before = self.0.iter().take_while(|stop| stop.0 < at);
        before.map(|(begins, ends)| (*ends).min(at) - begins).sum()
    }
}

/// Ended requests: done, response time.
type Ended = Vec<(Nanos, Nanos)>;

/// A load on a server whose requests take `service` on average, one at a time, `None` for a closed loop.
fn load(
    period: Option<Nanos>,
    connections: usize,
    service: f64,
    machine: &Stops,
    server: &Stops,
    seed: u64,
) -> Ended {
    let mut chance = Chance(seed);
    let (mut ended, mut free) = (Ended::new(), 0);
    let mut due: std::collections::VecDeque<Nanos> = match period {
        Some(_) => [1].into(),
        None => (1..=connections as Nanos).collect(),
    };
    while let Some(intended) = due.pop_front().filter(|intended| *intended < RUN) {
        let sent = machine.done(intended, 0);
        let work = chance.exponential(service);
        // The server stands still by itself in some stretches, and with the machine in others.
        let begins = server.done(sent.max(free), 0);
        let done = machine.done(begins, server.done(begins, work) - begins);
        free = done;
        ended.push((done, done - intended));
        due.push_back(period.map_or(done, |period| intended + period));
    }
    ended
}

/// Rate, p50 and p99, milliseconds.
type Figures = [f64; 3];

fn figures(ended: impl Iterator<Item = Nanos>, seconds: f64) -> Figures {
    let mut histogram = Histogram::new();
    ended.for_each(|response| histogram.record(response));
    let quantile = |q| histogram.value_at_quantile(q).map_or(0.0, |nanos| nanos as f64 / 1e6);
    [histogram.count() as f64 / seconds, quantile(0.5), quantile(0.99)]
}

/// Figures of all slices, those of the clean ones, and their share.
fn measured(ended: &Ended, machine: &Stops) -> (Figures, Figures, f64) {
    let mut marks = Marks::default();
    let mut reason = Vec::new();
    let mut evaluated = 0;
    let (mut from, mut ticks) = (0, 0);
    while from < RUN {
        // A thread that polls stands still with the machine.
        let to = machine.done((from / SLICE + 1) * SLICE, 0);
        let now = machine.taken(to) / TICK;
        let taken = (now - ticks) * TICK;
        let share = taken as f64 / (to - from) as f64;
        marks.add(&Stretch { from, to, core_most: taken, share, ..Stretch::default() });
        (from, ticks) = (to, now);
        while marks.know((evaluated + 1) * SLICE) {
            reason.push(marks.reason(evaluated * SLICE, (evaluated + 1) * SLICE));
            evaluated += 1;
        }
    }
    let is_clean = |done: Nanos| reason.get((done / SLICE) as usize).is_some_and(Option::is_none);
    let clean = reason.iter().filter(|reason| reason.is_none()).count();
    let clean_s = clean as f64 * SLICE as f64 / 1e9;
    let all = figures(ended.iter().map(|ended| ended.1), RUN as f64 / 1e9);
    let kept = figures(ended.iter().filter(|ended| is_clean(ended.0)).map(|ended| ended.1), clean_s);
    (all, kept, clean as f64 / reason.len() as f64)
}

/// Share of a core that the requests of open loops need here.
const BUSY: f64 = 0.4;

/// The clean figures of both loops lie within `within` (rate, p50, p99) of those of a machine that never stops.
fn check(stops: fn(&mut Chance) -> Stops, server: fn(&mut Chance) -> Stops, within: Figures, share: f64) {
    for (name, period, connections) in [("open", Some(MS), 1), ("closed 1", None, 1), ("closed 64", None, 64)]
    {
        let service = BUSY * MS as f64;
        let (machine, server) = (stops(&mut Chance(7)), server(&mut Chance(99)));
        let truth = load(period, connections, service, &Stops::none(), &server, 1);
        let truth = figures(truth.iter().map(|ended| ended.1), RUN as f64 / 1e9);
        let (all, clean, left) =
            measured(&load(period, connections, service, &machine, &server, 1), &machine);
        let result = format!("{name}: truth {truth:?}, all {all:?}, clean {clean:?} of {left:.2}");
        println!("{result}");
        assert!(left >= share, "{result}");
        for ((truth, clean), within) in truth.iter().zip(clean).zip(within) {
            assert!((clean / truth - 1.0).abs() <= within, "{result}");
        }
    }
}

fn no_stops(_: &mut Chance) -> Stops {
    Stops::none()
}

/// The server itself stands still for 30 ms, so often that its p99 is made of that.
fn freezes(chance: &mut Chance) -> Stops {
    Stops::bursts(chance, 25 * MS, 35 * MS, 0.03)
}

#[test]
fn a_machine_that_never_stops_is_all_clean() {
    check(no_stops, no_stops, [0.01; 3], 1.0);
    check(no_stops, freezes, [0.01; 3], 1.0);
}

#[test]
fn the_truth_comes_back_behind_a_quota() {
    check(Stops::quota, no_stops, [0.02, 0.03, 0.05], 0.6);
}

#[test]
fn a_servers_own_freezes_stay() {
    check(Stops::quota, freezes, [0.03, 0.05, 0.10], 0.6);
}

#[test]
fn the_truth_comes_back_between_short_and_long_bursts() {
    check(|chance| Stops::bursts(chance, MS, 50 * MS, 0.05), no_stops, [0.02, 0.03, 0.06], 0.5);
    check(|chance| Stops::bursts(chance, 300 * MS, 1000 * MS, 0.15), no_stops, [0.02, 0.03, 0.06], 0.5);
    check(|chance| Stops::bursts(chance, 300 * MS, 1000 * MS, 0.15), freezes, [0.03, 0.05, 0.12], 0.5);
}

#[test]
fn bursts_without_a_pause_leave_too_little() {
    let machine = Stops::bursts(&mut Chance(7), MS, 50 * MS, 0.3);
    let ended = load(Some(MS), 1, BUSY * MS as f64, &machine, &Stops::none(), 1);
    let (_, _, left) = measured(&ended, &machine);
    assert!(left < prony_model::CLEAN_SHARE_MIN, "{left}");
}
