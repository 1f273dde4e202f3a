//! From the target to the addresses that answer, before the load: the worker loop reads no names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use prony_http::tls::{Negotiated, TlsClient};
use prony_model::{RunPlan, Target, TlsUse, Version};
use rustix::net::SocketAddrAny;

use crate::RunError;
use crate::clock;
use crate::load::driver::{network_address, unix_address};
use crate::{http2, tls};

/// Addresses of one name that are tried at most.
const ADDRESSES_MAX: usize = 64;

/// Where the load goes.
pub(crate) struct Peers {
    /// Addresses that answered, as the kernel wants them.
    pub addresses: Box<[SocketAddrAny]>,
    /// The same for people.
    pub names: Vec<String>,
    /// How long the resolver took.
    pub took: Duration,
    /// Whether one of them is an address of this machine.
    pub here: bool,
    /// What was negotiated with the first of them, over TLS.
    pub tls: Option<TlsUse>,
}

/// Resolves the plan's target and finds out which of its addresses accept a connection, and a TLS handshake where there is
/// a `client` for that. No request is sent.
pub(crate) fn resolve(plan: &RunPlan, client: Option<&TlsClient>) -> Result<Peers, RunError> {
    if let Some(path) = &plan.target.unix {
        return unix(path, plan, client);
    }
    let began = clock::now();
    let found = look_up(&plan.target)?;
    let took = Duration::from_nanos(clock::now() - began);
    let usable = of_family(found, &plan.sources)?;
    let mut failure = None;
    let mut answering = Vec::new();
    let mut negotiated = None;
    for address in usable {
        match answers(address, plan, client) {
            Ok(with) => {
                answering.push(address);
                negotiated = negotiated.or(with);
            }
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if answering.is_empty() => Err(error),
        _ => Ok(Peers {
            addresses: answering.iter().copied().map(network_address).collect(),
            names: answering.iter().map(ToString::to_string).collect(),
            took,
            here: answering.iter().any(is_here),
            tls: negotiated.map(|negotiated| tls::used(&negotiated, &plan.target)),
        }),
    }
}

/// Every address of the plan's target, and whether one of them is this machine's. Nothing is connected to.
pub(crate) fn local(plan: &RunPlan) -> Result<(Vec<SocketAddr>, bool), RunError> {
    let addresses = look_up(&plan.target)?;
    let here = addresses.iter().any(is_here);
    Ok((addresses, here))
}

/// Whether a server is at `address`, and what it negotiates.
fn answers(
    address: SocketAddr,
    plan: &RunPlan,
    client: Option<&TlsClient>,
) -> Result<Option<Negotiated>, RunError> {
    let limit = plan.timeouts.connect;
    let mut stream = TcpStream::connect_timeout(&address, limit)
        .map_err(|error| RunError::NothingAnswers { address: address.to_string(), why: plain(&error) })?;
    greet(&mut stream, &address.to_string(), plan, client)
}

/// What has to be sent on a new connection before a request: a TLS handshake where there is a `client` for that, and in
/// HTTP/2 whether both sides speak it.
fn greet(
    stream: &mut impl tls::Waiting,
    address: &str,
    plan: &RunPlan,
    client: Option<&TlsClient>,
) -> Result<Option<Negotiated>, RunError> {
    let limit = plan.timeouts.connect;
    let negotiated = client.map(|client| tls::greet(stream, client, address, limit)).transpose();
    let negotiated = negotiated.map_err(|error| http2::explained(error, plan.request.version))?;
    if plan.request.version == Version::Http2 {
        match &negotiated {
            Some(negotiated) => http2::check_choice(negotiated.protocol.as_deref(), address)?,
            None => http2::greet(stream, address, limit)?,
        }
    }
    Ok(negotiated)
}

/// Whether `address` is one of this machine: the kernel then chooses the same one to send from. A connected
/// datagram socket asks for that choice and sends nothing.
fn is_here(address: &SocketAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let chosen = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    address.ip().is_loopback() || chosen.is_ok_and(|chosen| chosen.ip() == address.ip())
}

/// Every address of the target's name, without repetitions; or those that were named instead, which is no look-up.
pub(crate) fn look_up(target: &Target) -> Result<Vec<SocketAddr>, RunError> {
    if !target.connect_to.is_empty() {
        return Ok(target.connect_to.clone());
    }
    let failed = |why: String| RunError::Resolve { host: target.host.clone(), why };
    let found =
        (target.host.as_str(), target.port).to_socket_addrs().map_err(|error| failed(plain(&error)))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found.take(ADDRESSES_MAX) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(failed("it has none".to_owned())) } else { Ok(addresses) }
}

/// Those addresses that every source can reach: a connection can't change its family.
pub(crate) fn of_family(
    mut addresses: Vec<SocketAddr>,
    sources: &[IpAddr],
) -> Result<Vec<SocketAddr>, RunError> {
    for source in sources {
        addresses.retain(|address| address.is_ipv4() == source.is_ipv4());
        if addresses.is_empty() {
            return Err(RunError::SourceFamily { address: *source });
        }
        UdpSocket::bind((*source, 0))
            .map_err(|error| RunError::Source { address: *source, source: error })?;
    }
    Ok(addresses)
}

fn unix(path: &Path, plan: &RunPlan, client: Option<&TlsClient>) -> Result<Peers, RunError> {
    let address = unix_address(path).map_err(|_| RunError::UnixPath { path: path.to_owned() })?;
    let name = path.display().to_string();
    let mut stream = UnixStream::connect(path)
        .map_err(|error| RunError::NothingAnswers { address: name.clone(), why: plain(&error) })?;
    let negotiated = greet(&mut stream, &name, plan, client)?;
    Ok(Peers {
        addresses: Box::new([address]),
        names: vec![name],
        took: Duration::ZERO,
        here: true,
        tls: negotiated.map(|negotiated| tls::used(&negotiated, &plan.target)),
    })
}

/// The system's words without its number, in lower case.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
