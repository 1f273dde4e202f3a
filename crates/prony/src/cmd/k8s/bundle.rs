//! The objects of a run. All of them are data for `serde_json`, so that nothing that was typed can become syntax.

use std::time::Duration;

use prony_fleet::controller::deadline;
use prony_model::RunPlan;
use serde_json::{Value, json};

use super::checks::Pods;
use super::keys::Keys;
use super::run_file::{RunFile, agent};
use super::{AGENTS_WITHIN, HOLD, pods};
use crate::cli_error::CliError;

/// After its load a run is over within this: results are waited for a minute, then merged.
const FINISH_WITHIN: Duration = Duration::from_mins(5);
/// Jobs are deleted so long after their end, and with the leader's all that belongs to the run.
const KEPT_S: u64 = 3_600;
/// A merge of a thousand agents takes 54 MiB, their results on disk and in the report more.
const LEADER_BYTES: u64 = 1 << 30;
/// nats-server with a thousand clients.
const BROKER_BYTES: u64 = 256 << 20;
/// Where Secrets and ConfigMaps are.
const FILES: &str = "/etc/prony";
/// Where the result is until it is collected.
pub(super) const RESULTS: &str = "/results";
/// The program in packaging/Containerfile.
pub(super) const PROGRAM: &str = "/usr/bin/prony";

/// All objects of a run.
pub(super) struct Bundle {
    /// The name of the run, with which all others begin.
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// When the leader is ended, whatever happens.
    pub(super) deadline_s: u64,
    pub(super) agents: u32,
    /// The Job that leads. It owns the others: with it they are deleted.
    pub(super) leader: Value,
    /// All the others.
    pub(super) others: Vec<Value>,
}

impl Bundle {
    /// The bundle of the run in `file`; `whole` is the plan of the whole load.
    pub(super) fn new(
        file: &RunFile,
        pods: &Pods,
        cpus: u32,
        policy: &str,
        whole: &RunPlan,
    ) -> Result<Self, CliError> {
        let load = deadline(whole).expect("invariant: shares have an end by time");
        let name = format!("prony-{:08x}", crate::cmd::run::seed()?);
        let keys = Keys::new(&format!("{name}-broker"), pods.count)?;
        let agents_s = (AGENTS_WITHIN + load + FINISH_WITHIN).as_secs();
        let deadline_s = agents_s + HOLD.as_secs();
        let of = Objects { name: &name, pods };
        let leader_files = json!({
            "run.json": file.text()?,
            "lab.key": keys.lab_key,
            "lab.nk": keys.lab_nkey,
            "ca.pem": keys.authority,
        });
        let broker_files = json!({
            "nats.conf": keys.nats_conf,
            "tls.crt": keys.certificate,
            "tls.key": keys.certificate_key,
        });
        let seeds = keys.agent_nkeys.iter().zip(0..);
        let agent_keys = seeds.map(|(seed, index)| (format!("{}.nk", agent(index)), json!(seed))).collect();
        let agent_files =
            json!({ "agent.toml": policy, "ca.pem": keys.authority, "lab.pub": keys.lab_public });
        let indexed =
            json!({ "completionMode": "Indexed", "completions": pods.count, "parallelism": pods.count });
        let others = vec![
            of.secret("leader", &leader_files),
            of.secret("broker", &broker_files),
            of.secret("agents", &agent_keys),
            of.object("v1", "ConfigMap", "agents", json!({ "immutable": true, "data": agent_files })),
            of.service(),
            of.leader_network(),
            of.agent_network(),
            of.job("agents", agents_s, indexed, &of.agent_pod(cpus)),
        ];
        let leader = of.job("leader", deadline_s, json!({}), &of.leader_pod());
        let (agents, namespace) = (pods.count, pods.namespace.clone());
        Ok(Self { name, namespace, deadline_s, agents, leader, others })
    }

    /// All of it for `kubectl create -f -`.
    pub(super) fn text(&self) -> String {
        let items: Vec<&Value> = std::iter::once(&self.leader).chain(&self.others).collect();
        list(&items)
    }

    /// The objects beside the leader's Job, which is there already with this `uid`: they are deleted with it.
    pub(super) fn owned(&self, uid: &str) -> String {
        let owner = json!([{ "apiVersion": "batch/v1", "kind": "Job", "name": format!("{}-leader", self.name), "uid": uid }]);
        let mut others = self.others.clone();
        for object in &mut others {
            object["metadata"]["ownerReferences"] = owner.clone();
        }
        list(&others.iter().collect::<Vec<_>>())
    }

    /// The selector of everything in the bundle.
    pub(super) fn selector(&self) -> String {
        format!("app.kubernetes.io/instance={}", self.name)
    }

    /// How somebody who prints it goes on.
    pub(super) fn advice(&self) -> String {
        let namespace = self.namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
        let name = &self.name;
        format!(
            "start    … | kubectl create{namespace} -f -\n\
             wait     kubectl wait{namespace} --for=condition=Ready --timeout=1h pod -l {selector},app.kubernetes.io/component=leader\n\
             collect  kubectl exec{namespace} job/{name}-leader -c leader -- {PROGRAM} k8s-result {RESULTS} > result.json\n\
             confirm  kubectl exec{namespace} job/{name}-leader -c leader -- {PROGRAM} k8s-result {RESULTS} \
             --received $(sha256sum result.json | cut -d' ' -f1)\n\
             remove   kubectl delete{namespace} job,secret,configmap,service,networkpolicy -l {selector}\n",
            selector = self.selector()
        )
    }
}

fn list(items: &[&Value]) -> String {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let text = serde_json::to_string_pretty(&list).expect("invariant: values of JSON can be written");
    format!("{text}\n")
}

/// What makes objects.
struct Objects<'a> {
    name: &'a str,
    pods: &'a Pods,
}

impl Objects<'_> {
    fn labels(&self, component: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "prony",
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/component": component,
        })
    }

    /// `body` with kind, name and labels.
    fn object(&self, version: &str, kind: &str, component: &str, mut body: Value) -> Value {
        let mut metadata =
            json!({ "name": format!("{}-{component}", self.name), "labels": self.labels(component) });
        if let Some(namespace) = &self.pods.namespace {
            metadata["namespace"] = json!(namespace);
        }
        body["apiVersion"] = json!(version);
        body["kind"] = json!(kind);
        body["metadata"] = metadata;
        body
    }

    fn secret(&self, component: &str, files: &Value) -> Value {
        self.object(
            "v1",
            "Secret",
            component,
            json!({ "type": "Opaque", "immutable": true, "stringData": files }),
        )
    }

    /// The broker's name. The pod is ready when its result is, and has to be found before.
    fn service(&self) -> Value {
        let specification = json!({
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": self.labels("leader"),
            "ports": [{ "name": "nats", "port": 4222, "protocol": "TCP" }],
        });
        self.object("v1", "Service", "broker", json!({ "spec": specification }))
    }

    /// A Job whose pods are tried once.
    fn job(&self, component: &str, deadline_s: u64, mut specification: Value, pod: &Value) -> Value {
        specification["backoffLimit"] = json!(0);
        specification["activeDeadlineSeconds"] = json!(deadline_s);
        specification["ttlSecondsAfterFinished"] = json!(KEPT_S);
        specification["template"] = json!({ "metadata": { "labels": self.labels(component) }, "spec": pod });
        self.object("batch/v1", "Job", component, json!({ "spec": specification }))
    }

    /// An agent: the key of its own name, from the index that its Job gave it, and no other.
    fn agent_pod(&self, cpus: u32) -> Value {
        let mut pod = pods::specification(&self.labels("agents"), self.pods, None);
        let mut environment = pods::environment();
        let index = json!({ "name": "PRONY_AGENT_INDEX", "valueFrom": { "fieldRef": {
            "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']",
        }}});
        environment.as_array_mut().expect("invariant: it is a list").push(index);
        pod["containers"] = json!([{
            "name": "agent",
            "image": self.pods.image,
            "command": [PROGRAM],
            "args": [
                "agent", "--name", "agent-$(PRONY_AGENT_INDEX)", "--once",
                "--nats", format!("tls://{}-broker:4222", self.name),
                "--nats-cacert", format!("{FILES}/ca.pem"),
                "--nkey", format!("{FILES}-key/agent.nk"),
                "--lab-key", format!("{FILES}/lab.pub"),
                "--policy", format!("{FILES}/agent.toml"),
                "--state", "/tmp/agent",
            ],
            "env": environment,
            "resources": pods::resources(cpus, self.pods.memory),
            "securityContext": pods::container_security(),
            "volumeMounts": [
                { "name": "files", "mountPath": FILES, "readOnly": true },
                {
                    "name": "keys",
                    "mountPath": format!("{FILES}-key/agent.nk"),
                    "subPathExpr": "agent-$(PRONY_AGENT_INDEX).nk",
                    "readOnly": true,
                },
                { "name": "tmp", "mountPath": "/tmp" },
            ],
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }]);
        pod["volumes"] = json!([
            { "name": "files", "configMap": { "name": format!("{}-agents", self.name) } },
            { "name": "keys", "secret": { "secretName": format!("{}-agents", self.name), "defaultMode": 0o440 } },
            pods::folder("tmp"),
        ]);
        pod
    }

    /// What leads, and the broker beside it, which begins before it and ends after it.
    fn leader_pod(&self) -> Value {
        let mut pod = pods::specification(&self.labels("leader"), self.pods, Some(&self.labels("agents")));
        pod["initContainers"] = json!([{
            "name": "broker",
            "image": self.pods.nats_image,
            "restartPolicy": "Always",
            "args": ["--config", format!("{FILES}-broker/nats.conf")],
            "ports": [{ "name": "nats", "containerPort": 4222, "protocol": "TCP" }],
            "startupProbe": { "tcpSocket": { "port": "nats" }, "periodSeconds": 1, "failureThreshold": 60 },
            "resources": pods::resources(1, BROKER_BYTES),
            "securityContext": pods::container_security(),
            "volumeMounts": [
                { "name": "broker", "mountPath": format!("{FILES}-broker"), "readOnly": true },
                { "name": "tmp-broker", "mountPath": "/tmp" },
            ],
        }]);
        pod["containers"] = json!([{
            "name": "leader",
            "image": self.pods.image,
            "command": [PROGRAM],
            "args": ["k8s-lead", FILES, "--results", RESULTS, "--nats", "tls://127.0.0.1:4222"],
            "env": pods::environment(),
            "resources": pods::resources(1, LEADER_BYTES),
            "securityContext": pods::container_security(),
            "readinessProbe": {
                "exec": { "command": [PROGRAM, "k8s-result", RESULTS, "--is-ready"] },
                "periodSeconds": 2,
                "timeoutSeconds": 5,
            },
            "volumeMounts": [
                { "name": "files", "mountPath": FILES, "readOnly": true },
                { "name": "results", "mountPath": RESULTS },
                { "name": "tmp", "mountPath": "/tmp" },
            ],
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }]);
        pod["volumes"] = json!([
            { "name": "files", "secret": { "secretName": format!("{}-leader", self.name), "defaultMode": 0o440 } },
            { "name": "broker", "secret": { "secretName": format!("{}-broker", self.name), "defaultMode": 0o440 } },
            pods::folder("results"),
            pods::folder("tmp"),
            pods::folder("tmp-broker"),
        ]);
        pod
    }

    /// The broker is for the agents alone, and the leader connects to nothing else.
    fn leader_network(&self) -> Value {
        self.object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "leader",
            json!({ "spec": {
                "podSelector": { "matchLabels": self.labels("leader") },
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{
                    "from": [{ "podSelector": { "matchLabels": self.labels("agents") } }],
                    "ports": [{ "protocol": "TCP", "port": 4222 }],
                }],
                "egress": [],
            }}),
        )
    }

    /// Nobody connects to agents; they connect to the broker, to name servers, and to the target. Its port is not named: behind
    /// a Service it may be another one, and the agents' policy has it. Link-local addresses are metadata services.
    fn agent_network(&self) -> Value {
        self.object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "agents",
            json!({ "spec": {
                "podSelector": { "matchLabels": self.labels("agents") },
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [],
                "egress": [
                    { "ports": [{ "protocol": "UDP", "port": 53 }, { "protocol": "TCP", "port": 53 }] },
                    {
                        "to": [
                            { "namespaceSelector": {} },
                            { "ipBlock": { "cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"] } },
                            { "ipBlock": { "cidr": "::/0", "except": ["fe80::/10"] } },
                        ],
                        "ports": [{ "protocol": "TCP", "port": 1, "endPort": 65535 }],
                    },
                ],
            }}),
        )
    }
}
