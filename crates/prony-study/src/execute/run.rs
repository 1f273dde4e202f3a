//! One run: the plan of its cell with everything filled in, measured, as it is stored.

use prony_model::{
    CapacityResult, ExecPlan, ExecResult, Finding, FindingCode, FleetResult, RunResult, Severity, TlsChoices,
    Verdict, capacity_to_json, exec_to_json, fleet_to_json, plain_spelling, probe_to_json, to_json,
};

use super::{StudyEvent, Watch, search};
use crate::agents::Led;
use crate::study::CellLoad;
use crate::target::{Values, fill, parsed};

/// What a run brought.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// As it is stored.
    pub(super) text: String,
    pub(super) verdict: Option<Verdict>,
    /// What makes it doubtful: warnings and worse.
    pub(super) doubts: Vec<FindingCode>,
    /// Why it is worth making again; nothing if it is not.
    pub(super) retry_because: Vec<FindingCode>,
    pub(super) interrupted: bool,
    /// Worth keeping even where it came to no result: the trials of a search.
    pub(super) is_kept_in_part: bool,
    /// The target did not come back from it, and must not be loaded again as it is.
    pub(super) spoils_target: bool,
}

/// Runs `load` with `values` for its placeholders, and `tls` to reach an https target. `name` is the cell's. An error is in
/// words for people.
pub(super) fn measure(
    load: &CellLoad,
    name: &str,
    (values, tls): (&Values, &TlsChoices),
    seed: u64,
    commit: Option<&str>,
    watch: &mut Watch<'_>,
) -> Result<Measured, String> {
    match load {
        CellLoad::Run { url, options, calibration, agents } => {
            let Watch { runner, sink, .. } = watch;
            let target = url_of(name, &url.filled(values), tls)?;
            let plan = options.plan(target, seed).map_err(|error| error.to_string())?;
            let mut on_event = |event| sink(StudyEvent::Run(&event));
            let commit = commit.map(str::to_owned);
            if let Some(agents) = agents {
                let led = runner.run_on_agents(&plan, agents, &mut on_event);
                let Led { fleet, failure, interrupted, .. } = led.map_err(|error| error.to_string())?;
                let Some(mut fleet) = fleet else {
                    return Err(failure.unwrap_or_else(|| "ended by hand".to_owned()));
                };
                fleet.merged.timing.interrupted |= interrupted;
                fleet.merged.target_commit = commit;
                return Ok(Measured {
                    text: fleet_to_json(&fleet),
                    retry_because: passing_causes(&causes(&fleet)),
                    ..of_run(&fleet.merged)
                });
            }
            let mut result =
                runner.run(&plan, *calibration, &mut on_event).map_err(|error| error.to_string())?;
            result.target_commit = commit;
            Ok(Measured { text: to_json(&result), ..of_run(&result) })
        }
        CellLoad::Probe { url, options, count, reuse } => {
            let target = url_of(name, &url.filled(values), tls)?;
            let plan = options.probe(target, *count, *reuse).map_err(|error| error.to_string())?;
            let result = watch.runner.probe(&plan).map_err(|error| error.to_string())?;
            Ok(Measured {
                text: probe_to_json(&result),
                interrupted: result.interrupted,
                ..Measured::default()
            })
        }
        CellLoad::Exec { plan } => {
            let Watch { runner, sink, .. } = watch;
            let plan = filled(plan, values, seed);
            let mut on_event = |event: &_| sink(StudyEvent::Exec(event));
            let result = runner.exec(&plan, &mut on_event).map_err(|error| error.to_string())?;
            Ok(of_exec(&result))
        }
        CellLoad::Capacity { url, options, calibration, agents, search: asked } => {
            let target = url_of(name, &url.filled(values), tls)?;
            let plan = options.plan(target, seed).map_err(|error| error.to_string())?;
            let live = asked.search(plan, plain_spelling).map_err(|problem| problem.to_string())?;
            let result = search::search(&live, *calibration, agents.as_ref(), watch)?;
            Ok(of_search(&result))
        }
    }
}

/// What is known of a load, but for its text.
fn of_run(result: &RunResult) -> Measured {
    Measured {
        text: String::new(),
        verdict: Some(result.verdict),
        doubts: doubts(&result.findings),
        retry_because: passing_causes(&result.findings),
        interrupted: result.timing.interrupted,
        ..Measured::default()
    }
}

/// What is known of a series of commands.
fn of_exec(result: &ExecResult) -> Measured {
    Measured {
        text: exec_to_json(result),
        verdict: Some(result.verdict),
        doubts: doubts(&result.findings),
        retry_because: passing_causes(&result.findings),
        interrupted: result.timing.interrupted,
        ..Measured::default()
    }
}

/// What is known of a search. It has repeated its void trials itself: there is nothing to retry.
fn of_search(result: &CapacityResult) -> Measured {
    let is_gone = |finding: &Finding| finding.code == FindingCode::NotRecovered;
    Measured {
        text: capacity_to_json(result),
        verdict: Some(result.verdict),
        doubts: doubts(&result.findings),
        interrupted: result.interrupted,
        is_kept_in_part: !result.trials.is_empty(),
        spoils_target: result.findings.iter().any(is_gone),
        ..Measured::default()
    }
}

/// The findings on all agents together, and in place of "an agent is invalid" what made it so.
fn causes(fleet: &FleetResult) -> Vec<Finding> {
    let together = fleet.merged.findings.iter().filter(|finding| finding.code != FindingCode::AgentInvalid);
    let own = fleet.agents.iter().filter_map(|agent| agent.result.as_ref());
    together.chain(own.flat_map(|result| &result.findings)).cloned().collect()
}

/// Each warning and worse, once.
fn doubts(findings: &[Finding]) -> Vec<FindingCode> {
    let mut codes: Vec<FindingCode> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.severity > Severity::Note) {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    codes
}

/// The causes of an invalid result, if all of them lie with the machine or the client; a failure of the server, or of
/// the plan, is a result. No number that was measured is looked at.
fn passing_causes(findings: &[Finding]) -> Vec<FindingCode> {
    let invalid = findings.iter().filter(|finding| finding.severity == Severity::Invalid);
    let mut causes: Vec<FindingCode> = Vec::new();
    for finding in invalid {
        if !causes.contains(&finding.code) {
            causes.push(finding.code);
        }
    }
    if causes.iter().all(|code| code.is_passing()) { causes } else { Vec::new() }
}

fn url_of(name: &str, url: &str, tls: &TlsChoices) -> Result<prony_model::Target, String> {
    parsed(name, url, tls).map_err(|error| error.to_string())
}

/// `plan` with everything filled in.
fn filled(plan: &ExecPlan, values: &Values, seed: u64) -> ExecPlan {
    let mut plan = ExecPlan { seed, ..plan.clone() };
    for command in &mut plan.commands {
        let around = [&mut command.setup, &mut command.prepare, &mut command.conclude, &mut command.cleanup];
        for line in around.into_iter().flatten() {
            *line = fill(line, values);
        }
        for start_up in &mut command.start_up {
            start_up.line = fill(&start_up.line, values);
        }
        command.name = fill(&command.name, values);
        command.line = fill(&command.line, values);
    }
    plan
}

#[cfg(test)]
mod tests {
    use prony_model::FleetAgent;

    use super::*;

    fn check(findings: &[(FindingCode, Severity)], expected: &[FindingCode]) {
        let finding = |(code, severity): &(FindingCode, Severity)| Finding {
            code: *code,
            severity: *severity,
            evidence: Vec::new(),
            message: String::new(),
            advice: String::new(),
        };
        let findings: Vec<Finding> = findings.iter().map(finding).collect();
        assert_eq!(passing_causes(&findings), expected);
    }

    #[test]
    fn what_made_an_agent_invalid_counts_and_not_that_it_was() {
        use FindingCode as Code;
        let mut own: RunResult = prony_model::from_json(include_str!("../../../prony/tests/it/stored.json"))
            .expect("a stored run");
        let mut merged = own.clone();
        let mut check =
            |of_agent: (FindingCode, Severity), together: &[FindingCode], expected: &[FindingCode]| {
                let finding = |(code, severity)| Finding {
                    code,
                    severity,
                    evidence: Vec::new(),
                    message: String::new(),
                    advice: String::new(),
                };
                own.findings = vec![finding(of_agent)];
                merged.findings = together.iter().map(|code| finding((*code, Severity::Invalid))).collect();
                let agent = FleetAgent {
                    name: "a".to_owned(),
                    clock: None,
                    start_late_ns: None,
                    measured_ns: None,
                    result: Some(Box::new(own.clone())),
                    absence: None,
                };
                let fleet = FleetResult {
                    format: String::new(),
                    version: 1,
                    verdict: Verdict::Invalid,
                    agents: vec![agent.clone(), agent],
                    start_spread: None,
                    overlap_share: None,
                    server_agent: None,
                    merged: merged.clone(),
                };
                assert_eq!(passing_causes(&causes(&fleet)), expected, "{of_agent:?} {together:?}");
            };
        let invalid = |code| (code, Severity::Invalid);
        check(invalid(Code::RunQueueWait), &[Code::AgentInvalid], &[Code::RunQueueWait]);
        check(invalid(Code::ClientCpu), &[Code::AgentInvalid], &[]);
        check(invalid(Code::Steal), &[Code::AgentInvalid, Code::AgentsDisagree], &[]);
        check((Code::Steal, Severity::Warning), &[Code::AgentLost], &[]);
    }

    #[test]
    fn only_what_passes_is_made_again() {
        use FindingCode as Code;
        check(&[], &[]);
        check(&[(Code::Steal, Severity::Warning)], &[]);
        check(&[(Code::Steal, Severity::Invalid), (Code::NoSuccess, Severity::Warning)], &[Code::Steal]);
        check(&[(Code::Steal, Severity::Invalid), (Code::NoSuccess, Severity::Invalid)], &[]);
        check(&[(Code::ClientCpu, Severity::Invalid)], &[]);
        check(
            &[(Code::SendLag, Severity::Invalid), (Code::TailBlame, Severity::Invalid)],
            &[Code::SendLag, Code::TailBlame],
        );
    }
}
