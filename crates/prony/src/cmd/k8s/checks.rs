//! What can't work in a cluster is refused before anything is printed or created.

use std::net::SocketAddr;

use prony_lab::model::Role;
use prony_lab::policy::{Kind, agent_policy, kind};
use prony_model::{AGENTS_MAX, Rate, RunPlan};

use crate::args::K8sArgs;
use crate::cli_error::CliError;

/// Characters of an image's name at most: 127 of its tag or 71 of its digest behind 255 of the name.
const IMAGE_MAX: usize = 383;
/// Characters of a namespace, and of each part of a label (RFC 1123).
const LABEL_MAX: usize = 63;
/// Characters of the prefix of a label's name.
const PREFIX_MAX: usize = 253;
/// CPUs of an agent at most: more than any node has.
const CPUS_MAX: u32 = 1_024;
/// Memory of an agent at least: one with fewer connections than its policy allows needs about 50 MiB.
const MEMORY_MIN: u64 = 64 << 20;

/// Requests per second of a policy at most.
const RATE_MAX: f64 = u32::MAX as f64;

/// What the pods are to be.
#[derive(Debug, Clone)]
pub(super) struct Pods {
    pub(super) count: u32,
    pub(super) image: String,
    pub(super) nats_image: String,
    pub(super) namespace: Option<String>,
    /// A label of pods that no pod of the run is to share a node with.
    pub(super) avoid: Option<(String, String)>,
    pub(super) memory: u64,
}

/// The flags of `args`, checked.
pub(super) fn pods(args: &K8sArgs, count: u32) -> Result<Pods, CliError> {
    if count == 0 || count as usize > AGENTS_MAX {
        return Err(CliError::usage(format!(
            "a run has 1 to {AGENTS_MAX} agents, and --k8s {count} are wanted"
        )));
    }
    let Some(image) = &args.image else {
        return Err(CliError::usage("--k8s needs an image with prony that the cluster can pull")
            .hint("packaging/Containerfile makes one; then: --image registry.example/prony:0.1.0"));
    };
    if args.agent_memory < MEMORY_MIN {
        return Err(CliError::usage("--agent-memory is below 64MiB, and an agent needs that much"));
    }
    if let Some(name) = args.namespace.as_deref().filter(|name| !is_label(name)) {
        return Err(CliError::usage(format!("`{}` is no name of a namespace", printable(name)))
            .hint("write 1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit"));
    }
    Ok(Pods {
        count,
        image: self::image(image)?,
        nats_image: self::image(&args.nats_image)?,
        namespace: args.namespace.clone(),
        avoid: args.avoid.as_deref().map(pod_label).transpose()?,
        memory: args.agent_memory,
    })
}

/// Whole CPUs of each agent, whose load has `threads`.
pub(super) fn cpus(args: &K8sArgs, threads: u32) -> Result<u32, CliError> {
    // One for what is not the load: heartbeats, the connection to the broker.
    let cpus = args.agent_cpus.unwrap_or(threads.saturating_add(1));
    if cpus < threads || cpus == 0 || cpus > CPUS_MAX {
        return Err(CliError::usage(format!("--agent-cpus {cpus} does not fit a load of {threads} threads"))
            .hint(format!(
                "each thread keeps a CPU busy, and heartbeats need some: --agent-cpus {}",
                threads.saturating_add(1).min(CPUS_MAX)
            )));
    }
    Ok(cpus)
}

/// The policy of the agents: this load and nothing beside it. `shares` are their parts of `plan`.
pub(super) fn policy(plan: &RunPlan, shares: &[RunPlan]) -> Result<String, CliError> {
    let target = &plan.target;
    let addresses = addresses(plan);
    let is_local = |address: &SocketAddr| {
        let ip = address.ip().to_canonical();
        ip.is_loopback() || ip.is_unspecified()
    };
    let local = target.host.eq_ignore_ascii_case("localhost")
        || target.host.to_ascii_lowercase().ends_with(".localhost");
    if addresses.iter().any(is_local) || (local && addresses.is_empty()) {
        return Err(CliError::usage(format!(
            "{} is a pod itself for what runs in a pod",
            printable(&target.host)
        ))
        .hint("name the server as the cluster does: http://SERVICE.NAMESPACE.svc:PORT/"));
    }
    let is_public = |address: &&SocketAddr| kind(address.ip()) == Kind::Public;
    let networks: Vec<String> =
        addresses.iter().filter(is_public).map(|address| address.ip().to_string()).collect();
    let mut ports: Vec<String> = addresses.iter().map(|address| address.port().to_string()).collect();
    if ports.is_empty() {
        ports.push(target.port.to_string());
    }
    ports.dedup();
    let text = format!(
        "# The target of this run and nothing else.\nloopback = false\nprivate = true\nnetworks = {networks:?}\nports = {ports:?}\n{}",
        caps(shares)
    );
    let policy = agent_policy(Some(&text)).map_err(CliError::internal)?;
    let refused = |refusal| CliError::usage(format!("agents would refuse this load: {refusal}"));
    // What a name stands for is known in the cluster only: agents check that.
    for address in &addresses {
        policy.load.check(Role::Runner, *address).map_err(refused)?;
    }
    for share in shares {
        let own = RunPlan { load: share.own_load(), share: None, ..share.clone() };
        policy.load.check_plan(&own, !networks.is_empty()).map_err(refused)?;
    }
    Ok(text)
}

/// What the largest share needs. A closed loop is as fast as the server, and what it sends is only estimated: it has no cap.
fn caps(shares: &[RunPlan]) -> String {
    let rate = |share: &RunPlan| share.own_load().rate().map_or(RATE_MAX, Rate::as_per_second);
    let rate = shares.iter().map(rate).fold(1.0, f64::max).min(RATE_MAX).ceil();
    let connections = shares.iter().map(|share| share.own_load().connections()).max().unwrap_or(1);
    let length = |share: &RunPlan| share.warmup.saturating_add(share.end.duration().unwrap_or_default());
    let seconds = shares.iter().map(length).max().unwrap_or_default().as_secs().saturating_add(1);
    format!(
        "[caps]\nrate_per_s = {rate:.0}\nconnections = {connections}\nduration_s = {seconds}\nbytes = {}\n",
        i64::MAX
    )
}

/// The addresses that are known here.
fn addresses(plan: &RunPlan) -> Vec<SocketAddr> {
    let target = &plan.target;
    if target.connect_to.is_empty() {
        target.host.parse().map(|ip| SocketAddr::new(ip, target.port)).into_iter().collect()
    } else {
        target.connect_to.clone()
    }
}

fn image(name: &str) -> Result<String, CliError> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if name.len() > IMAGE_MAX || !begins_well || !name.bytes().all(good) {
        return Err(CliError::usage(format!("`{}` is no name of an image", printable(name)))
            .hint("write it as the cluster pulls it: registry.example/prony:0.1.0"));
    }
    Ok(name.to_owned())
}

/// `app=web`, `app.kubernetes.io/name=web`.
fn pod_label(text: &str) -> Result<(String, String), CliError> {
    let wrong = || {
        CliError::usage(format!("`{}` is no label of a pod", printable(text)))
            .hint("write its name, `=` and its value: --avoid app=web (kubectl get pods --show-labels)")
    };
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let (prefix, short) = name.split_once('/').map_or((None, name), |(prefix, short)| (Some(prefix), short));
    let is_prefix = |text: &str| text.len() <= PREFIX_MAX && text.split('.').all(is_label);
    if !prefix.is_none_or(is_prefix) || !is_word(short) || !(value.is_empty() || is_word(value)) {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A label of RFC 1123.
fn is_label(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_MAX).contains(&text.len())
        && text.bytes().all(good)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The name of a label behind its prefix, or its value.
fn is_word(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= LABEL_MAX
        && text.bytes().all(good)
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}

fn printable(text: &str) -> String {
    prony_report::clean(text).chars().take(100).collect()
}
