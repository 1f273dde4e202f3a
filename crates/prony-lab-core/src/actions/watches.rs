//! What people ask of monitors and hooks, by page and by script: checked against the target policy, written down, and noted in
//! the audit log, since it decides whom the lab contacts by itself.

use crate::actions::AccessError;
use crate::egress;
use crate::lab::{Lab, Refused};
use prony_lab_model::auth::Secret;
use prony_lab_model::clock;
use prony_lab_model::{FieldMistake, Hook, HookId, HookRequest, Monitor, MonitorId, MonitorRequest, Role};
use prony_lab_store::{StoreError, Tx, audit, hooks, monitors, projects};

fn refused(field: &str, message: impl Into<String>) -> Refused {
    Refused::Fields(vec![FieldMistake { field: field.to_owned(), message: message.into() }])
}

/// Whether `by`, who is `role`, may take `monitor` out: it is their own, or its owner may do no more than they.
pub fn may_remove_monitor(
    tx: &mut Tx<'_>,
    monitor: &Monitor,
    by: &str,
    role: Role,
) -> Result<bool, StoreError> {
    if role < Role::Runner {
        return Ok(false);
    }
    Ok(monitor.created_by == by || egress::role(tx, &monitor.created_by)? <= role)
}

impl Lab {
    /// Adds a monitor, if `by`, who is `role`, may have its URL asked.
    pub async fn add_monitor(
        &self,
        request: MonitorRequest,
        by: &str,
        role: Role,
    ) -> Result<Monitor, Refused> {
        let new = request.checked(by, clock::wall()).map_err(Refused::Fields)?;
        self.check_url(&new.url, role).await?;
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                if let Some(name) = &new.tls.cacert {
                    let policy = egress::policy(tx)?;
                    if policy.authority(name).is_none() {
                        return Ok(Err(refused("cacert", egress::no_authority(&policy, name))));
                    }
                }
                if monitors::by_name(tx, &new.name)?.is_some() {
                    return Ok(Err(refused("name", "there is a monitor of that name: choose another")));
                }
                let id = monitors::add(tx, &new)?;
                let words = [new.url.clone(), new.tls.words()];
                let words = words.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
                audit::append(tx, new.created_at, &by, "monitor.add", &new.name, &words)?;
                Ok(Ok(Monitor { id, ..new }))
            })
            .await?
    }

    /// Takes a monitor out. One of an administrator is taken out by administrators alone.
    pub async fn remove_monitor(&self, id: MonitorId, by: &str, role: Role) -> Result<(), AccessError> {
        let by = by.to_owned();
        let removed = self.store.write(move |tx| {
            let monitor = monitors::all(tx)?.into_iter().find(|monitor| monitor.id == id);
            if let Some(monitor) = monitor
                && !may_remove_monitor(tx, &monitor, &by, role)?
            {
                return Ok(Err(AccessError::Role(Role::Admin)));
            }
            let now = clock::wall();
            monitors::remove(tx, id, now)?;
            audit::append(tx, now, &by, "monitor.remove", &id.to_string(), "").map(Ok)
        });
        removed.await?
    }

    /// Adds a hook, if `by`, who is `role`, may have its URL asked. Its secret is shown this once.
    pub async fn add_hook(
        &self,
        request: HookRequest,
        by: &str,
        role: Role,
    ) -> Result<(Hook, String), Refused> {
        let name = request.project.trim().to_owned();
        let project = match name.as_str() {
            "" => None,
            _ => self.store.read(move |tx| projects::by_name(tx, &name)).await?,
        };
        let now = clock::wall();
        let new = request.checked(project.map(|project| project.id), by, now).map_err(Refused::Fields)?;
        self.check_url(&new.url, role).await?;
        let (by, secret) = (by.to_owned(), Secret::new().text());
        let signs = secret.clone();
        let hook = self
            .store
            .write(move |tx| {
                let id = hooks::add(tx, &new, &signs)?;
                audit::append(tx, now, &by, "hook.add", &id.to_string(), &new.url)?;
                Ok(Hook { id, ..new })
            })
            .await?;
        Ok((hook, secret))
    }

    /// Removes a hook with its waiting deliveries.
    pub async fn remove_hook(&self, id: HookId, by: &str) -> Result<(), StoreError> {
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                let now = clock::wall();
                hooks::remove(tx, id, now)?;
                audit::append(tx, now, &by, "hook.remove", &id.to_string(), "")
            })
            .await
    }
}
