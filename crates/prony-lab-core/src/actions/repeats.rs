//! Repeats of a build whose result is neither for nor against its commit.
//!
//! A build has one repeat at most, whoever requests it and however often, and that one may have another: a chain from the
//! first build on. Each is of the same commit. Where there is a baseline, a repeat compares the two commits in turn, which
//! no drift of the machine between builds disturbs; otherwise it does the same as the first.

use super::requests::{Asker, again};
use crate::lab::{Lab, Refused};
use prony_lab_model::{
    BuildDetail, BuildId, BuildKind, BuildRequest, BuildState, FieldMistake, GATE_REPEATS_MAX, Origin,
    Repeat, Repetition,
};
use prony_lab_store::projects::Project;
use prony_lab_store::{StoreError, Tx, builds, projects, repeats, series, thresholds};

/// What is known of a build that is to be repeated.
#[derive(Debug, Clone)]
struct Known {
    build: BuildDetail,
    /// Its commit, and that with which it compares.
    commits: (Option<String>, Option<String>),
    /// The first build of its chain.
    first: BuildDetail,
    /// The commit of the first, and that of its baseline.
    first_commit: Option<String>,
    baseline_commit: Option<String>,
    /// Whether a threshold of the first could not be checked: a comparison of two commits checks none.
    has_open_threshold: bool,
    /// Whether two commits can be measured in turn for what the first measured.
    has_loads: bool,
    /// Repeats of the first, in their order.
    chain: Vec<Repeat>,
    project: Option<Project>,
}

impl Known {
    fn read(tx: &mut Tx<'_>, id: BuildId) -> Result<Self, StoreError> {
        let one = |tx: &mut Tx<'_>, id: BuildId| {
            builds::one(tx, id)?.ok_or_else(|| StoreError::Missing(format!("build {id}")))
        };
        let build = one(tx, id)?;
        let first = match &build.repeat_of {
            Some(first) => one(tx, first.build)?,
            None => build.clone(),
        };
        let (first_id, baseline) = (first.build.id, first.baseline);
        Ok(Self {
            commits: repeats::commits(tx, id)?,
            first_commit: repeats::commits(tx, first_id)?.0,
            baseline_commit: match baseline {
                Some(baseline) => repeats::commits(tx, baseline)?.0,
                None => None,
            },
            has_open_threshold: thresholds::of_build(tx, first_id)?.iter().any(|one| one.is_met.is_none()),
            has_loads: series::has_loads(tx, first_id)?,
            chain: first.repeats.clone(),
            project: match build.build.project {
                Some(project) => projects::by_id(tx, project)?,
                None => None,
            },
            build,
            first,
        })
    }

    /// How many repeats come before this build, itself included.
    fn place(&self) -> usize {
        self.chain.iter().take_while(|repeat| repeat.build <= self.build.build.id).count()
    }

    /// The repeat that there is already.
    fn next(&self) -> Option<&Repeat> {
        self.chain.get(self.place())
    }

    /// What repeats it, and why; otherwise why nothing does.
    fn request(&self) -> Result<(BuildRequest, &'static str), String> {
        let last = &self.build.build;
        let is_failed_comparison = self.build.repeat_of.is_some()
            && last.kind == BuildKind::Comparison
            && last.state == BuildState::Failed;
        if is_failed_comparison && self.first.build.kind == BuildKind::Project {
            return Ok((self.same()?, "the comparison of the two commits failed"));
        }
        let why = last.repeat_reason().map_err(str::to_owned)?;
        let request = match last.kind {
            BuildKind::Load => return Err("a load is repeated with a new request".to_owned()),
            BuildKind::Comparison => {
                let (Some(commit), Some(base)) = &self.commits else { return Err(unknown()) };
                BuildRequest { reference: commit.clone(), base: base.clone(), ..self.bare() }
            }
            BuildKind::Project => match (&self.first_commit, &self.baseline_commit) {
                (Some(commit), Some(base))
                    if commit != base && !self.has_open_threshold && self.has_loads =>
                {
                    BuildRequest { reference: commit.clone(), base: base.clone(), ..self.bare() }
                }
                _ => self.same()?,
            },
        };
        Ok((request, why))
    }

    /// The same as the first build, of the commit that it was of.
    fn same(&self) -> Result<BuildRequest, String> {
        let reference = self.first_commit.clone().ok_or_else(unknown)?;
        Ok(BuildRequest { reference, ..self.bare() })
    }

    /// The tasks of the first build. Anyone who is notified of its end is not notified of each repeat.
    fn bare(&self) -> BuildRequest {
        BuildRequest { email: String::new(), ..again(&self.first) }
    }
}

fn unknown() -> String {
    "its commit is not known".to_owned()
}

impl Lab {
    /// Repeats a build that is over, unless its result is clear, or it stands behind `at_most` repeats, or as many as the
    /// project allows.
    pub async fn repeat_build(
        &self,
        id: BuildId,
        at_most: Option<u32>,
        by: &str,
    ) -> Result<Repetition, Refused> {
        let not = |why: String| Ok(Repetition { build: None, why });
        if at_most > Some(GATE_REPEATS_MAX) {
            let message = format!("at most {GATE_REPEATS_MAX}; 0 is none");
            return Err(Refused::Fields(vec![FieldMistake { field: "at_most".to_owned(), message }]));
        }
        let known = self.store.read(move |tx| Known::read(tx, id)).await?;
        let Some(project) = &known.project else { return not("it is of no project".to_owned()) };
        let definition = self
            .definitions
            .of(project)
            .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
        let most = at_most.unwrap_or(definition.gate_repeats);
        if known.place() >= most as usize {
            return not(match most {
                0 => "repeats are switched off (gate.repeats)".to_owned(),
                most => format!("it was measured {} times, and {most} repeats are the most", most + 1),
            });
        }
        if let Some(Repeat { build, why }) = known.next().cloned() {
            return Ok(Repetition { build: Some(build), why });
        }
        if matches!(definition.origin, Origin::Folder(_)) {
            return not("its files come from a folder, which may have changed since".to_owned());
        }
        let (request, why) = match known.request() {
            Ok(found) => found,
            Err(why) => return not(why),
        };
        let new = self.checked(request, by).await?;
        let (first, place) = (known.first.build.id, known.place());
        let asker = Asker { by: by.to_owned(), key: None };
        let accept = move |tx: &mut Tx<'_>| {
            // Somebody else may have been faster.
            if let Some(next) = repeats::of(tx, first)?.get(place) {
                return Ok(next.build);
            }
            let build = builds::accept(tx, &new)?;
            repeats::link(tx, build, first, why)?;
            Ok(build)
        };
        let (repeat, _) = self.accept_once(asker, accept, |_, id| Ok(id)).await?;
        Ok(Repetition { build: Some(repeat), why: why.to_owned() })
    }
}
