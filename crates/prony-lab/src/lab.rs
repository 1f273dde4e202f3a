//! What the parts of a lab share.

use std::os::unix::fs::DirBuilderExt as _;
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

use crate::access::{Access, DEVICES, Hashing, check_place, key};
use crate::auth::HostError;
use crate::clock;
use crate::definitions::Definitions;
use crate::metrics::Metrics;
use crate::model::{BuildRequest, FieldMistake, NewBuild};
use crate::options::LabOptions;
use crate::policy::Refusal;
use crate::store::{Store, StoreError, projects};
use crate::web::{Downloads, RenderCache, Shares, Turns};
use crate::work::Inspector;

/// Pages with live updates: each costs a read of the store for every commit. Those without have a link to load
/// them again.
const LIVE_MAX: u32 = 1_024;
/// The same for one user.
const LIVE_PER_USER_MAX: u32 = 64;
/// Pushes that are read at once: each may be a megabyte from somebody whom nobody knows yet.
const PUSHES_MAX: usize = 8;

/// A lab: its store and its settings. Cheap to clone.
#[derive(Clone)]
pub struct Lab {
    pub(crate) options: Arc<LabOptions>,
    pub(crate) store: Store,
    /// What pages drew from the store.
    pub(crate) drawn: RenderCache,
    /// Pages with live updates.
    pub(crate) live: Shares,
    /// Whose turn it is to have a page drawn.
    pub(crate) turns: Turns,
    /// What is on its way to whoever downloads it.
    pub(crate) downloads: Downloads,
    pub(crate) definitions: Definitions,
    /// How builds run here, once there is a worker: in which sandbox, or why in none.
    pub(crate) workplace: Arc<OnceLock<String>>,
    /// What inspects new projects, once there is a worker.
    pub(crate) inspector: Arc<OnceLock<Inspector>>,
    /// Room for notifications of pushes.
    pub(crate) pushes: Arc<Semaphore>,
    pub(crate) access: Arc<Access>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Why a lab can't begin, or can't do what is asked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its folder.
    #[error("use the folder {path} ({source}); name another: --data FOLDER")]
    Folder {
        /// Which.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An address to listen on.
    #[error(
        "listen on {address} ({source}); stop the server that has it, or name another with --listen"
    )]
    Listen {
        /// Which.
        address: std::net::SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// It would be reached from elsewhere, in the clear.
    #[error(
        "listen on {address}, where others reach it, without TLS; add --tls-certificate FILE --tls-key FILE, or \
         --behind-proxy if a proxy does the TLS"
    )]
    Exposed {
        /// Where.
        address: std::net::SocketAddr,
    },
    /// Anybody could read it from elsewhere.
    #[error("let everybody in (--anonymous) where others than this machine reach the lab; leave it out")]
    AnonymousAbroad,
    /// Anybody could do anything.
    #[error("let everybody be admin; log in instead")]
    AnonymousAdmin,
    /// A name by which it should be known.
    #[error("take its names: {0}")]
    Host(#[from] HostError),
    /// Certificate or key.
    #[error("use {path} for TLS ({why}); it should hold PEM")]
    Tls {
        /// Which file.
        path: std::path::PathBuf,
        /// Why not.
        why: String,
    },
    /// Builds would run without a sandbox.
    #[error("run builds: {0}")]
    Sandbox(String),
    /// The system gives no threads.
    #[error("start its threads ({0}); `ulimit -u` shows how many this user may have")]
    Threads(std::io::Error),
}

/// Why a request for a build is refused.
#[derive(Debug)]
pub(crate) enum Refused {
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
        let device_key = store.write_blocking(|tx| key(tx, DEVICES))?;
        let hashing = Hashing::start().map_err(LabError::Threads)?;
        let access = Arc::new(Access::new(&options, hashing, &device_key)?);
        let metrics = Arc::new(Metrics::new(&store));
        Ok(Self {
            options: Arc::new(options),
            store,
            access,
            metrics,
            drawn: RenderCache::default(),
            live: Shares::new(LIVE_MAX, LIVE_PER_USER_MAX),
            turns: Turns::default(),
            downloads: Downloads::default(),
            definitions: Definitions::default(),
            workplace: Arc::default(),
            inspector: Arc::default(),
            pushes: Arc::new(Semaphore::new(PUSHES_MAX)),
        })
    }

    /// Notes about the store from when it was opened, for people.
    pub fn notes(&self) -> &[String] {
        self.store.notes()
    }

    /// Waits for something to happen to the store that people should know, and returns it.
    pub fn next_message(&self) -> String {
        self.store.log().next()
    }

    /// The build that `request` asks for.
    pub(crate) async fn checked(&self, request: BuildRequest, by: &str) -> Result<NewBuild, Refused> {
        let name = request.project.clone();
        let project = self.store.read_few(move |tx| projects::by_name(tx, &name)).await?;
        let Some(project) = project.filter(|project| project.archived_at.is_none()) else {
            let message = "there is no such project: choose one of the list".to_owned();
            return Err(Refused::Fields(vec![FieldMistake { field: "project".to_owned(), message }]));
        };
        let definition = self
            .definitions
            .of(&project)
            .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
        request.checked(project.id, &definition, by, clock::wall()).map_err(Refused::Fields)
    }
}
