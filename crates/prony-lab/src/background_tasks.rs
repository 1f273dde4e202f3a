//! What a lab does beside answering: each a thread of its own, and all of them end with the lab.

use std::sync::Arc;

use prony_lab_core::hooks::{self, Mailer};
use prony_lab_core::lab::Lab;
use prony_lab_core::lab_error::LabError;
use prony_lab_core::{bisect, health, history, journal, monitor};
use prony_lab_store::background::Background;
use prony_lab_store::retention;

/// What goes on without anybody's asking, until it is dropped.
pub(crate) struct BackgroundTasks(Vec<Background>);

/// Starts everything that goes on without anybody's asking.
pub(crate) fn start(lab: &Lab) -> Result<BackgroundTasks, LabError> {
    let store = &lab.store;
    let search_path = lab.options.search_path.clone();
    let mailer = lab.options.mail.clone().map(|command| Mailer { command, search_path });
    let address = lab.options.public_address.clone().unwrap_or_default();
    let started = || -> std::io::Result<BackgroundTasks> {
        let mut background = BackgroundTasks(vec![
            history::start(store.clone())?,
            bisect::start(store.clone())?,
            monitor::start(store.clone())?,
            retention::start(store.clone())?,
            health::start(store.clone(), Arc::clone(&lab.health), lab.options.data.clone())?,
        ]);
        let operator = lab.options.operator_mail.clone();
        background.0.push(journal::start(store)?);
        background.0.extend(hooks::start(store, mailer, operator, address, lab.options.data.clone())?);
        Ok(background)
    };
    started().map_err(LabError::Threads)
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        // All at once, rather than one after the other.
        for duty in &self.0 {
            duty.finish();
        }
    }
}
