//! From the target's address to the processes that listen there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;

use prony_model::Problem;

use super::group::{Parents, ancestors};
use super::holders::holders;
use super::sock_diag::SockDiag;
use super::socket_table::{TABLE_BYTES_MAX, TcpSocket, TcpState, accepts, tcp_sockets, unix_listeners};

/// Who listens.
#[derive(Debug)]
pub(super) struct Listeners {
    /// Processes that have the socket and whose parents haven't.
    pub pids: Vec<u32>,
    /// The sockets.
    pub inodes: BTreeSet<u64>,
}

/// Who listens for `targets` on this machine. An error says why that can't be known.
pub(super) fn tcp_listeners(
    targets: &[SocketAddr],
    sockets: &[TcpSocket],
    parents: &Parents,
) -> Result<Listeners, Problem> {
    let matches = |socket: &&TcpSocket| {
        socket.state == TcpState::Listening && targets.iter().any(|target| accepts(socket.local, *target))
    };
    let found: Vec<&TcpSocket> = sockets.iter().filter(matches).collect();
    // A socket of this very address gets the connections, where another listens on every address.
    let exact =
        |socket: &&&TcpSocket| targets.iter().any(|target| target.ip().to_canonical() == socket.local.ip());
    let exact: Vec<&TcpSocket> = found.iter().filter(exact).copied().collect();
    let found = if exact.is_empty() { found } else { exact };
    let Some(first) = found.first() else {
        return Err(Problem::new(
            "no socket of this network namespace listens there",
            "the server may be in a container; name its process with --target-pid",
        ));
    };
    of_inodes(found.iter().map(|socket| socket.inode).collect(), Some(first.user), parents)
}

/// Who listens at the Unix socket `path`.
pub(super) fn unix_listeners_at(path: &Path, parents: &Parents) -> Result<Listeners, Problem> {
    let table = unix_table();
    let absolute = std::path::absolute(path).ok();
    let real = path.canonicalize().ok();
    let paths = [Some(path), absolute.as_deref(), real.as_deref()];
    let inodes: BTreeSet<u64> = paths
        .into_iter()
        .flatten()
        .filter_map(Path::to_str)
        .flat_map(|path| unix_listeners(&table).filter(move |(_, at)| *at == path))
        .map(|(inode, _)| inode)
        .collect();
    if inodes.is_empty() {
        return Err(Problem::without_advice(
            "no Unix socket that this process can see listens there; name the server's process with --target-pid",
        ));
    }
    of_inodes(inodes, None, parents)
}

fn of_inodes(inodes: BTreeSet<u64>, user: Option<u32>, parents: &Parents) -> Result<Listeners, Problem> {
    let found = holders(&inodes);
    if found.by_process.contains_key(&std::process::id()) {
        return Err(Problem::without_advice("the server is part of this process"));
    }
    let pids = outermost(found.by_process.into_keys().collect(), parents);
    if pids.is_empty() {
        let user = user.map_or_else(String::new, |user| format!(" (number {user})"));
        return Err(if found.some_hidden {
            Problem::new(
                format!(
                    "its process belongs to another user{user}, and who holds which socket is that user's secret"
                ),
                "run prony as that user or with CAP_SYS_PTRACE, or name the process with --target-pid",
            )
        } else {
            Problem::new(
                "no process that this one can see holds the listening socket",
                "the server may be in a container; name its process with --target-pid",
            )
        });
    }
    Ok(Listeners { pids, inodes })
}

/// Those of `pids` that descend from none of the others. What holds a socket for others only is left out: process 1,
/// which opens sockets for services, where one of those has it by now.
fn outermost(mut pids: Vec<u32>, parents: &Parents) -> Vec<u32> {
    if pids.len() > 1 {
        pids.retain(|pid| *pid != 1);
    }
    let inner = |pid: &u32| {
        let line = ancestors(*pid, parents);
        pids.iter().any(|other| other != pid && line.contains(other))
    };
    pids.iter().copied().filter(|pid| !inner(pid)).collect()
}

/// The TCP sockets of the network namespace that process `pid` is in: all that listen or are connected.
pub(super) fn tcp_table(pid: &str) -> Vec<TcpSocket> {
    let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let is_ours = network(pid).is_some_and(|found| Some(found) == network("self"));
    if is_ours && let Some(sockets) = SockDiag::open().and_then(|diag| diag.tcp_sockets()) {
        return sockets;
    }
    ["tcp", "tcp6"]
        .iter()
        .flat_map(|family| tcp_sockets(&table(&format!("/proc/{pid}/net/{family}"))).collect::<Vec<_>>())
        .collect()
}

/// The Unix sockets of this network namespace, as text.
pub(super) fn unix_table() -> String {
    table("/proc/net/unix")
}

fn table(path: &str) -> String {
    let mut bytes = Vec::new();
    // A table that can't be read is one without sockets.
    let _read = File::open(path).and_then(|file| file.take(TABLE_BYTES_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Who holds the other ends of the connections that the processes `own` have opened: by address.
pub(super) fn peers(
    own: &BTreeSet<u32>,
    own_sockets: &BTreeSet<u64>,
    sockets: &[TcpSocket],
) -> BTreeMap<SocketAddr, Vec<u32>> {
    let listening: BTreeSet<u16> = sockets
        .iter()
        .filter(|socket| socket.state == TcpState::Listening && own_sockets.contains(&socket.inode))
        .map(|socket| socket.local.port())
        .collect();
    let established = || sockets.iter().filter(|socket| socket.state == TcpState::Established);
    let opened = established()
        .filter(|socket| own_sockets.contains(&socket.inode) && !listening.contains(&socket.local.port()));
    let ends: BTreeMap<(SocketAddr, SocketAddr), u64> =
        established().map(|socket| ((socket.local, socket.remote), socket.inode)).collect();
    let mut by_inode: BTreeMap<u64, SocketAddr> = BTreeMap::new();
    for socket in opened {
        if let Some(inode) = ends.get(&(socket.remote, socket.local)).filter(|inode| **inode != 0) {
            by_inode.insert(*inode, socket.remote);
        }
    }
    let found = holders(&by_inode.keys().copied().collect());
    let mut by_address: BTreeMap<SocketAddr, Vec<u32>> = BTreeMap::new();
    for (pid, inodes) in found.by_process {
        if own.contains(&pid) || pid == std::process::id() {
            continue;
        }
        for address in inodes.iter().filter_map(|inode| by_inode.get(inode)) {
            let pids = by_address.entry(*address).or_default();
            if !pids.contains(&pid) {
                pids.push(pid);
            }
        }
    }
    by_address
}

#[cfg(test)]
mod tests {
    use super::super::proc_files::Stat;
    use super::*;

    fn tree(lines: &[(u32, u32)]) -> Parents {
        let stat = |pid: u32, parent: u32| {
            Stat::parse(&format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0"))
                .expect("whole")
        };
        lines.iter().map(|(pid, parent)| (*pid, stat(*pid, *parent))).collect()
    }

    #[test]
    fn the_outermost_of_those_that_share_a_listener() {
        let parents = tree(&[(1, 0), (10, 1), (11, 10), (12, 10), (20, 1), (30, 40), (40, 30)]);
        let check = |pids: &[u32], expected: &[u32]| assert_eq!(outermost(pids.to_vec(), &parents), expected);
        check(&[10, 11, 12], &[10]);
        check(&[11, 12], &[11, 12]);
        check(&[10, 11, 20], &[10, 20]);
        check(&[1, 11], &[11]);
        check(&[1], &[1]);
        check(&[], &[]);
    }

    #[test]
    fn nobody_listens() {
        let why = tcp_listeners(&["127.0.0.1:1".parse().expect("an address")], &[], &tree(&[]))
            .expect_err("nobody");
        assert!(why.to_string().contains("--target-pid"), "{why}");
        let why = unix_listeners_at(Path::new("/no/such.sock"), &tree(&[])).expect_err("nobody");
        assert!(why.to_string().contains("--target-pid"), "{why}");
    }

    #[test]
    fn a_server_in_this_process_is_none() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let why = tcp_listeners(&[address], &tcp_table("self"), &tree(&[])).expect_err("this one");
        assert_eq!(why.what, "the server is part of this process");
    }
}
