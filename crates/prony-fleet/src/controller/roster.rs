//! The agents that a controller hears: who is there, and what each does.

use std::collections::BTreeMap;

use super::{LOST_NS, SEEN_MAX, SUSPECT_NS};
use crate::protocol::{AgentName, Heartbeat, Work};

/// An agent that was silent for so long is no longer listed: a day.
const FORGOTTEN_NS: u64 = 86_400_000_000_000;

/// What an agent does, as far as it is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It can take a load.
    Idle,
    /// It has one.
    Busy,
    /// It is about to end.
    Draining,
    /// Not heard for 3 s.
    Suspect,
    /// Not heard for 10 s.
    Lost,
    /// Two processes have this name: neither gets a load.
    Doubled,
}

impl Presence {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Draining => "draining",
            Self::Suspect => "suspect",
            Self::Lost => "lost",
            Self::Doubled => "doubled",
        }
    }
}

/// An agent of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: AgentName,
    /// What it does.
    pub presence: Presence,
    /// What it reported last.
    pub heartbeat: Heartbeat,
    /// How long ago that was, nanoseconds.
    pub silence_ns: u64,
}

/// The list.
#[derive(Debug, Default)]
pub struct Roster {
    agents: BTreeMap<AgentName, Vec<(Heartbeat, u64)>>,
}

impl Roster {
    /// Notes a heartbeat.
    pub fn heard(&mut self, name: &AgentName, heartbeat: Heartbeat, now_ns: u64) {
        if self.agents.len() >= SEEN_MAX && !self.agents.contains_key(name) {
            self.agents.retain(|_, processes| !all_lost(processes, now_ns));
            if self.agents.len() >= SEEN_MAX {
                return;
            }
        }
        let processes = self.agents.entry(name.clone()).or_default();
        // A process that was restarted is another one, and the one before is silent.
        processes.retain(|(known, heard_ns)| {
            known.instance != heartbeat.instance && now_ns.saturating_sub(*heard_ns) < SUSPECT_NS
        });
        if processes.len() < 2 {
            processes.push((heartbeat, now_ns));
        }
    }

    /// Every agent of the last day, by name.
    pub fn list(&self, now_ns: u64) -> Vec<Listed> {
        let listed = self.agents.iter().filter_map(|(name, processes)| {
            let (heartbeat, heard_ns) = processes.iter().max_by_key(|(_, heard_ns)| *heard_ns)?;
            let silence_ns = now_ns.saturating_sub(*heard_ns);
            let heard =
                processes.iter().filter(|(_, heard_ns)| now_ns.saturating_sub(*heard_ns) < SUSPECT_NS);
            let presence = match (silence_ns, heard.count(), heartbeat.work) {
                (silence_ns, ..) if silence_ns >= LOST_NS => Presence::Lost,
                (silence_ns, ..) if silence_ns >= SUSPECT_NS => Presence::Suspect,
                (_, 2.., _) => Presence::Doubled,
                (_, _, Work::Idle) => Presence::Idle,
                (_, _, Work::Busy) => Presence::Busy,
                (_, _, Work::Draining) => Presence::Draining,
            };
            (silence_ns < FORGOTTEN_NS).then(|| Listed {
                name: name.clone(),
                presence,
                heartbeat: heartbeat.clone(),
                silence_ns,
            })
        });
        listed.collect()
    }

    /// Whether an agent of this name was heard in the last day.
    pub fn knows(&self, name: &AgentName, now_ns: u64) -> bool {
        self.agents.get(name).is_some_and(|processes| {
            processes.iter().any(|(_, heard_ns)| now_ns.saturating_sub(*heard_ns) < FORGOTTEN_NS)
        })
    }
}

fn all_lost(processes: &[(Heartbeat, u64)], now_ns: u64) -> bool {
    processes.iter().all(|(_, heard_ns)| now_ns.saturating_sub(*heard_ns) >= LOST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Refusals;

    const S: u64 = 1_000_000_000;

    fn heartbeat(instance: &str, work: Work) -> Heartbeat {
        Heartbeat {
            instance: instance.to_owned(),
            version: "1".to_owned(),
            work,
            cores: 2,
            spooled: 0,
            refused: Refusals::default(),
        }
    }

    fn name(text: &str) -> AgentName {
        AgentName::new(text).expect("a name")
    }

    fn presence(roster: &Roster, now_ns: u64) -> Option<Presence> {
        roster.list(now_ns).first().map(|listed| listed.presence)
    }

    #[test]
    fn an_agent_is_what_it_was_last_heard_to_be_and_lost_when_silent() {
        let mut roster = Roster::default();
        assert_eq!(presence(&roster, 0), None);
        for (work, expected) in
            [(Work::Idle, Presence::Idle), (Work::Busy, Presence::Busy), (Work::Draining, Presence::Draining)]
        {
            roster.heard(&name("a"), heartbeat("1", work), S);
            assert_eq!(presence(&roster, S), Some(expected));
        }
        for (silence, expected) in [
            (SUSPECT_NS - 1, Some(Presence::Draining)),
            (SUSPECT_NS, Some(Presence::Suspect)),
            (LOST_NS, Some(Presence::Lost)),
            (FORGOTTEN_NS, None),
        ] {
            assert_eq!(presence(&roster, S + silence), expected);
        }
        roster.heard(&name("a"), heartbeat("2", Work::Idle), 20 * S);
        assert_eq!(presence(&roster, 20 * S), Some(Presence::Idle), "a restart is no second agent");
    }

    #[test]
    fn two_of_one_name_are_shown_until_one_is_silent() {
        let mut roster = Roster::default();
        for at in 1..4 {
            for instance in ["1", "2"] {
                roster.heard(&name("a"), heartbeat(instance, Work::Idle), at * S);
            }
            assert_eq!(presence(&roster, at * S), Some(Presence::Doubled));
        }
        for at in 4..8 {
            roster.heard(&name("a"), heartbeat("2", Work::Busy), at * S);
        }
        assert_eq!(presence(&roster, 7 * S), Some(Presence::Busy));
    }

    #[test]
    fn the_list_has_a_bound_and_the_lost_make_room() {
        let mut roster = Roster::default();
        for number in 0..SEEN_MAX + 5 {
            roster.heard(&name(&format!("a{number}")), heartbeat("1", Work::Idle), S);
        }
        assert_eq!(roster.list(S).len(), SEEN_MAX);
        assert!(!roster.knows(&name(&format!("a{SEEN_MAX}")), S));
        roster.heard(&name("late"), heartbeat("1", Work::Idle), S + LOST_NS);
        assert!(roster.knows(&name("late"), S + LOST_NS));
    }
}
