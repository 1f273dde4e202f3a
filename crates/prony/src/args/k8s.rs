//! Flags of `prony run --k8s`, and the two commands that its pods start.

use std::path::PathBuf;

use prony_model::{parse_bytes, parse_count_u32};

/// The broker's image where none is named: a version that agents accept.
const NATS_IMAGE: &str = "docker.io/library/nats:2.14.2-alpine";

/// Agents in a Kubernetes cluster, for one run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct K8sArgs {
    /// Have this many agents in Kubernetes put the load on the server: print the manifests, or --apply them
    #[arg(long, value_name = "AGENTS", value_parser = parse_count_u32, conflicts_with = "agents", hide_short_help = true)]
    pub(crate) k8s: Option<u32>,
    /// The image with prony, as the cluster pulls it
    #[arg(long, value_name = "IMAGE", requires = "k8s", hide_short_help = true)]
    pub(crate) image: Option<String>,
    /// The image of the NATS server between the pods
    #[arg(long, value_name = "IMAGE", requires = "k8s", default_value = NATS_IMAGE, hide_short_help = true)]
    pub(crate) nats_image: String,
    /// The namespace [default: that of kubectl's context]
    #[arg(long, value_name = "NAME", requires = "k8s", hide_short_help = true)]
    pub(crate) namespace: Option<String>,
    /// Run on no node that has a pod with this label, `app=web`: that of the server
    #[arg(long, value_name = "LABEL=VALUE", requires = "k8s", hide_short_help = true)]
    pub(crate) avoid: Option<String>,
    /// Whole CPUs of each agent [default: its threads and one]
    #[arg(long, value_name = "N", value_parser = parse_count_u32, requires = "k8s", hide_short_help = true)]
    pub(crate) agent_cpus: Option<u32>,
    /// Memory of each agent
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "k8s", default_value = "1GiB", hide_short_help = true)]
    pub(crate) agent_memory: u64,
    /// Create the pods with kubectl, wait for the run, fetch its result, and end with its exit code
    #[arg(long, requires = "k8s", hide_short_help = true)]
    pub(crate) apply: bool,
}

/// `prony k8s-lead`: leads the run of a bundle, in its pod.
#[derive(Debug, clap::Args)]
pub(crate) struct K8sLeadArgs {
    /// The folder with `run.json`, the keys and the broker's authority
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Where the result is until it is collected
    #[arg(long, value_name = "FOLDER")]
    pub(crate) results: PathBuf,
    /// The broker
    #[arg(long, value_name = "URL")]
    pub(crate) nats: String,
}

/// `prony k8s-result`: hands out the result of a bundle's run, in its pod.
#[derive(Debug, clap::Args)]
pub(crate) struct K8sResultArgs {
    /// Where the result is
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Only say by the exit code whether it is there
    #[arg(long)]
    pub(crate) is_ready: bool,
    /// The result has arrived, with this SHA-256 (hex): the leader may end
    #[arg(long, value_name = "SHA256", conflicts_with = "is_ready")]
    pub(crate) received: Option<String>,
}
