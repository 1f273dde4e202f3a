//! Requests for builds and loads, as scripts send them: checked against the target policy, and accepted once however often they
//! are sent.

use std::net::SocketAddr;
use std::time::Duration;

use prony_model::{Rate, RunOptions, RunPlan, Target, split};

use crate::access;
use crate::egress;
use crate::lab::{Lab, Refused};
use crate::policy::{Kind, Policy, Unfinished, kind};
use prony_lab_model::auth::Digest;
use prony_lab_model::clock;
use prony_lab_model::{
    AdHocLoad, BuildDetail, BuildId, BuildKind, BuildRequest, FieldMistake, LoadAgents, NewBuild, Priority,
    Role, TaskKind,
};
use prony_lab_store::{StoreError, Tx, builds, queue, settings};

/// How long a request that carries a key is known again: a week, in which every retry of a script has ended.
const KEY_LIFE: Duration = Duration::from_hours(7 * 24);
/// How long a load waits for its turn: who asked for it has gone home after a day.
const LOAD_QUEUE: Duration = Duration::from_hours(24);

/// Who asks, and how they know the request again.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Who.
    pub by: String,
    /// Their name for the request, and the digest of what was sent.
    pub key: Option<(String, Digest)>,
}

impl Lab {
    /// Accepts a build, unless it was accepted under the same key before: the build, and whether it is new. Durable when
    /// this returns. It was read in the same transaction: an error of a later read would say that nothing was accepted.
    pub async fn request_build_once(
        &self,
        request: BuildRequest,
        asker: Asker,
    ) -> Result<(BuildDetail, bool), Refused> {
        let new = self.checked(request, &asker.by).await?;
        self.accept_once(asker, move |tx| builds::accept(tx, &new), found).await
    }

    /// The same where its number is enough: to read the build costs as much as to accept it.
    pub async fn request_build(&self, request: BuildRequest, asker: Asker) -> Result<BuildId, Refused> {
        let new = self.checked(request, &asker.by).await?;
        let (id, _) = self.accept_once(asker, move |tx| builds::accept(tx, &new), |_, id| Ok(id)).await?;
        Ok(id)
    }

    /// The same for a commit of `branch`.
    pub async fn request_pushed_build(
        &self,
        request: BuildRequest,
        branch: String,
        asker: Asker,
    ) -> Result<(BuildDetail, bool), Refused> {
        let new = self.checked(request, &asker.by).await?;
        self.accept_once(asker, move |tx| builds::accept_of_branch(tx, &new, &branch), found).await
    }

    /// The same for a load by itself, which `role` must be allowed to put where it goes.
    pub async fn request_load(
        &self,
        load: AdHocLoad,
        role: Role,
        asker: Asker,
    ) -> Result<(BuildDetail, bool), Refused> {
        self.check_load(&load, role).await?;
        let now = clock::wall();
        let new = NewBuild {
            kind: BuildKind::Load,
            project: None,
            reference: load.url.clone(),
            base: None,
            variant: None,
            tasks: vec![("load".to_owned(), TaskKind::Load, String::new())],
            load: Some(load),
            email: None,
            priority: Priority::Normal,
            requested_by: asker.by.clone(),
            requested_at: now,
            expires_at: now.after(LOAD_QUEUE),
        };
        self.accept_once(asker, move |tx| builds::accept(tx, &new), found).await
    }

    /// Cancels a build: at once where it still waits, otherwise as soon as what runs of it has been stopped. The build, as
    /// it then is.
    pub async fn cancel_build(&self, id: BuildId, by: &str) -> Result<BuildDetail, StoreError> {
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                if queue::cancel(tx, id, &by, clock::wall())? {
                    return found(tx, id);
                }
                let state = builds::state(tx, id)?;
                Err(StoreError::Conflict(format!("build {id}, which is {}", state.name())))
            })
            .await
    }

    /// Asks for the same once more, as far as the project's definition and the target policy still allow it.
    pub async fn retry_build(
        &self,
        id: BuildId,
        role: Role,
        asker: Asker,
    ) -> Result<(BuildDetail, bool), Refused> {
        let found = self.store.read(move |tx| builds::one(tx, id)).await?;
        let detail = found.ok_or_else(|| StoreError::Missing(format!("build {id}")))?;
        match detail.load.clone() {
            Some(load) => self.request_load(load, role, asker).await,
            None => self.request_build_once(again(&detail), asker).await,
        }
    }

    /// Whether `role` may put `load` where it goes. The worker asks again, right before it connects.
    pub async fn check_load(&self, load: &AdHocLoad, role: Role) -> Result<(), Refused> {
        let plan = load_plan(load).map_err(|mistake| Refused::Fields(vec![mistake]))?;
        self.check_agents(load)
            .map_err(|message| Refused::Fields(vec![FieldMistake { field: "agents".to_owned(), message }]))?;
        let policy = self.policy().await?;
        let (lab, url) = (self.clone(), load.url.clone());
        access::spawn_blocking(move || lab.check_target(&policy, &plan, &url, role).map(drop)).await?
    }

    /// Whether the agents of `load` are there to be asked, if it wants some; otherwise why not, and what to try.
    fn check_agents(&self, load: &AdHocLoad) -> Result<(), String> {
        let Some(agents) = &load.agents else { return Ok(()) };
        let Some(fleet) = self.fleet.get() else {
            return Err(
                "this lab leads no agents: it is to be started with `prony lab --nats URL`".to_owned()
            );
        };
        if let Some(stop) = fleet.stopped() {
            return Err(stop.sentence());
        }
        let LoadAgents::Names(names) = agents else { return Ok(()) };
        let unknown = fleet.unknown(names);
        let drained = fleet.drained(names);
        if !drained.is_empty() {
            return Err(format!(
                "drained agents take no loads: {}; an administrator resumes them on the page /agents",
                drained.join(", ")
            ));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        Err(format!(
            "no agent of this name was heard: {}; the page /agents lists those that were",
            unknown.join(", ")
        ))
    }

    /// Whether `role` may have the lab ask `url` now and then.
    pub(crate) async fn check_url(&self, url: &str, role: Role) -> Result<(), Refused> {
        let (policy, url) = (self.policy().await?, url.to_owned());
        let resolved = access::spawn_blocking(move || policy.resolve(role, &url)).await?;
        resolved.map(drop).map_err(|refusal| {
            Refused::Fields(vec![FieldMistake { field: "url".to_owned(), message: refusal.to_string() }])
        })
    }

    /// The same for the worker's thread, right before a load begins: the addresses to which it may go.
    pub fn check_load_blocking(&self, load: &AdHocLoad, by: &str) -> Result<Vec<SocketAddr>, String> {
        self.planned_load_blocking(load, by).map(|(_, addresses)| addresses)
    }

    /// The same, with the load's plan.
    pub fn planned_load_blocking(
        &self,
        load: &AdHocLoad,
        by: &str,
    ) -> Result<(RunPlan, Vec<SocketAddr>), String> {
        let plan = load_plan(load).map_err(|mistake| mistake.message)?;
        let found = self.store.read_blocking(|tx| Ok((egress::policy(tx)?, egress::role(tx, by)?)));
        let (policy, role) = found.map_err(|error| format!("failed to {error}"))?;
        let checked = self.check_target(&policy, &plan, &load.url, role).map_err(|refused| match refused {
            Refused::Fields(mistakes) => {
                mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>().join("; ")
            }
            Refused::Target(refusal) => refusal.to_string(),
            Refused::Store(error) => format!("failed to {error}"),
            Refused::KeyReused => "its key was used before".to_owned(),
        });
        checked.map(|addresses| (plan, addresses))
    }

    /// Resolves, checks, and asks the owner where that is needed.
    fn check_target(
        &self,
        policy: &Policy,
        plan: &RunPlan,
        url: &str,
        role: Role,
    ) -> Result<Vec<SocketAddr>, Refused> {
        let refused = |field: &str, message: String| {
            Refused::Fields(vec![FieldMistake { field: field.to_owned(), message }])
        };
        let addresses = policy.resolve(role, url).map_err(|refusal| refused("url", refusal.to_string()))?;
        let is_public = addresses.iter().any(|address| kind(address.ip()) == Kind::Public);
        policy.check_plan(plan, is_public).map_err(|refusal| refused("load", refusal.to_string()))?;
        if !is_public {
            return Ok(addresses);
        }
        let proved = self.ownership_blocking()?.prove(policy, url, &addresses);
        proved.map_err(|error| refused("url", error.to_string()))
    }

    /// Does `accept` once for each key of the requester: what `read` reads of the build, and whether it is new.
    pub(crate) async fn accept_once<T: Send + 'static>(
        &self,
        asker: Asker,
        accept: impl FnOnce(&mut Tx<'_>) -> Result<BuildId, StoreError> + Send + 'static,
        read: impl FnOnce(&mut Tx<'_>, BuildId) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<(T, bool), Refused> {
        let policy = self.policy().await?;
        self.store
            .write(move |tx| {
                let known = match &asker.key {
                    Some((key, _)) => settings::answered(tx, &asker.by, key)?,
                    None => None,
                };
                if let (Some((request, id)), Some((_, digest))) = (known, &asker.key) {
                    let is_same = request == digest.0;
                    return Ok(if is_same { Ok((read(tx, id)?, false)) } else { Err(Refused::KeyReused) });
                }
                if policy.limits_users() {
                    let unfinished = Unfinished { builds: builds::unfinished(tx, &asker.by)? };
                    if let Err(refusal) = policy.check_user(unfinished) {
                        return Ok(Err(Refused::Target(refusal)));
                    }
                }
                let id = accept(tx)?;
                if let Some((key, digest)) = &asker.key {
                    let now = clock::wall();
                    settings::answer(tx, &asker.by, key, digest, id, now, now.before(KEY_LIFE))?;
                }
                Ok(Ok((read(tx, id)?, true)))
            })
            .await?
    }
}

/// The build `id`, which is there.
pub(super) fn found(tx: &mut Tx<'_>, id: BuildId) -> Result<BuildDetail, StoreError> {
    builds::one(tx, id)?.ok_or_else(|| StoreError::Missing(format!("build {id}")))
}

/// The request that leads to the same build.
pub fn again(detail: &BuildDetail) -> BuildRequest {
    let build = &detail.build;
    let named = detail.tasks.iter().filter(|task| task.kind != TaskKind::Checkout);
    BuildRequest {
        project: build.project_name.clone().unwrap_or_default(),
        reference: build.reference.clone(),
        base: build.base.clone().unwrap_or_default(),
        variant: build.variant.clone().unwrap_or_default(),
        tests: named.map(|task| task.name.clone()).collect(),
        email: detail.email.clone().unwrap_or_default(),
        priority: build.priority.name().to_owned(),
    }
}

/// The run that a load by itself asks for, as `prony run` would plan it; or which field can't be meant.
pub(crate) fn load_plan(load: &AdHocLoad) -> Result<RunPlan, FieldMistake> {
    let mistake = |field: &str, message: String| FieldMistake { field: field.to_owned(), message };
    let target = Target::parse(&load.url).map_err(|error| mistake("url", error.to_string()))?;
    if !load.url.contains("://") {
        return Err(mistake("url", "write it with http:// before it".to_owned()));
    }
    let duration = Duration::try_from_secs_f64(load.duration_s)
        .map_err(|_| mistake("duration_s", "write seconds, such as 10".to_owned()))?;
    let rate = load.rate_per_s.map(|rate| {
        Rate::per_second(rate)
            .ok_or_else(|| mistake("rate_per_s", "write requests per second above 0".to_owned()))
    });
    let choice = load.agents.as_ref().map(LoadAgents::choice).transpose();
    let agents = choice.map_err(|problem| mistake("agents", problem.to_string()))?;
    let options = RunOptions {
        connections: Some(load.connections),
        duration: Some(duration),
        rate: rate.transpose()?,
        ..RunOptions::default()
    };
    let plan = options.plan(target, 0).map_err(|error| mistake("load", error.to_string()))?;
    if let Some(agents) = agents {
        // What can't be split is an error before any agent is asked.
        let threads = vec![plan.threads; agents.count()];
        split(&plan, &threads).map_err(|error| mistake("agents", error.to_string()))?;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut AdHocLoad), field: Option<&str>) {
        let mut load = AdHocLoad {
            url: "http://127.0.0.1:3000/".to_owned(),
            connections: 5,
            rate_per_s: None,
            duration_s: 3.0,
            agents: None,
        };
        change(&mut load);
        let found = load_plan(&load).err().map(|mistake| mistake.field);
        assert_eq!(found.as_deref(), field, "{load:?}");
    }

    #[test]
    fn what_is_asked_for_can_be_planned() {
        check(|_| {}, None);
        check(|load| load.rate_per_s = Some(100.0), None);
        check(|load| load.url = "127.0.0.1".to_owned(), Some("url"));
        check(|load| load.url = "https://127.0.0.1/".to_owned(), None);
        check(|load| load.url = "http://a:b@h/".to_owned(), Some("url"));
        check(|load| load.rate_per_s = Some(-1.0), Some("rate_per_s"));
        check(|load| load.rate_per_s = Some(f64::NAN), Some("rate_per_s"));
        check(|load| load.duration_s = f64::INFINITY, Some("duration_s"));
        check(|load| load.duration_s = -1.0, Some("duration_s"));
        check(|load| load.duration_s = 0.0, Some("load"));
        check(|load| load.connections = 0, Some("load"));
        check(|load| load.agents = Some(LoadAgents::Any(2)), None);
        check(|load| load.agents = Some(LoadAgents::Any(0)), Some("agents"));
        check(|load| load.agents = Some(LoadAgents::Any(6)), Some("agents"));
        check(|load| load.agents = Some(LoadAgents::Any(1_000_000)), Some("agents"));
        check(|load| load.agents = Some(LoadAgents::Names(vec!["a b".to_owned()])), Some("agents"));
    }
}
