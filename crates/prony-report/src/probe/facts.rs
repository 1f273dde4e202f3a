//! The text about a probe, whatever it is drawn as.

use prony_model::{
    BodyFraming, ErrorKind, LaterPhases, PhaseTimes, ProbePhase, ProbeResult, ProbedRequest, Target,
    Timeouts, status_name,
};

use crate::facts::good_statuses;
use crate::number::{bytes, cell, count, duration, or_dash, percent, plural};
use crate::tls;

/// How much longer a wait is advised to be than the one that was too short.
const LONGER: f64 = 4.0;

/// Round trips from which on the kernel's estimate of their spread is one: it begins at half of the first round trip
/// and keeps 3/4 of that with each further one (RFC 6298, section 2), so that after ten it makes 1/13 of it.
const ROUND_TRIPS_LEAST: u32 = 10;

/// A time in milliseconds, with the unit.
pub(crate) fn ms(value: f64) -> String {
    format!("{} ms", cell(value))
}

/// A time in a column of milliseconds; a dash for one that is not there.
pub(super) fn time_cell(value: Option<f64>) -> String {
    or_dash(value, cell)
}

/// What stands for the time of `phase`: the time, or why there is none.
pub(super) enum PhaseCell {
    Time(f64),
    /// It did not end, in a word.
    Unended(&'static str),
    /// It did not take place.
    Absent,
}

pub(super) fn phase_cell(request: &ProbedRequest, phase: ProbePhase) -> PhaseCell {
    match (request.phases.of(phase), &request.failure) {
        (Some(time_ms), _) => PhaseCell::Time(time_ms),
        (None, Some(failure)) if failure.phase == Some(phase) => {
            PhaseCell::Unended(if failure.kind.is_some() { "failed" } else { "stopped" })
        }
        (None, _) => PhaseCell::Absent,
    }
}

/// The same in a column of milliseconds.
pub(super) fn phase_text(request: &ProbedRequest, phase: ProbePhase) -> String {
    match phase_cell(request, phase) {
        PhaseCell::Time(time_ms) => cell(time_ms),
        PhaseCell::Unended(word) => word.to_owned(),
        PhaseCell::Absent => time_cell(None),
    }
}

/// What was asked; each part is one choice.
pub(super) fn choices(result: &ProbeResult) -> Vec<String> {
    let plan = &result.plan;
    let version = plan.request.version.name();
    let mut parts = vec![format!("{} {}", plan.request.method, plan.target), version.to_owned()];
    parts.extend(tls::choices(&plan.target));
    parts.push(match (plan.count, plan.reuse) {
        (1, _) => "1 request".to_owned(),
        (requests, false) => format!("{}, each on a new connection", plural(requests.into(), "request")),
        (requests, true) => {
            format!("{} on as few connections as possible", plural(requests.into(), "request"))
        }
    });
    if !plan.request.headers.is_empty() {
        parts.push(plural(plan.request.headers.len() as u64, "header"));
    }
    if !plan.request.body.bytes.is_empty() {
        parts.push(format!("body {}", bytes(plan.request.body.bytes.len() as f64)));
    }
    if !plan.sources.is_empty() {
        let sources: Vec<String> = plan.sources.iter().map(ToString::to_string).collect();
        parts.push(format!("from {}", sources.join(", ")));
    }
    parts.extend(good_statuses(&plan.expected));
    let Timeouts { connect, request, .. } = plan.timeouts;
    if plan.timeouts != Timeouts::default() {
        parts.push(format!("timeouts: connect {}, request {}", duration(connect), duration(request)));
    }
    parts
}

/// How it ended, in a word and a sentence.
pub(super) struct Verdict {
    /// `SUCCESS`, `FAILED` or `STOPPED`.
    pub(super) word: &'static str,
    /// Whether every request was good.
    pub(super) good: bool,
    pub(super) text: String,
    /// What to try.
    pub(super) advice: Option<String>,
}

pub(super) fn verdict(result: &ProbeResult) -> Verdict {
    match result.requests.as_slice() {
        [] => {
            let text = "stopped by hand before the first request".to_owned();
            Verdict { word: "STOPPED", good: false, text, advice: None }
        }
        [only] if result.plan.count == 1 => of_one(result, only),
        all => {
            let good = all.iter().filter(|request| request.failure.is_none()).count() as u64;
            let planned = u64::from(result.plan.count);
            let early = if result.interrupted { "; stopped by hand" } else { "" };
            let text = format!(
                "{:<9} {} of {}{early}",
                percent(good, planned),
                count(good),
                plural(planned, "request")
            );
            Verdict { word: "SUCCESS", good: good == planned, text, advice: None }
        }
    }
}

fn of_one(result: &ProbeResult, request: &ProbedRequest) -> Verdict {
    let Some(failure) = &request.failure else {
        let status = request.response.as_ref().map(|response| status_name(response.status));
        return Verdict { word: "SUCCESS", good: true, text: status.unwrap_or_default(), advice: None };
    };
    let word = if failure.kind.is_some() { "FAILED" } else { "STOPPED" };
    let advice = match (failure.kind, &request.response) {
        (Some(ErrorKind::Status), Some(response)) => {
            Some(format!("where that is what you want: --expect-status {}", response.status))
        }
        (Some(ErrorKind::RequestTimeout), _) => {
            let longer_s = result.plan.timeouts.request.as_secs_f64() * LONGER;
            Some(format!("to wait longer: --timeout {longer_s}s"))
        }
        _ => None,
    };
    Verdict { word, good: false, text: failure_words(request), advice }
}

/// Why a request is not good, with the phase and how long it had taken.
fn failure_words(request: &ProbedRequest) -> String {
    let Some(failure) = &request.failure else { return String::new() };
    match (failure.phase, failure.after_ms) {
        (Some(phase), Some(after_ms)) => {
            format!("{} (phase {}, after {})", failure.message, name(phase), ms(after_ms))
        }
        _ => failure.message.clone(),
    }
}

/// How several requests ended: each status and each failure with its number.
pub(super) fn endings(result: &ProbeResult) -> Vec<String> {
    let mut endings: Vec<(String, u64)> = Vec::new();
    for request in &result.requests {
        let ending = match (&request.failure, &request.response) {
            (Some(failure), _) => failure.message.clone(),
            (None, response) => status_name(response.as_ref().map_or(0, |response| response.status)),
        };
        match endings.iter_mut().find(|(known, _)| *known == ending) {
            Some((_, number)) => *number += 1,
            None => endings.push((ending, 1)),
        }
    }
    endings.into_iter().map(|(ending, number)| format!("{} × {ending}", count(number))).collect()
}

/// The short name of a phase, for tables.
pub(super) fn name(phase: ProbePhase) -> &'static str {
    match phase {
        ProbePhase::Dns => "DNS",
        ProbePhase::Connect => "connect",
        ProbePhase::Tls => "TLS",
        ProbePhase::Send => "send",
        ProbePhase::Server => "server",
        ProbePhase::Transfer => "transfer",
    }
}

/// The phases that a request may have: TLS only where there is any.
pub(super) fn shown(phases: &PhaseTimes) -> impl Iterator<Item = ProbePhase> {
    let has_tls = phases.tls_ms.is_some();
    ProbePhase::ALL.into_iter().filter(move |phase| *phase != ProbePhase::Tls || has_tls)
}

/// The time from the beginning to the end of `phase`; none if that was not reached.
pub(super) fn until(request: &ProbedRequest, phase: ProbePhase) -> Option<f64> {
    let failed = request.failure.as_ref().and_then(|failure| failure.phase);
    if failed.is_some_and(|failed| failed <= phase) {
        return None;
    }
    let times = ProbePhase::ALL.into_iter().filter(|earlier| *earlier <= phase);
    let times: Vec<f64> = times.filter_map(|earlier| request.phases.of(earlier)).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Why the table of later requests has a dash where a median would be.
pub(super) fn without_median(later: &LaterPhases) -> Option<&'static str> {
    let summaries = ProbePhase::ALL.map(|phase| later.of(phase));
    summaries
        .into_iter()
        .any(|summary| summary.count > 0 && summary.median_ms.is_none())
        .then_some("– median: fewer than 3 requests")
}

/// What went which way: labels and sentences.
pub(super) fn traffic(request: &ProbedRequest) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(remote) = &request.remote {
        let from = request.local.as_ref().map(|local| format!(" from {local}")).unwrap_or_default();
        let again = if request.reused { " on a connection used before" } else { "" };
        let all = bytes(request.request_bytes as f64);
        let sent = if request.sent_bytes == request.request_bytes {
            all
        } else {
            format!("{} of {all}", bytes(request.sent_bytes as f64))
        };
        lines.push(("sent", format!("{sent}{from} to {remote}{again}")));
    }
    if let Some(tls) = &request.tls {
        let labels = ["TLS", "cert"];
        lines.extend(labels.into_iter().zip(tls::probed(tls)));
    }
    if let Some(response) = &request.response {
        let ended = match response.framing {
            BodyFraming::None => "no body".to_owned(),
            framing => {
                let how = match framing {
                    BodyFraming::None | BodyFraming::Length => "Content-Length",
                    BodyFraming::Chunked => "in chunks",
                    BodyFraming::Stream => "until the end of the stream",
                    BodyFraming::UntilClose => "until the connection was closed",
                };
                format!("body {}, {how}", bytes(response.body_bytes as f64))
            }
        };
        lines.push(("received", format!("head {}, {ended}", bytes(response.head_bytes as f64))));
    }
    lines
}

/// The status line as it came.
pub(super) fn status_line(request: &ProbedRequest) -> Option<String> {
    let response = request.response.as_ref()?;
    Some(format!("{} {} {}", response.version, response.status, response.reason).trim_end().to_owned())
}

/// What else there is to know of a request: labels and sentences.
pub(super) fn notes(request: &ProbedRequest) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let response = request.response.as_ref();
    let times = response.and_then(|response| response.server_timing.as_ref());
    if let Some(times) = times {
        let sentence = super::server_timing::sentence(request.phases.server_ms, times);
        notes.extend(sentence.map(|sentence| ("server", sentence)));
        notes.extend(times.problems.iter().map(|problem| ("note", format!("Server-Timing: {problem}"))));
    }
    if !request.interim.is_empty() {
        let all = request.interim.iter().map(|seen| format!("{} after {}", seen.status, ms(seen.after_ms)));
        notes.push(("interim", all.collect::<Vec<_>>().join(", ")));
    }
    if let Some(kernel) = &request.kernel {
        let again = match kernel.retransmitted_segments {
            0 => "nothing was sent again".to_owned(),
            segments => {
                format!("{} sent again, because they were lost or late", plural(segments.into(), "segment"))
            }
        };
        let trip = ms(kernel.round_trip_ms);
        let spread = match kernel.round_trip_samples {
            ROUND_TRIPS_LEAST.. => format!(" ± {}", ms(kernel.round_trip_deviation_ms)),
            _ => String::new(),
        };
        notes.push(("network", format!("round trip {trip}{spread} by the kernel's estimate; {again}")));
    }
    for failed in &request.failed_addresses {
        let (address, why, took) = (&failed.address, &failed.why, ms(failed.took_ms));
        notes.push(("note", format!("no answer from {address} ({why}) took {took} of connecting")));
    }
    if request.sent_bytes < request.request_bytes && response.is_some() {
        notes.push(("note", "the server answered before all of the request was sent".to_owned()));
    }
    if let Some(stray) = response.map(|response| response.stray_bytes).filter(|stray| *stray > 0) {
        let stray = bytes(stray as f64);
        notes.push(("note", format!("{stray} came after the end of the response and belong to none")));
    }
    notes.extend(redirect(request).map(|redirect| ("redirect", redirect)));
    notes
}

/// Where a redirect points to, and how to follow it.
fn redirect(request: &ProbedRequest) -> Option<String> {
    let response = request.response.as_ref()?;
    let location = response.location.as_ref()?;
    let points = format!("{} to {location}", response.status);
    Some(match Target::parse(location) {
        Ok(_) => format!("{points}: prony probe {}", pasted(location)),
        Err(_) => format!("{points}, which can't be probed"),
    })
}

/// `url` as a shell takes it: a server must not choose what is run by the person who pastes it.
fn pasted(url: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@%+,=".contains(&byte);
    if url.bytes().all(is_plain) { url.to_owned() } else { format!("'{}'", url.replace('\'', "%27")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_urls_run_nothing() {
        let check = |url: &str, expected: &str| assert_eq!(pasted(url), expected);
        check("http://h:3000/a/b%20c", "http://h:3000/a/b%20c");
        check("http://h/?a=1&b=2", "'http://h/?a=1&b=2'");
        check("http://h/$(reboot)", "'http://h/$(reboot)'");
        check("http://h/';reboot;'", "'http://h/%27;reboot;%27'");
    }
}
