//! Which servers may be loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Answered, Call, Nothing};
use crate::http::WebError;
use prony_lab_core::access;
use prony_lab_core::actions::policy;
use prony_lab_core::egress;
use prony_lab_model::Role;

/// The target policy.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyText {
    /// As TOML.
    policy: String,
}

/// What somebody wants to load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    /// The URL.
    url: String,
}

/// Whether they may.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Verdict {
    /// Whether they may.
    allowed: bool,
    /// The addresses to which the load would go.
    addresses: Vec<String>,
    /// Why not.
    reason: Option<String>,
    /// Whether the server's owner has to agree first.
    needs_proof: bool,
}

pub(super) async fn show(call: Call<Nothing, Nothing, Nothing>) -> Answered<PolicyText> {
    let rules = call.lab.store.read(egress::rules).await?;
    Ok(PolicyText { policy: policy::written(&rules) }.into())
}

pub(super) async fn set(call: Call<Nothing, Nothing, PolicyText>) -> Answered<PolicyText> {
    let text = call.body.policy;
    call.lab.act(call.who.actor(), move |tx, ctx| policy::set(tx, ctx, &text)).await?;
    let rules = call.lab.store.read(egress::rules).await?;
    Ok(PolicyText { policy: policy::written(&rules) }.into())
}

pub(super) async fn check(call: Call<Nothing, Nothing, Wish>) -> Answered<Verdict> {
    // Who may ask for names to be looked up learns what this machine's own network has.
    let is_address = url::Url::parse(&call.body.url)
        .is_ok_and(|url| matches!(url.host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_))));
    if !is_address && call.who.role < Role::Admin {
        return Err(WebError::Forbidden(Role::Admin).into());
    }
    let policy = call.lab.policy().await?;
    let (url, role) = (call.body.url, call.who.role);
    let resolved = {
        let (policy, url) = (policy.clone(), url.clone());
        access::spawn_blocking(move || policy.resolve(role, &url)).await?
    };
    Ok(match resolved {
        Ok(addresses) => {
            let host = url::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let needs_proof = addresses.iter().any(|address| policy.needs_proof(host.as_deref(), *address));
            let addresses = addresses.iter().map(ToString::to_string).collect();
            Verdict { allowed: true, addresses, reason: None, needs_proof }
        }
        Err(refusal) => Verdict {
            allowed: false,
            addresses: Vec::new(),
            reason: Some(refusal.to_string()),
            needs_proof: false,
        },
    }
    .into())
}
