//! Whose processes the server is: those that were named, else those that listen at the target's address.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use prony_model::{Problem, RunPlan, ServerFoundBy, ServerHint};

use super::cgroup::Cgroup;
use super::group::{Group, Parents};
use super::locate::{Listeners, tcp_listeners, tcp_table, unix_listeners_at};

/// What was found before the load.
pub(super) struct Found {
    pub by: ServerFoundBy,
    pub group: Group,
    pub listeners: Option<Listeners>,
    pub is_unix: bool,
    pub cgroup: Option<Cgroup>,
}

impl Found {
    /// From what was named, else from the socket that the target's address leads to. `targets` are the target's addresses,
    /// where one of them is this machine's.
    pub(super) fn new(
        plan: &RunPlan,
        targets: Option<Vec<SocketAddr>>,
        hint: &ServerHint,
        parents: &Parents,
    ) -> Result<Self, Problem> {
        let unix = plan.target.unix.as_deref();
        let listeners = if let Some(path) = unix {
            unix_listeners_at(path, parents)
        } else if let Some(targets) = targets {
            tcp_listeners(&targets, &tcp_table("self"), parents)
        } else {
            Err(Problem::without_advice("it runs on another machine"))
        };
        let cgroup = hint.cgroup.as_deref().map(Cgroup::named).transpose()?;
        let (by, pids) = if let Some(cgroup) = &cgroup {
            (ServerFoundBy::Cgroup, [hint.pids.clone(), cgroup.pids()].concat())
        } else if let (Ok(listeners), true) = (&listeners, hint.pids.is_empty()) {
            (ServerFoundBy::ListeningSocket, listeners.pids.clone())
        } else if let (Err(problem), true) = (&listeners, hint.pids.is_empty()) {
            return Err(problem.clone());
        } else {
            (ServerFoundBy::Pid, hint.pids.clone())
        };
        if let Some(missing) = hint.pids.iter().find(|pid| !parents.contains_key(*pid)) {
            return Err(Problem::new(
                format!("there is no process {missing}"),
                "look its number up (pgrep -a NAME), or leave --target-pid out, and the server is found from its \
                 socket",
            ));
        }
        let group = Group::new(&pids, parents, None, &BTreeMap::new()).ok_or_else(|| {
            Problem::without_advice(
                "its processes ended before the load, or there are none in its control group",
            )
        })?;
        Ok(Self { by, group, listeners: listeners.ok(), is_unix: unix.is_some(), cgroup })
    }
}
