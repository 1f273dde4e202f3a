//! Agents: all their loads stopped at once, and let go on; single ones drained, and resumed.

use std::collections::BTreeSet;

use super::{Actor, Ctx};
use crate::lab::Lab;
use prony_lab_model::log::{LogEntry, LogLevel};
use prony_lab_model::{Agents, AgentsStop, clock};
use prony_lab_store::{StoreError, Tx, agent_runs};

/// Notes that all loads of agents are stopped, for this lab and those after it.
pub fn stop(tx: &mut Tx<'_>, ctx: &Ctx) -> Result<(), StoreError> {
    let stop = AgentsStop { by: ctx.who.name.clone(), at: ctx.now };
    agent_runs::set_stop(tx, Some(&stop))?;
    ctx.note(tx, "agents.stop", "all loads", "")
}

/// Notes that agents may take loads again; whether they might not before.
pub fn lift(tx: &mut Tx<'_>, ctx: &Ctx) -> Result<bool, StoreError> {
    if agent_runs::stop(tx)?.is_none() {
        return Ok(false);
    }
    agent_runs::set_stop(tx, None)?;
    ctx.note(tx, "agents.lift", "all loads", "")?;
    Ok(true)
}

/// Notes that the agent `name` is to take no loads, or that it may again; which agents are drained after that, and whether
/// this changed anything.
pub fn set_drained(
    tx: &mut Tx<'_>,
    ctx: &Ctx,
    name: &str,
    is_drained: bool,
) -> Result<(BTreeSet<String>, bool), StoreError> {
    let mut drained = agent_runs::drained(tx)?;
    let changed = if is_drained { drained.insert(name.to_owned()) } else { drained.remove(name) };
    if changed {
        agent_runs::set_drained(tx, &drained)?;
        ctx.note(tx, if is_drained { "agents.drain" } else { "agents.resume" }, name, "")?;
    }
    Ok((drained, changed))
}

impl Lab {
    /// Has the agent `name` end what it does and take no new load, or take loads again; whether that changed anything.
    /// `None` where no agent of this name was heard or is drained.
    pub async fn drain_agent(
        &self,
        who: Actor,
        name: &str,
        is_drained: bool,
    ) -> Result<Option<bool>, StoreError> {
        let Some(fleet) = self.fleet.get() else { return Ok(None) };
        let names = [name.to_owned()];
        if fleet.drained(&names).is_empty() && !fleet.unknown(&names).is_empty() {
            return Ok(None);
        }
        let [owned] = names;
        let noted = self.act(who, move |tx, ctx| set_drained(tx, ctx, &owned, is_drained)).await?;
        let (drained, changed) = noted;
        fleet.set_drained(drained);
        Ok(Some(changed))
    }

    /// Ends all loads on all agents, and refuses new ones until that is lifted; how many agents had one. The loads end
    /// before this is written down: an error is one of the store, and they have ended nevertheless.
    pub async fn stop_agents(&self, who: Actor) -> Result<usize, StoreError> {
        let busy = self.stop_agents_at_once(&who.name);
        self.act(who, stop).await?;
        Ok(busy)
    }

    /// Has agents take loads again; whether they might not before.
    pub async fn lift_agents(&self, who: Actor) -> Result<bool, StoreError> {
        let was_stopped = self.act(who, lift).await?;
        self.lift_agents_at_once();
        Ok(was_stopped)
    }

    /// What ends the loads, for [`stop`]; nothing of it waits for the store.
    pub(crate) fn stop_agents_at_once(&self, by: &str) -> usize {
        let Some(fleet) = self.fleet.get() else { return 0 };
        let busy = fleet.stop(AgentsStop { by: by.to_owned(), at: clock::wall() });
        let message = format!("all loads on agents are stopped by {by}; {busy} agents were busy");
        self.log().add(LogEntry::new(LogLevel::Warning, "agents.stopped", message).with("by", by));
        busy
    }

    /// What is done after [`lift`].
    pub(crate) fn lift_agents_at_once(&self) {
        if let Some(fleet) = self.fleet.get().filter(|fleet| fleet.stopped().is_some()) {
            fleet.lift();
            self.log().add(LogEntry::new(LogLevel::Info, "agents.lifted", "agents take loads again"));
        }
    }

    /// The agents that the lab hears; an empty list where it was started without a broker.
    pub fn agents(&self) -> Agents {
        self.fleet.get().map(crate::fleet::Fleet::agents).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::act_blocking;
    use super::*;
    use prony_lab_model::options::LabOptions;
    use prony_lab_store::audit;

    #[test]
    fn who_is_drained_is_kept_and_each_change_is_in_the_audit_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let lab = Lab::open(LabOptions::new(folder.path().to_owned())).expect("a lab");
        let set = |name: &'static str, is_drained| {
            let set = move |tx: &mut Tx<'_>, ctx: &Ctx| set_drained(tx, ctx, name, is_drained);
            act_blocking(&lab.store, Actor::at_machine("kim"), set).expect("written").1
        };
        assert!(!set("a", false), "it was not drained");
        assert!(set("a", true) && !set("a", true) && set("b", true) && set("a", false));
        let drained = lab.store.read_blocking(agent_runs::drained).expect("read");
        assert_eq!(drained, BTreeSet::from(["b".to_owned()]));
        let entries = lab.store.read_blocking(audit::check).expect("read").entries;
        assert_eq!(entries, 3, "two drained, one resumed");
    }

    #[test]
    fn a_stop_is_kept_and_in_the_audit_log_until_it_is_lifted() {
        let folder = tempfile::tempdir().expect("a folder");
        let lab = Lab::open(LabOptions::new(folder.path().to_owned())).expect("a lab");
        let kim = || Actor::at_machine("kim");
        let stopped = || lab.store.read_blocking(agent_runs::stop).expect("read").map(|stop| stop.by);
        assert_eq!(act_blocking(&lab.store, kim(), lift), Ok(false));
        act_blocking(&lab.store, kim(), stop).expect("written");
        assert_eq!(stopped().as_deref(), Some("kim"));
        assert_eq!(act_blocking(&lab.store, kim(), lift), Ok(true));
        assert_eq!(stopped(), None);
        let entries = lab.store.read_blocking(audit::check).expect("read").entries;
        assert_eq!(entries, 2, "a stop and its end");
    }
}
