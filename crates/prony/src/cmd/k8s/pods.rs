//! What all pods of a run have in common: no rights, fixed resources, and places that are not the server's.

use serde_json::{Value, json};

use super::checks::Pods;

/// Nobody, as in packaging/Containerfile.
const USER: u32 = 65_534;
/// What a pod may write to its folders at most.
const FOLDER_BYTES_MAX: u64 = 1 << 30;

/// Requests and limits are the same, so that the pod is of the class Guaranteed, and CPUs whole, so that a node with static
/// CPU management gives it those alone.
pub(super) fn resources(cpus: u32, memory: u64) -> Value {
    let amounts = json!({ "cpu": cpus.to_string(), "memory": memory.to_string() });
    json!({ "requests": amounts, "limits": amounts })
}

/// A container with no rights.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": { "drop": ["ALL"] },
    })
}

/// Where prony keeps what it writes.
pub(super) fn environment() -> Value {
    json!([
        { "name": "HOME", "value": "/tmp" },
        { "name": "XDG_STATE_HOME", "value": "/tmp/state" },
        { "name": "XDG_CONFIG_HOME", "value": "/tmp/config" },
    ])
}

/// A folder that lives as long as the pod.
pub(super) fn folder(name: &str) -> Value {
    json!({ "name": name, "emptyDir": { "sizeLimit": FOLDER_BYTES_MAX.to_string() } })
}

/// The part of a pod's specification that does not depend on what runs in it.
pub(super) fn specification(labels: &Value, pods: &Pods, beside: Option<&Value>) -> Value {
    let mut affinity = serde_json::Map::new();
    if let Some((name, value)) = &pods.avoid {
        let mut label = serde_json::Map::new();
        label.insert(name.clone(), json!(value));
        affinity.insert(
            "requiredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!([{
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": { "matchLabels": label },
                // In whatever namespace the server is.
                "namespaceSelector": {},
            }]),
        );
    }
    if let Some(others) = beside {
        affinity.insert(
            "preferredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!([{
                "weight": 100,
                "podAffinityTerm": { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": others } },
            }]),
        );
    }
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        // A wish: with `DoNotSchedule` the nodes of the server, where no agent may be, would count as empty ones.
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": labels },
        }],
        "affinity": { "podAntiAffinity": affinity },
    })
}
