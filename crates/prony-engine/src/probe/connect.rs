//! From a name to a connection: the first address that answers, in the resolver's order, as simple clients do.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use prony_http::ResponseParser;
use prony_http::tls::TlsClient;
use prony_model::{ErrorKind, FailedAddress, PhaseTimes, ProbePhase, ProbePlan};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketAddrAny, getsockname, recv, sockopt};

use super::http2::Http2Peer;
use super::ms;
use super::wait::{Waited, wait};
use super::wire::{NoSession, Wire};
use crate::clock::{self, Nanos, span};
use crate::load::driver::{network_address, unix_address};
use crate::load::socket;
use crate::record::failure_detail::kind_of;
use crate::resolve::{look_up, of_family, plain};
use crate::{Control, RunError};

/// A connection and the parser of its responses.
pub(super) struct Connection {
    pub(super) wire: Wire,
    pub(super) parser: ResponseParser,
    /// HTTP/2 instead, where it was begun.
    pub(super) http2: Option<Box<Http2Peer>>,
    /// Address and port, or the path of the socket.
    pub(super) remote: String,
    /// When it stood, and was secure.
    pub(super) connected: Nanos,
}

/// A new connection and what it took.
pub(super) struct Connected {
    pub(super) connection: Connection,
    /// `dns_ms`, `connect_ms` and `tls_ms`.
    pub(super) phases: PhaseTimes,
    /// What was tried before.
    pub(super) failed_addresses: Vec<FailedAddress>,
}

/// Why there is none.
pub(super) struct NoConnection {
    /// The phase that did not end.
    pub(super) phase: ProbePhase,
    /// How long it took until then.
    pub(super) after_ms: f64,
    /// The look-up, where it came to an end.
    pub(super) dns_ms: Option<f64>,
    /// Connecting, where it came to an end.
    pub(super) connect_ms: Option<f64>,
    pub(super) failed_addresses: Vec<FailedAddress>,
    pub(super) kind: Option<ErrorKind>,
    /// In words; none where it was stopped by hand.
    pub(super) error: Option<Box<RunError>>,
}

/// One place to connect to.
struct Peer {
    address: SocketAddrAny,
    name: String,
}

/// Connects for request `number`, which began at `start`; with a handshake where there is a `client` for TLS.
pub(super) fn connect(
    plan: &ProbePlan,
    client: Option<&TlsClient>,
    number: u32,
    start: Nanos,
    control: &Control,
) -> Result<Connected, NoConnection> {
    let source = source(&plan.sources, number);
    let (peers, looked_up) = peers(plan, source, start)?;
    let dns_ms = looked_up.map(|moment| ms(moment - start));
    let resolved = looked_up.unwrap_or(start);
    let source = source.map(|source| network_address((source, 0).into()));
    let mut failed_addresses: Vec<FailedAddress> = Vec::new();
    let mut last = None;
    for peer in peers {
        let began = clock::now();
        let deadline = began.saturating_add(span(plan.timeouts.connect));
        match open(&peer.address, source.as_ref(), deadline, control) {
            Ok(Some(socket)) => {
                let opened = clock::now();
                let connect_ms = Some(ms(opened - resolved));
                let mut phases = PhaseTimes { dns_ms, connect_ms, ..PhaseTimes::default() };
                let deadline = opened.saturating_add(span(plan.timeouts.connect));
                let wire = match client {
                    None => Ok(Wire::plain(socket)),
                    Some(client) => Wire::secured(socket, client, deadline, control),
                };
                let connected = clock::now();
                let wire = wire.map_err(|none| {
                    let after_ms = ms(connected - opened);
                    insecure(none, &peer.name, &phases, after_ms, std::mem::take(&mut failed_addresses))
                })?;
                phases.tls_ms = client.map(|_| ms(connected - opened));
                let connected = if client.is_some() { connected } else { opened };
                let parser = ResponseParser::new();
                let connection = Connection { wire, parser, http2: None, remote: peer.name, connected };
                return Ok(Connected { connection, phases, failed_addresses });
            }
            Ok(None) => {
                last = None;
                break;
            }
            Err(error) => {
                let (took_ms, why) = (ms(clock::now() - began), plain(&error.into()));
                failed_addresses.push(FailedAddress { address: peer.name, why, took_ms });
                last = Some(error);
            }
        }
    }
    Err(NoConnection {
        phase: ProbePhase::Connect,
        after_ms: ms(clock::now() - resolved),
        dns_ms,
        connect_ms: None,
        kind: last.map(kind_of),
        error: last.and_then(|_| nothing_answers(&failed_addresses)).map(Box::new),
        failed_addresses,
    })
}

impl Connection {
    /// Whether it is still open and nothing has come on it since the last response.
    pub(super) fn is_quiet(&self) -> bool {
        let mut byte = [0];
        let peeked = recv(self.wire.socket(), &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        // In HTTP/2 a server may say something between two responses.
        matches!(peeked, Err(Errno::AGAIN))
            || (self.http2.is_some() && !matches!(peeked, Ok((0, _)) | Err(_)))
    }

    /// The client's own address and port.
    pub(super) fn local(&self) -> Option<String> {
        let address = SocketAddr::try_from(getsockname(self.wire.socket()).ok()?).ok()?;
        Some(address.to_string())
    }
}

/// Why a connection to `address` has no TLS.
fn insecure(
    none: NoSession,
    address: &str,
    phases: &PhaseTimes,
    after_ms: f64,
    failed_addresses: Vec<FailedAddress>,
) -> NoConnection {
    let (kind, error) = match none {
        NoSession::Broken(broken) => {
            let (kind, _) = broken.describe();
            (Some(kind), Some(broken.run_error(address)))
        }
        NoSession::TimedOut => {
            let why = "no TLS handshake in time".to_owned();
            let error = RunError::NothingAnswers { address: address.to_owned(), why };
            (Some(ErrorKind::ConnectTimeout), Some(error))
        }
        NoSession::Stopped => (None, None),
    };
    NoConnection {
        phase: ProbePhase::Tls,
        after_ms,
        dns_ms: phases.dns_ms,
        connect_ms: phases.connect_ms,
        failed_addresses,
        kind,
        error: error.map(Box::new),
    }
}

/// The source of request `number`: each in turn.
fn source(sources: &[IpAddr], number: u32) -> Option<IpAddr> {
    let count = u32::try_from(sources.len()).ok().filter(|count| *count > 0)?;
    sources.get((number % count) as usize).copied()
}

/// Where to connect to, in order; and when the resolver had answered, if it was asked.
fn peers(
    plan: &ProbePlan,
    source: Option<IpAddr>,
    start: Nanos,
) -> Result<(Vec<Peer>, Option<Nanos>), NoConnection> {
    let none = |phase, looked_up: Option<Nanos>, error| NoConnection {
        phase,
        after_ms: ms(clock::now() - looked_up.unwrap_or(start)),
        dns_ms: looked_up.map(|moment| ms(moment - start)),
        connect_ms: None,
        failed_addresses: Vec::new(),
        kind: Some(ErrorKind::Other),
        error: Some(Box::new(error)),
    };
    if let Some(path) = &plan.target.unix {
        let address = unix_address(path)
            .map_err(|_| none(ProbePhase::Connect, None, RunError::UnixPath { path: path.clone() }))?;
        return Ok((vec![Peer { address, name: path.display().to_string() }], None));
    }
    let found = look_up(&plan.target).map_err(|error| none(ProbePhase::Dns, None, error))?;
    let is_name = plan.target.connect_to.is_empty() && plan.target.host.parse::<IpAddr>().is_err();
    let looked_up = is_name.then(clock::now);
    let usable =
        of_family(found, source.as_slice()).map_err(|error| none(ProbePhase::Connect, looked_up, error))?;
    let peer = |address: SocketAddr| Peer { address: network_address(address), name: address.to_string() };
    Ok((usable.into_iter().map(peer).collect(), looked_up))
}

/// A connected socket, or none if it was stopped by hand.
fn open(
    peer: &SocketAddrAny,
    source: Option<&SocketAddrAny>,
    deadline: Nanos,
    control: &Control,
) -> Result<Option<OwnedFd>, Errno> {
    let socket = socket::open(peer, source, false)?;
    match rustix::net::connect(&socket, peer) {
        Ok(()) => return Ok(Some(socket)),
        Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    match wait(&socket, PollFlags::OUT, deadline, control)? {
        Waited::Ready(_) => sockopt::socket_error(&socket)?.map(|()| Some(socket)),
        Waited::TimedOut => Err(Errno::TIMEDOUT),
        Waited::Stopped => Ok(None),
    }
}

/// The last address that was tried, with the others in its words.
fn nothing_answers(failed: &[FailedAddress]) -> Option<RunError> {
    let (last, before) = failed.split_last()?;
    let before: Vec<String> =
        before.iter().map(|failed| format!("{}: {}", failed.address, failed.why)).collect();
    let before = if before.is_empty() { String::new() } else { format!("; before it {}", before.join(", ")) };
    Some(RunError::NothingAnswers { address: last.address.clone(), why: format!("{}{before}", last.why) })
}
