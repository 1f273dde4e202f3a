//! The limits that lie between client and server: the rate that was asked for, and the link.

use super::evaluate::limiter;
use super::facts::Facts;
use super::{Limiter, LimiterKind};
use crate::words::{percent, two_digits, whole};

/// Shares of the asked rate that count as reached: sent, answered.
const REACHED: (f64, f64) = (0.99, 0.97);
/// Share of the link's speed that is its limit: headers of the layers below take some of it.
const LINK_SHARE: f64 = 0.85;

/// The asked rate was reached.
pub(super) fn chosen(facts: &Facts) -> Option<Limiter> {
    let asked = facts.asked_rate?;
    if facts.sent_share < REACHED.0 || facts.rate < asked * REACHED.1 {
        return None;
    }
    let busy = facts.server.as_ref().map(|server| server.top().cpu);
    let spare = match busy {
        Some(share) => format!(" (the server's busiest thread used {} of a core)", percent(share)),
        None => String::new(),
    };
    let mut evidence = vec![("asked", asked, "per_s"), ("answered", facts.rate, "per_s")];
    evidence.extend(busy.map(|share| ("busiest_thread", share, "share")));
    let reached = match facts.asked_sessions {
        None => format!("{} /s were asked for and answered", whole(asked)),
        Some(sessions) => {
            let sessions = if sessions < 10.0 { two_digits(sessions).to_string() } else { whole(sessions) };
            format!("{sessions} sessions/s were asked for and their requests answered")
        }
    };
    let sentence = format!("the chosen rate: {reached}; for twice that, ask for it{spare}");
    Some(limiter(LimiterKind::ChosenRate, sentence, &evidence))
}

/// The link is full.
pub(super) fn network(facts: &Facts) -> Option<Limiter> {
    let share = facts.link_share.filter(|share| *share >= LINK_SHARE)?;
    let sentence = format!(
        "the network: the link carried {} of what it can; for twice the rate it takes a faster link or smaller answers",
        percent(share)
    );
    Some(limiter(LimiterKind::Network, sentence, &[("link", share, "share")]))
}
