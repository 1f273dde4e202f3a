//! One request looked at closely, or a few, one after the other: where the time went, by phases.
//!
//! Nothing here is in a hurry: it blocks, allocates and reads names, which the worker loop never does. Reading
//! order: this file, then [`connect`] (name, addresses, socket), [`wire`] (bytes over TLS or not), [`transaction`] (a request and its response on
//! one clock), [`http2`] (the same in HTTP/2), [`response`] (what the head says) and [`summary`] (the later requests together).

mod body;
mod connect;
mod http2;
mod response;
mod summary;
mod transaction;
mod wait;
mod wire;

use std::os::fd::AsFd as _;

use prony_http::tls::TlsClient;
use prony_http::{HeadCache, Limits};
use prony_model::{
    ErrorKind, KernelTcp, PROBE_FORMAT, PROBE_VERSION, PhaseTimes, ProbeFailure, ProbePhase, ProbePlan,
    ProbeResult, ProbedRequest, Version,
};

pub use body::{BodyNotKept, KeptBody};

use self::connect::{Connection, NoConnection, connect};
use self::http2::Http2Peer;
use self::summary::later;
use self::transaction::{Ended, Transaction};
use crate::clock::{self, Nanos};
use crate::machine::environment;
use crate::record::failure_detail::Detail;
use crate::run::Encoded;
use crate::{Control, RunError, http2 as http2_before, sys, tls};

/// Sends the requests of `plan`, one after the other, and says where the time of each went. Blocks the calling
/// thread. Before each request `progress` gets its number, from 0. `body` gets the body of the first response.
///
/// # Errors
/// Only what keeps the first request from being sent; any later failure is part of the result.
pub fn probe(
    plan: &ProbePlan,
    control: &Control,
    mut body: Option<&mut KeptBody>,
    progress: &mut dyn FnMut(u32),
) -> Result<ProbeResult, RunError> {
    plan.check()?;
    let request = Encoded::of(&plan.target, &plan.request, false)?;
    let tls = tls::client(&plan.target, plan.request.version)?;
    // On a busy machine the wait for a core would be taken for the server's time.
    sys::ask_for_short_slices();
    let mut environment = environment::before();
    let started_at = clock::wall();
    let mut session = Session {
        plan,
        control,
        heads: HeadCache::new(request.kind(), Limits::default()),
        request: &request,
        tls: tls.as_ref(),
        began: None,
        connection: None,
    };
    let mut requests = Vec::new();
    while requests.len() < plan.count as usize && !control.is_stopped() {
        let number = u32::try_from(requests.len()).expect("invariant: fewer than the plan's count");
        progress(number);
        requests.push(session.request(number, body.take())?);
    }
    environment.load_average_after = environment::load_average();
    Ok(ProbeResult {
        format: PROBE_FORMAT.to_owned(),
        version: PROBE_VERSION,
        plan: plan.clone(),
        started_at: prony_model::rfc3339(started_at),
        interrupted: control.is_stopped(),
        later: later(&requests),
        requests,
        environment,
    })
}

/// What lasts from one request to the next.
struct Session<'a> {
    plan: &'a ProbePlan,
    control: &'a Control,
    request: &'a Encoded,
    heads: HeadCache,
    tls: Option<&'a TlsClient>,
    /// When the first request began.
    began: Option<Nanos>,
    /// Open and free, where connections are used again.
    connection: Option<Connection>,
}

impl Session<'_> {
    /// One request from its beginning to its end, whatever that is.
    fn request(&mut self, number: u32, body: Option<&mut KeptBody>) -> Result<ProbedRequest, RunError> {
        let kept = self.connection.take().filter(Connection::is_quiet);
        let start = clock::now();
        let mut probed = ProbedRequest {
            started_ms: ms(start - *self.began.get_or_insert(start)),
            reused: kept.is_some(),
            request_bytes: self.request.first_length() as u64,
            ..ProbedRequest::default()
        };
        let mut connection = match kept {
            Some(connection) => connection,
            None => match connect(self.plan, self.tls, number, start, self.control) {
                Ok(connected) => {
                    self.check_protocol(&connected.connection)?;
                    probed.phases = connected.phases;
                    probed.failed_addresses = connected.failed_addresses;
                    connected.connection
                }
                Err(none) if number == 0 && none.error.is_some() => {
                    let error = *none.error.expect("invariant: just seen");
                    return Err(http2_before::explained(error, self.plan.request.version));
                }
                Err(none) => return Ok(unconnected(probed, none)),
            },
        };
        let from = if probed.reused { start } else { connection.connected };
        let transaction =
            Transaction::new(&mut connection.wire, self.request, self.plan, self.control, from, body);
        let (seen, ended) = match self.request {
            Encoded::Http1(_) => transaction.run(&mut connection.parser, &mut self.heads),
            Encoded::Http2(request) => {
                let peer = connection.http2.get_or_insert_with(|| Box::new(Http2Peer::new(request)));
                transaction.run_http2(peer)
            }
        };
        probed.remote = Some(connection.remote.clone());
        probed.local = connection.local();
        probed.kernel = kernel(&connection);
        probed.tls = connection.wire.negotiated(&self.plan.target);
        seen.record(&mut probed, start, from);
        match ended {
            Ended::Complete { reusable } => {
                if reusable && self.plan.reuse {
                    self.connection = Some(connection);
                }
                probed.failure = self.unexpected(&probed);
            }
            Ended::Failed(failure) => probed.failure = Some(failure),
        }
        Ok(probed)
    }

    /// Whether the server has chosen the protocol that is spoken then.
    fn check_protocol(&self, connection: &Connection) -> Result<(), RunError> {
        if self.plan.request.version != Version::Http2 {
            return Ok(());
        }
        let negotiated = connection.wire.negotiated(&self.plan.target);
        negotiated.map_or(Ok(()), |tls| http2_before::check_choice(tls.alpn.as_deref(), &connection.remote))
    }

    /// The failure of a complete response with a status that is not among the good ones.
    fn unexpected(&self, probed: &ProbedRequest) -> Option<ProbeFailure> {
        let status = probed.response.as_ref()?.status;
        let (method, path) = (&self.plan.request.method, &self.plan.target.path);
        (!self.plan.expected.contains(status)).then(|| ProbeFailure {
            phase: None,
            after_ms: None,
            kind: Some(ErrorKind::Status),
            message: Detail::Status(status).describe(ErrorKind::Status, method, path),
        })
    }
}

/// A request that found no connection.
fn unconnected(probed: ProbedRequest, none: NoConnection) -> ProbedRequest {
    let phases = PhaseTimes { dns_ms: none.dns_ms, connect_ms: none.connect_ms, ..PhaseTimes::default() };
    let message = match none.error {
        Some(error) => error.to_string(),
        None => "stopped by hand before there was a connection".to_owned(),
    };
    let failure =
        ProbeFailure { phase: Some(none.phase), after_ms: Some(none.after_ms), kind: none.kind, message };
    ProbedRequest { phases, failed_addresses: none.failed_addresses, failure: Some(failure), ..probed }
}

/// What the kernel says of the connection; nothing of a Unix socket.
fn kernel(connection: &Connection) -> Option<KernelTcp> {
    let info = sys::tcp_info(connection.wire.as_fd())?;
    Some(KernelTcp {
        round_trip_ms: f64::from(info.round_trip_us) / 1e3,
        round_trip_deviation_ms: f64::from(info.round_trip_deviation_us) / 1e3,
        round_trip_samples: info.data_segments_sent.saturating_add(1),
        retransmitted_segments: info.retransmitted,
    })
}

/// Nanoseconds as milliseconds.
fn ms(span: Nanos) -> f64 {
    span as f64 / 1e6
}

/// The message of a wait that was ended by hand.
fn stopped(phase: ProbePhase) -> &'static str {
    match phase {
        ProbePhase::Dns | ProbePhase::Connect | ProbePhase::Tls => {
            "stopped by hand before there was a connection"
        }
        ProbePhase::Send => "stopped by hand before the request was sent",
        ProbePhase::Server => "stopped by hand before the response began",
        ProbePhase::Transfer => "stopped by hand before the response was complete",
    }
}
