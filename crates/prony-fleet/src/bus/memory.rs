//! A bus within a process.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Bus, BusError, BusEvent, Sink};
use crate::protocol::Subject;

/// Connects all who are in the same process. Messages are delivered by the thread that publishes them, in order.
#[derive(Clone, Default)]
pub struct Hub {
    members: Arc<Mutex<Vec<Arc<Member>>>>,
}

struct Member {
    patterns: Vec<String>,
    sink: Sink,
}

impl Hub {
    /// A bus that gets what is published on `patterns`, in which `*` is any one part.
    pub fn connect(&self, patterns: &[String], sink: Sink) -> Arc<dyn Bus> {
        sink(BusEvent::Up);
        let member = Arc::new(Member { patterns: patterns.to_vec(), sink });
        self.members.lock().unwrap_or_else(PoisonError::into_inner).push(member);
        Arc::new(self.clone())
    }
}

impl Bus for Hub {
    fn publish(&self, subject: &Subject, payload: Vec<u8>) -> Result<(), BusError> {
        let text = subject.to_string();
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for member in members {
            if member.patterns.iter().any(|pattern| matches(pattern, &text)) {
                (member.sink)(BusEvent::Message { subject: subject.clone(), payload: payload.clone() });
            }
        }
        Ok(())
    }
}

/// Whether a subject is of a pattern.
fn matches(pattern: &str, subject: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split('.'), subject.split('.'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) if wanted == "*" || wanted == part => {}
            _ => return false,
        }
    }
}
