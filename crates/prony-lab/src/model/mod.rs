//! The words of the lab: plain data, without SQL, HTML or processes.

mod alert;
mod build;
mod history;
mod id;
mod name;
mod project;
mod role;
mod state;

pub use alert::{Alert, AlertKind, AlertState};
pub use build::{
    AdHocLoad, Build, BuildDetail, BuildKind, BuildRequest, BuildVerdict, Contradiction, FieldMistake,
    NewBuild, Priority, Task, TaskKind,
};
pub use history::{Change, ChangeState, Point, Series};
pub use id::{AlertId, BuildId, EventId, HookId, MonitorId, NoteId, ProjectId, SeriesId, TaskId, UserId};
pub use name::{Name, NameError, Variant};
pub use project::{Definition, DefinitionError, Limits, Origin, Retention, TaskDefinition};
pub use role::Role;
pub use state::{BuildState, TaskState};
