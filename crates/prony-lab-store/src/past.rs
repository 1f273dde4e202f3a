//! Builds with results for tests, as the worker leaves them.

use super::{Store, StoreError, Tx, builds, projects, tasks, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    BuildId, BuildKind, BuildRequest, BuildState, BuildVerdict, Definition, ProjectId, TaskState,
};

/// A project with a repository and a study.
pub const DEFINITION: &str = "repository = \"https://example.org/a.git\"\nstudy = \"prony.toml\"";

/// A lab's past that is made up as a test goes along.
pub struct Past<'a> {
    /// Where it is kept.
    pub store: &'a Store,
    /// The project of all builds.
    pub project: ProjectId,
}

/// What a build is to have measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Metric and value; `rate` is better when it is high.
    pub results: Vec<(&'static str, f64)>,
    /// The thresholds, and whether they are met.
    pub thresholds: Vec<(&'static str, Option<bool>)>,
    /// Whether the results may not be compared.
    pub is_invalid: bool,
    /// Its verdict, and against which baseline.
    pub verdict: Option<(BuildVerdict, BuildId)>,
}

impl<'a> Past<'a> {
    /// A past with one project and no builds.
    pub fn new(store: &'a Store) -> Self {
        let name = "a".parse().expect("a name");
        let project = store.write_blocking(move |tx| projects::register(tx, &name, DEFINITION, Moment(1)));
        Self { store, project: project.expect("registered") }
    }

    /// A finished build of `reference`, which was `commit`.
    pub fn build(&self, reference: &str, commit: &str, measured: Measured) -> BuildId {
        self.builds(vec![(reference.to_owned(), commit.to_owned(), measured)])[0]
    }

    /// Several, one after the other, in one transaction.
    pub fn builds(&self, all: Vec<(String, String, Measured)>) -> Vec<BuildId> {
        let project = self.project;
        let work = move |tx: &mut Tx<'_>| -> Result<Vec<BuildId>, StoreError> {
            all.iter()
                .map(|(reference, commit, measured)| one(tx, project, reference, commit, measured))
                .collect()
        };
        self.store.write_blocking(work).expect("built")
    }

    /// Ends a comparison that the lab asked for.
    pub fn end_comparison(&self, id: BuildId, verdict: BuildVerdict) {
        self.store
            .write_blocking(move |tx| {
                builds::set_verdict(tx, id, verdict, None)?;
                end(tx, id)
            })
            .expect("ended");
    }

    /// Ends a comparison without a result.
    pub fn fail_comparison(&self, id: BuildId, reason: &'static str) {
        self.store
            .write_blocking(move |tx| {
                builds::set_verdict(tx, id, BuildVerdict::NoBaseline, None)?;
                builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, Moment(7))?;
                builds::advance(tx, id, BuildState::Assigned, BuildState::Failed, Some(reason), Moment(7))
            })
            .expect("failed");
    }

    /// Makes the results of all builds after `last` invalid.
    pub fn invalidate_after(&self, last: BuildId) {
        let statement = "UPDATE results SET is_valid = 0 WHERE build_id > $1";
        self.store.write_blocking(move |tx| tx.execute(statement, values![last])).expect("written");
    }

    /// A build that waits.
    pub fn queued(&self) -> BuildId {
        let project = self.project;
        let accepted = self.store.write_blocking(move |tx| {
            let definition = Definition::read(DEFINITION).expect("a definition");
            let request = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
            builds::accept(tx, &request.expect("a request"))
        });
        accepted.expect("accepted")
    }

    /// Has a build that waits begin.
    pub fn take(&self, id: BuildId) {
        self.store
            .write_blocking(move |tx| {
                builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, Moment(6))
            })
            .expect("taken");
    }

    /// The comparisons that are queued.
    pub fn comparisons(&self) -> Vec<prony_lab_model::Build> {
        let all = self.store.read_blocking(|tx| builds::open(tx, 100)).expect("read");
        all.into_iter().filter(|build| build.kind == BuildKind::Comparison).collect()
    }
}

impl Measured {
    fn fill(&self, tx: &mut Tx<'_>, project: ProjectId, build: BuildId) -> Result<(), StoreError> {
        for &(metric, value) in &self.results {
            tx.execute(
                "INSERT INTO series (project_id, variant, cell, metric, unit, is_better_high, fingerprint) \
                 VALUES ($1, 'default', 'GET /', $2, 'ms', $3, 'machine') \
                 ON CONFLICT (project_id, variant, cell, metric, fingerprint) DO NOTHING",
                values![project, metric, metric == "rate"],
            )?;
            let series = tx.number("SELECT id FROM series WHERE metric = $1", values![metric])?;
            tx.execute(
                "INSERT INTO results (build_id, series_id, value, runs, samples, is_valid) \
                 VALUES ($1, $2, $3, 3, 1000, $4)",
                values![build, series, value, !self.is_invalid],
            )?;
        }
        for (place, &(words, is_met)) in self.thresholds.iter().enumerate() {
            tx.execute(
                "INSERT INTO thresholds (build_id, place, words, cell, metric, value, is_met) \
                 VALUES ($1, $2, $3, 'GET /', 'p99', 50.0, $4)",
                values![build, place as u64, words, is_met],
            )?;
        }
        Ok(())
    }
}

fn one(
    tx: &mut Tx<'_>,
    project: ProjectId,
    reference: &str,
    commit: &str,
    measured: &Measured,
) -> Result<BuildId, StoreError> {
    let definition = Definition::read(DEFINITION).expect("a definition");
    let request = BuildRequest { reference: reference.to_owned(), ..BuildRequest::default() };
    let id =
        builds::accept(tx, &request.checked(project, &definition, "kim", Moment(5)).expect("a request"))?;
    tx.execute("UPDATE builds SET commit_id = $2 WHERE id = $1", values![id, commit])?;
    for task in tasks::of(tx, id)? {
        tasks::end(tx, id, task.id, TaskState::Success, Some(0), None, Moment(6))?;
    }
    measured.fill(tx, project, id)?;
    if let Some((verdict, baseline)) = measured.verdict {
        builds::set_verdict(tx, id, verdict, Some(baseline))?;
    }
    end(tx, id)?;
    Ok(id)
}

fn end(tx: &mut Tx<'_>, id: BuildId) -> Result<(), StoreError> {
    let mut from = BuildState::Queued;
    for to in [BuildState::Assigned, BuildState::Running, BuildState::Finalizing, BuildState::Completed] {
        builds::advance(tx, id, from, to, None, Moment(7))?;
        from = to;
    }
    Ok(())
}
