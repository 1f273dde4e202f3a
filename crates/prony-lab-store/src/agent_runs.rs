//! Loads that agents make for this lab: what was asked of whom, and whose results are here. The epoch of the lab's
//! commands, and whether all such loads are stopped.

use std::collections::BTreeSet;

use super::{Row, StoreError, Tx, files, settings, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{AgentsStop, BuildId, BuildState};

/// The setting with the epoch of the last lab that led agents.
const EPOCH: &str = "agents.epoch";
/// The setting that says who stopped all loads of agents; empty where nobody did.
const STOP: &str = "agents.stop";
/// The setting that has the agents that are drained, JSON.
const DRAINED: &str = "agents.drained";

/// What the result of an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentResultKind {
    /// A result of a run, as JSON.
    Finished,
    /// Why there is none, as text.
    Failed,
}

impl AgentResultKind {
    fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }

    /// The file of a build that has the result of `agent`.
    fn file(self, agent: &str) -> String {
        let end = match self {
            Self::Finished => "json",
            Self::Failed => "txt",
        };
        format!("agents/{agent}.{end}")
    }
}

/// What became of a result that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptResult {
    /// It is kept.
    New,
    /// It had been kept before.
    Known,
    /// Nobody asked for it here: of another lab's run, of an agent that had no part in it, or a second one.
    Foreign,
}

/// A load that agents make.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRun {
    /// As agents know it.
    pub name: String,
    /// Whose.
    pub build: BuildId,
    /// The plan of the whole load, as JSON.
    pub plan: String,
    /// The planned start on the monotonic clock of the lab's machine, if it came to that.
    pub start_ns: Option<u64>,
    /// When it was over for the lab.
    pub ended_at: Option<Moment>,
    /// Why it was given up.
    pub failure: Option<String>,
    /// Results that are here.
    pub received: u32,
    /// Those of them that the merged files have.
    pub merged: u32,
    /// How often they were merged.
    pub revision: u32,
    /// In the order in which the load was split.
    pub slices: Vec<AgentSlice>,
}

/// The part of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSlice {
    /// Whose.
    pub agent: String,
    /// The lab's clock less the agent's, and the bound of that, nanoseconds.
    pub clock: Option<(i64, u64)>,
    /// What went wrong.
    pub failure: Option<String>,
    /// Its result, if it is here.
    pub result: Option<AgentResultKind>,
    /// Since when.
    pub received_at: Option<Moment>,
}

/// The epoch of a lab that leads agents from now on: above that of every lab before, and at least `least`.
pub fn next_epoch(tx: &mut Tx<'_>, least: u64) -> Result<u64, StoreError> {
    let last = settings::setting(tx, EPOCH)?.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let epoch = least.max(last.saturating_add(1));
    settings::set(tx, EPOCH, &epoch.to_string())?;
    Ok(epoch)
}

/// Who stopped all loads of agents, where nobody has lifted that.
pub fn stop(tx: &mut Tx<'_>) -> Result<Option<AgentsStop>, StoreError> {
    let text = settings::setting(tx, STOP)?.filter(|text| !text.is_empty());
    let damaged = |error| StoreError::Damaged(format!("the setting {STOP}: {error}"));
    text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
}

/// Notes that all loads of agents are stopped, or that they may go on.
pub fn set_stop(tx: &mut Tx<'_>, stop: Option<&AgentsStop>) -> Result<(), StoreError> {
    let text = stop.map(|stop| serde_json::json!(stop).to_string()).unwrap_or_default();
    settings::set(tx, STOP, &text)
}

/// The agents that take no loads of this lab until they are resumed.
pub fn drained(tx: &mut Tx<'_>) -> Result<BTreeSet<String>, StoreError> {
    let text = settings::setting(tx, DRAINED)?.filter(|text| !text.is_empty());
    let damaged = |error| StoreError::Damaged(format!("the setting {DRAINED}: {error}"));
    text.map_or_else(|| Ok(BTreeSet::new()), |text| serde_json::from_str(&text).map_err(damaged))
}

/// Notes which agents take no loads.
pub fn set_drained(tx: &mut Tx<'_>, drained: &BTreeSet<String>) -> Result<(), StoreError> {
    settings::set(tx, DRAINED, &serde_json::json!(drained).to_string())
}

/// Notes a load before any agent is asked.
pub fn begin(tx: &mut Tx<'_>, name: &str, build: BuildId, plan: &str, now: Moment) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO agent_runs (name, build_id, plan, begun_at) VALUES ($1, $2, $3, $4)",
        values![name, build, plan, now],
    )
    .map(drop)
}

/// Notes who is asked to take part, in the order in which the load was split.
pub fn assign(tx: &mut Tx<'_>, run: &str, agents: &[String]) -> Result<(), StoreError> {
    for (slice, agent) in (0_i64..).zip(agents) {
        tx.execute(
            "INSERT INTO agent_slices (run, slice, agent) VALUES ($1, $2, $3)",
            values![run, slice, agent.as_str()],
        )?;
    }
    Ok(())
}

/// Notes when the load is to begin, and how the clocks of its agents stand, in the order of the slices.
pub fn start(
    tx: &mut Tx<'_>,
    run: &str,
    start_ns: u64,
    clocks: &[Option<(i64, u64)>],
) -> Result<(), StoreError> {
    tx.execute("UPDATE agent_runs SET start_ns = $2 WHERE name = $1", values![run, start_ns])?;
    for (slice, clock) in (0_i64..).zip(clocks) {
        let Some((offset_ns, bound_ns)) = *clock else { continue };
        tx.execute(
            "UPDATE agent_slices SET offset_ns = $3, bound_ns = $4 WHERE run = $1 AND slice = $2",
            values![run, slice, offset_ns, bound_ns],
        )?;
    }
    Ok(())
}

/// The agent that has this part of a load, if this lab has asked for it.
pub fn agent_of(tx: &mut Tx<'_>, run: &str, slice: u32) -> Result<Option<String>, StoreError> {
    let statement = "SELECT agent FROM agent_slices WHERE run = $1 AND slice = $2";
    tx.first(statement, values![run, i64::from(slice)], |row| row.text(0))
}

/// Keeps the result of a part of a load, once: as a file of its build, whatever state that is in.
pub fn keep(
    tx: &mut Tx<'_>,
    run: &str,
    slice: u32,
    is: AgentResultKind,
    bytes: &[u8],
    now: Moment,
) -> Result<KeptResult, StoreError> {
    let found = tx.first(
        "SELECT r.build_id, s.agent, s.result FROM agent_slices s JOIN agent_runs r ON r.name = s.run \
         WHERE s.run = $1 AND s.slice = $2",
        values![run, i64::from(slice)],
        |row| Ok((BuildId(row.int(0)?), row.text(1)?, row.maybe_text(2)?)),
    )?;
    let Some((build, agent, known)) = found else { return Ok(KeptResult::Foreign) };
    let file = is.file(&agent);
    if let Some(known) = known {
        let kept = files::one(tx, build, &file)?.map(|(_, bytes)| bytes);
        let is_same = known == is.name() && kept.as_deref() == Some(bytes);
        return Ok(if is_same { KeptResult::Known } else { KeptResult::Foreign });
    }
    files::put(tx, build, &file, bytes)?;
    tx.execute(
        "UPDATE agent_slices SET result = $3, received_at = $4 WHERE run = $1 AND slice = $2",
        values![run, i64::from(slice), is.name(), now],
    )?;
    tx.execute("UPDATE agent_runs SET received = received + 1 WHERE name = $1", values![run])?;
    Ok(KeptResult::New)
}

/// Ends a load, whatever came of it; `failures` are those of its agents, in the order of the slices.
pub fn end(
    tx: &mut Tx<'_>,
    run: &str,
    failure: Option<&str>,
    failures: &[Option<String>],
    now: Moment,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE agent_runs SET ended_at = $2, failure = $3 WHERE name = $1 AND ended_at IS NULL",
        values![run, now, failure],
    )?;
    for (slice, failure) in (0_i64..).zip(failures) {
        if let Some(failure) = failure {
            tx.execute(
                "UPDATE agent_slices SET failure = $3 WHERE run = $1 AND slice = $2",
                values![run, slice, failure.as_str()],
            )?;
        }
    }
    Ok(())
}

/// Notes that `results` of a load's results are merged; the number of the revision that this is, from 1.
pub fn set_merged(tx: &mut Tx<'_>, run: &str, results: u32) -> Result<u32, StoreError> {
    let revision = tx.number(
        "UPDATE agent_runs SET merged = $2, revision = revision + 1 WHERE name = $1 RETURNING revision",
        values![run, i64::from(results)],
    )?;
    Ok(u32::try_from(revision).unwrap_or(u32::MAX))
}

/// Loads that a lab led when it ended, in the order of their names.
pub fn left_open(tx: &mut Tx<'_>) -> Result<Vec<AgentRun>, StoreError> {
    let names = tx.query(
        "SELECT name FROM agent_runs WHERE (ended_at IS NULL OR received > merged) AND ended_at IS NULL ORDER BY name",
        &[],
        |row| row.text(0),
    )?;
    names.iter().filter_map(|name| one(tx, name).transpose()).collect()
}

/// Loads of builds that are over, of which results arrived that the merged files don't have.
pub fn unmerged(tx: &mut Tx<'_>) -> Result<Vec<AgentRun>, StoreError> {
    let found = tx.query(
        "SELECT r.name, b.state FROM agent_runs r JOIN builds b ON b.id = r.build_id \
         WHERE (r.ended_at IS NULL OR r.received > r.merged) AND r.ended_at IS NOT NULL ORDER BY r.name",
        &[],
        |row| Ok((row.text(0)?, row.word::<BuildState>(1)?)),
    )?;
    let over = found.into_iter().filter(|(_, state)| state.is_final());
    over.filter_map(|(name, _)| one(tx, &name).transpose()).collect()
}

/// One load.
pub fn one(tx: &mut Tx<'_>, name: &str) -> Result<Option<AgentRun>, StoreError> {
    let small = |row: &Row, column| row.int(column).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let found = tx.first(
        "SELECT name, build_id, plan, start_ns, ended_at, failure, received, merged, revision FROM agent_runs \
         WHERE name = $1",
        values![name],
        |row| {
            Ok(AgentRun {
                name: row.text(0)?,
                build: BuildId(row.int(1)?),
                plan: row.text(2)?,
                start_ns: row.maybe_int(3)?.map(i64::cast_unsigned),
                ended_at: row.maybe_moment(4)?,
                failure: row.maybe_text(5)?,
                received: small(row, 6)?,
                merged: small(row, 7)?,
                revision: small(row, 8)?,
                slices: Vec::new(),
            })
        },
    )?;
    let Some(run) = found else { return Ok(None) };
    let slices = tx.query(
        "SELECT agent, offset_ns, bound_ns, failure, result, received_at FROM agent_slices WHERE run = $1 ORDER BY slice",
        values![name],
        |row| {
            Ok(AgentSlice {
                agent: row.text(0)?,
                clock: row.maybe_int(1)?.zip(row.maybe_int(2)?.map(i64::cast_unsigned)),
                failure: row.maybe_text(3)?,
                result: match row.maybe_text(4)?.as_deref() {
                    Some("finished") => Some(AgentResultKind::Finished),
                    Some(_) => Some(AgentResultKind::Failed),
                    None => None,
                },
                received_at: row.maybe_moment(5)?,
            })
        },
    )?;
    Ok(Some(AgentRun { slices, ..run }))
}

/// The bytes of the results of a load, in the order of the slices.
pub fn results(tx: &mut Tx<'_>, run: &AgentRun) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let file = |slice: &AgentSlice| slice.result.map(|is| is.file(&slice.agent));
    run.slices
        .iter()
        .map(|slice| match file(slice) {
            Some(name) => Ok(files::one(tx, run.build, &name)?.map(|(_, bytes)| bytes)),
            None => Ok(None),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::{Store, builds};
    use super::*;
    use prony_lab_model::{AdHocLoad, BuildKind, NewBuild, Priority, TaskKind};

    fn load(store: &Store) -> BuildId {
        let load = AdHocLoad {
            url: "http://127.0.0.1:1/".to_owned(),
            connections: 2,
            rate_per_s: None,
            duration_s: 1.0,
            agents: None,
        };
        let new = NewBuild {
            kind: BuildKind::Load,
            project: None,
            reference: load.url.clone(),
            base: None,
            variant: None,
            tasks: vec![("load".to_owned(), TaskKind::Load, String::new())],
            load: Some(load),
            email: None,
            priority: Priority::Normal,
            requested_by: "kim".to_owned(),
            requested_at: Moment(1),
            expires_at: Moment(1_000),
        };
        store.write_blocking(move |tx| builds::accept(tx, &new)).expect("accepted")
    }

    fn keep_blocking(store: &Store, slice: u32, bytes: &'static [u8]) -> KeptResult {
        let kept = store
            .write_blocking(move |tx| keep(tx, "r1", slice, AgentResultKind::Finished, bytes, Moment(9)));
        kept.expect("written")
    }

    #[test]
    fn an_epoch_only_grows() {
        on_both(|store| {
            let next = |least| store.write_blocking(move |tx| next_epoch(tx, least)).expect("written");
            assert_eq!([next(5), next(5), next(3), next(100), next(0)], [5, 6, 7, 100, 101]);
        });
    }

    #[test]
    fn a_result_is_kept_once() {
        on_both(|store| {
            let build = load(store);
            assert_eq!(keep_blocking(store, 0, b"a"), KeptResult::Foreign, "of nobody's run");
            store
                .write_blocking(move |tx| {
                    begin(tx, "r1", build, "{}", Moment(2))?;
                    assign(tx, "r1", &["a".to_owned(), "b".to_owned()])?;
                    start(tx, "r1", 77, &[Some((-5, 3)), None])
                })
                .expect("written");
            assert_eq!(keep_blocking(store, 2, b"c"), KeptResult::Foreign, "of nobody's part");
            assert_eq!(keep_blocking(store, 0, b"a"), KeptResult::New);
            assert_eq!(keep_blocking(store, 0, b"a"), KeptResult::Known);
            assert_eq!(keep_blocking(store, 0, b"x"), KeptResult::Foreign, "a second result changes nothing");
            let run = store.read_blocking(|tx| one(tx, "r1")).expect("read").expect("there");
            assert_eq!((run.start_ns, run.received, run.merged), (Some(77), 1, 0));
            assert_eq!(run.slices[0].clock, Some((-5, 3)));
            let bytes = store.read_blocking(|tx| results(tx, &run)).expect("read");
            assert_eq!(bytes, [Some(b"a".to_vec()), None]);
        });
    }

    #[test]
    fn what_a_lab_left_is_found_and_late_results_are_merged_once() {
        on_both(|store| {
            let build = load(store);
            let left = || {
                let names = store.read_blocking(left_open).expect("read");
                names.into_iter().map(|run| run.name).collect::<Vec<_>>()
            };
            let to_merge = || store.read_blocking(unmerged).expect("read").len();
            store
                .write_blocking(move |tx| {
                    begin(tx, "r1", build, "{}", Moment(2))?;
                    assign(tx, "r1", &["a".to_owned(), "b".to_owned()])
                })
                .expect("written");
            assert_eq!((left(), to_merge()), (vec!["r1".to_owned()], 0));
            keep_blocking(store, 1, b"b");
            store
                .write_blocking(|tx| {
                    end(tx, "r1", Some("killed"), &[Some("lost".to_owned()), None], Moment(3))
                })
                .expect("written");
            assert_eq!((left(), to_merge()), (Vec::new(), 0), "its build is not over");
            store
                .write_blocking(move |tx| {
                    builds::advance(tx, build, BuildState::Queued, BuildState::Cancelled, None, Moment(4))
                })
                .expect("written");
            assert_eq!(to_merge(), 1);
            let merge =
                |results| store.write_blocking(move |tx| set_merged(tx, "r1", results)).expect("written");
            assert_eq!((merge(1), to_merge()), (1, 0));
            keep_blocking(store, 0, b"a");
            assert_eq!((to_merge(), merge(2), to_merge()), (1, 2, 0));
            let run = store.read_blocking(|tx| one(tx, "r1")).expect("read").expect("there");
            assert_eq!(run.failure.as_deref(), Some("killed"));
            assert_eq!(run.slices[0].failure.as_deref(), Some("lost"));
        });
    }

    #[test]
    fn a_stop_stays_until_it_is_lifted() {
        on_both(|store| {
            assert_eq!(store.read_blocking(stop), Ok(None));
            let mark = AgentsStop { by: "kim".to_owned(), at: Moment(3) };
            let wanted = mark.clone();
            store.write_blocking(move |tx| set_stop(tx, Some(&wanted))).expect("written");
            assert_eq!(store.read_blocking(stop), Ok(Some(mark)));
            store.write_blocking(|tx| set_stop(tx, None)).expect("written");
            assert_eq!(store.read_blocking(stop), Ok(None));
        });
    }
}
