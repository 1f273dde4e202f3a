//! What came of a trial, by its result: carried, not carried, or nothing that can be defended.

use prony_model::words::{grouped, milliseconds, percent, percent_of, two_digits, whole};
use prony_model::{
    CapacityLimit, CapacityTrial, EvaluatedThreshold, Figure, LatencySummary, Level, Operator, PlainFigure,
    Problem, RunResult, StepFigure, Threshold, ThresholdOutcome, TrialOutcome, TrialPurpose, TrialTimes,
    Unit,
};

use crate::fault::{Fault, fault_of_client, invalid_codes, limited_by_network};
use crate::loads::Loaded;

/// Share of the offered load that must be delivered.
const DELIVERED: f64 = 0.99;

/// What is required of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Objectives {
    /// All of these.
    pub thresholds: Vec<Threshold>,
    /// Share of the requests that may fail, time out or never be sent.
    pub errors_max: f64,
}

impl Objectives {
    /// Refuses what is no objective of a load: it must be about how requests are answered, and a bound on what grows worse
    /// with the load.
    pub fn check(&self) -> Result<(), Problem> {
        for threshold in &self.thresholds {
            let is_upper = matches!(threshold.operator, Operator::Below | Operator::AtMost);
            let is_lower = matches!(threshold.operator, Operator::Above | Operator::AtLeast);
            let fits = match threshold.figure {
                Figure::Plain(PlainFigure::Success | PlainFigure::Checks | PlainFigure::SessionsSuccess)
                | Figure::Step(_, StepFigure::Success) => is_lower,
                Figure::Latency(..)
                | Figure::Step(..)
                | Figure::Errors(_)
                | Figure::Status(_)
                | Figure::StatusClass(_)
                | Figure::Plain(
                    PlainFigure::Errors
                    | PlainFigure::ServerCpu
                    | PlainFigure::ServerBusiestThread
                    | PlainFigure::ServerCpuPerRequest
                    | PlainFigure::ServerMemory,
                ) => is_upper,
                _ => false,
            };
            if !fits {
                return Err(Problem::new(
                    format!("`{threshold}` does not bound what grows worse with the load"),
                    "bound a time, errors, success or the server's use: response.p99 < 50ms, success > 99.9%, \
                     server.cpu < 80%",
                ));
            }
            if is_impossible(threshold) {
                return Err(Problem::new(
                    format!("`{threshold}` can't be met by any server"),
                    "allow what a good one does: success >= 100%, errors <= 0%, or a time above 0",
                ));
            }
        }
        Ok(())
    }

    /// Requests that a trial needs so that each quantile has ten slower ones, with some to spare.
    pub(super) fn requests_needed(&self) -> f64 {
        /// Ten exceedances, and a tenth more, as failures and the drain take some.
        const EXCEEDANCES: f64 = 11.0;
        let quantile = |threshold: &Threshold| match threshold.figure {
            Figure::Latency(_, level)
            | Figure::Step(_, StepFigure::Response(level) | StepFigure::Service(level)) => level.quantile(),
            _ => None,
        };
        let needed = self.thresholds.iter().filter_map(quantile).map(|q| EXCEEDANCES / (1.0 - q).max(1e-6));
        needed.fold(EXCEEDANCES, f64::max)
    }

    /// What came of a trial, and why; of a void one also what made it so.
    fn evaluate(&self, loaded: &Loaded, delivered_per_s: f64) -> Evaluated {
        let judgement = self.failure(&loaded.result, delivered_per_s);
        if let Some(fault) = fault_of_client(loaded) {
            return disturbed(fault, judgement);
        }
        match (judgement, limited_by_network(loaded)) {
            (Judgement::Failed(_), Some(network)) => Evaluated::void(CapacityLimit::Network, network),
            (Judgement::Failed(reason), None) => Evaluated::clear(TrialOutcome::Failed, reason),
            (Judgement::Unknown(reason), _) => Evaluated::void(CapacityLimit::Machine, reason),
            (Judgement::Passed(reason), _) => Evaluated::clear(TrialOutcome::Passed, reason),
        }
    }

    fn failure(&self, result: &RunResult, delivered_per_s: f64) -> Judgement {
        let requests = &result.requests;
        let bad = requests.failed + requests.censored + requests.never_sent;
        let share = bad as f64 / requests.intended.max(1) as f64;
        if requests.intended == 0 {
            return Judgement::Unknown("no request was due".to_owned());
        }
        if share > self.errors_max {
            return Judgement::Failed(format!(
                "{} of {} requests had no good answer{}, more than {}",
                percent_of(bad, requests.intended),
                grouped(requests.intended),
                kinds(result),
                percent(self.errors_max)
            ));
        }
        let mut passed = Vec::new();
        for threshold in &self.thresholds {
            let evaluated = evaluated(threshold, result);
            let measured = measured(&evaluated);
            match evaluated.outcome {
                ThresholdOutcome::Missed => {
                    return Judgement::Failed(format!("{measured}, not {}", bound(threshold)));
                }
                ThresholdOutcome::Undecided => {
                    let reason = evaluated.reason.unwrap_or_else(|| "it is not known".to_owned());
                    return Judgement::Unknown(format!("{}: {reason}", threshold.figure));
                }
                ThresholdOutcome::Met => passed.push(measured),
            }
        }
        // Random arrivals may have been fewer than were asked for.
        let due_per_s = requests.intended as f64 / result.timing.measured_s.max(1e-9);
        match result.rate.asked_per_s.map(|asked| asked.min(due_per_s)) {
            Some(due) if delivered_per_s < DELIVERED * due => Judgement::Failed(format!(
                "{} /s of {} /s came back: a queue grew",
                whole(delivered_per_s),
                whole(due)
            )),
            _ => Judgement::Passed(passed.join(", ")),
        }
    }
}

/// Of a trial with `fault`: it passed if it did nevertheless, and else says nothing about the server.
fn disturbed(fault: Fault, judgement: Judgement) -> Evaluated {
    let Fault { limit, reason, only_worsens } = fault;
    match judgement {
        Judgement::Passed(measured) if only_worsens => Evaluated {
            outcome: TrialOutcome::Passed,
            reason: format!("{measured}, although {reason}"),
            void_by: None,
            is_disturbed: true,
        },
        Judgement::Failed(_) if only_worsens => {
            Evaluated { is_disturbed: true, ..Evaluated::void(limit, reason) }
        }
        _ => Evaluated::void(limit, reason),
    }
}

/// Shares lie within 0 and 1, and nothing that is measured is below 0.
fn is_impossible(threshold: &Threshold) -> bool {
    let Some(bound) = threshold.bound_in_unit() else { return false };
    match threshold.operator {
        Operator::Below => bound <= 0.0,
        Operator::AtMost => bound < 0.0,
        Operator::Above => threshold.figure.unit() == Unit::Share && bound >= 1.0,
        Operator::AtLeast => threshold.figure.unit() == Unit::Share && bound > 1.0,
        _ => false,
    }
}

enum Judgement {
    Passed(String),
    Failed(String),
    Unknown(String),
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evaluated {
    pub(super) outcome: TrialOutcome,
    pub(super) reason: String,
    pub(super) void_by: Option<CapacityLimit>,
    /// Client or machine were in the way: a trial that passed did so nevertheless, a void one missed its objectives.
    pub(super) is_disturbed: bool,
}

impl Evaluated {
    /// The load may have been more than the server carries, and a queue may be left.
    pub(super) fn is_overload(&self) -> bool {
        match self.outcome {
            TrialOutcome::Passed => false,
            TrialOutcome::Failed => true,
            TrialOutcome::Void => self.is_disturbed || self.void_by == Some(CapacityLimit::Server),
        }
    }

    fn clear(outcome: TrialOutcome, reason: String) -> Self {
        Self { outcome, reason, void_by: None, is_disturbed: false }
    }

    pub(super) fn void(limit: CapacityLimit, reason: String) -> Self {
        Self { outcome: TrialOutcome::Void, reason, void_by: Some(limit), is_disturbed: false }
    }
}

/// What came of the trial of `loaded`.
pub(super) fn evaluate(loaded: &Loaded, objectives: &Objectives, purpose: TrialPurpose) -> Evaluated {
    if purpose == TrialPurpose::Users {
        of_users(loaded)
    } else {
        objectives.evaluate(loaded, delivered(&loaded.result))
    }
}

/// The trial of `loaded`, of which `evaluated` came.
pub(super) fn trial(
    loaded: &Loaded,
    evaluated: &Evaluated,
    objectives: &Objectives,
    purpose: TrialPurpose,
    planned_s: f64,
) -> CapacityTrial {
    let Loaded { result, agents } = loaded;
    let delivered_per_s = delivered(result);
    let rate_per_s = result.rate.asked_per_s.unwrap_or(delivered_per_s);
    let requests = &result.requests;
    let shares = result.client.threads.iter().map(|thread| thread.cpu_share_peak);
    let with_result = agents.iter().filter(|agent| agent.result.is_some());
    let figures = result.figures();
    CapacityTrial {
        purpose,
        rate_per_s,
        users: (purpose == TrialPurpose::Users).then(|| result.plan.load.connections()),
        agents: with_result.map(|agent| agent.name.clone()).collect(),
        started_at: result.timing.started_at.clone(),
        planned_s,
        measured_s: result.timing.measured_s,
        outcome: evaluated.outcome,
        reason: evaluated.reason.clone(),
        objectives: objectives
            .thresholds
            .iter()
            .map(|threshold| self::evaluated(threshold, result))
            .collect(),
        requests: requests.intended,
        failed: requests.failed,
        failed_by_kind: requests.failed_by_kind.clone(),
        unanswered: requests.censored + requests.never_sent,
        delivered_per_s,
        response: times(figures.response),
        service: times(figures.service),
        verdict: result.verdict,
        invalid: invalid_codes(loaded),
        limiter: result.limiter.clone(),
        client_cpu_share: shares.fold(0.0, f64::max),
        recovered_after_s: None,
    }
}

/// The trial of users who make their own rate: void, or not. A client that is in the way makes that rate lower.
fn of_users(loaded: &Loaded) -> Evaluated {
    if let Some(Fault { limit, reason, .. }) = fault_of_client(loaded) {
        return Evaluated::void(limit, reason);
    }
    if loaded.result.requests.done == 0 {
        return Evaluated::clear(TrialOutcome::Failed, "no response was good".to_owned());
    }
    Evaluated::clear(TrialOutcome::Passed, String::new())
}

/// By the figure alone: a run that is INVALID because of the server is evaluated, too.
fn evaluated(threshold: &Threshold, result: &RunResult) -> EvaluatedThreshold {
    let reading = threshold.figure.reading(result);
    threshold.evaluated(&reading, None, threshold.of_reading(&reading))
}

/// Good responses per second, as they would be counted in a steady state: as many requests are under way at the end of the
/// measured part as at its beginning, and what is more is a queue that grew.
fn delivered(result: &RunResult) -> f64 {
    let (requests, measured_s) = (&result.requests, result.timing.measured_s.max(1e-9));
    let in_time = result.rate.done_per_s * measured_s;
    let late = (requests.done as f64 - in_time).max(0.0);
    let Some(asked) = result.rate.asked_per_s else {
        return result.rate.whole_rounds_per_s.unwrap_or(result.rate.done_per_s);
    };
    let at_beginning =
        result.series.first().and_then(|second| second.p50_ms).unwrap_or_default() / 1e3 * asked;
    (in_time + late.min(at_beginning)) / measured_s
}

fn times(summary: &LatencySummary) -> TrialTimes {
    let quantile = |key: &str| summary.quantiles_ms.get(key).copied().flatten();
    TrialTimes {
        count: summary.count,
        p50_ms: quantile("0.5"),
        p99_ms: quantile("0.99"),
        max_ms: summary.max_ms,
    }
}

/// ` (12 reset, 3 request-timeout, 7 unanswered)`.
fn kinds(result: &RunResult) -> String {
    let requests = &result.requests;
    let failed = requests.failed_by_kind.iter().map(|(kind, count)| (kind.name(), *count));
    let open = [("unanswered", requests.censored), ("never sent", requests.never_sent)];
    let all = failed.chain(open).filter(|(_, count)| *count > 0);
    let parts: Vec<String> = all.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// `response.p99 61.2 ms`.
fn measured(evaluated: &EvaluatedThreshold) -> String {
    let Some(value) = evaluated.measured else { return format!("{} withheld", evaluated.figure) };
    format!("{} {}", evaluated.figure, amount(evaluated.figure, value))
}

/// `< 50ms`, as it was typed.
fn bound(threshold: &Threshold) -> String {
    let text = threshold.to_string();
    text.strip_prefix(&threshold.figure.to_string()).unwrap_or(&text).trim().to_owned()
}

fn amount(figure: Figure, value: f64) -> String {
    match figure.unit() {
        Unit::Milliseconds => milliseconds(value),
        Unit::Share => percent(value),
        unit => format!("{} {}", two_digits(value), unit.name()),
    }
}

/// The least time that is required, milliseconds.
pub(super) fn least_time_ms(objectives: &Objectives) -> Option<f64> {
    let times = objectives
        .thresholds
        .iter()
        .filter(|threshold| matches!(threshold.figure, Figure::Latency(_, level) if level != Level::Min));
    times.filter_map(Threshold::bound_in_unit).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests;
