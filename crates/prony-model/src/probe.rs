//! One request looked at closely, or a few: what `prony probe` was asked to do, and where the time went.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::format::{self, FormatError};
use crate::plan::check_unix;
use crate::{Environment, ErrorKind, PlanError, RequestPlan, ServerCertificate, StatusSet, Target, Timeouts};

/// The value of `format` in every stored probe.
pub const PROBE_FORMAT: &str = "prony.probe";
/// The version of [`ProbeResult`] that this crate writes; it reads this one only.
pub const PROBE_VERSION: u32 = 1;

/// A few requests, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbePlan {
    /// The server.
    pub target: Target,
    /// The request; its pipeline depth is 1.
    pub request: RequestPlan,
    /// How many times it is sent, [`ProbePlan::COUNT_MAX`] at most.
    pub count: u32,
    /// Whether a connection is used again where the server lets it; otherwise each request gets a new one.
    pub reuse: bool,
    /// How long to wait for what; nothing is drained.
    pub timeouts: Timeouts,
    /// Status codes that are good.
    #[serde(default)]
    pub expected: StatusSet,
    /// Local addresses to connect from, used in turn; empty lets the system choose.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
}

impl ProbePlan {
    /// Every response head is kept, of up to 64 KiB: this many stay below 64 MiB.
    pub const COUNT_MAX: u32 = 1000;

    /// Finds what contradicts itself, before anything is opened.
    pub fn check(&self) -> Result<(), PlanError> {
        if !(1..=Self::COUNT_MAX).contains(&self.count) {
            return Err(PlanError::ProbeCount { asked: self.count, max: Self::COUNT_MAX });
        }
        self.timeouts.check()?;
        if self.request.pipeline != 1 {
            let setting = self.request.version.in_flight_setting();
            return Err(PlanError::Pipeline { setting, asked: self.request.pipeline, max: 1 });
        }
        check_unix(&self.target, &self.sources)
    }
}

/// What became of the requests of a [`ProbePlan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbeResult {
    /// Always `prony.probe`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// What was asked.
    pub plan: ProbePlan,
    /// Start of the first request, RFC 3339 in UTC.
    pub started_at: String,
    /// Ended by hand before its time.
    pub interrupted: bool,
    /// Every request that was begun, in order.
    pub requests: Vec<ProbedRequest>,
    /// The good requests after the first one, together; absent where fewer than two requests were made.
    pub later: Option<LaterPhases>,
    /// The machine.
    pub environment: Environment,
}

/// One request, from the look-up of the name to the last byte of the response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbedRequest {
    /// When it began, milliseconds after the first one.
    pub started_ms: f64,
    /// Whether it went out on a connection that had carried one before.
    pub reused: bool,
    /// The address, or the path of the socket, that was connected to.
    pub remote: Option<String>,
    /// The client's own address and port.
    pub local: Option<String>,
    /// Addresses of the same name that were tried before and did not answer.
    #[serde(default)]
    pub failed_addresses: Vec<FailedAddress>,
    /// Bytes of the request that were handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes of the request, head and body.
    pub request_bytes: u64,
    /// What the TLS handshake of its connection came to; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ProbedTls>,
    /// Where the time went.
    pub phases: PhaseTimes,
    /// Interim responses (1xx).
    #[serde(default)]
    pub interim: Vec<InterimResponse>,
    /// The final head that came, and what is known of the body.
    pub response: Option<ProbedResponse>,
    /// What went wrong, if anything did; a status that is not expected goes wrong, too.
    pub failure: Option<ProbeFailure>,
    /// What the kernel says of the connection after the response; absent for Unix sockets.
    pub kernel: Option<KernelTcp>,
}

/// What a TLS handshake came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbedTls {
    /// `TLS 1.2` or `TLS 1.3`.
    pub version: String,
    /// IANA's name, such as `TLS13_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
    /// Key exchange group, such as `X25519`.
    pub key_exchange: Option<String>,
    /// The protocol that the server chose (ALPN); null where it chose none.
    pub alpn: Option<String>,
    /// Whether it resumed the session of an earlier connection.
    pub resumed: bool,
    /// Whether the certificate was verified.
    pub verified: bool,
    /// What the server showed.
    pub certificate: Option<ServerCertificate>,
}

/// The phases of one request, milliseconds. They follow each other without a gap; absent: it did not take place,
/// or did not end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseTimes {
    /// The look-up of the name; absent for an address, a Unix socket and a connection that is used again.
    pub dns_ms: Option<f64>,
    /// Connecting, with the time for addresses that did not answer; absent for a connection that is used again.
    pub connect_ms: Option<f64>,
    /// The TLS handshake; absent without TLS.
    #[serde(default)]
    pub tls_ms: Option<f64>,
    /// Until the last of the request was handed to the kernel, or until the response began, if that came first.
    pub send_ms: Option<f64>,
    /// From then until the first byte of the final response: the server, and the network there and back.
    pub server_ms: Option<f64>,
    /// From the first byte of the final response to the last.
    pub transfer_ms: Option<f64>,
    /// All of them.
    pub total_ms: Option<f64>,
}

/// A phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProbePhase {
    /// The look-up of the name.
    Dns,
    /// Connecting.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Handing the request to the kernel.
    Send,
    /// Waiting for the first byte.
    Server,
    /// Receiving the response.
    Transfer,
}

impl ProbePhase {
    /// Every phase, in the order in which they follow each other.
    pub const ALL: [Self; 6] =
        [Self::Dns, Self::Connect, Self::Tls, Self::Send, Self::Server, Self::Transfer];
}

impl PhaseTimes {
    /// The time of `phase`, milliseconds.
    pub fn of(&self, phase: ProbePhase) -> Option<f64> {
        match phase {
            ProbePhase::Dns => self.dns_ms,
            ProbePhase::Connect => self.connect_ms,
            ProbePhase::Tls => self.tls_ms,
            ProbePhase::Send => self.send_ms,
            ProbePhase::Server => self.server_ms,
            ProbePhase::Transfer => self.transfer_ms,
        }
    }
}

/// An address that did not answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedAddress {
    /// Address and port.
    pub address: String,
    /// The system's words.
    pub why: String,
    /// How long it took to find out, milliseconds.
    pub took_ms: f64,
}

/// Why a request is not good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbeFailure {
    /// The phase that did not end; absent where the response is complete.
    pub phase: Option<ProbePhase>,
    /// How long that phase had taken by then, milliseconds.
    pub after_ms: Option<f64>,
    /// The kind of failure; absent where it was stopped by hand.
    pub kind: Option<ErrorKind>,
    /// What happened, in words.
    pub message: String,
}

/// A final response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbedResponse {
    /// As the status line has it: `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The words after the code; may be empty.
    pub reason: String,
    /// The fields of the head in their order; the values of secret ones are stored as `[redacted]`, and bytes that
    /// are not UTF-8 are replaced.
    #[serde(serialize_with = "crate::redact::response_headers")]
    pub headers: Vec<(String, String)>,
    /// Length of the head, from the status line to the blank line.
    pub head_bytes: u64,
    /// Bytes of the body that came, without the framing of chunks.
    pub body_bytes: u64,
    /// Bytes that came after the end of the response, and belong to none.
    #[serde(default)]
    pub stray_bytes: u64,
    /// How the end of the body is known.
    pub framing: BodyFraming,
    /// Where a redirect points to, as a whole URL, or as it came where it is none.
    pub location: Option<String>,
    /// What the server says of its own time.
    pub server_timing: Option<ServerTimes>,
}

/// How the end of a body is known (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BodyFraming {
    /// There is none, by the method or the status.
    #[default]
    None,
    /// By its length.
    Length,
    /// By its last chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
    /// By the last frame of its stream (HTTP/2).
    Stream,
}

/// An interim response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InterimResponse {
    /// Its status, 100 to 199.
    pub status: u16,
    /// When it was complete, milliseconds after the request was sent; 0 where it came before.
    pub after_ms: f64,
}

/// The `Server-Timing` fields of a response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerTimes {
    /// The metrics, in their order.
    pub metrics: Vec<ServerMetric>,
    /// What could not be read, in words.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// One metric of a `Server-Timing` field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerMetric {
    /// Its name.
    pub name: String,
    /// How long it took, milliseconds.
    pub duration_ms: Option<f64>,
    /// The server's words.
    pub description: Option<String>,
}

/// What the kernel knows of a TCP connection (TCP_INFO).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelTcp {
    /// Its smoothed estimate of the round trip, milliseconds.
    pub round_trip_ms: f64,
    /// Its estimate of how far the round trips lie from that, milliseconds. It begins at half of the first round trip,
    /// whatever the others are.
    pub round_trip_deviation_ms: f64,
    /// Round trips behind both estimates at most: the handshake's, and one for each segment with data. 0: unknown.
    #[serde(default)]
    pub round_trip_samples: u32,
    /// Segments that the client sent again because the server did not have them; no SYNs, which connecting shows.
    pub retransmitted_segments: u32,
}

/// Phases over the good requests after the first one, which pays for what later ones find prepared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LaterPhases {
    /// The look-up of the name.
    pub dns: PhaseSummary,
    /// Connecting.
    pub connect: PhaseSummary,
    /// The TLS handshake.
    #[serde(default)]
    pub tls: PhaseSummary,
    /// Sending.
    pub send: PhaseSummary,
    /// Waiting for the first byte.
    pub server: PhaseSummary,
    /// Receiving.
    pub transfer: PhaseSummary,
    /// All of them.
    pub total: PhaseSummary,
}

impl LaterPhases {
    /// The summary of `phase`.
    pub fn of(&self, phase: ProbePhase) -> &PhaseSummary {
        match phase {
            ProbePhase::Dns => &self.dns,
            ProbePhase::Connect => &self.connect,
            ProbePhase::Tls => &self.tls,
            ProbePhase::Send => &self.send,
            ProbePhase::Server => &self.server,
            ProbePhase::Transfer => &self.transfer,
        }
    }
}

/// One phase over several requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    /// Requests in which it took place.
    pub count: u64,
    /// The shortest, milliseconds.
    pub min_ms: Option<f64>,
    /// The middle one, milliseconds; absent for fewer than three.
    pub median_ms: Option<f64>,
    /// The longest, milliseconds.
    pub max_ms: Option<f64>,
}

/// `result` as JSON text, with a line feed at the end.
pub fn probe_to_json(result: &ProbeResult) -> String {
    format::write(result)
}

/// Reads what [`probe_to_json`] wrote.
pub fn probe_from_json(text: &str) -> Result<ProbeResult, FormatError> {
    format::read(text, PROBE_FORMAT, PROBE_VERSION, FormatError::ForeignProbe)
}

/// The JSON Schema of a stored probe, as in docs/schema/probe-v1.json.
#[cfg(test)]
fn probe_json_schema() -> String {
    format::write(&schemars::schema_for!(ProbeResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/probe-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, probe_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/probe-v1.json can be read");
        assert!(published == probe_json_schema(), "docs/schema/probe-v1.json is out of date: see this test");
    }
}
