//! How much load is allowed at most, for one load and for one user.

use std::time::Duration;

use prony_model::{Load, RunPlan};
use serde::{Deserialize, Serialize};

use super::{Policy, Refusal};

/// What a request weighs beside its path, its headers and its body: method, version, the headers that Prony adds.
const HEAD_BYTES: u64 = 64;

/// The most of one load. One target has one load at a time, so this is also the most of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Requests per second.
    pub rate_per_s: u32,
    /// Connections at once.
    pub connections: u32,
    /// Warm-up and measured part together, in seconds.
    pub duration_s: u32,
    /// Bytes sent over the whole load.
    pub bytes: u64,
}

impl Caps {
    /// For machines of one's own: more than one machine can do, for an hour, and no more than a disk full.
    pub const OWN: Self =
        Self { rate_per_s: 1_000_000, connections: 20_000, duration_s: 3_600, bytes: 1 << 40 };
    /// For servers in the open: what a site of modest size bears, for as long as a first look needs.
    pub const PUBLIC: Self = Self { rate_per_s: 200, connections: 50, duration_s: 120, bytes: 1 << 30 };
}

/// The most that one user has queued and running together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserCaps {
    /// Builds.
    pub builds: u32,
}

impl Default for UserCaps {
    /// A week of one build every ten minutes: more is a script that went wrong.
    fn default() -> Self {
        Self { builds: 1_000 }
    }
}

/// What one user has queued and running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// Builds.
    pub builds: u64,
}

impl Policy {
    /// Whether `plan` is no more than allowed; `public` where an address that it goes to is.
    pub fn check_plan(&self, plan: &RunPlan, public: bool) -> Result<(), Refusal> {
        let caps = if public { self.public_caps } else { self.caps };
        let whom = if public { "on a public address" } else { "in one load" };
        let too_much =
            |what, requested: String, allowed: String| Refusal::TooMuch { what, requested, allowed, whom };
        if let Some(peak) = plan.load.peak_per_s() {
            if peak > f64::from(caps.rate_per_s) {
                let requested = format!("{peak:.0}");
                return Err(too_much("requests per second", requested, caps.rate_per_s.to_string()));
            }
        } else if public {
            return Err(Refusal::ClosedLoop);
        }
        let connections = plan.load.connections();
        if connections > caps.connections {
            return Err(too_much("connections", connections.to_string(), caps.connections.to_string()));
        }
        let duration = plan.end.duration().ok_or(Refusal::Endless)?.saturating_add(plan.warmup);
        if duration > Duration::from_secs(caps.duration_s.into()) {
            let requested = format!("{:.0}", duration.as_secs_f64());
            return Err(too_much("seconds", requested, caps.duration_s.to_string()));
        }
        let bytes = bytes_sent(plan, caps, duration);
        if bytes > caps.bytes {
            return Err(too_much("bytes", bytes.to_string(), caps.bytes.to_string()));
        }
        Ok(())
    }

    /// Whether users have a limit at all: the highest number there is means none, and then nobody need count.
    pub fn limits_users(&self) -> bool {
        self.user_caps.builds < u32::MAX
    }

    /// Whether a user who has `unfinished` may ask for one more build.
    pub fn check_user(&self, unfinished: Unfinished) -> Result<(), Refusal> {
        if unfinished.builds >= u64::from(self.user_caps.builds) {
            return Err(Refusal::TooMuch {
                what: "unfinished builds",
                requested: (unfinished.builds + 1).to_string(),
                allowed: self.user_caps.builds.to_string(),
                whom: "one user",
            });
        }
        Ok(())
    }
}

/// The bytes that `plan` sends at most. How many requests a closed loop sends is the server's doing: as many as the
/// caps let through.
fn bytes_sent(plan: &RunPlan, caps: Caps, duration: Duration) -> u64 {
    let headers: usize = plan.request.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let known =
        plan.target.path.len() + plan.target.authority.len() + headers + plan.request.body.bytes.len();
    let request_bytes = HEAD_BYTES.saturating_add(known as u64);
    let rate = match plan.load {
        Load::Open { rate_per_s, .. } => rate_per_s.as_per_second().ceil(),
        Load::Closed { .. } => f64::from(caps.rate_per_s),
    };
    // Warm-up requests are sent, too, so a number of requests bounds the measured part only; the time bounds both.
    // Both factors are below 2^53, and the cast saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite and positive; beyond u64 it saturates, which is beyond every cap"
    )]
    let requests = (rate * duration.as_secs_f64()).ceil() as u64;
    requests.saturating_mul(request_bytes)
}
