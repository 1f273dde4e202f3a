//! What every report says in words, whatever it is drawn as: the choices, the verdict, success, rate.

use std::net::SocketAddr;

use prony_model::{
    BodyCheck, CalibrationUse, End, ErrorKind, Finding, Load, Rate, RunPlan, RunResult, StatusSet, Timeouts,
    Traffic, Verdict, Version,
};

use crate::number::{
    age, bytes, count, dash, duration, percent, plural, rate, rough_percent, seconds, times,
};
use crate::{replay, retries, tls, traces};

/// What was asked, also where nobody asked for it by hand; each part is one choice.
pub(crate) fn choices(result: &RunResult) -> Vec<String> {
    let plan = &result.plan;
    let mut parts = vec![what(plan)];
    parts.extend(tls::choices(&plan.target));
    parts.extend(result.target_commit.clone());
    parts.extend(request(result));
    parts.push(load(plan));
    parts.push(when(result));
    parts.extend(elsewhere(&result.addresses));
    if !plan.sources.is_empty() {
        let sources: Vec<String> = plan.sources.iter().map(ToString::to_string).collect();
        parts.push(match sources.as_slice() {
            [first, .., last] if sources.len() > 3 => {
                format!("from {} addresses, {first} to {last}", sources.len())
            }
            _ => format!("from {}", sources.join(", ")),
        });
    }
    parts.extend(checks(result));
    parts.extend(retries::choice(plan));
    parts.extend(traces::choice(plan));
    if plan.timeouts != Timeouts::default() {
        let Timeouts { connect, request, drain } = plan.timeouts;
        let times = [connect, request, drain].map(duration);
        parts.push(format!("timeouts: connect {}, request {}, drain {}", times[0], times[1], times[2]));
    }
    parts.push(result.driver.name.clone());
    parts.push(format!("seed {}", plan.seed));
    parts
}

/// What is sent, and where.
pub(crate) fn what(plan: &RunPlan) -> String {
    match &plan.scenario {
        Some(scenario) if plan.replay.is_some() => {
            let routes = plural(scenario.flows.len() as u64, "route");
            format!("replay of {} ({routes}) to {}", scenario.name, plan.target)
        }
        None => format!("{} {}", plan.request.method, plan.target),
        Some(scenario) => {
            let steps = plural(scenario.steps().count() as u64, "step");
            let flows = plural(scenario.flows.len() as u64, "flow");
            format!("sessions of {} ({flows}, {steps}) on {}", scenario.name, plan.target)
        }
    }
}

/// The protocol, the use of connections, headers and body.
fn request(result: &RunResult) -> Vec<String> {
    let request = &result.plan.request;
    let version = request.version.name();
    let connections = if request.keep_alive { "keep-alive" } else { "a connection per request" };
    let mut parts = vec![format!("{version} {connections}")];
    match request.version {
        Version::Http2 => parts.push(format!("{} per connection", plural(request.pipeline.into(), "stream"))),
        _ if request.pipeline > 1 => parts.push(format!("pipeline {}", request.pipeline)),
        _ => {}
    }
    if !request.headers.is_empty() {
        parts.push(plural(request.headers.len() as u64, "header"));
    }
    if !request.body.bytes.is_empty() {
        parts.push(format!("body {}", bytes(request.body.bytes.len() as f64)));
    }
    parts
}

/// The events of responses that are streams of them.
pub(crate) fn events(result: &RunResult) -> Option<String> {
    let events = result.events.as_ref().filter(|events| events.events > 0)?;
    let each = if events.events_min == events.events_max {
        format!("{} each", count(events.events_p50))
    } else {
        let [low, high] = [events.events_min, events.events_max].map(count);
        format!("{} in the median, {low} to {high}", count(events.events_p50))
    };
    let responses = plural(events.streams, "good response");
    let mut parts =
        vec![format!("{} /s     {} in {responses}, {each}", rate(events.events_per_s), count(events.events))];
    if events.together > 0 {
        let share = percent(events.together, events.events);
        parts.push(format!("{share} came together with the one before"));
    }
    if events.without_events > 0 {
        parts.push(format!("{} without events", plural(events.without_events, "good response")));
    }
    Some(parts.join("; "))
}

/// The loop and how wide it is.
pub(crate) fn load(plan: &RunPlan) -> String {
    let threads = plural(plan.threads.into(), "thread");
    let sessions = plan.scenario.is_some();
    match &plan.load {
        Load::Closed { connections } if sessions => {
            format!("closed loop, {}, {threads}", plural((*connections).into(), "user"))
        }
        Load::Closed { connections } => {
            format!("closed loop, {}, {threads}", plural((*connections).into(), "connection"))
        }
        Load::Open { rate_per_s, arrivals, max_connections } => {
            let connections = plural((*max_connections).into(), "connection");
            format!("open loop, {} {arrivals}, at most {connections}, {threads}", asked(plan, *rate_per_s))
        }
    }
}

/// What rate was asked for: one, or the stages' lowest and highest.
fn asked(plan: &RunPlan, highest: Rate) -> String {
    let unit = if plan.scenario.is_some() && plan.replay.is_none() { "sessions/s" } else { "/s" };
    let Some(stages) = &plan.stages else { return format!("{} {unit}", rate(highest.as_per_second())) };
    let rates = stages.0.iter().flat_map(|stage| [stage.from_per_s, stage.to_per_s]);
    let lowest = rates.fold(f64::INFINITY, f64::min);
    let count = plural(stages.0.len() as u64, "stage");
    format!("{count} of {} to {} {unit}", rate(lowest), rate(highest.as_per_second()))
}

/// How long; the planned and the real length where they differ.
fn when(result: &RunResult) -> String {
    let unit = if result.plan.scenario.is_some() { "session" } else { "request" };
    let planned = match result.plan.end {
        End::Duration(length) => duration(length),
        End::First { .. } if result.plan.recorded.is_some() => replay::span(&result.plan).unwrap_or_default(),
        End::First { duration: length, requests } => {
            format!("{} or {} {unit}s", duration(length), count(requests))
        }
        End::Requests(requests) => {
            format!("{} in {}", plural(requests, unit), seconds(result.timing.measured_s))
        }
    };
    let warmup = if result.plan.warmup.is_zero() {
        "without warm-up".to_owned()
    } else {
        format!("after {} warm-up", duration(result.plan.warmup))
    };
    let early = if result.timing.interrupted {
        let how = if result.timing.ended_early_because.is_some() { "ended early" } else { "stopped by hand" };
        format!(", {how} after {}", seconds(result.timing.measured_s))
    } else {
        String::new()
    };
    format!("{planned} {warmup}{early}")
}

/// Where the load goes, when it leaves this machine.
fn elsewhere(addresses: &[String]) -> Option<String> {
    let remote: Vec<&str> =
        addresses.iter().map(String::as_str).filter(|address| leaves_machine(address)).collect();
    let (first, rest) = remote.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    Some(format!("load goes to {first}{more}, beyond this machine's loopback"))
}

/// Whether `address` (`IP:PORT`) is a network address that is not loopback; a socket path is not.
fn leaves_machine(address: &str) -> bool {
    address.parse::<SocketAddr>().is_ok_and(|address| !address.ip().to_canonical().is_loopback())
}

/// What makes a response good, where that is not the default.
fn checks(result: &RunResult) -> Vec<String> {
    let checks = &result.plan.checks;
    let mut parts = Vec::new();
    parts.extend(good_statuses(&checks.status));
    match &checks.body {
        None => {}
        Some(BodyCheck::Exact(text)) => parts.push(format!("good is a body of exactly {} bytes", text.len())),
        Some(BodyCheck::Regex(pattern)) => parts.push(format!("good is a body that matches /{pattern}/")),
    }
    if checks.same_length {
        parts.push("good is a body as long as the first".to_owned());
    }
    parts
}

/// Which status codes are good, where they are not the usual ones.
pub(crate) fn good_statuses(statuses: &StatusSet) -> Option<String> {
    let range = |(low, high): &(u16, u16)| {
        if low == high { low.to_string() } else { format!("{low}–{high}") }
    };
    let ranges: Vec<String> = statuses.0.iter().map(range).collect();
    (*statuses != StatusSet::default()).then(|| format!("good is status {}", ranges.join(", ")))
}

/// The word for a verdict.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "VALID",
        Verdict::Doubtful => "DOUBTFUL",
        Verdict::Invalid => "INVALID",
    }
}

/// The finding that stands beside the verdict, and all others.
pub(crate) fn split_findings(result: &RunResult) -> (Option<&Finding>, &[Finding]) {
    match result.findings.split_first() {
        Some((worst, rest)) if result.verdict != Verdict::Valid => (Some(worst), rest),
        _ => (None, &result.findings),
    }
}

/// How busy the client was.
pub(crate) fn client(result: &RunResult) -> String {
    let client = &result.client;
    let measured_s = result.timing.measured_s;
    if client.threads.is_empty() || measured_s <= 0.0 {
        return "nothing speaks against these numbers".to_owned();
    }
    // A thread that ended its last slice a little late can't have used more than its core.
    let share = rough_percent((client.cpu_s / measured_s).min(client.threads.len() as f64));
    let peak = client.threads.iter().map(|thread| thread.cpu_share_peak).fold(0.0, f64::max);
    let used = match client.threads.len() {
        1 => format!("the client used {share} of a core, at most {} in a second", rough_percent(peak)),
        threads => format!(
            "the client used {share} of a core with {threads} threads, the busiest {} of its own",
            rough_percent(peak)
        ),
    };
    match result.calibration.as_ref().and_then(|calibration| reach(result, calibration)) {
        Some(reach) => format!("{used}; {reach}"),
        None => used,
    }
}

/// How much more the client could have done, and how old that knowledge is.
fn reach(result: &RunResult, calibration: &CalibrationUse) -> Option<String> {
    let is_known = calibration.share.is_finite() && calibration.share > 0.0;
    let factor = is_known.then(|| times(1.0 / calibration.share))?;
    let reach = if calibration.capacity_per_s > calibration.null_rate_per_s {
        format!("by its use of the CPU against the null server it can do about {factor} this rate")
    } else {
        format!("against the null server it reaches {factor} this rate")
    };
    let other = if calibration.prony_version == result.environment.prony_version {
        String::new()
    } else {
        format!(" with prony {}", calibration.prony_version)
    };
    Some(format!("{reach} (calibrated {}{other})", age(calibration.age_s)))
}

/// Good of all requests, and what became of the others; the denominator is everything that was due.
pub(crate) fn success(result: &RunResult) -> (String, String) {
    let requests = &result.requests;
    if requests.intended == 0 {
        return (dash(), "no request was measured".to_owned());
    }
    let mut text = format!("{} of {}", count(requests.done), plural(requests.intended, "request"));
    if requests.done == 0
        && requests.answered > 0
        && result.statuses.len() == 1
        && let Some(status) = result.statuses.keys().next()
    {
        let all = if requests.answered == requests.intended { "all were" } else { "every answer was" };
        text = format!("{text}: {all} {}", prony_model::status_name(*status));
        if requests.failed_by_kind.contains_key(&ErrorKind::CheckFailed) {
            text.push_str(" and failed a check");
        }
    }
    if requests.censored > 0 {
        text = format!("{text}; {} sent and unanswered at the end", count(requests.censored));
    }
    if requests.never_sent > 0 {
        text = format!("{text}; {} never sent", count(requests.never_sent));
    }
    (percent(requests.done, requests.intended), text)
}

/// How much was delivered. The label says whether every answer was a good one.
pub(crate) struct Throughput {
    pub(crate) label: &'static str,
    /// The rate of good responses with its interval, what was asked, and bytes.
    pub(crate) parts: Vec<String>,
    /// Why the rate is not the one that other tools would print.
    pub(crate) note: Option<String>,
}

pub(crate) fn throughput(result: &RunResult) -> Throughput {
    let figures = result.figures();
    let summary = figures.rate;
    let interval = match summary.interval_per_s {
        Some(interval) if summary.done_per_s > 0.0 => {
            let half = (interval.high - interval.low) / 2.0 / summary.done_per_s;
            let hint = if interval.indicative { " (indicative)" } else { "" };
            format!(" ± {}{hint}", rough_percent(half))
        }
        _ if result.requests.done == 0 || result.plan.stages.is_some() => String::new(),
        _ => " (too short for an interval)".to_owned(),
    };
    let mut parts = vec![match result.requests.done {
        // What came in the drain is part of no rate, and nothing at all has none.
        late @ 1.. if result.rate.done_per_s <= 0.0 => {
            let all =
                if late == 1 { "the only answer".to_owned() } else { format!("all {} answers", count(late)) };
            format!("– {all} came after the measured {}", seconds(result.timing.measured_s))
        }
        _ => format!("{} /s{interval}", rate(summary.done_per_s)),
    }];
    parts.extend(summary.asked_per_s.map(|asked| format!("of {} /s asked", rate(asked))));
    parts.extend(
        figures.clean_share.map(|share| format!("from {} of the measured time", rough_percent(share))),
    );
    if result.bytes.received > 0 && result.timing.measured_s > 0.0 {
        parts.push(format!("{}/s in", bytes(result.bytes.received as f64 / result.timing.measured_s)));
    }
    let all_good = result.requests.answered == result.requests.done;
    let note = (!all_good)
        .then(|| format!("({} /s answered; an error is not throughput)", rate(summary.answered_per_s)));
    Throughput { label: if all_good { "rate" } else { "goodput" }, parts, note }
}

/// What was sent in all, to be compared with the lines of a server's log.
pub(crate) fn traffic(result: &RunResult) -> Option<String> {
    let traffic = result.traffic?;
    let Traffic { preflight_connections, warmup, measured } = traffic;
    let mut parts = Vec::new();
    if warmup.sent > 0 {
        parts.push(format!("{} in the warm-up", count(warmup.sent)));
    }
    let late = match measured.answered_in_drain {
        0 => String::new(),
        late => format!(" ({} of them answered in the drain)", count(late)),
    };
    parts.push(format!("{} measured{late}", count(measured.sent)));
    let preflight = match preflight_connections {
        0 => String::new(),
        number => format!("; {} without a request before the load", plural(number, "connection")),
    };
    Some(format!("{} in all: {}{preflight}", plural(traffic.sent(), "request"), parts.join(", ")))
}

/// Connections, where there is more to say than that all of them were open and reused.
pub(crate) fn connections(result: &RunResult) -> Option<String> {
    let connections = &result.connections;
    let open_loop = matches!(result.plan.load, Load::Open { .. });
    let all_open = connections.reached == connections.asked && connections.opened == connections.asked;
    let refused = result.http2.map_or(0, |http2| http2.refused);
    if all_open && !open_loop && connections.closed_by_server + refused == 0 {
        return None;
    }
    let most = if open_loop { "at most " } else { "" };
    let mut parts =
        vec![format!("{} of {most}{} open", count(connections.reached), count(connections.asked))];
    if connections.attempted != connections.opened {
        parts.push(format!(
            "{} opened in {} attempts",
            count(connections.opened),
            count(connections.attempted)
        ));
    } else if connections.opened != connections.reached {
        parts.push(format!("{} opened over time", count(connections.opened)));
    }
    parts.push(format!("{} reused a connection", plural(connections.reused, "request")));
    if connections.closed_by_server > 0 {
        parts.push(format!("{} closed by the server between requests", count(connections.closed_by_server)));
    }
    if refused > 0 {
        parts.push(format!("{} refused by the server and sent again", plural(refused, "request")));
    }
    Some(parts.join(", "))
}
