//! Where a run was made: what is needed to make it again, or to see why it can't be compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The client machine and its limits. `None`: the system does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Prony's version.
    pub prony_version: String,
    /// Prony's commit, if it was built from one.
    pub prony_commit: Option<String>,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Open-file limit in force during the run.
    pub open_files_limit: Option<u64>,
    /// First and last local port.
    pub port_range: Option<(u16, u16)>,
    /// TCP congestion control.
    pub congestion_control: Option<String>,
    /// Load average over a minute, before the run.
    pub load_average_before: Option<f64>,
    /// Load average over a minute, after the run.
    pub load_average_after: Option<f64>,
}
