//! Results of runs that nobody leads any more: their controller was killed, or had given an agent up.

use std::collections::{BTreeMap, VecDeque};

use super::Arrived;
use super::assembly::{Assembly, Taken};
use crate::protocol::{AgentName, Command, Part, RunName};

/// Results that arrive at once; each may take [`crate::protocol::RESULT_BYTES_MAX`] of memory. Other agents send theirs
/// again until there is room.
const ARRIVING_MAX: usize = 4;
/// A result of which nothing arrives for so long makes room for another.
pub(super) const IDLE_NS: u64 = 30_000_000_000;
/// Stored results that are remembered, so that a copy of their last part is answered at once.
const STORED_MAX: usize = 1_024;

/// Which result: of one agent, by its id.
pub type ResultKey = (AgentName, String);

/// What follows from a part.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Tell the agent this.
    Answer(Command),
    /// Store this, then call [`Collector::stored`]; tell the agent "committed" only if that worked.
    Store(Box<Arrived>),
    /// Nothing: the part is damaged, or there is no room. The agent sends it again.
    Nothing,
}

/// What has arrived.
#[derive(Debug, Default)]
pub struct Collector {
    arriving: BTreeMap<ResultKey, (Assembly, u64)>,
    stored: VecDeque<ResultKey>,
}

impl Collector {
    /// Takes a part of a result of `agent`, for the `slice` of `run`.
    pub fn take(&mut self, agent: &AgentName, run: &RunName, slice: u32, part: &Part, now_ns: u64) -> Next {
        let key = (agent.clone(), part.result.clone());
        if self.stored.contains(&key) {
            return Next::Answer(Command::Committed { result: part.result.clone() });
        }
        if !self.arriving.contains_key(&key) && self.arriving.len() >= ARRIVING_MAX {
            self.arriving.retain(|_, (_, heard_ns)| now_ns.saturating_sub(*heard_ns) < IDLE_NS);
            if self.arriving.len() >= ARRIVING_MAX {
                return Next::Nothing;
            }
        }
        let (assembly, heard_ns) =
            self.arriving.entry(key.clone()).or_insert_with(|| (Assembly::default(), now_ns));
        *heard_ns = now_ns;
        match assembly.take(part) {
            Taken::More(next) => Next::Answer(Command::Received { result: part.result.clone(), next }),
            Taken::Whole(is, bytes) => {
                // Where it can't be stored, the agent sends all of it again.
                self.arriving.remove(&key);
                let ((agent, id), run) = (key, run.clone());
                Next::Store(Box::new(Arrived { agent, run, slice, id, is, bytes }))
            }
            Taken::Again | Taken::Bad(_) => {
                self.arriving.remove(&key);
                Next::Nothing
            }
        }
    }

    /// The result `key` is stored: what to tell its agent.
    pub fn stored(&mut self, key: ResultKey) -> Command {
        if self.stored.len() >= STORED_MAX {
            self.stored.pop_front();
        }
        let result = key.1.clone();
        self.stored.push_back(key);
        Command::Committed { result }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::agent::sha256;
    use crate::protocol::{PART_BYTES, ResultKind};

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).expect("a name")
    }

    fn part(id: &str, whole: &[u8], index: u32) -> Part {
        let from = index as usize * PART_BYTES;
        let data = &whole[from..whole.len().min(from + PART_BYTES)];
        Part {
            result: id.to_owned(),
            is: ResultKind::Finished,
            index,
            bytes: whole.len() as u64,
            sha256: sha256(whole),
            part_sha256: sha256(data),
            data: STANDARD.encode(data),
        }
    }

    fn take(collector: &mut Collector, name: &str, part: &Part, now_ns: u64) -> Next {
        collector.take(&agent(name), &RunName::new("r1").expect("a name"), 0, part, now_ns)
    }

    #[test]
    fn a_result_is_committed_only_after_it_was_stored() {
        let mut collector = Collector::default();
        let whole = vec![7; PART_BYTES + 5];
        let received = |next| Next::Answer(Command::Received { result: "x".to_owned(), next });
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 1), 0), received(0), "from the start");
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 0), 0), received(1));
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 0), 0), received(1), "twice is once");
        let Next::Store(first) = take(&mut collector, "a", &part("x", &whole, 1), 0) else {
            panic!("it is whole")
        };
        assert_eq!((first.bytes.len(), first.slice, first.is), (whole.len(), 0, ResultKind::Finished));
        // It could not be stored: nothing is promised, and the agent sends it again.
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 1), 0), received(0));
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 0), 0), received(1));
        assert!(matches!(take(&mut collector, "a", &part("x", &whole, 1), 0), Next::Store(_)));
        let committed = Command::Committed { result: "x".to_owned() };
        assert_eq!(collector.stored((first.agent, first.id)), committed);
        assert_eq!(take(&mut collector, "a", &part("x", &whole, 1), 0), Next::Answer(committed));
        assert_eq!(
            take(&mut collector, "b", &part("x", &whole, 1), 0),
            received(0),
            "another agent's is another"
        );
    }

    #[test]
    fn damaged_parts_are_not_stored() {
        let mut collector = Collector::default();
        let mut damaged = part("x", b"result", 0);
        damaged.data = STANDARD.encode(b"RESULT");
        assert_eq!(take(&mut collector, "a", &damaged, 0), Next::Nothing);
        let mut wrong = part("x", b"result", 0);
        wrong.sha256 = sha256(b"other");
        assert_eq!(take(&mut collector, "a", &wrong, 0), Next::Nothing);
        assert!(matches!(take(&mut collector, "a", &part("x", b"result", 0), 0), Next::Store(_)));
    }

    #[test]
    fn memory_has_a_bound_and_who_is_silent_makes_room() {
        let mut collector = Collector::default();
        let whole = vec![7; PART_BYTES + 5];
        for number in 0..ARRIVING_MAX {
            assert!(matches!(
                take(&mut collector, &format!("a{number}"), &part("x", &whole, 0), 0),
                Next::Answer(_)
            ));
        }
        assert_eq!(take(&mut collector, "late", &part("x", &whole, 0), IDLE_NS - 1), Next::Nothing);
        assert!(matches!(take(&mut collector, "late", &part("x", &whole, 0), IDLE_NS), Next::Answer(_)));
        assert_eq!(collector.arriving.len(), 1);
    }
}
