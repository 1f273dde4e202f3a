//! Writes builds to the log: requested, started, ended. It follows the events since the start of this lab, so that a
//! restart repeats nothing.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use crate::event_cursor::{AFTER_ERROR, POLL_INTERVAL};
use prony_lab_model::clock;
use prony_lab_model::log::{LogEntry, LogLevel};
use prony_lab_model::{Build, BuildId, BuildState, BuildVerdict, EventId};
use prony_lab_store::background::Background;
use prony_lab_store::events::{self, Event};
use prony_lab_store::{Store, StoreError, Tx, builds};

/// Events that are read at once.
const TOGETHER: u32 = 256;
/// How often the database is asked for something while nothing happens: an idle lab notices that it is gone, too.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Logs builds from now on.
pub fn start(store: &Store) -> std::io::Result<Background> {
    let mut builds = BuildLog::new(store.clone());
    Background::start_aside("lab-log", move || builds.turn())
}

/// The part of an event's own body that matters here.
#[derive(Deserialize)]
struct EventBody {
    reason: Option<String>,
}

/// Follows the events.
struct BuildLog {
    store: Store,
    /// The last event that was seen; `None` before the first look.
    seen: Option<EventId>,
    /// The version of the store at the last look, and when that was.
    looked: Option<(u64, Duration)>,
}

impl BuildLog {
    fn new(store: Store) -> Self {
        let seen = store.read_blocking(events::last).ok();
        Self { store, seen, looked: None }
    }

    fn turn(&mut self) -> Duration {
        let (version, now) = (self.store.version(), clock::steady());
        let is_idle =
            |(seen, at): (u64, Duration)| seen == version && now.saturating_sub(at) < PROBE_INTERVAL;
        if self.looked.is_some_and(is_idle) {
            return POLL_INTERVAL;
        }
        match self.look() {
            Ok(true) => Duration::ZERO,
            Ok(false) => {
                self.looked = Some((version, now));
                POLL_INTERVAL
            }
            Err(StoreError::Unavailable(_)) => {
                // The writer logs that its database is gone, and that it is back; without a write it would not notice.
                let _ = self.store.write_blocking(|_| Ok(()));
                AFTER_ERROR
            }
            Err(_) => AFTER_ERROR,
        }
    }

    /// Logs some events, if there are any; whether there may be more.
    fn look(&mut self) -> Result<bool, StoreError> {
        let Some(seen) = self.seen else {
            self.seen = Some(self.store.read_blocking(events::last)?);
            return Ok(false);
        };
        let (last, entries) = self.store.read_blocking(|tx| {
            let found = events::after(tx, seen, None, TOGETHER)?;
            Ok((found.last().map(|event| event.id), entries(tx, &found)?))
        })?;
        for entry in entries {
            self.store.log().add(entry);
        }
        self.seen = last.or(self.seen);
        Ok(last.is_some())
    }
}

/// The entries of those events that have one. Their builds are read together: thousands are requested in a second.
fn entries(tx: &mut Tx<'_>, events: &[Event]) -> Result<Vec<LogEntry>, StoreError> {
    let meant: Vec<(BuildState, BuildId, &Event)> = events
        .iter()
        .filter_map(|event| {
            let state = event.kind.strip_prefix("build.")?.parse::<BuildState>().ok()?;
            let is_meant = state.is_final() || matches!(state, BuildState::Queued | BuildState::Running);
            Some((state, event.build?, event)).filter(|_| is_meant)
        })
        .collect();
    let ids: Vec<BuildId> = meant.iter().map(|(_, id, _)| *id).collect();
    let builds: HashMap<BuildId, Build> =
        builds::of_numbers(tx, &ids)?.into_iter().map(|build| (build.id, build)).collect();
    let entry = |(state, id, event): (BuildState, BuildId, &Event)| {
        // A request has no reason; what comes back has one.
        let is_back = serde_json::from_str::<EventBody>(&event.body).is_ok_and(|body| body.reason.is_some());
        builds.get(&id).and_then(|build| of_build(build, state, is_back))
    };
    Ok(meant.into_iter().filter_map(entry).collect())
}

/// The entry of a build that came to `state`; into the queue perhaps once more.
fn of_build(build: &Build, state: BuildState, is_back: bool) -> Option<LogEntry> {
    let project = build.project_name.as_deref();
    let of = project.map(|name| format!(" of {name}")).unwrap_or_default();
    let name = format!("build {}{of} ({})", build.id, build.reference);
    let made = |level, event, message: String| {
        LogEntry::new(level, event, message)
            .with("build", build.id.0)
            .with("project", project)
            .with("reference", build.reference.as_str())
            .with("state", state.name())
    };
    match state {
        BuildState::Queued if is_back => {
            Some(made(LogLevel::Info, "build.requeued", format!("{name}: in the queue again")))
        }
        BuildState::Queued => {
            let message = format!("{name}: requested by {}", build.requested_by);
            let entry = made(LogLevel::Info, "build.requested", message);
            Some(entry.with("requested_by", build.requested_by.as_str()))
        }
        BuildState::Running => {
            let entry = made(LogLevel::Info, "build.started", format!("{name}: started"));
            Some(entry.with("attempt", build.attempt))
        }
        state if state.is_final() => {
            let level = if state == BuildState::Failed { LogLevel::Warning } else { LogLevel::Info };
            let verdict = build.verdict.map(BuildVerdict::name);
            let outcome: Vec<&str> =
                [Some(state.name()), verdict, build.reason.as_deref().filter(|text| !text.is_empty())]
                    .into_iter()
                    .flatten()
                    .collect();
            let took = build.started_at.zip(build.ended_at).map(|(from, to)| to.since(from).as_secs_f64());
            let entry = made(level, "build.ended", format!("{name}: {}", outcome.join(", ")));
            Some(entry.with("verdict", verdict).with("reason", build.reason.as_deref()).with("took_s", took))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildId, BuildRequest, Definition};
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::past::{DEFINITION, Measured, Past};
    use prony_lab_store::queue;

    fn texts(follower: &mut BuildLog) -> Vec<String> {
        while follower.turn() == Duration::ZERO {}
        let text = |entry: &LogEntry| entry.text().split_once(" UTC: ").expect("a time").1.to_owned();
        follower.store.log().taken().iter().map(text).collect()
    }

    #[test]
    fn a_build_is_three_entries() {
        on_both(|store| {
            let past = Past::new(store);
            past.build("main", "abc", Measured::default());
            // Only what happens from now on.
            let mut follower = BuildLog::new(store.clone());
            assert!(texts(&mut follower).is_empty());
            let verdict = Some((BuildVerdict::Slower, BuildId(1)));
            past.build("topic", "abd", Measured { verdict, ..Measured::default() });
            assert_eq!(
                texts(&mut follower),
                [
                    "build 2 of a (topic): requested by kim",
                    "build 2 of a (topic): started",
                    "build 2 of a (topic): completed, slower"
                ]
            );
            assert!(texts(&mut follower).is_empty(), "once");
        });
    }

    #[test]
    fn a_build_that_comes_back_was_not_requested_again() {
        on_both(|store| {
            let project = Past::new(store).project;
            let mut follower = BuildLog::new(store.clone());
            store
                .write_blocking(move |tx| {
                    let definition = Definition::read(DEFINITION).expect("a definition");
                    let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
                    builds::accept(tx, &new.expect("a request"))?;
                    queue::take(tx, Moment(6))?;
                    queue::recover(tx, Moment(7))
                })
                .expect("written");
            let expected =
                ["build 1 of a (main): requested by kim", "build 1 of a (main): in the queue again"];
            assert_eq!(texts(&mut follower), expected);
        });
    }

    #[test]
    fn the_fields_say_what_the_text_says() {
        on_both(|store| {
            let past = Past::new(store);
            let id = past.build("main", "abc", Measured::default());
            let mut build =
                store.read_blocking(|tx| builds::one(tx, id)).expect("read").expect("there").build;
            build.reference = "a\nb".to_owned();
            build.reason = Some("compile: exit code 2".to_owned());
            let json = |state| {
                let entry = of_build(&build, state, false).expect("an entry").json();
                serde_json::from_str::<serde_json::Value>(&entry).expect("JSON")
            };
            let requested = json(BuildState::Queued);
            assert_eq!(requested["event"], "build.requested");
            assert_eq!((&requested["build"], &requested["project"]), (&1.into(), &"a".into()));
            assert_eq!(
                (&requested["reference"], &requested["requested_by"]),
                (&"a\nb".into(), &"kim".into())
            );
            let ended = json(BuildState::Failed);
            assert_eq!((&ended["level"], &ended["state"]), (&"warning".into(), &"failed".into()));
            assert_eq!(ended["reason"], "compile: exit code 2");
            assert_eq!(of_build(&build, BuildState::Finalizing, false), None);
        });
    }
}
