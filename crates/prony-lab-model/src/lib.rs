//! The words of the lab: ids, names, states and definitions as plain data, without SQL, HTML or processes; who somebody is
//! (`auth`), the log's entries (`log`), and what a lab is started with (`options`).
//!
//! This crate must never open a socket, a file or a database. It reads the clock in `clock` only.

#![forbid(unsafe_code)]

mod agents;
mod alert;
pub mod auth;
mod bisect;
mod build;
mod cache;
pub mod clock;
mod commit;
mod commit_page;
mod environment;
mod forge;
mod gate;
mod history;
mod hook;
mod id;
pub mod log;
mod monitor;
mod name;
mod named;
pub mod options;
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

pub use agents::{AgentClock, AgentRow, Agents, AgentsStop, LoadAgents};
pub use alert::{Alert, AlertKind, AlertState};
pub use bisect::{Bisect, BisectRequest, BisectState, CANDIDATES_MAX, Candidate, Outcome, Step};
pub use build::{
    AdHocLoad, Build, BuildDetail, BuildKind, BuildRequest, BuildVerdict, Contradiction, FieldMistake,
    NewBuild, Priority, Task, TaskKind, describe_mistakes, email,
};
pub use cache::{Cache, CacheDefinition, CachePlace};
pub use commit::{Commit, CommitRange, RangeState};
pub use commit_page::commit_page;
pub use forge::{Forge, StatusTarget};
pub use gate::Gate;
pub use history::{Change, ChangeState, Point, Series};
pub use hook::{Hook, HookFormat, HookRequest};
pub use id::{
    AlertId, BisectId, BuildId, EventId, HookId, MonitorId, NoteId, ProjectId, SeriesId, TaskId, UserId,
};
pub use monitor::{Check, Monitor, MonitorRequest, MonitorTls};
pub use name::{ANONYMOUS, Name, Variant};
pub use project::{Definition, DefinitionError, GATE_REPEATS_MAX, Limits, Origin, Retention, TaskDefinition};
pub use proposal::{Proposal, project_files};
pub use repeat::{Repeat, Repetition};
pub use role::Role;
pub use search::{
    Branches, FoundMonitor, FoundProject, Operator, QUERY_CHARS_MAX, SearchQuery, SearchResults,
    SearchedBuild, fold,
};
pub use secret::SecretName;
pub use state::{BuildState, TaskState};
pub use status::{CommitState, CommitStatus, StatusReport};
pub use trigger::Triggers;
pub use web_url::{check_url, is_this_machine};
