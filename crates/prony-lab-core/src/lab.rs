//! What the parts of a lab share.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

use crate::access::{Access, DEVICES, Hashing, Shown, Who, check_place, key, known_key, ownership};
use crate::capacity::{Downloads, RenderCache, Shares, Turns};
use crate::definitions::Definitions;
use crate::egress;
use crate::fleet::Fleet;
use crate::health::{Health, HealthLimits};
use crate::lab_error::LabError;
use crate::metrics::Metrics;
use crate::policy::{Ownership, Policy, Refusal};
use prony_lab_model::clock;
use prony_lab_model::log::{Log, LogEntry, LogLevel};
use prony_lab_model::options::{LabOptions, StoreAddress};
use prony_lab_model::{BuildRequest, FieldMistake, NewBuild, Origin, Proposal};
use prony_lab_store::projects::{self, Project};
use prony_lab_store::{Kept, Store, StoreError};

/// Pages with live updates: each costs a read of the store for every commit. Those without have a link to load
/// them again.
const LIVE_MAX: u32 = 1_024;
/// The same for one user.
const LIVE_PER_USER_MAX: u32 = 64;
/// Pushes that are read at once: each may be a megabyte from somebody whom nobody knows yet.
const PUSHES_MAX: usize = 8;

/// Proposes how a project could be built from its files. The worker does it, for it fetches them as for a build.
pub trait Inspect: Send + Sync {
    /// What could be written down of the project at `origin`; otherwise why nothing can. For threads that may wait.
    fn inspect_blocking(&self, origin: &Origin, branch: &str) -> Result<Proposal, String>;
}

/// A lab: its store and its settings. Cheap to clone.
#[derive(Clone)]
pub struct Lab {
    /// What it was started with.
    pub options: Arc<LabOptions>,
    /// What it keeps.
    pub store: Store,
    /// What pages drew from the store.
    pub drawn: RenderCache,
    /// Pages with live updates.
    pub live: Shares,
    /// Whose turn it is to have a page drawn.
    pub turns: Turns,
    /// What is on its way to clients that download it.
    pub downloads: Downloads,
    /// The definitions of projects, read.
    pub definitions: Definitions,
    /// The target policy, as every request for a build needs it.
    policy: Kept<Policy>,
    /// All projects, as every request for a build needs them.
    projects: Kept<Vec<Project>>,
    /// How builds run here, once there is a worker: in which sandbox, or why in none.
    pub workplace: Arc<OnceLock<String>>,
    /// What inspects new projects, once there is a worker.
    pub inspector: Arc<OnceLock<Box<dyn Inspect>>>,
    /// The agents that it leads, if it was started with a broker.
    pub fleet: Arc<OnceLock<Fleet>>,
    /// Room for notifications of pushes.
    pub pushes: Arc<Semaphore>,
    /// Who may do what.
    pub access: Arc<Access>,
    /// Its counters.
    pub metrics: Arc<Metrics>,
    /// What an operator has to know.
    pub health: Arc<Health>,
}

/// Why a request for a build is refused.
#[derive(Debug)]
pub enum Refused {
    /// Something is wrong with its fields.
    Fields(Vec<FieldMistake>),
    /// The target policy.
    Target(Refusal),
    /// Another request had the same key.
    KeyReused,
    /// It could not be kept.
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Lab {
    /// Opens the lab's folder and store.
    pub fn open(options: LabOptions) -> Result<Self, LabError> {
        check_place(&options)?;
        let folder = |source| LabError::Folder { path: options.data.clone(), source };
        // Nobody else's: with what is in it somebody could be this lab.
        let mut made = std::fs::DirBuilder::new();
        made.recursive(true).mode(0o700).create(&options.data).map_err(folder)?;
        let store = Store::open(&options.store)?;
        for note in store.notes() {
            store.log().add(LogEntry::new(LogLevel::Warning, "store.note", note.as_str()));
        }
        // On a full disk nothing can be written, and this is all that is needed to answer.
        let device_key = match store.read_blocking(|tx| known_key(tx, DEVICES))? {
            Some(key) => key,
            None => store.write_blocking(|tx| key(tx, DEVICES))?,
        };
        let hashing = Hashing::start().map_err(LabError::Threads)?;
        let access = Arc::new(Access::new(&options, hashing, &device_key)?);
        let metrics = Arc::new(Metrics::new(&store));
        let limits = HealthLimits { disk_bytes: options.disk_alert_bytes, has_worker: options.has_worker };
        Ok(Self {
            health: Arc::new(Health::new(limits)),
            options: Arc::new(options),
            store,
            access,
            metrics,
            drawn: RenderCache::default(),
            live: Shares::new(LIVE_MAX, LIVE_PER_USER_MAX),
            turns: Turns::default(),
            downloads: Downloads::default(),
            definitions: Definitions::default(),
            policy: Kept::default(),
            projects: Kept::default(),
            workplace: Arc::default(),
            inspector: Arc::default(),
            fleet: Arc::default(),
            pushes: Arc::new(Semaphore::new(PUSHES_MAX)),
        })
    }

    /// Notes about the store from when it was opened, for people.
    pub fn notes(&self) -> &[String] {
        self.store.notes()
    }

    /// What happens to the lab while it runs; the process that started it writes that down.
    pub fn log(&self) -> &Log {
        self.store.log()
    }

    /// Logs that the lab has begun and listens at `addresses`; `sandbox` is how its builds run, if it runs any.
    pub fn log_start(&self, addresses: &[SocketAddr], sandbox: Option<&str>) {
        let version = env!("CARGO_PKG_VERSION");
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let database = match &self.options.store {
            StoreAddress::Sqlite(_) => "SQLite",
            StoreAddress::Postgres(_) => "PostgreSQL",
        };
        let message = format!("prony {version} has started; it listens on {}", addresses.join(", "));
        let entry = LogEntry::new(LogLevel::Info, "lab.started", message)
            .with("version", version)
            .with("addresses", addresses)
            .with("database", database)
            .with("sandbox", sandbox.unwrap_or("builds are not run here"));
        self.log().add(entry);
    }

    /// Logs that builds are run only now, in this `sandbox`: the disk was full when the lab started.
    pub fn log_late_worker(&self, sandbox: &str) {
        let message = format!("builds are run from now on. {sandbox}");
        self.log().add(LogEntry::new(LogLevel::Info, "worker.started", message).with("sandbox", sandbox));
    }

    /// Logs that builds run without a sandbox, for the reason `why`.
    pub fn log_no_sandbox(&self, why: &str) {
        self.log().add(LogEntry::new(LogLevel::Warning, "lab.no-sandbox", why));
    }

    /// Logs that the lab ends, which closes the log.
    pub fn log_stop(&self) {
        self.log().add(LogEntry::new(LogLevel::Info, "lab.stopped", "the lab has stopped"));
        self.log().close();
    }

    /// Who has shown this, if it is good.
    pub async fn who(&self, shown: &Shown) -> Result<Option<Who>, StoreError> {
        self.access.who(&self.store, shown).await
    }

    /// The target policy as it is now.
    pub async fn policy(&self) -> Result<Arc<Policy>, StoreError> {
        self.policy.get(&self.store, egress::policy).await
    }

    /// All projects as they are now, by name.
    pub async fn projects(&self) -> Result<Arc<Vec<Project>>, StoreError> {
        self.projects.get(&self.store, projects::all).await
    }

    /// Makes and finds the tokens by which owners of public servers agree. Threads that may wait only.
    pub(crate) fn ownership_blocking(&self) -> Result<Ownership, StoreError> {
        self.store.write_blocking(ownership)
    }

    /// The build that `request` asks for.
    pub async fn checked(&self, request: BuildRequest, by: &str) -> Result<NewBuild, Refused> {
        let projects = self.projects().await?;
        let is_meant = |project: &&Project| project.name == request.project && project.archived_at.is_none();
        let Some(project) = projects.iter().find(is_meant) else {
            let message = "there is no such project: choose one of the list".to_owned();
            return Err(Refused::Fields(vec![FieldMistake { field: "project".to_owned(), message }]));
        };
        let definition = self
            .definitions
            .of(project)
            .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
        request.checked(project.id, &definition, by, clock::wall()).map_err(Refused::Fields)
    }
}
