//! What the agent on the server's host found out, with the answers that all others counted.

use prony_model::{
    Evidence, Finding, FindingCode, RunResult, ServerAgent, ServerAgentOutcome, ServerObservation, Severity,
};

use super::pieces::Pieces;
use crate::server::{add_requests, memory_growth};

/// Pieces of time that cover less of the measured part say nothing of the rest of it.
const COVERED_MIN: f64 = 0.95;

/// Adds what `outcome` has to `merged`, which has the counts of so many `agents` by now, and what limited
/// the load.
pub(super) fn add(
    merged: &mut RunResult,
    outcome: ServerAgentOutcome,
    pieces: Option<&Pieces>,
    agents: usize,
) -> ServerAgent {
    let ServerAgentOutcome { name, clock, result } = outcome;
    match result {
        Ok(ServerObservation { mut server, first_sample_ns, environment, machine }) => {
            let answered = Answered::of(merged, pieces);
            let first_s = first_sample_ns as f64 / 1e9;
            add_requests(&mut server, &|at_s| answered.until(first_s + at_s));
            merged.findings.extend(memory_growth(&server));
            server.agent = Some(name.clone());
            merged.server = Some(server);
            merged.server_unknown_because = None;
            merged.find_limiter();
            if let Some(limiter) = &mut merged.limiter {
                limiter.sentence = format!("{} (server measured by the agent {name})", limiter.sentence);
            }
            let (environment, machine) = (Some(environment), Some(machine));
            ServerAgent { name, clock, environment, machine, absence: None }
        }
        Err(absence) => {
            let why = format!("{} {}: {}", name, absence.kind.name(), absence.reason);
            merged.findings.push(Finding {
                code: FindingCode::ServerAgentLost,
                severity: Severity::Note,
                evidence: vec![Evidence::new("agents", agents as f64, "count")],
                message: format!(
                    "the agent on the server's host brought no figures of the server ({why}); the load is as it was asked for"
                ),
                advice: "look at that agent's own output, and run it again if the server's figures are needed"
                    .to_owned(),
            });
            merged.server_unknown_because = Some(format!("the agent {why}"));
            ServerAgent { name, clock, environment: None, machine: None, absence: Some(absence) }
        }
    }
}

/// Answers of all agents over the measured part.
struct Answered {
    total: f64,
    /// Ends of parts of the time, seconds into the measured part, and how much was answered until then, in any unit.
    steps: Vec<(f64, f64)>,
}

impl Answered {
    fn of(merged: &RunResult, pieces: Option<&Pieces>) -> Self {
        let measured_s = merged.timing.measured_s;
        // The server had work with answers that were followed by a retry, too.
        let retried = merged.retries.as_ref().map_or(0, |retries| retries.answers_retried);
        let total = merged.rate.answered_per_s * measured_s + retried as f64;
        let by_piece = pieces.map(|pieces| {
            let length_s = pieces.length_ns as f64 / 1e9;
            let part = |(index, done): (usize, &u64)| ((index + 1) as f64 * length_s, *done as f64);
            pieces.done.iter().enumerate().map(part).collect::<Vec<_>>()
        });
        let by_second = || {
            let part = |point: &prony_model::SecondPoint| {
                let count = point.done.saturating_add(point.failed) as f64;
                (point.second as f64 + point.covered_s.clamp(0.0, 1.0), count)
            };
            merged.series.iter().map(part).collect::<Vec<_>>()
        };
        let covers = |parts: &Vec<(f64, f64)>| {
            let end_s = parts.last().map_or(0.0, |(end_s, _)| *end_s);
            end_s >= COVERED_MIN * measured_s && parts.iter().any(|(_, count)| *count > 0.0)
        };
        let parts = by_piece.filter(covers).or_else(|| Some(by_second()).filter(covers));
        let mut sum = 0.0;
        let steps = parts.unwrap_or_else(|| vec![(measured_s, 1.0)]).into_iter().map(|(end_s, count)| {
            sum += count;
            (end_s, sum)
        });
        Self { total, steps: steps.collect() }
    }

    /// Answers until so many seconds into the measured part; within a part of the time, by the time.
    fn until(&self, at_s: f64) -> f64 {
        let mut before = (0.0, 0.0);
        let all = self.steps.last().map_or(0.0, |(_, count)| *count);
        for &(end_s, count) in &self.steps {
            if at_s < end_s {
                let share = ((at_s - before.0) / (end_s - before.0).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                return self.total * (before.1 + share * (count - before.1)) / all;
            }
            before = (end_s, count);
        }
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn answers_go_by_the_parts_of_the_time() {
        let answered = Answered { total: 40.0, steps: vec![(1.0, 1.0), (2.0, 4.0)] };
        near(answered.until(-1.0), 0.0);
        near(answered.until(0.0), 0.0);
        near(answered.until(0.5), 5.0);
        near(answered.until(1.0), 10.0);
        near(answered.until(1.5), 25.0);
        near(answered.until(2.0), 40.0);
        near(answered.until(9.0), 40.0);
    }
}
