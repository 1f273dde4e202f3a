//! What the server talks to on this machine: the other ends of the connections that it opened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prony_model::Dependant;

use super::group::{Group, Parents};
use super::holders::{holders, sockets_of};
use super::locate::{peers, tcp_listeners, tcp_table, unix_listeners_at, unix_table};
use super::sock_diag::SockDiag;
use super::socket_table::{TcpSocket, TcpState, unix_listeners};
use crate::clock::Nanos;

/// Programs beside the server that are watched.
const DEPENDANTS_MAX: usize = 8;
/// Programs that pass requests on: what they talk to is the server behind them.
const PROXIES: [&str; 16] = [
    "nginx",
    "haproxy",
    "envoy",
    "caddy",
    "traefik",
    "httpd",
    "apache2",
    "varnishd",
    "squid",
    "docker-proxy",
    "rootlessport",
    "lighttpd",
    "h2o",
    "pingora",
    "hitch",
    "stunnel",
];

/// A program that the server talks to.
#[derive(Debug)]
pub(super) struct Watched {
    pub address: String,
    pub group: Group,
    /// Its memory at the beginning.
    pub start_bytes: u64,
}

/// Finds them, and adds those that are not in `known` yet. Who is found after the measured part `begun` has used what
/// it has used since `earlier`.
pub(super) fn find(
    server: &mut Group,
    known: &mut Vec<Watched>,
    parents: &Parents,
    begun: Option<u64>,
    earlier: &BTreeMap<u32, Nanos>,
) {
    // A child with another program may be a service of the server's own, such as a private database. Once its times
    // are counted as the server's, it stays there.
    let own: BTreeSet<u32> = if begun.is_none() { server.pids_of_its_program() } else { server.pids() };
    let own_sockets: BTreeSet<u64> = own.iter().filter_map(|pid| sockets_of(*pid).ok()).flatten().collect();
    let Some(first) = own.first() else { return };
    let sockets = tcp_table(&first.to_string());
    let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (address, mut pids) in peers(&own, &own_sockets, &sockets) {
        // With it the process that listens there, and so all that it has started.
        if let Ok(listeners) = tcp_listeners(&[address], &sockets, parents) {
            join(&mut pids, listeners.pids, parents);
        }
        found.insert(address.to_string(), pids);
    }
    for (path, mut pids) in unix_peers(&own, &own_sockets) {
        if let Ok(listeners) = unix_listeners_at(Path::new(&path), parents) {
            join(&mut pids, listeners.pids, parents);
        }
        found.insert(path, pids);
    }
    for (address, pid) in own_services(server, &own, &own_sockets, &sockets) {
        found.entry(address).or_default().push(pid);
    }
    for (address, mut pids) in found {
        let others = |pid: &u32| known.iter().any(|watched| watched.group.members.contains_key(pid));
        pids.retain(|pid| *pid != 1 && !own.contains(pid) && !others(pid));
        if known.len() < DEPENDANTS_MAX
            && let Some(mut group) = Group::new(&pids, parents, begun, earlier)
        {
            group.exclude(&own);
            server.exclude(&group.pids());
            known.push(Watched { address, start_bytes: group.resident_bytes(), group });
        }
    }
}

/// Children of the server with another program that listen themselves: where, and who.
fn own_services(
    server: &Group,
    own: &BTreeSet<u32>,
    own_sockets: &BTreeSet<u64>,
    sockets: &[TcpSocket],
) -> Vec<(String, u32)> {
    let others = || server.members.keys().filter(|pid| !own.contains(pid));
    if others().next().is_none() {
        return Vec::new();
    }
    let unix = unix_table();
    let mut listening: BTreeMap<u64, String> =
        unix_listeners(&unix).map(|(inode, path)| (inode, path.to_owned())).collect();
    let tcp = sockets.iter().filter(|socket| socket.state == TcpState::Listening);
    listening.extend(tcp.map(|socket| (socket.inode, socket.local.to_string())));
    let mut services: Vec<(String, u32)> = Vec::new();
    // Workers have the server's own listening socket.
    listening.retain(|inode, _| !own_sockets.contains(inode));
    for pid in others() {
        let held = sockets_of(*pid).unwrap_or_default();
        if let Some(address) = held.iter().find_map(|inode| listening.get(inode)) {
            services.push((address.clone(), *pid));
        }
    }
    services
}

/// Adds `listeners` to `pids`, in place of those that they started.
fn join(pids: &mut Vec<u32>, listeners: Vec<u32>, parents: &Parents) {
    pids.retain(|pid| !descends(*pid, &listeners, parents));
    pids.extend(listeners);
}

/// Whether `pid` descends from one of `others`, or is one.
fn descends(pid: u32, others: &[u32], parents: &Parents) -> bool {
    let line = super::group::ancestors(pid, parents);
    others.iter().any(|other| line.contains(other))
}

/// The same for Unix sockets, by the path of the listener.
fn unix_peers(own: &BTreeSet<u32>, own_sockets: &BTreeSet<u64>) -> BTreeMap<String, Vec<u32>> {
    let pairs = SockDiag::open().and_then(|diag| diag.unix_pairs()).unwrap_or_default();
    let ends: BTreeMap<u64, &str> = pairs
        .iter()
        .filter(|pair| own_sockets.contains(&pair.peer) && !own_sockets.contains(&pair.inode))
        .filter_map(|pair| Some((pair.inode, pair.path.as_deref()?)))
        // Where the output of services goes is no part of an answer.
        .filter(|(_, path)| !path.starts_with("/run/systemd/"))
        .collect();
    let mut by_path: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (pid, inodes) in holders(&ends.keys().copied().collect()).by_process {
        let path = inodes.iter().find_map(|inode| ends.get(inode)).filter(|_| !own.contains(&pid));
        if let Some(path) = path {
            by_path.entry((*path).to_owned()).or_default().push(pid);
        }
    }
    by_path
}

/// As results have it.
pub(super) fn summary(watched: &Watched, server: &str, wall: Nanos) -> Dependant {
    Dependant {
        address: watched.address.clone(),
        is_backend: is_proxy(server),
        processes: watched.group.summary(wall, watched.start_bytes),
    }
}

/// Whether a program of this name passes requests on.
pub(super) fn is_proxy(name: &str) -> bool {
    // `nginx: worker` and `haproxy-2.8` as well.
    PROXIES.iter().any(|proxy| {
        let rest = name.strip_prefix(proxy);
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_by_name() {
        for name in ["nginx", "nginx: worker", "haproxy-2.8", "docker-proxy"] {
            assert!(is_proxy(name), "{name}");
        }
        for name in ["", "nginxd", "rudy", "postgres", "h2oload"] {
            assert!(!is_proxy(name), "{name}");
        }
    }
}
