//! Which agents are there, and which of them a run gets.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::AgentChoice;

use super::{DISCOVER_MAX_NS, DISCOVER_MIN_NS, SEEN_MAX};
use crate::protocol::{AgentName, Heartbeat, Work};

/// Names in a message.
const SHOWN_MAX: usize = 8;

/// Which agents a run is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// These.
    Names(Vec<AgentName>),
    /// Any so many that are idle.
    Any(usize),
    /// These processes, as an earlier run of the same controller found them, the observer last: nobody is looked for.
    Known(Vec<(AgentName, String)>),
}

impl Wanted {
    /// Those of `choice`; `None` where a name in it is none of an agent.
    pub fn of(choice: &AgentChoice) -> Option<Self> {
        match choice {
            AgentChoice::Any(count) => Some(Self::Any(*count)),
            AgentChoice::Names(names) => {
                names.iter().map(|name| AgentName::new(name)).collect::<Option<_>>().map(Self::Names)
            }
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Self::Names(names) => names.len(),
            Self::Any(count) => *count,
            Self::Known(processes) => processes.len(),
        }
    }
}

/// What was heard so far.
#[derive(Debug)]
pub(super) struct Discovery {
    since_ns: u64,
    /// Agents that are to take no load.
    drained: BTreeSet<AgentName>,
    seen: BTreeMap<AgentName, Vec<Heartbeat>>,
}

impl Discovery {
    pub(super) fn new(drained: BTreeSet<AgentName>, now_ns: u64) -> Self {
        Self { since_ns: now_ns, drained, seen: BTreeMap::new() }
    }

    /// Notes a heartbeat: the last one of each process.
    pub(super) fn heard(&mut self, name: &AgentName, mut heartbeat: Heartbeat) {
        if self.drained.contains(name) {
            heartbeat.work = Work::Draining;
        }
        if self.seen.len() >= SEEN_MAX && !self.seen.contains_key(name) {
            return;
        }
        let processes = self.seen.entry(name.clone()).or_default();
        processes.retain(|known| known.instance != heartbeat.instance);
        if processes.len() < 2 {
            processes.push(heartbeat);
        }
    }

    /// The agents for the run, name and process each, the observer last; `None` while that is not clear yet. `version` is the
    /// controller's.
    pub(super) fn choose(
        &self,
        wanted: &Wanted,
        observer: Option<&AgentName>,
        version: &str,
        now_ns: u64,
    ) -> Option<Result<Vec<(AgentName, String)>, String>> {
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        if elapsed_ns < DISCOVER_MIN_NS && !matches!(wanted, Wanted::Known(_)) {
            return None;
        }
        match self.try_choose(wanted, observer, version) {
            Err(_) if elapsed_ns < DISCOVER_MAX_NS => None,
            outcome => Some(outcome),
        }
    }

    fn try_choose(
        &self,
        wanted: &Wanted,
        observer: Option<&AgentName>,
        version: &str,
    ) -> Result<Vec<(AgentName, String)>, String> {
        let mut chosen = match wanted {
            Wanted::Names(names) => {
                names.iter().map(|name| Ok((name, self.named(name)?))).collect::<Result<Vec<_>, String>>()?
            }
            Wanted::Known(processes) => return Ok(processes.clone()),
            Wanted::Any(count) => {
                let idle = self.seen.iter().filter_map(|(name, processes)| match &processes[..] {
                    [only] if only.work == Work::Idle && Some(name) != observer => Some((name, only)),
                    _ => None,
                });
                let chosen: Vec<_> = idle.take(*count).collect();
                if chosen.len() < *count {
                    return Err(format!(
                        "{count} agents are wanted, and {} idle ({})",
                        if chosen.len() == 1 { "1 is".to_owned() } else { format!("{} are", chosen.len()) },
                        self.there()
                    ));
                }
                chosen
            }
        };
        if let Some((name, heartbeat)) =
            observer.map(|name| Ok::<_, String>((name, self.named(name)?))).transpose()?
        {
            chosen.push((name, heartbeat));
        }
        if let Some((name, other)) = chosen.iter().find(|(_, heartbeat)| heartbeat.version != version) {
            return Err(format!(
                "the agent {name} is prony {}, and this is prony {version}: numbers of different versions are not \
                 merged; install the same one",
                shown(&other.version)
            ));
        }
        Ok(chosen.into_iter().map(|(name, heartbeat)| (name.clone(), heartbeat.instance.clone())).collect())
    }

    fn named(&self, name: &AgentName) -> Result<&Heartbeat, String> {
        match self.seen.get(name).map(Vec::as_slice) {
            None => Err(format!("there is no agent {name} ({})", self.there())),
            Some([only]) => match only.work {
                Work::Idle => Ok(only),
                Work::Busy => Err(format!("the agent {name} is busy with another run")),
                Work::Draining => {
                    Err(format!("the agent {name} takes no loads: it is drained, or about to end"))
                }
            },
            Some(_) => Err(format!("two agents call themselves {name}: give each a name of its own")),
        }
    }

    /// Who is there, for people.
    fn there(&self) -> String {
        if self.seen.is_empty() {
            return "no agent was heard: `prony agent --name NAME` starts one".to_owned();
        }
        let names: Vec<&str> = self.seen.keys().take(SHOWN_MAX).map(AgentName::as_str).collect();
        let more = if self.seen.len() > SHOWN_MAX { ", …" } else { "" };
        format!("heard: {}{more}", names.join(", "))
    }
}

/// Foreign text, short and on one line.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Refusals;

    fn heartbeat(instance: &str, version: &str, work: Work) -> Heartbeat {
        Heartbeat {
            instance: instance.to_owned(),
            version: version.to_owned(),
            work,
            cores: 2,
            spooled: 0,
            refused: Refusals::default(),
        }
    }

    fn name(text: &str) -> AgentName {
        AgentName::new(text).expect("a name")
    }

    #[test]
    fn agents_are_chosen_or_it_is_clear_why_not() {
        let mut discovery = Discovery::new(BTreeSet::from([name("drained")]), 0);
        for (agent, instance, version, work) in [
            ("a", "1", "1.0", Work::Idle),
            ("a", "1", "1.0", Work::Idle),
            ("b", "2", "1.0", Work::Idle),
            ("busy", "3", "1.0", Work::Busy),
            ("old", "4", "0.9", Work::Idle),
            ("drained", "8", "1.0", Work::Idle),
            ("twice", "5", "1.0", Work::Idle),
            ("twice", "6", "1.0", Work::Idle),
        ] {
            discovery.heard(&name(agent), heartbeat(instance, version, work));
        }
        let choose = |wanted: &Wanted| discovery.try_choose(wanted, None, "1.0").map(|chosen| chosen.len());
        let names = |names: &[&str]| Wanted::Names(names.iter().map(|text| name(text)).collect());
        assert_eq!(choose(&names(&["b", "a"])), Ok(2));
        assert_eq!(choose(&Wanted::Any(2)), Ok(2));
        // Known processes are taken at once, heard or not.
        let known = Wanted::Known(vec![(name("gone"), "7".to_owned())]);
        assert_eq!(discovery.choose(&known, None, "1.0", 0), Some(Ok(vec![(name("gone"), "7".to_owned())])));
        for (wanted, expected) in [
            (names(&["a", "c"]), "no agent c (heard: a, b, busy, drained, old, twice)"),
            (names(&["busy"]), "busy with another run"),
            (names(&["drained"]), "the agent drained takes no loads"),
            (names(&["old"]), "prony 0.9, and this is prony 1.0"),
            (names(&["twice"]), "two agents call themselves twice"),
            (Wanted::Any(4), "4 agents are wanted, and 3 are idle"),
        ] {
            let why = choose(&wanted).expect_err(expected);
            assert!(why.contains(expected), "{why}");
        }
        // The one that measures the server is never one of any that load, and comes last.
        let observed = |wanted: &Wanted, observer: &str| {
            let chosen = discovery.try_choose(wanted, Some(&name(observer)), "1.0")?;
            Ok::<_, String>(chosen.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(observed(&Wanted::Any(1), "a"), Ok(vec!["b".to_owned(), "a".to_owned()]));
        for (wanted, observer, expected) in [
            (Wanted::Any(3), "a", "3 agents are wanted, and 2 are idle"),
            (names(&["a"]), "gone", "no agent gone"),
            (names(&["a"]), "old", "prony 0.9"),
        ] {
            let why = observed(&wanted, observer).expect_err(expected);
            assert!(why.contains(expected), "{why}");
        }
        // Time for two heartbeats of everybody, and no more than that where all is well.
        let all = names(&["a"]);
        assert_eq!(discovery.choose(&all, None, "1.0", DISCOVER_MIN_NS - 1), None);
        assert!(discovery.choose(&all, None, "1.0", DISCOVER_MIN_NS).is_some_and(|chosen| chosen.is_ok()));
        assert_eq!(discovery.choose(&names(&["c"]), None, "1.0", DISCOVER_MAX_NS - 1), None);
        assert!(
            discovery
                .choose(&names(&["c"]), None, "1.0", DISCOVER_MAX_NS)
                .is_some_and(|chosen| chosen.is_err())
        );
    }
}
