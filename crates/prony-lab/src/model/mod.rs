//! The types of the lab: plain data, without SQL, HTML or processes.

mod alert;
mod bisect;
mod build;
mod cache;
mod commit;
mod commit_page;
mod environment;
mod forge;
mod gate;
mod history;
mod hook;
mod id;
mod monitor;
mod name;
mod named;
mod project;
mod proposal;
mod repeat;
mod role;
mod search;
mod secret;
mod state;
mod status;
mod trigger;
mod web_url;

pub use alert::{Alert, AlertKind, AlertState};
pub use bisect::{Bisect, BisectRequest, BisectState, Candidate, Outcome};
pub(crate) use bisect::{CANDIDATES_MAX, Step};
pub(crate) use build::describe_mistakes;
pub use build::{
    AdHocLoad, Build, BuildDetail, BuildKind, BuildRequest, BuildVerdict, Contradiction, FieldMistake,
    NewBuild, Priority, Task, TaskKind, email,
};
pub use cache::{Cache, CacheDefinition, CachePlace};
pub use commit::{Commit, CommitRange, RangeState};
pub(crate) use commit_page::commit_page;
pub use forge::{Forge, StatusTarget};
pub use gate::Gate;
pub use history::{Change, ChangeState, Point, Series};
pub use hook::{Hook, HookFormat, HookRequest};
pub use id::{
    AlertId, BisectId, BuildId, EventId, HookId, MonitorId, NoteId, ProjectId, SeriesId, TaskId, UserId,
};
pub use monitor::{Check, Monitor, MonitorRequest};
pub(crate) use name::ANONYMOUS;
pub use name::{Name, Variant};
pub(crate) use project::GATE_REPEATS_MAX;
pub use project::{Definition, DefinitionError, Limits, Origin, Retention, TaskDefinition};
pub(crate) use proposal::{Proposal, project_files};
pub use repeat::{Repeat, Repetition};
pub use role::Role;
pub(crate) use search::{Branches, QUERY_CHARS_MAX, SearchQuery, SearchedBuild, fold};
pub use search::{FoundMonitor, FoundProject, Operator, SearchResults};
pub use secret::SecretName;
pub use state::{BuildState, TaskState};
pub(crate) use status::StatusReport;
pub use status::{CommitState, CommitStatus};
pub use trigger::Triggers;
pub(crate) use web_url::{check_url, is_this_machine};
