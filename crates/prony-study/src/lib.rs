//! Studies: from a file that describes what to measure to everything that its report shows. And what studies share with
//! `prony compare`, `prony capacity`, `prony overload` and `prony calibrate`: how two servers are compared, how much one
//! carries and what more does to it, and what a machine can do as a client.
//!
//! A study starts servers, puts several loads on each of them, several times and in an order that the seed decides,
//! keeps what every run measured at once, and stops what it started. docs/decisions/016-studies.md is the map.
//!
//! This crate must never measure anything itself (it knows [`Runner`], which the binary plugs the engine into), never
//! print, and never leave a process behind.
//!
//! In reading order: [`Study`] (what is to be done), [`Schedule`] (in which order), [`Runner`] (by whom).

mod agents;
mod aggregate;
mod calibrate;
mod capacity;
mod clock;
mod compare;
mod estimate;
mod execute;
mod fault;
mod file;
#[cfg(test)]
mod fixture;
mod folder;
mod loads;
mod overload;
mod runner;
mod schedule;
mod study;
mod target;

pub use agents::{Led, NotLoaded, SharedLoads};
pub use aggregate::{AggregateError, Stored, StoredError, aggregate, aggregate_folder};
pub use calibrate::{
    CALIBRATION_PAUSE, CalibrationOptions, CalibrationStep, NOISE_BLOCKS, NoiseBlocks, NullServerUse,
    calibration_load, calibration_noise, calibration_point, calibration_steps, noise_step,
};
pub use capacity::{CapacityOptions, LiveCapacity, LiveScaling, Objectives, TrialPlan, TrialRunner};
pub use compare::{
    Block, BlockPair, CellPair, ComparisonCondition, DIFFERENCES_LISTED_MAX, IncomparableRuns, LEAST_BLOCK,
    LeftOut, LiveComparison, LiveError, Question, RunLoad, SoFar, StoredQuestion, StoredRun, StoredSearch,
    StudyPair, compare_searches, compare_stored, estimate, evaluate, so_far,
};
pub use estimate::Estimate;
pub use execute::{Executed, StudyEvent, execute};
pub use file::{
    Host, Mistake, Overrides, ScenarioFile, StudyError, scenario_file_json_schema, study_file_json_schema,
};
pub use folder::{Begin, Folder, FolderError, failures};
pub use loads::{Cause, LoadError, LoadRunner, Loaded};
pub use overload::{LiveOverload, OverloadRunner, OverloadSample, Recorded, part_length};
pub use runner::{Runner, RunnerError};
pub use schedule::{Schedule, Step};
pub use study::{
    Ask, Build, Cell, CellLoad, CellThreshold, ComparisonSpec, Launch, Order, Publication, Ready, Restart,
    Stop, Study, Target, Template,
};

pub use target::{Confinement, ConfinementError, TargetError, TargetFailure};
