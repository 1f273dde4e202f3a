//! Connections, or a server that waits: distinguished by how much longer a request takes in company than alone.
//!
//! With c requests in flight the rate is c over the response time (Little's law). Where a request takes as long as
//! it does alone, there is no queue, and more connections bring more. Where it takes g times as long, the server
//! handles about c/g requests at a time and the others wait; if nothing uses a CPU meanwhile, the server waits.

use super::evaluate::{limiter, unknown};
use super::facts::{Facts, Server};
use super::{Limiter, LimiterKind, cpu, queue, users};
use crate::SoloRequests;
use crate::words::{milliseconds, percent, plural, whole};

/// Fewer requests alone say nothing about the time of one.
const SOLO_MIN: u64 = 3;
/// However much the requests alone vary, their true mean is at least this part of the one that was seen.
const LEAST_PART: f64 = 0.01;
/// So many times the time alone is none more: noise.
const SAME: f64 = 1.5;
/// So many times the time alone is a queue, and must be beyond doubt by this much.
const QUEUED: f64 = 1.8;
const QUEUED_SURELY: f64 = 1.5;
/// Share of a response's time that may be waiting for a CPU where the machine is not the limit.
const CONTENDED: f64 = 0.30;
/// Cores that a waiting server uses at most on its busiest thread.
const IDLE_THREAD: f64 = 0.60;
/// Share of the connections that have a request in flight where their number is the limit.
const OCCUPIED: f64 = 0.7;
/// A thread that is busy for more of the time leaves no room for twice the rate.
const NEARLY_BUSY: f64 = 0.75;
/// Share of the time in which some task waits for a disk where that is what the server waits for.
const IO_PRESSURE: f64 = 0.40;
/// Bytes to or from disks per request that make it a matter of disks at all.
const DISK_BYTES: f64 = 256.0;

/// The last rule: nothing is at the limit of its CPU.
pub(super) fn connections_or_waits(facts: &Facts) -> Limiter {
    if let Some(asked) = facts.asked_rate {
        return queue::full(facts).unwrap_or_else(|| {
            unknown(
                &format!(
                    "the server did not take the asked rate ({} of {} /s), but nothing used a CPU fully; a closed loop \
                     (without --rate) tells more",
                    whole(facts.rate),
                    whole(asked)
                ),
                &[("asked", asked, "per_s"), ("answered", facts.rate, "per_s")],
            )
        });
    }
    if facts.users.is_some_and(|users| !users.is_known()) {
        return unknown("too few sessions were completed to say how long one takes; try a longer run", &[]);
    }
    if facts.users.is_none() && facts.in_flight <= 1.0 {
        return contended(facts).unwrap_or_else(|| one_connection(facts));
    }
    let Some(solo) = facts.solo.filter(|solo| solo.count >= SOLO_MIN && solo.median_ms > 0.0) else {
        let why = match facts.users {
            Some(_) => {
                "no CPU was at its limit, and too few requests were sent while no other was in flight to tell a server that \
                 waits from too few users; try fewer users (-c) beside this run"
            }
            None => {
                "no CPU was at its limit, and too few requests were sent alone (in the warm-up) to tell a server that \
                 waits from too few connections; try --warmup 4s"
            }
        };
        return queue::full(facts).unwrap_or_else(|| unknown(why, &[]));
    };
    let growth = Growth::new(facts, &solo);
    if growth.is_queued(facts) {
        return by_waiting_for_cpus(facts, &solo).unwrap_or_else(|| waits(facts, &solo, &growth));
    }
    if let Some(found) = queue::full(facts) {
        return found;
    }
    if let Some(found) = contended(facts) {
        return found;
    }
    let occupancy = facts.occupancy();
    if facts.users.is_none() && occupancy < OCCUPIED {
        return unknown(
            &format!(
                "only {} of the connections had a request in flight on average: the others were being opened, or the \
                 client was late",
                percent(occupancy)
            ),
            &growth.evidence(facts, &solo),
        );
    }
    let busiest =
        facts.server.as_ref().map_or(0.0, |server| server.top().demand()).max(facts.client.demand());
    if growth.is_none() && busiest <= NEARLY_BUSY {
        return match &facts.users {
            Some(users) => users::too_few(facts, users, &solo),
            None => too_few(facts, &solo, &growth),
        };
    }
    if growth.is_none() {
        return unknown(
            &format!(
                "a request takes as long as alone, but a thread is busy for {} of the time: more {} would soon \
                 meet that limit",
                percent(busiest.min(1.0)),
                if facts.users.is_some() { "users" } else { "connections" },
            ),
            &growth.evidence(facts, &solo),
        );
    }
    unknown(
        &format!(
            "a request takes {:.1} times as long as alone, which is neither a clear queue nor none, and no CPU was at its \
             limit",
            growth.mean
        ),
        &growth.evidence(facts, &solo),
    )
}

/// Other programs, if waiting for CPUs explains much of the time that a request takes longer than alone.
fn by_waiting_for_cpus(facts: &Facts, solo: &SoloRequests) -> Option<Limiter> {
    let added_ms = (facts.service_mean_ms - solo.mean_ms).max(f64::MIN_POSITIVE);
    let share = (server_wait_ms(facts) + facts.client_delay_ms) / added_ms;
    (share > CONTENDED).then(|| taken_by_others(facts, share))
}

/// How many times as long a request takes in company.
struct Growth {
    mean: f64,
    median: f64,
    /// 95 % interval of `mean`, from the spread of the requests alone.
    low: f64,
    high: f64,
}

impl Growth {
    fn new(facts: &Facts, solo: &SoloRequests) -> Self {
        let half = 2.0 * solo.stddev_ms / (solo.count as f64).sqrt();
        let least =
            (solo.mean_ms - half).max(solo.min_ms).max(LEAST_PART * solo.mean_ms).max(f64::MIN_POSITIVE);
        Self {
            mean: facts.service_mean_ms / solo.mean_ms.max(f64::MIN_POSITIVE),
            median: facts.service_median_ms / solo.median_ms,
            low: facts.service_mean_ms / (solo.mean_ms + half),
            high: facts.service_mean_ms / least,
        }
    }

    /// Beyond doubt. An unfair lock serves some at once and lets others wait, so that the median stays low; where
    /// the machine is calm, the mean is enough.
    fn is_queued(&self, facts: &Facts) -> bool {
        let calm = facts.foreign_cores().is_some_and(|cores| cores < 0.15);
        self.mean >= QUEUED && self.low >= QUEUED_SURELY && (calm || self.median >= QUEUED_SURELY)
    }

    fn is_none(&self) -> bool {
        self.mean <= SAME && self.median <= SAME && self.high <= QUEUED
    }

    fn evidence(&self, facts: &Facts, solo: &SoloRequests) -> [(&'static str, f64, &'static str); 7] {
        [
            ("in_flight", facts.in_flight, "count"),
            ("alone_mean", solo.mean_ms, "ms"),
            ("alone_count", solo.count as f64, "count"),
            ("service_mean", facts.service_mean_ms, "ms"),
            ("growth", self.mean, "ratio"),
            ("growth_low", self.low, "ratio"),
            ("growth_high", self.high, "ratio"),
        ]
    }
}

/// Whether waiting for a CPU makes up too much of the responses to say more.
fn contended(facts: &Facts) -> Option<Limiter> {
    let server = facts.server.as_ref();
    let rate = facts.rate.max(f64::MIN_POSITIVE);
    let waited_ms = server_wait_ms(facts);
    let working = facts.client_cores + server.map_or(0.0, Server::all_cores);
    let stolen_of_working =
        facts.stolen_cores / (facts.used_cores.unwrap_or(facts.cpus) + facts.stolen_cores).max(0.01);
    let stolen_ms = working * stolen_of_working / rate * 1e3;
    let share =
        (waited_ms + stolen_ms + facts.client_delay_ms) / facts.response_mean_ms.max(f64::MIN_POSITIVE);
    let waits = server.map_or(0.0, |server| server.top().wait).max(facts.client.wait);
    if share <= CONTENDED || waits + stolen_of_working < 0.1 {
        return None;
    }
    Some(taken_by_others(facts, share))
}

/// Time that the server's threads waited for a CPU, per request.
fn server_wait_ms(facts: &Facts) -> f64 {
    let wait_cores = facts.server.as_ref().map_or(0.0, |server| server.wait_cores);
    wait_cores / facts.rate.max(f64::MIN_POSITIVE) * 1e3
}

/// Requests wait for CPUs for this share of the time in question: the machine's, where others have its cores.
fn taken_by_others(facts: &Facts, share: f64) -> Limiter {
    match facts.foreign_cores() {
        Some(foreign) if foreign >= 0.25 => cpu::machine(facts, foreign),
        _ => unknown(
            &format!("waiting for a CPU makes up {} of the time that requests take", percent(share.min(1.0))),
            &[("cpu_wait_share", share, "share")],
        ),
    }
}

fn one_connection(facts: &Facts) -> Limiter {
    limiter(
        LimiterKind::Connections,
        format!(
            "the single connection: one request at a time takes {}, which makes {} /s; with more connections a run shows \
             whether the server handles more at once",
            milliseconds(facts.response_mean_ms),
            whole(facts.rate)
        ),
        &[("in_flight", facts.in_flight, "count"), ("response_mean", facts.response_mean_ms, "ms")],
    )
}

fn too_few(facts: &Facts, solo: &SoloRequests, growth: &Growth) -> Limiter {
    limiter(
        LimiterKind::Connections,
        format!(
            "the number of connections: with {} in flight a request takes {}, as long as alone ({}), which makes {} /s; \
             more connections bring more",
            whole(facts.in_flight),
            milliseconds(facts.service_mean_ms),
            milliseconds(solo.mean_ms),
            whole(facts.rate)
        ),
        &growth.evidence(facts, solo),
    )
}

/// Requests queue up in the server, and nothing is at the limit of its CPU.
fn waits(facts: &Facts, solo: &SoloRequests, growth: &Growth) -> Limiter {
    let at_once = facts.rate * solo.mean_ms / 1e3;
    let queue = format!(
        "{} in flight take {} each, {:.1} times as long as alone ({}), so that it handles about {} at a time",
        whole(facts.in_flight),
        milliseconds(facts.service_mean_ms),
        growth.mean,
        milliseconds(solo.mean_ms),
        whole(at_once.max(1.0))
    );
    let mut evidence = growth.evidence(facts, solo).to_vec();
    evidence.push(("handled_at_once", at_once, "count"));
    let client = facts.client.demand();
    if client > NEARLY_BUSY {
        evidence.push(("client_thread", client, "share"));
        return unknown(
            &format!(
                "{queue}, but the client is busy for {} of the time, and the queue may be its own",
                percent(client.min(1.0))
            ),
            &evidence,
        );
    }
    let Some(server) = &facts.server else {
        let unseen = (facts.used_cores.unwrap_or(facts.cpus) - facts.client_cores).max(0.0);
        if facts.here && unseen <= 0.3 && facts.stolen_cores <= 0.1 {
            evidence.push(("other_cores", unseen, "cores"));
            return server_waits(&queue, "almost no CPU is in use beside the client's", &evidence);
        }
        let sentence = format!("the server: {queue}; whether it computes or waits is not visible from here");
        return limiter(LimiterKind::Server, sentence, &evidence);
    };
    let top = server.top();
    evidence.extend([
        ("busiest_thread", top.cpu, "share"),
        ("server_cores", server.cores, "cores"),
        ("cpu_wait", server.wait_cores, "cores"),
    ]);
    if top.demand() > IDLE_THREAD {
        return match facts.foreign_cores() {
            Some(foreign) if top.wait > top.cpu && foreign >= 0.25 => cpu::machine(facts, foreign),
            _ => unknown(
                &format!(
                    "{queue}; its busiest thread is busy for {} of the time, neither idle nor at its limit",
                    percent(top.demand().min(1.0))
                ),
                &evidence,
            ),
        };
    }
    let idle = match &server.dependant {
        Some((name, cores, _)) => {
            format!("its CPU is mostly idle (busiest thread {}, {name} {cores:.1} cores)", percent(top.cpu))
        }
        None => format!("its CPU is idle (busiest thread {})", percent(top.cpu)),
    };
    let pressure = facts.io_pressure.unwrap_or_default();
    if server.disk_bytes_per_request >= DISK_BYTES && pressure >= IO_PRESSURE {
        evidence.push(("disk_bytes_per_request", server.disk_bytes_per_request, "bytes"));
        evidence.push(("io_pressure", pressure, "share"));
        let sentence = format!(
            "the server waits for a disk: {queue} while {idle}; it moves {} per request, and some task waited for I/O {} of \
             the time",
            plural(bytes(server.disk_bytes_per_request), "byte"),
            percent(pressure)
        );
        return limiter(LimiterKind::ServerDisk, sentence, &evidence);
    }
    server_waits(&queue, &idle, &evidence)
}

fn server_waits(queue: &str, idle: &str, evidence: &[(&str, f64, &str)]) -> Limiter {
    let sentence = format!(
        "the server waits: {queue}, while {idle}; for twice the rate look for a lock, a pool, a sleep or a serial handler"
    );
    limiter(LimiterKind::ServerWaits, sentence, evidence)
}

fn bytes(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
    let whole = value.round() as u64;
    whole
}
