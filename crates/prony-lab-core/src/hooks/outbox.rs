//! Empties the outbox.

use std::path::PathBuf;
use std::time::Duration;

use hmac::Mac as _;

use super::failure::Failure;
use super::forge;
use super::mail::Mailer;
use crate::egress;
use crate::event_cursor::{AFTER_ERROR, POLL_INTERVAL};
use prony_lab_model::auth::{hexadecimal, hmac};
use prony_lab_model::clock::{self, Moment};
use prony_lab_store::hooks::{self, Delivery, Recipient};
use prony_lab_store::{Store, StoreError, statuses};

/// Deliveries at once: one that doesn't answer must not hold up all others.
const AT_ONCE: u32 = 8;
/// How long one may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Tries, with pauses that grow from 10 s by four times each, up to an hour: half a day in all.
const ATTEMPTS_MAX: u32 = 16;
/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_hours(1);
/// How long it can be seen what was given up.
const KEPT: Duration = Duration::from_hours(30 * 24);
/// How often that is cleared.
const CLEARED_EVERY: Duration = Duration::from_hours(1);
/// How often to check the clock for due deliveries while nothing happens.
const IDLE: Duration = Duration::from_secs(1);

/// What is to be sent, and how.
pub(super) struct Outbox {
    store: Store,
    mailer: Option<Mailer>,
    /// The lab's folder, with the key of its secrets.
    data: PathBuf,
    /// What of the store was seen when there was nothing to do, and when.
    idle: Option<(u64, Moment)>,
    cleared: Option<Moment>,
}

impl Outbox {
    pub(super) fn new(store: Store, mailer: Option<Mailer>, data: PathBuf) -> Self {
        Self { store, mailer, data, idle: None, cleared: None }
    }

    /// Sends some of what is due `now`; how long to wait before the next turn.
    pub(super) fn turn(&mut self, now: Moment) -> Duration {
        let version = self.store.version();
        // A jump of the clock backwards counts as time, too.
        let is_idle = |(seen, at): (u64, Moment)| seen == version && now >= at && now.since(at) < IDLE;
        if self.idle.is_some_and(is_idle) {
            return POLL_INTERVAL;
        }
        match self.send_due(now).and_then(|tried| self.clear(now).map(|()| tried)) {
            Ok(0) => {
                self.idle = Some((version, now));
                POLL_INTERVAL
            }
            Ok(_) => Duration::ZERO,
            Err(_) => AFTER_ERROR,
        }
    }

    /// Sends at most [`AT_ONCE`]; how many were tried.
    fn send_due(&self, now: Moment) -> Result<usize, StoreError> {
        let due = self.store.read_blocking(|tx| hooks::due(tx, now, AT_ONCE))?;
        let ended: Vec<(&Delivery, Result<(), Failure>)> = std::thread::scope(|scope| {
            let started: Vec<_> =
                due.iter().map(|delivery| (delivery, scope.spawn(|| self.one(delivery)))).collect();
            let ended = |result: std::thread::Result<Result<(), Failure>>| {
                result.unwrap_or_else(|_| Err(Failure::passing("it panicked; this is a fault of prony")))
            };
            started.into_iter().map(|(delivery, thread)| (delivery, ended(thread.join()))).collect()
        });
        let count = ended.len();
        let ended: Vec<_> =
            ended.into_iter().map(|(it, result)| (it.id, it.project(), it.attempts, result)).collect();
        if count > 0 {
            self.store.write_blocking(move |tx| {
                for (id, project, attempts, result) in ended {
                    match (result, project) {
                        (Ok(()), Some(project)) => statuses::delivered(tx, project, id, now)?,
                        (Ok(()), None) => hooks::delivered(tx, id)?,
                        (Err(failure), _) => {
                            let pause = pause_after(attempts + 1).filter(|_| !failure.is_final);
                            let next = pause.map(|pause| now.after(pause));
                            hooks::undelivered(tx, id, &failure.why, now, next)?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(count)
    }

    fn one(&self, delivery: &Delivery) -> Result<(), Failure> {
        match &delivery.to {
            Recipient::Mail(to) => match &self.mailer {
                Some(mailer) => mailer.send(to, &delivery.body).map_err(Failure::passing),
                None => Err(Failure::passing("the lab was started without --mail-command")),
            },
            Recipient::Forge(project) => {
                forge::send(&self.store, &self.data, *project, &delivery.body, TIMEOUT)
            }
            Recipient::Hook { url, secret, created_by, .. } => {
                self.post(delivery, url, secret, created_by).map_err(Failure::passing)
            }
        }
    }

    fn post(&self, delivery: &Delivery, url: &str, secret: &str, created_by: &str) -> Result<(), String> {
        let client = egress::client(&self.store, created_by, TIMEOUT).map_err(|error| error.to_string())?;
        let answer = client
            .post(url)
            .header("content-type", "application/json")
            .header("x-prony-delivery", delivery.id.to_string())
            .header("x-prony-signature", signature(secret, delivery.body.as_bytes()))
            .header("x-prony-signed", signed(secret, &delivery.body, clock::wall()))
            .send(delivery.body.as_bytes())
            .map_err(|error| egress::words(&error))?;
        if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status())) }
    }

    fn clear(&mut self, now: Moment) -> Result<(), StoreError> {
        if self.cleared.is_none_or(|last| now.since(last) >= CLEARED_EVERY) {
            let before = now.before(KEPT);
            self.store.write_blocking(move |tx| hooks::forget(tx, before))?;
            self.cleared = Some(clock::wall().max(now));
        }
        Ok(())
    }
}

/// The pause after so many tries; `None` where that was the last one.
fn pause_after(attempts: u32) -> Option<Duration> {
    let pause = FIRST_PAUSE.saturating_mul(4_u32.saturating_pow(attempts.saturating_sub(1)));
    (attempts < ATTEMPTS_MAX).then_some(pause.min(LAST_PAUSE))
}

/// `sha256=` and the HMAC-SHA256 of the body with the hook's secret, in hexadecimal digits: as GitHub signs.
pub(super) fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = hmac(secret.as_bytes());
    mac.update(body);
    format!("sha256={}", hexadecimal(&mac.finalize().into_bytes()))
}

/// The same over the time, in seconds since 1970, and the body: who compares it with their clock takes no old message.
pub(super) fn signed(secret: &str, body: &str, now: Moment) -> String {
    let seconds = now.0 / 1000;
    format!("t={seconds},{}", signature(secret, format!("{seconds}.{body}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_with_a_time_is_over_both() {
        let text = signed("secret", "{}", Moment(1_700_000_000_999));
        assert_eq!(text, format!("t=1700000000,{}", signature("secret", b"1700000000.{}")));
        assert_ne!(text, signed("secret", "{}", Moment(1_700_000_001_000)));
    }

    #[test]
    fn the_signature_is_that_of_the_standard() {
        // RFC 4231, 4.3: test case 2.
        assert_eq!(
            signature("Jefe", b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<_> = (1..=5).map(|tries| pause_after(tries).map(|pause| pause.as_secs())).collect();
        assert_eq!(pauses, [Some(10), Some(40), Some(160), Some(640), Some(2560)]);
        assert_eq!(pause_after(15), Some(LAST_PAUSE));
        assert_eq!(pause_after(ATTEMPTS_MAX), None);
    }
}
