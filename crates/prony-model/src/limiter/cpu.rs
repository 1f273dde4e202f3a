//! CPU time as the limit: a thread of the client or the server, all cores, a quota, or what the server depends on.
//!
//! A thread is at its limit where it is nearly always ready to run. Where it then gets a core, its own work limits
//! it; where it doesn't, the process that has the cores does.

use super::evaluate::limiter;
use super::facts::{Facts, Server, Thread};
use super::{Limiter, LimiterKind};
use crate::words::{percent, plural};

/// Share of the time in which a thread at its limit has work to do.
const DEMAND: f64 = 0.88;
/// Share of its demand for CPU that a thread must get for its own work to be the limit.
const SERVED: f64 = 0.80;
/// Cores taken by other programs and the hypervisor that are enough to blame them.
const FOREIGN_CORES: f64 = 0.25;
/// Share of the cores that makes the server, or the client, the one who fills them.
const MAJORITY: f64 = 0.60;
/// The server at its limit counts more than the client where it is busier by so much.
const BUSIER_BY: f64 = 0.08;
/// Share of what the client can do by its calibration that is its limit, if it is also this busy.
const CAPACITY: f64 = 0.85;
const CAPACITY_CPU: f64 = 0.70;
/// Share of the time without CPU quota that limits a server.
const THROTTLED: f64 = 0.10;

/// Whether `thread` always has work to do.
pub(super) fn is_saturated(thread: Thread) -> bool {
    thread.demand() >= DEMAND
}

/// Whether it also has a core for it.
fn has_its_core(thread: Thread) -> bool {
    thread.cpu >= SERVED * thread.demand()
}

/// The server's control group ran out of CPU quota.
pub(super) fn quota(facts: &Facts) -> Option<Limiter> {
    let server = facts.server.as_ref().filter(|server| server.throttled_share >= THROTTLED)?;
    Some(limiter(
        LimiterKind::ServerCpu,
        format!(
            "the server's CPU quota: its control group was out of quota for {} of the time, with {:.1} cores used; for \
             twice the rate it takes twice the quota or half the CPU time per request",
            percent(server.throttled_share.min(1.0)),
            server.cores
        ),
        &[("throttled", server.throttled_share, "share"), ("server_cores", server.cores, "cores")],
    ))
}

/// A worker thread of the client is at its limit.
pub(super) fn client(facts: &Facts) -> Option<Limiter> {
    let thread = facts.client;
    if !is_saturated(thread) {
        return calibrated(facts);
    }
    if !has_its_core(thread) {
        return Some(cores_are_taken(facts));
    }
    let server = facts.server.as_ref().map(Server::top);
    if server.is_some_and(|server| is_saturated(server) && server.cpu > thread.cpu + BUSIER_BY) {
        return None;
    }
    Some(limiter(
        LimiterKind::Client,
        format!(
            "the client: its busiest thread used {} of a core; for twice the rate it takes more --threads on idle cores, \
             or a faster machine for the client",
            percent(thread.cpu.min(1.0))
        ),
        &[("client_thread", thread.cpu, "share"), ("client_thread_wait", thread.wait, "share")],
    ))
}

/// The client is near what it can do against the null server.
fn calibrated(facts: &Facts) -> Option<Limiter> {
    let share =
        facts.capacity_share.filter(|share| *share >= CAPACITY && facts.client.cpu >= CAPACITY_CPU)?;
    let server = facts.server.as_ref().map(Server::top);
    if server.is_some_and(is_saturated) {
        return None;
    }
    Some(limiter(
        LimiterKind::Client,
        format!(
            "the client: this rate is {} of what it can do by its calibration, and its busiest thread used {} of a core; \
             for twice the rate it takes more --threads on idle cores, or a faster machine for the client",
            percent(share),
            percent(facts.client.cpu.min(1.0))
        ),
        &[("capacity_share", share, "share"), ("client_thread", facts.client.cpu, "share")],
    ))
}

/// Threads of the server are at their limit.
pub(super) fn server(facts: &Facts) -> Option<Limiter> {
    let server = facts.server.as_ref()?;
    let top = server.top();
    if !is_saturated(top) {
        return None;
    }
    if !has_its_core(top) {
        return Some(if facts.here { cores_are_taken(facts) } else { hosts_cores_are_taken(facts, server) });
    }
    let busy = server.busiest.iter().filter(|thread| is_saturated(**thread)).count();
    if busy as f64 >= server.cpus || server.cores >= 0.9 * server.cpus {
        return Some(all_cores(facts, server));
    }
    let threads = server.threads.max(1);
    let evidence = [
        ("busiest_thread", top.cpu, "share"),
        ("busy_threads", busy as f64, "count"),
        ("threads", f64::from(threads), "count"),
        ("server_cores", server.cores, "cores"),
    ];
    let share = percent(top.cpu.min(1.0));
    if facts.in_flight <= busy as f64 && threads as usize > busy {
        // Each request in flight keeps a thread busy: whether more of them would use the others is not known.
        let sentence = format!(
            "not known: {} in flight keep as many of the server's {threads} threads busy ({share}); try more connections",
            plural(busy as u64, "request")
        );
        return Some(limiter(LimiterKind::Unknown, sentence, &evidence));
    }
    let who = match (busy, threads) {
        (1, 1) => format!("the server's only thread is at {share} of a core and cannot use another"),
        (1, 2) => format!("one thread of the server is at {share}, the other idle"),
        (1, _) => format!("one thread of the server is at {share}, the other {} idle", threads - 1),
        _ => format!("{busy} of the server's {threads} threads are at {share}, and cores are idle"),
    };
    let sentence =
        format!("{who}; for twice the rate it takes more busy threads or half the CPU time per request");
    Some(limiter(LimiterKind::ServerThread, sentence, &evidence))
}

/// All cores are in use, and nobody else has them.
pub(super) fn full_machine(facts: &Facts) -> Option<Limiter> {
    let foreign = facts.foreign_cores()?;
    if !facts.is_full() || foreign >= FOREIGN_CORES.max(0.15 * facts.cpus) {
        return None;
    }
    Some(cores_are_taken(facts))
}

/// A thread of what the server depends on is at its limit.
pub(super) fn dependant(facts: &Facts) -> Option<Limiter> {
    let (name, cores, share) = facts.server.as_ref()?.dependant.as_ref()?;
    if *share < DEMAND {
        return None;
    }
    Some(limiter(
        LimiterKind::Dependant,
        format!(
            "what the server depends on: one process or thread of {name} is at {} of a core; for twice the rate its work \
             must be spread or take half the CPU time per request",
            percent(share.min(1.0))
        ),
        &[("dependant_thread", *share, "share"), ("dependant_cores", *cores, "cores")],
    ))
}

/// The process that has most of the cores, where another that needs one does not get it.
fn cores_are_taken(facts: &Facts) -> Limiter {
    let server = facts.server.as_ref();
    let server_cores = server.map_or(0.0, Server::all_cores);
    let Some(foreign) = facts.foreign_cores() else {
        let stolen = facts.stolen_cores / facts.cpus;
        if stolen >= 0.15 {
            return machine(facts, facts.stolen_cores);
        }
        return super::evaluate::unknown(
            "all cores are in use, and the server's part of that is not visible from here",
            &[("client_cores", facts.client_cores, "cores"), ("stolen_cores", facts.stolen_cores, "cores")],
        );
    };
    if foreign >= FOREIGN_CORES {
        return machine(facts, foreign);
    }
    match server {
        Some(server) if server_cores >= MAJORITY * server.cpus.min(facts.cpus) => all_cores(facts, server),
        _ if facts.client_cores >= MAJORITY * facts.cpus => limiter(
            LimiterKind::Client,
            format!(
                "the client: it used {:.1} of {}; for twice the rate it needs a machine with more of them",
                facts.client_cores,
                plural(whole(facts.cpus), "core")
            ),
            &[("client_cores", facts.client_cores, "cores"), ("cores", facts.cpus, "cores")],
        ),
        _ => limiter(
            LimiterKind::Machine,
            format!(
                "the machine: client ({:.1} cores) and server ({server_cores:.1}) share its {} and use all of them; for \
                 twice the rate put the client on another machine",
                facts.client_cores,
                plural(whole(facts.cpus), "core")
            ),
            &[
                ("client_cores", facts.client_cores, "cores"),
                ("server_cores", server_cores, "cores"),
                ("cores", facts.cpus, "cores"),
            ],
        ),
    }
}

/// The same on a host that the server has to itself: what else runs there is not among the facts.
fn hosts_cores_are_taken(facts: &Facts, server: &Server) -> Limiter {
    if server.all_cores() >= MAJORITY * server.cpus {
        return all_cores(facts, server);
    }
    let top = server.top();
    limiter(
        LimiterKind::Machine,
        format!(
            "the server's machine: a thread of the server waited for a core for {} of the time, while the server used {:.1} of \
             its {}; for twice the rate the server needs a machine of its own",
            percent(top.wait.min(1.0)),
            server.all_cores(),
            plural(whole(server.cpus), "core")
        ),
        &[
            ("server_cores", server.all_cores(), "cores"),
            ("cores", server.cpus, "cores"),
            ("waited", top.wait, "share"),
        ],
    )
}

/// The hypervisor and other programs have the cores.
pub(super) fn machine(facts: &Facts, foreign: f64) -> Limiter {
    let others = (foreign - facts.stolen_cores).max(0.0);
    let waited = facts.server.as_ref().map_or(0.0, |server| server.top().wait).max(facts.client.wait);
    limiter(
        LimiterKind::Machine,
        format!(
            "the machine: other programs used {others:.1} and the hypervisor took {:.1} of its {}, and threads of this run \
             waited for one for {} of the time; for twice the rate give the run a machine of its own",
            facts.stolen_cores,
            plural(whole(facts.cpus), "core"),
            percent(waited.min(1.0))
        ),
        &[
            ("other_cores", others, "cores"),
            ("stolen_cores", facts.stolen_cores, "cores"),
            ("cores", facts.cpus, "cores"),
            ("waited", waited, "share"),
        ],
    )
}

/// The server, or what it depends on, uses all cores.
fn all_cores(facts: &Facts, server: &Server) -> Limiter {
    let per_request =
        |cores: f64| crate::words::milliseconds(cores / facts.rate.max(f64::MIN_POSITIVE) * 1e3);
    if let Some((name, cores, _)) = &server.dependant
        && *cores > 2.0 * server.cores
    {
        return limiter(
            LimiterKind::Dependant,
            format!(
                "what the server depends on: {name} used {cores:.1} of {}, {} per request; for twice the rate it takes \
                 twice the cores or half that time",
                plural(whole(if facts.here { facts.cpus } else { server.cpus }), "core"),
                per_request(*cores)
            ),
            &[("dependant_cores", *cores, "cores"), ("server_cores", server.cores, "cores")],
        );
    }
    let with = match &server.dependant {
        Some((name, cores, _)) if *cores >= 0.1 => format!(" and {name} {cores:.1}"),
        _ => String::new(),
    };
    limiter(
        LimiterKind::ServerCpu,
        format!(
            "the server's CPU: it used {:.1}{with} of {}, {} of CPU time per request; for twice the rate it takes twice the \
             cores or half that time",
            server.cores,
            plural(whole(server.cpus), "core"),
            per_request(server.all_cores())
        ),
        &[
            ("server_cores", server.cores, "cores"),
            ("server_and_dependants_cores", server.all_cores(), "cores"),
            ("cores", server.cpus, "cores"),
        ],
    )
}

/// A number of whole cores.
fn whole(cores: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of CPUs")]
    let whole = cores.round() as u64;
    whole
}
