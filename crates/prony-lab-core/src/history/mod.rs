//! What follows from results: where a series changed, which thresholds are missed, whom to alert, and
//! which commits to compare.
//!
//! One thread reads the events of builds that ended (`follow`), checks each series with results of the build
//! (`detect`, without a store), and writes down what follows (`changes`, `thresholds`, `slower`, `repeat`). Doing that twice
//! changes nothing, so a lab that was killed in the middle does it again.
//!
//! Only builds of the project's branch make its history, asked for by its name or by its newest commit: a branch with an
//! experiment on it is no change, and neither is an old commit that is built again.

mod changes;
mod compare;
mod thresholds;
mod detect;
mod repeat;
mod slower;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use compare::LAB;
pub(crate) use compare::request as request_comparison;

use crate::event_cursor::{AFTER_ERROR, Cursor, POLL_INTERVAL};
use prony_lab_model::clock;
use prony_lab_model::{Build, BuildKind, Definition};
use prony_lab_store::background::Background;
use prony_lab_store::events::Event;
use prony_lab_store::{Store, StoreError, alerts, builds, projects, series};

/// Where the store keeps what this thread has seen.
pub(crate) const SEEN: &str = "seen.history";

/// Watches from now on.
pub fn start(store: Store) -> std::io::Result<Background> {
    let mut watch = Watch::new(store);
    Background::start_aside("lab-history", move || watch.turn())
}

struct Watch {
    store: Store,
    cursor: Cursor,
}

impl Watch {
    fn new(store: Store) -> Self {
        Self { store, cursor: Cursor::new(SEEN) }
    }

    /// Does what there is to do; how long to wait before the next turn.
    fn turn(&mut self) -> Duration {
        // An error is the store's, and nothing was noted as seen: the same is tried again.
        match self.follow().and_then(|is_more| self.wake().map(|()| is_more)) {
            Ok(true) => Duration::ZERO,
            Ok(false) => POLL_INTERVAL,
            Err(_) => AFTER_ERROR,
        }
    }

    /// Looks at some events, if there are any; whether there may be more.
    fn follow(&mut self) -> Result<bool, StoreError> {
        let ends = ["build.completed", "build.degraded", "build.failed", "build.cancelled", "build.expired"];
        let is_meant = |kind: &str| ends.contains(&kind);
        let events = self.cursor.unseen(&self.store, is_meant)?;
        let Some(last) = events.last().map(|event| event.id) else { return Ok(false) };
        for event in &events {
            self.one(event)?;
        }
        // One commit for all of them: after a crash they are read again, which changes nothing.
        self.store.write_blocking(move |tx| Cursor::write(tx, SEEN, last))?;
        self.cursor.advance(last);
        Ok(true)
    }

    fn one(&self, event: &Event) -> Result<(), StoreError> {
        let build = match event.build {
            Some(id) => self.store.read_blocking(|tx| builds::one(tx, id))?.map(|found| found.build),
            None => None,
        };
        match build {
            Some(build) if build.kind == BuildKind::Project => self.project(&build),
            Some(build) if build.kind == BuildKind::Comparison => {
                self.store.write_blocking(move |tx| changes::record_comparison(tx, &build, clock::wall()))
            }
            _ => Ok(()),
        }
    }

    fn project(&self, build: &Build) -> Result<(), StoreError> {
        let Some(id) = build.project else { return Ok(()) };
        let Some(project) = self.store.read_blocking(|tx| projects::by_id(tx, id))? else { return Ok(()) };
        let Ok(definition) = Definition::read(&project.definition) else { return Ok(()) };
        let of = build.id;
        if self.store.read_blocking(|tx| builds::branch(tx, of))?.as_ref() != Some(&definition.branch) {
            return Ok(());
        }
        let evaluated = build.clone();
        self.store.write_blocking(move |tx| {
            let now = clock::wall();
            thresholds::evaluate(tx, id, &evaluated, now)?;
            slower::evaluate(tx, id, &evaluated, now)
        })?;
        let all = self.store.read_blocking(|tx| series::of_build(tx, build.id))?;
        for of in all {
            let (points, known) = self.store.read_blocking(|tx| {
                let points = series::points(tx, of.id, &definition.branch, detect::POINTS_TO_READ)?;
                Ok((points, series::changes(tx, of.id)?))
            })?;
            let now = clock::wall();
            let steps = detect::detect(&of, &points, &known, now);
            if !steps.is_empty() {
                self.store.write_blocking(move |tx| changes::apply(tx, &of, steps, now))?;
            }
        }
        Ok(())
    }

    fn wake(&self) -> Result<(), StoreError> {
        let now = clock::wall();
        if self.store.read_blocking(|tx| alerts::is_waking_due(tx, now))? {
            self.store.write_blocking(move |tx| alerts::wake(tx, now))?;
        }
        Ok(())
    }
}
