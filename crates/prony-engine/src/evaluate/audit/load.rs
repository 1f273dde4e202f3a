//! Signals that the load was not the one that was asked for.

use std::net::SocketAddr;

use prony_model::words::{grouped, milliseconds, percent_of, plural, whole};
use prony_model::{ErrorKind, Finding, FindingCode, Load, Severity};

use super::Facts;
use super::client::is_busy;
use crate::machine::environment::port_range;
use crate::machine::server::time_wait_towards;

/// Share of the asked requests that may remain unsent.
const RATE_SHORTFALL: f64 = 0.001;
/// Share of requests that may wait for a connection without being reported.
const BLOCKED_SHARE: f64 = 0.01;
/// Share of the asked connections that must be open at one moment: warn, invalid below.
const CONNECTION_SHARE: (f64, f64) = (1.0, 0.5);
/// Share of the local ports that may be in use.
const PORT_SHARE: f64 = 0.70;
/// Share of the mean response time that connecting may take without being reported.
const CONNECT_SHARE: f64 = 0.20;
/// Share of the requests that should have found their connection open.
const REUSED_SHARE: f64 = 0.5;

/// The client could not keep the asked rate. Where the server or the bound on connections held requests back,
/// that is another finding.
pub(super) fn rate_not_reached(facts: &Facts<'_>) -> Option<Finding> {
    let (target, shortfall) = shortfall(facts)?;
    let lag = facts.totals.all.lag.value_at_quantile(0.5).unwrap_or_default();
    let response = facts.responses.value_at_quantile(0.5).unwrap_or_default();
    let late = lag > 1_000_000 && lag * 2 > response;
    if !is_busy(facts) && !late {
        return None;
    }
    let sent = facts.result.rate.sent_per_s;
    Some(Finding::new(
        FindingCode::RateNotReached,
        Severity::Invalid,
        &[("asked", target, "per_s"), ("sent", sent, "per_s"), ("shortfall", shortfall, "share")],
        format!("the client could not keep the rate: {} /s sent of {} /s asked", whole(sent), whole(target)),
        super::client::more_threads(facts, facts.plan().threads),
    ))
}

/// Target rate, and the share of intended requests that was not sent; `None` if that is next to nothing.
fn shortfall(facts: &Facts<'_>) -> Option<(f64, f64)> {
    let requests = &facts.result.requests;
    let asked = facts.plan().mean_rate(facts.result.timing.measured_s)?;
    let target = match &facts.plan().scenario {
        None => asked,
        // What became due follows from the answers.
        Some(_) => requests.intended as f64 / facts.result.timing.measured_s.max(1e-9),
    };
    let shortfall = facts.share(requests.intended.saturating_sub(requests.sent));
    (shortfall > RATE_SHORTFALL).then_some((target, shortfall))
}

/// Requests waited for a connection.
pub(super) fn blocked(facts: &Facts<'_>) -> Option<Finding> {
    let Load::Open { max_connections, .. } = facts.plan().own_load() else { return None };
    let tally = &facts.totals.all.tally;
    Waits {
        for_limit: tally.waited_for_limit,
        for_connecting: tally.waited_for_connecting,
        never_sent: facts.result.requests.never_sent,
        intended: facts.result.requests.intended,
        held_back: shortfall(facts).is_some() && rate_not_reached(facts).is_none(),
        max_connections,
        keep_alive: facts.keep_alive,
        p99_ms: facts.totals.all.blocked.value_at_quantile(0.99).unwrap_or_default() as f64 / 1e6,
    }
    .finding()
}

/// How many requests of an open loop waited, and for what.
#[derive(Debug, Clone, Copy)]
struct Waits {
    for_limit: u64,
    for_connecting: u64,
    never_sent: u64,
    intended: u64,
    /// Whether requests were not sent for want of a connection.
    held_back: bool,
    max_connections: u32,
    keep_alive: bool,
    /// Of those that waited.
    p99_ms: f64,
}

impl Waits {
    fn finding(self) -> Option<Finding> {
        let Self { for_limit, for_connecting, never_sent, intended, held_back, .. } = self;
        let share = (for_limit + for_connecting) as f64 / intended.max(1) as f64;
        if share <= BLOCKED_SHARE && !held_back {
            return None;
        }
        let severity = if held_back { Severity::Warning } else { Severity::Note };
        Some(Finding::new(
            FindingCode::Blocked,
            severity,
            &[
                ("blocked_share", share, "share"),
                ("waited_for_limit", for_limit as f64, "count"),
                ("waited_for_connecting", for_connecting as f64, "count"),
                ("blocked_p99", self.p99_ms, "ms"),
                ("never_sent", never_sent as f64, "count"),
            ],
            self.message(),
            self.advice(),
        ))
    }

    /// Whether the limit on connections was the cause for more than a few.
    fn is_for_limit(&self) -> bool {
        self.for_limit > 0 && self.for_limit as f64 > BLOCKED_SHARE * self.for_connecting as f64
    }

    fn is_for_connecting(&self) -> bool {
        self.for_connecting > 0 && self.for_connecting as f64 > BLOCKED_SHARE * self.for_limit as f64
    }

    fn message(&self) -> String {
        let limit = format!("one of {}", plural(self.max_connections.into(), "connection"));
        if self.held_back {
            let what = if self.is_for_limit() { limit } else { "a connection to open".to_owned() };
            return format!(
                "the server did not take the asked rate: {} still waited for {what} at the end",
                plural(self.never_sent, "request")
            );
        }
        let share = |count| percent_of(count, self.intended);
        let waited = match (self.is_for_limit(), self.is_for_connecting()) {
            (true, true) => format!(
                "{} of the requests waited for {limit}, and {} for a connection to open",
                share(self.for_limit),
                share(self.for_connecting)
            ),
            (true, false) => format!("{} of the requests waited for {limit}", share(self.for_limit)),
            (false, _) => {
                format!("{} of the requests waited for a connection to open", share(self.for_connecting))
            }
        };
        format!("{waited} (p99 of the wait {}); their response time counts that", milliseconds(self.p99_ms))
    }

    fn advice(&self) -> String {
        if self.is_for_limit() {
            let more = self.max_connections.saturating_mul(4);
            return format!(
                "if the server should take more at once, try --connections {more}; else a lower --rate"
            );
        }
        if self.keep_alive {
            "new connections are opened while all others are busy: try a longer --warmup, and look at how fast the \
             server accepts (`connect`)"
                .to_owned()
        } else {
            "each request opens its own connection: reuse them, without --no-keepalive or with ab's -k"
                .to_owned()
        }
    }
}

/// Fewer connections were open than asked.
pub(super) fn connections_not_reached(facts: &Facts<'_>) -> Option<Finding> {
    let Load::Closed { connections } = facts.plan().own_load() else { return None };
    if facts.plan().scenario.is_some() {
        // Users who think need no connection meanwhile.
        return None;
    }
    let reached = facts.result.connections.reached;
    let share = reached as f64 / f64::from(connections);
    // Connections that carry one request each are rarely all open at one moment; those that never opened have
    // carried none.
    let all_opened = facts.result.connections.opened >= u64::from(connections);
    let one_each = !facts.keep_alive || reuse_share(facts) < REUSED_SHARE;
    if share >= CONNECTION_SHARE.0 || (all_opened && one_each) {
        return None;
    }
    let severity = if share < CONNECTION_SHARE.1 { Severity::Invalid } else { Severity::Warning };
    Some(Finding::new(
        FindingCode::ConnectionsNotReached,
        severity,
        &[("asked", f64::from(connections), "count"), ("reached", reached as f64, "count")],
        format!("{} of {} connections were open at most", grouped(reached), grouped(u64::from(connections))),
        "look at the errors above, at the server's connection limit and listen queue, or give a longer --warmup",
    ))
}

/// Local ports ran out or nearly so.
pub(super) fn ports(facts: &Facts<'_>) -> Option<Finding> {
    let failed = facts.result.requests.failed_by_kind.get(&ErrorKind::NoPort).copied().unwrap_or_default();
    let (first, last) = port_range()?;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let scarce = ports_are_scarce(facts, ports);
    ports_used_up(failed, scarce, facts.result.connections.opened, ports)
}

/// `failed` connections found no port of `ports`; `scarce`: or the next ones may not.
fn ports_used_up(failed: u64, scarce: bool, opened: u64, ports: u64) -> Option<Finding> {
    let (severity, message) = if failed > 0 {
        let message = format!(
            "{} found no free local port; this run opened {}, and there are {} ports to one address",
            plural(failed, "connection"),
            grouped(opened),
            grouped(ports)
        );
        (Severity::Invalid, message)
    } else if scarce {
        let message = format!(
            "this run opened {}, there are {} ports to one address, and most of them are still taken: a longer \
             run would find none",
            plural(opened, "connection"),
            grouped(ports)
        );
        (Severity::Warning, message)
    } else {
        return None;
    };
    Some(Finding::new(
        FindingCode::Ports,
        severity,
        &[
            ("failed", failed as f64, "count"),
            ("ports", ports as f64, "count"),
            ("opened", opened as f64, "count"),
        ],
        message,
        "add source addresses (--source 127.0.0.2,127.0.0.3), or keep connections open (without --no-keepalive, or with ab's -k)",
    ))
}

/// Whether this run used up most of the ports that it could, and they are not free again: where the server
/// closes first, the wait for stray packets is on its side.
fn ports_are_scarce(facts: &Facts<'_>, ports: u64) -> bool {
    if facts.plan().target.unix.is_some() {
        return false;
    }
    // Each pair of a source and a destination address has all ports to itself.
    let pairs = facts.result.addresses.len().max(1) * facts.plan().sources.len().max(1);
    let many = ports as f64 * PORT_SHARE;
    if facts.result.connections.opened as f64 <= many * pairs as f64 {
        return false;
    }
    let addresses: Vec<SocketAddr> =
        facts.result.addresses.iter().filter_map(|address| address.parse().ok()).collect();
    let waiting = time_wait_towards(&addresses).or_else(time_wait_sockets);
    waiting.is_some_and(|waiting| waiting as f64 > many)
}

/// Sockets in TIME_WAIT on this machine, of servers, too (/proc/net/sockstat, `tw`).
fn time_wait_sockets() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/net/sockstat").ok()?;
    let line = text.lines().find(|line| line.starts_with("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

/// File descriptors ran out.
pub(super) fn descriptors(facts: &Facts<'_>) -> Option<Finding> {
    let failed = facts.result.requests.failed_by_kind.get(&ErrorKind::NoDescriptor).copied()?;
    let limit = facts.result.environment.open_files_limit.unwrap_or_default();
    Some(Finding::new(
        FindingCode::Descriptors,
        Severity::Invalid,
        &[("failed", failed as f64, "count"), ("open_files_limit", limit as f64, "count")],
        format!(
            "{} found no free file descriptor or socket memory (limit {})",
            plural(failed, "connection"),
            plural(limit, "file")
        ),
        "raise the limit with `ulimit -n`, or use fewer --connections",
    ))
}

/// Share of the requests that went over a connection that had carried one before.
fn reuse_share(facts: &Facts<'_>) -> f64 {
    facts.totals.whole_run.reused as f64 / facts.totals.whole_run.sent_now.max(1) as f64
}

/// The server closed connections that were to be reused.
pub(super) fn not_reused(facts: &Facts<'_>) -> Option<Finding> {
    let connections = &facts.result.connections;
    let share = reuse_share(facts);
    let answered = facts.totals.whole_run.answered_now + facts.result.requests.answered;
    if !facts.keep_alive || share >= REUSED_SHARE || connections.closed_by_server == 0 || answered == 0 {
        return None;
    }
    let sent = facts.totals.whole_run.sent_now;
    Some(Finding::new(
        FindingCode::NotReused,
        Severity::Note,
        &[("reused", connections.reused as f64, "count"), ("sent", sent as f64, "count")],
        format!(
            "the server closed its connections: {} of {} reused a connection, so most response times \
             include connecting",
            grouped(connections.reused),
            plural(sent, "request")
        ),
        "if that is how the server is meant to be used, --no-keepalive says so; else look at its keep-alive settings",
    ))
}

/// The latency follows from the number of connections.
pub(super) fn closed_loop(facts: &Facts<'_>) -> Option<Finding> {
    let Load::Closed { connections } = facts.plan().own_load() else { return None };
    if facts.plan().scenario.is_some() {
        // Users who think need no connection meanwhile.
        return None;
    }
    let rate = facts.result.rate.answered_per_s;
    let mean_ms = facts.result.latency.response.mean_ms?;
    if connections < 2 || rate <= 0.0 {
        return None;
    }
    let in_flight = f64::from(connections) * f64::from(facts.result.in_flight_per_connection());
    let implied_ms = in_flight / rate * 1e3;
    let half = round_down(facts.result.rate.done_per_s / 2.0);
    Some(Finding::new(
        FindingCode::ClosedLoop,
        Severity::Note,
        &[
            ("connections", f64::from(connections), "count"),
            ("rate", rate, "per_s"),
            ("implied_mean", implied_ms, "ms"),
            ("mean", mean_ms, "ms"),
        ],
        format!(
            "with {} the response time follows from the rate ({} / {} per s = {})",
            plural(connections.into(), "connection"),
            whole(in_flight),
            whole(rate),
            milliseconds(implied_ms)
        ),
        format!("to measure at a fixed load: --rate {half}"),
    ))
}

/// The server takes fewer requests at once on a connection than were asked for.
pub(super) fn stream_limit(facts: &Facts<'_>) -> Option<Finding> {
    let limit = facts.result.http2?.stream_limit?;
    let asked = facts.plan().request.pipeline;
    let connections = u64::from(facts.plan().own_load().connections());
    if limit >= asked {
        return None;
    }
    // In an open loop other connections carry what is due.
    let severity = match facts.plan().load {
        Load::Closed { .. } => Severity::Warning,
        Load::Open { .. } => Severity::Note,
    };
    let [most, wanted] = [limit, asked].map(|streams| connections * u64::from(streams));
    Some(Finding::new(
        FindingCode::StreamLimit,
        severity,
        &[("limit", limit.into(), "count"), ("asked", asked.into(), "count")],
        format!(
            "the server takes {} at once on a connection, and {} were asked for: at most {} were in flight, not {}",
            plural(limit.into(), "request"),
            grouped(asked.into()),
            grouped(most),
            grouped(wanted)
        ),
        "raise the server's limit (nginx: http2_max_concurrent_streams), or use more --connections and fewer --streams",
    ))
}

/// Every request opened a connection of its own, which took much of its time.
pub(super) fn connection_per_request(facts: &Facts<'_>) -> Option<Finding> {
    let latency = &facts.result.latency;
    let (connect_ms, response_ms) = (latency.connect.mean_ms?, latency.response.mean_ms?);
    let share = connect_ms / response_ms;
    // Where the server closes its connections against our wish, that is another finding.
    if facts.keep_alive || facts.totals.whole_run.reused > 0 || share <= CONNECT_SHARE {
        return None;
    }
    Some(Finding::new(
        FindingCode::ConnectionPerRequest,
        Severity::Note,
        &[
            ("connect_mean", connect_ms, "ms"),
            ("response_mean", response_ms, "ms"),
            ("share", share, "share"),
        ],
        format!(
            "every request opened a connection of its own: connecting takes {} on average, and a response {} with it",
            milliseconds(connect_ms),
            milliseconds(response_ms)
        ),
        "to see the server's work alone, keep connections open: without --no-keepalive and --http1.0, or with ab's -k",
    ))
}

/// One significant digit, rounded down: a number that a person would type.
fn round_down(value: f64) -> f64 {
    if value < 1.0 {
        return 1.0;
    }
    let scale = 10_f64.powf(value.log10().floor());
    (value / scale).floor() * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_blamed_on_its_cause() {
        let check = |for_limit, for_connecting, held_back, expected: Option<&str>| {
            let waits = Waits {
                for_limit,
                for_connecting,
                never_sent: if held_back { for_limit + for_connecting } else { 0 },
                intended: 1000,
                held_back,
                max_connections: 50,
                keep_alive: true,
                p99_ms: 3.2,
            };
            let message = waits.finding().map(|found| found.message);
            assert_eq!(message.is_some(), expected.is_some(), "{message:?}");
            if let (Some(message), Some(words)) = (message, expected) {
                assert!(message.contains(words), "{message}");
            }
        };
        check(0, 10, false, None);
        check(
            0,
            20,
            false,
            Some("2 % of the requests waited for a connection to open (p99 of the wait 3.20 ms)"),
        );
        check(20, 0, false, Some("2 % of the requests waited for one of 50 connections (p99"));
        check(997, 3, false, Some("99.7 % of the requests waited for one of 50 connections (p99"));
        check(
            300,
            20,
            false,
            Some("30 % of the requests waited for one of 50 connections, and 2 % for a connection"),
        );
        check(5, 0, true, Some("5 requests still waited for one of 50 connections at the end"));
        check(0, 5, true, Some("5 requests still waited for a connection to open at the end"));
    }

    #[test]
    fn no_warning_counts_zero_connections() {
        let check = |failed, scarce, expected: Option<(Severity, &str)>| {
            let found = ports_used_up(failed, scarce, 25_000, 28_232);
            assert_eq!(found.as_ref().map(|found| found.severity), expected.map(|(severity, _)| severity));
            if let (Some(found), Some((_, words))) = (found, expected) {
                assert!(
                    found.message.contains(words) && !found.message.starts_with("0 "),
                    "{}",
                    found.message
                );
            }
        };
        check(0, false, None);
        check(
            0,
            true,
            Some((Severity::Warning, "this run opened 25,000 connections, there are 28,232 ports")),
        );
        check(3, true, Some((Severity::Invalid, "3 connections found no free local port")));
    }
}
