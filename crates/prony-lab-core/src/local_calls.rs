//! What can be asked of a lab at the machine itself, without its pages: for its command line and for tests. None of it
//! may be called from asynchronous code.

use crate::actions::requests::again;
use crate::actions::{self, Actor, act_blocking};
use crate::lab::{Lab, Refused};
use prony_lab_model::clock;
use prony_lab_model::describe_mistakes;
use prony_lab_model::{
    Bisect, BisectId, BisectRequest, Build, BuildDetail, BuildId, BuildRequest, CommitRange, Contradiction,
    Definition, DefinitionError, Name, NewBuild, TaskId,
};
use prony_lab_store::{StoreError, bisects, builds, commits, files, projects, queue, tasks};

/// Pieces of an output that are read at once.
const PIECES: u32 = 64;

/// Why something is not done.
#[derive(Debug, thiserror::Error)]
pub enum LocalCallError {
    /// The definition of a project is none.
    #[error("read the definition: {0}")]
    Definition(#[from] DefinitionError),
    /// There is no such project.
    #[error("there is no project `{0}`: choose one of the list")]
    NoProject(String),
    /// A request contradicts itself, or its project.
    #[error("{}", describe_mistakes(.0))]
    Request(Contradiction),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Lab {
    /// Registers a project, or gives it a new definition.
    pub fn register(&self, name: &Name, definition: &str) -> Result<(), LocalCallError> {
        Definition::read_new(definition)?;
        let (name, definition) = (name.clone(), definition.to_owned());
        self.store.write_blocking(move |tx| projects::register(tx, &name, &definition, clock::wall()))?;
        Ok(())
    }

    /// Accepts the build that `by` asks for: durable when this returns.
    pub fn submit(&self, request: &BuildRequest, by: &str) -> Result<BuildId, LocalCallError> {
        let project = self.store.read_blocking(|tx| projects::by_name(tx, &request.project))?;
        let project = project.ok_or_else(|| LocalCallError::NoProject(request.project.clone()))?;
        let definition = Definition::read(&project.definition)?;
        let new =
            request.checked(project.id, &definition, by, clock::wall()).map_err(LocalCallError::Request)?;
        self.accept(new)
    }

    /// Accepts a build that was checked.
    pub fn accept(&self, new: NewBuild) -> Result<BuildId, LocalCallError> {
        Ok(self.store.write_blocking(move |tx| builds::accept(tx, &new))?)
    }

    /// One build, if there is one.
    pub fn build(&self, id: BuildId) -> Result<Option<BuildDetail>, LocalCallError> {
        Ok(self.store.read_blocking(|tx| builds::one(tx, id))?)
    }

    /// Everything that isn't over, at most `most` builds, in the order in which it will run.
    pub fn open_builds(&self, most: u32) -> Result<Vec<Build>, LocalCallError> {
        Ok(self.store.read_blocking(|tx| builds::open(tx, most))?)
    }

    /// What a task has written so far.
    pub fn output(&self, task: TaskId) -> Result<Vec<u8>, LocalCallError> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let pieces = self.store.read_blocking(|tx| tasks::output(tx, task, after, PIECES))?;
            let Some((last, _)) = pieces.last() else { return Ok(all) };
            after = *last;
            for (_, bytes) in &pieces {
                all.extend_from_slice(bytes);
            }
        }
    }

    /// Names and lengths of the files that a build left.
    pub fn files(&self, id: BuildId) -> Result<Vec<(String, u64)>, LocalCallError> {
        let all = self.store.read_blocking(|tx| files::of_build(tx, id))?;
        Ok(all.into_iter().map(|file| (file.name, file.size_bytes)).collect())
    }

    /// A file that a build left, if it is there.
    pub fn file(&self, id: BuildId, name: &str) -> Result<Option<Vec<u8>>, LocalCallError> {
        let found = self.store.read_blocking(|tx| files::one(tx, id, name))?;
        Ok(found.map(|(_, bytes)| bytes))
    }

    /// The commits between which a build stands, as far as somebody wanted to know them.
    pub fn commits(&self, id: BuildId) -> Result<Option<CommitRange>, LocalCallError> {
        Ok(self.store.read_blocking(|tx| {
            let project = builds::one(tx, id)?.and_then(|found| found.build.project);
            match commits::span(tx, id)?.zip(project) {
                Some(((base, tip), project)) => commits::range(tx, project, &base, &tip),
                None => Ok(None),
            }
        })?)
    }

    /// Requests a bisect between the builds `good` and `bad`.
    pub fn request_bisect(&self, good: BuildId, bad: BuildId, by: &str) -> Result<BisectId, LocalCallError> {
        let request = BisectRequest { good, bad };
        let who = Actor::at_machine(by);
        let made =
            act_blocking(&self.store, who, move |tx, ctx| actions::bisects::request(tx, ctx, None, &request));
        made.map(|bisect| bisect.id).map_err(|refused| match refused {
            Refused::Fields(mistakes) => LocalCallError::Request(mistakes),
            Refused::Store(error) => LocalCallError::Store(error),
            // A bisect loads nothing, and has no key.
            Refused::Target(_) | Refused::KeyReused => LocalCallError::Request(Vec::new()),
        })
    }

    /// One bisect, if there is one.
    pub fn bisect(&self, id: BisectId) -> Result<Option<Bisect>, LocalCallError> {
        Ok(self.store.read_blocking(|tx| bisects::one(tx, id))?)
    }

    /// Cancels a build for `by`; whether it could be.
    pub fn cancel(&self, id: BuildId, by: &str) -> Result<bool, LocalCallError> {
        let by = by.to_owned();
        Ok(self.store.write_blocking(move |tx| queue::cancel(tx, id, &by, clock::wall()))?)
    }

    /// Asks for the same as build `id` once more, for `by`.
    pub fn again(&self, id: BuildId, by: &str) -> Result<BuildId, LocalCallError> {
        let old = self.build(id)?.ok_or_else(|| StoreError::Missing(format!("build {id}")))?;
        self.submit(&again(&old), by)
    }
}
