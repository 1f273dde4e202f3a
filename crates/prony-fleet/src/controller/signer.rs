//! What signs the commands of an epoch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Command, ControllerKey, Envelope, RunName, Subject, V_MINOR, seal};

/// A key, an epoch, and its counter, which is used once. All who send commands in an epoch share one signer.
#[derive(Debug)]
pub struct Signer {
    key: Arc<ControllerKey>,
    epoch: u64,
    counter: AtomicU64,
}

/// What a command is about.
#[derive(Debug, Clone)]
pub struct About {
    /// Its id, the same each time that it is sent.
    pub id: String,
    /// Of which run.
    pub run: Option<RunName>,
    /// Of which part of the load.
    pub slice: u32,
    /// How often that was given out.
    pub attempt: u32,
}

impl Signer {
    /// One for `epoch`, which is above every epoch in which `key` has signed.
    pub fn new(key: Arc<ControllerKey>, epoch: u64) -> Self {
        Self { key, epoch, counter: AtomicU64::new(0) }
    }

    /// Its epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The bytes of a command for `subject`, with a counter of its own.
    pub fn seal(&self, subject: &Subject, about: About, command: Command, now_ns: u64) -> Vec<u8> {
        let envelope = Envelope {
            v_minor: V_MINOR,
            msg_id: about.id,
            lab_epoch: self.epoch,
            run: about.run,
            slice: about.slice,
            attempt: about.attempt,
            seq: self.counter.fetch_add(1, Ordering::Relaxed) + 1,
            sent_mono_ns: now_ns,
            message: command,
        };
        seal(&self.key, subject, &envelope)
    }
}
