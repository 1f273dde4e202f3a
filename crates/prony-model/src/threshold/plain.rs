//! The figures that are no family: a row each, with name, unit, meaning and how it is read from a run.

use super::amount::Unit;
use super::reading::{Reading, counted, known, share};
use crate::{Outcome, RetryUse, RunResult, ScenarioResult, ServerUse};

/// Bytes of a mebibyte.
const MIB: f64 = 1_048_576.0;

/// A figure of a run that is no family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "`ROWS` describes each")]
pub enum PlainFigure {
    Rate,
    RateSent,
    RateAnswered,
    Success,
    Checks,
    Errors,
    Requests,
    RequestsSent,
    RequestsAnswered,
    RequestsDone,
    RequestsFailed,
    RequestsCensored,
    RequestsNeverSent,
    Retries,
    RetriesRecovered,
    BytesSent,
    BytesReceived,
    BytesBodies,
    ConnectionsReached,
    ConnectionsOpened,
    ConnectionsReused,
    ConnectionsClosedByServer,
    Total,
    ServerCpuPerRequest,
    ServerCpu,
    ServerBusiestThread,
    ServerMemory,
    ClientCpu,
    ClientMemory,
    ClientCapacity,
    MachineSteal,
    MachineBusy,
    MachineRetransmitted,
    Verdict,
    Limiter,
    Sessions,
    SessionsRate,
    SessionsSuccess,
    SessionsFailed,
}

/// What is known of a figure.
struct Row {
    figure: PlainFigure,
    name: &'static str,
    unit: Unit,
    description: &'static str,
    read: fn(&RunResult) -> Reading,
}

/// Every figure, in the order of the type.
const ROWS: [Row; 39] = [
    Row {
        figure: PlainFigure::Rate,
        name: "rate",
        unit: Unit::PerSecond,
        description: "good responses per second",
        read: |result| {
            let figures = result.figures();
            let is_late = result.requests.done > 0 && result.rate.done_per_s <= 0.0;
            if is_late {
                return Reading::without("every answer came after the measured part", figures.requests.done);
            }
            Reading {
                interval: figures.rate.interval_per_s,
                ..known(figures.rate.done_per_s, figures.requests.done)
            }
        },
    },
    Row {
        figure: PlainFigure::RateSent,
        name: "rate.sent",
        unit: Unit::PerSecond,
        description: "requests sent per second",
        read: |result| known(result.figures().rate.sent_per_s, result.requests.sent),
    },
    Row {
        figure: PlainFigure::RateAnswered,
        name: "rate.answered",
        unit: Unit::PerSecond,
        description: "complete responses of any status per second",
        read: |result| known(result.figures().rate.answered_per_s, result.requests.answered),
    },
    Row {
        figure: PlainFigure::Success,
        name: "success",
        unit: Unit::Share,
        description: "good responses, as a share of the due requests",
        read: |result| share(result.requests.done, result.requests.intended, "no request was due"),
    },
    Row {
        figure: PlainFigure::Checks,
        name: "checks",
        unit: Unit::Share,
        description: "answers that passed every check (status, body, length), as a share of all answers",
        read: |result| share(result.requests.done, result.requests.answered, "no request was answered"),
    },
    Row {
        figure: PlainFigure::Errors,
        name: "errors",
        unit: Unit::Share,
        description: "failed requests, as a share of the due requests",
        read: |result| share(result.requests.failed, result.requests.intended, "no request was due"),
    },
    Row {
        figure: PlainFigure::Requests,
        name: "requests",
        unit: Unit::Count,
        description: "requests that were due",
        read: |result| counted(result.requests.intended),
    },
    Row {
        figure: PlainFigure::RequestsSent,
        name: "requests.sent",
        unit: Unit::Count,
        description: "requests that were sent",
        read: |result| counted(result.requests.sent),
    },
    Row {
        figure: PlainFigure::RequestsAnswered,
        name: "requests.answered",
        unit: Unit::Count,
        description: "complete responses of any status",
        read: |result| counted(result.requests.answered),
    },
    Row {
        figure: PlainFigure::RequestsDone,
        name: "requests.done",
        unit: Unit::Count,
        description: "good responses",
        read: |result| counted(result.requests.done),
    },
    Row {
        figure: PlainFigure::RequestsFailed,
        name: "requests.failed",
        unit: Unit::Count,
        description: "failed requests",
        read: |result| counted(result.requests.failed),
    },
    Row {
        figure: PlainFigure::RequestsCensored,
        name: "requests.censored",
        unit: Unit::Count,
        description: "requests that were outstanding when the run ended",
        read: |result| counted(result.requests.censored),
    },
    Row {
        figure: PlainFigure::RequestsNeverSent,
        name: "requests.never-sent",
        unit: Unit::Count,
        description: "requests that were due and never sent, because no connection was free",
        read: |result| counted(result.requests.never_sent),
    },
    Row {
        figure: PlainFigure::Retries,
        name: "retries",
        unit: Unit::Share,
        description: "retries, as a share of the requests that were sent",
        read: |result| of_retries(result, |retries| retries.retries, result.requests.sent),
    },
    Row {
        figure: PlainFigure::RetriesRecovered,
        name: "retries.recovered",
        unit: Unit::Share,
        description: "requests that succeeded only after a retry, as a share of the due requests",
        read: |result| of_retries(result, |retries| retries.recovered, result.requests.intended),
    },
    Row {
        figure: PlainFigure::BytesSent,
        name: "bytes.sent",
        unit: Unit::Mebibytes,
        description: "requests on the wire, with their heads",
        read: |result| known(result.bytes.sent as f64 / MIB, result.requests.sent),
    },
    Row {
        figure: PlainFigure::BytesReceived,
        name: "bytes",
        unit: Unit::Mebibytes,
        description: "responses on the wire, with their heads",
        read: |result| known(result.bytes.received as f64 / MIB, result.requests.answered),
    },
    Row {
        figure: PlainFigure::BytesBodies,
        name: "bytes.bodies",
        unit: Unit::Mebibytes,
        description: "bodies of complete responses",
        read: |result| known(result.bytes.body_received as f64 / MIB, result.requests.answered),
    },
    Row {
        figure: PlainFigure::ConnectionsReached,
        name: "connections",
        unit: Unit::Count,
        description: "most connections open at one moment",
        read: |result| counted(result.connections.reached),
    },
    Row {
        figure: PlainFigure::ConnectionsOpened,
        name: "connections.opened",
        unit: Unit::Count,
        description: "connections opened over the whole run",
        read: |result| counted(result.connections.opened),
    },
    Row {
        figure: PlainFigure::ConnectionsReused,
        name: "connections.reused",
        unit: Unit::Count,
        description: "requests on a connection that had carried one before",
        read: |result| counted(result.connections.reused),
    },
    Row {
        figure: PlainFigure::ConnectionsClosedByServer,
        name: "connections.closed-by-server",
        unit: Unit::Count,
        description: "connections that the server closed between two requests",
        read: |result| counted(result.connections.closed_by_server),
    },
    Row {
        figure: PlainFigure::Total,
        name: "total",
        unit: Unit::Seconds,
        description: "length of the measured part: the time that N requests take",
        read: |result| known(result.timing.measured_s, result.requests.done),
    },
    Row {
        figure: PlainFigure::ServerCpuPerRequest,
        name: "server.cpu-per-request",
        unit: Unit::Microseconds,
        description: "CPU time of the server for each request",
        read: |result| {
            of_server(result, |server| {
                let figure = server.cpu_per_request_us?;
                Some(Reading { interval: figure.interval, ..known(figure.value, figure.requests) })
            })
        },
    },
    Row {
        figure: PlainFigure::ServerCpu,
        name: "server.cpu",
        unit: Unit::Share,
        description: "CPU time of the server, as a share of the cores that it may use",
        read: |result| {
            of_server(result, |server| {
                let room_s = server.wall_s * f64::from(server.cpus);
                (room_s > 0.0).then(|| known(server.own.cpu_s / room_s, server.requests))
            })
        },
    },
    Row {
        figure: PlainFigure::ServerBusiestThread,
        name: "server.busiest-thread",
        unit: Unit::Share,
        description: "CPU time of the server's busiest thread, as a share of one core",
        read: |result| {
            of_server(result, |server| {
                server.own.busiest_thread_share.map(|share| known(share, server.requests))
            })
        },
    },
    Row {
        figure: PlainFigure::ServerMemory,
        name: "server.memory",
        unit: Unit::Mebibytes,
        description: "peak memory of the server",
        read: |result| {
            of_server(result, |server| {
                server.own.memory_peak_bytes.map(|bytes| known(bytes as f64 / MIB, server.requests))
            })
        },
    },
    Row {
        figure: PlainFigure::ClientCpu,
        name: "client.cpu",
        unit: Unit::Share,
        description: "greatest share of a core that a thread of the client used within a second",
        read: |result| {
            let shares = result.client.threads.iter().map(|thread| thread.cpu_share_peak);
            let most = shares.reduce(f64::max);
            Reading::of(most, result.requests.sent, "the client's threads are not known")
        },
    },
    Row {
        figure: PlainFigure::ClientMemory,
        name: "client.memory",
        unit: Unit::Mebibytes,
        description: "peak memory of the client",
        read: |result| {
            let peak = result.client.peak_rss_bytes.map(|bytes| bytes as f64 / MIB);
            Reading::of(peak, result.requests.sent, "the system does not report it")
        },
    },
    Row {
        figure: PlainFigure::ClientCapacity,
        name: "client.capacity",
        unit: Unit::Share,
        description: "the rate, as a share of what this client can do at most (`prony calibrate`)",
        read: |result| {
            let share = result.calibration.as_ref().map(|calibration| calibration.share);
            Reading::of(
                share,
                result.requests.done,
                "no calibration fits this run: prony calibrate makes one",
            )
        },
    },
    Row {
        figure: PlainFigure::MachineSteal,
        name: "machine.steal",
        unit: Unit::Share,
        description: "CPU time that the hypervisor gave to others",
        read: |result| of_machine(result.machine.steal_share),
    },
    Row {
        figure: PlainFigure::MachineBusy,
        name: "machine.busy",
        unit: Unit::Share,
        description: "CPU time of the client's machine that was used at all",
        read: |result| of_machine(result.machine.busy_share),
    },
    Row {
        figure: PlainFigure::MachineRetransmitted,
        name: "machine.retransmitted",
        unit: Unit::Count,
        description: "TCP segments that the client's machine sent again",
        read: |result| of_machine(result.machine.retransmitted.map(|count| count as f64)),
    },
    Row {
        figure: PlainFigure::Verdict,
        name: "verdict",
        unit: Unit::Word,
        description: "whether the numbers can be defended: valid, doubtful or invalid",
        read: |_| Reading::default(),
    },
    Row {
        figure: PlainFigure::Limiter,
        name: "limiter",
        unit: Unit::Word,
        description: "what limited the run, as in docs/limiter.md: connections, server-cpu, …",
        read: |_| Reading::default(),
    },
    Row {
        figure: PlainFigure::Sessions,
        name: "sessions",
        unit: Unit::Count,
        description: "sessions of a scenario that began",
        read: |result| of_sessions(result, |found| counted(found.sessions.begun)),
    },
    Row {
        figure: PlainFigure::SessionsRate,
        name: "sessions.rate",
        unit: Unit::PerSecond,
        description: "sessions of a scenario that began, per second",
        read: |result| of_sessions(result, |found| known(found.sessions_per_s, found.sessions.begun)),
    },
    Row {
        figure: PlainFigure::SessionsSuccess,
        name: "sessions.success",
        unit: Unit::Share,
        description: "sessions that were completed, as a share of those that ended",
        read: |result| {
            of_sessions(result, |found| {
                let ended = found.sessions.completed + found.sessions.failed;
                share(found.sessions.completed, ended, "no session ended")
            })
        },
    },
    Row {
        figure: PlainFigure::SessionsFailed,
        name: "sessions.failed",
        unit: Unit::Count,
        description: "sessions that ended with a step that failed",
        read: |result| of_sessions(result, |found| counted(found.sessions.failed)),
    },
];

impl PlainFigure {
    /// Every figure, in the order of the documentation.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::Rate; ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            all[at] = ROWS[at].figure;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// As in a threshold.
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn unit(self) -> Unit {
        self.row().unit
    }

    pub(crate) fn description(self) -> &'static str {
        self.row().description
    }

    pub(crate) fn read(self, result: &RunResult) -> Reading {
        (self.row().read)(result)
    }

    /// Whether it is of the client or its machine, or says itself how good the run is, so that it holds in an invalid
    /// run, too.
    pub(crate) fn is_of_client(self) -> bool {
        matches!(
            self,
            Self::ClientCpu
                | Self::ClientMemory
                | Self::ClientCapacity
                | Self::MachineSteal
                | Self::MachineBusy
                | Self::MachineRetransmitted
                | Self::Verdict
        )
    }

    /// Whether it is what the server used, which others on its cores hardly change.
    pub(crate) fn is_of_server(self) -> bool {
        matches!(
            self,
            Self::ServerCpuPerRequest | Self::ServerCpu | Self::ServerBusiestThread | Self::ServerMemory
        )
    }
}

fn of_retries(result: &RunResult, count: fn(&RetryUse) -> u64, whole: u64) -> Reading {
    match &result.retries {
        Some(retries) => share(count(retries), whole, "no request was due"),
        None => Reading::without("no request was retried: that takes --retries", 0),
    }
}

fn of_server(result: &RunResult, read: impl Fn(&ServerUse) -> Option<Reading>) -> Reading {
    result.server.as_ref().and_then(read).unwrap_or_else(|| {
        let why = result.server_unknown_because.as_deref().unwrap_or("the system does not report it");
        Reading::without(why, 0)
    })
}

fn of_sessions(result: &RunResult, read: impl Fn(&ScenarioResult) -> Reading) -> Reading {
    let none = || Reading::without("there were no sessions: that takes a scenario", 0);
    result.scenario.as_ref().map_or_else(none, read)
}

fn of_machine(value: Option<f64>) -> Reading {
    Reading::of(value, 0, "the system does not report it")
}

/// Complete answers that are not good, by the outcomes that are counted while a run is on.
pub(crate) fn is_bad_answer(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::UnexpectedStatus(_) | Outcome::Failed(crate::ErrorKind::CheckFailed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_where_they_are_looked_for() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.figure as usize, at, "{}", row.name);
        }
    }
}
