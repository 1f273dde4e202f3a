//! Two servers compared while they are measured: the pairs, what speaks against them, and the verdict.

use prony_model::{
    COMPARISON_FORMAT, COMPARISON_VERSION, ComparedPair, ComparedSide, ComparisonKind, ComparisonResult,
    Load, Metric, MetricComparison, Verdict,
};

use super::block::BlockPair;
use super::doubt::Doubt;
use super::evaluate::{Question, evaluate};
use super::findings::figure_findings;
use super::pairs::{LiveComparison, LiveError, Measured, RunLoad, measure};
use super::requests::{SideRequests, side_requests};

impl LiveComparison {
    /// What is asked; `primary` is the metric that decides, else it follows from the load.
    pub fn question(&self, primary: Option<Metric>, margin: f64) -> Question {
        let closed_loop = matches!(self.plans[0].load, Load::Closed { .. });
        // The rate of sessions that think is that of their think times.
        let is_servers =
            closed_loop && !self.plans[0].scenario.as_ref().is_some_and(|scenario| scenario.thinks());
        let primary = primary.unwrap_or_else(|| Question::usual_primary(is_servers));
        Question { primary, closed_loop, margin, looks: self.looks, seed: self.seed }
    }

    /// Measures A and B with `run`, and passes what counts so far to `on_pair` after each pair. The environment is as
    /// the first load found it.
    pub fn compare<E>(
        &self,
        question: &Question,
        run: &mut RunLoad<'_, E>,
        on_pair: &mut dyn FnMut(&[BlockPair]),
    ) -> Result<ComparisonResult, LiveError<E>> {
        Ok(result(self, question, measure(self, question, run, on_pair)?))
    }
}

/// Everything that is known of a comparison that is over.
fn result(live: &LiveComparison, question: &Question, measured: Measured) -> ComparisonResult {
    let counted: Vec<BlockPair> =
        measured.pairs.iter().filter(|pair| pair.dropped.is_none()).map(|pair| pair.blocks.clone()).collect();
    let mut doubt = Doubt::of(&measured, &counted, live, question.primary);
    let mut metrics = evaluate(&counted, question, doubt.forbidden.as_deref());
    if doubt.is_of_client {
        spare_cpu(&mut metrics, &evaluate(&counted, question, None));
    }
    doubt.silence_tails(&mut metrics);
    doubt.dilute(&mut metrics);
    doubt.add(figure_findings(&counted, &metrics, question));
    let requests = side_requests(&counted);
    let notes = request_notes(&requests);
    let mut sides = measured.sides.into_iter().zip(requests).map(|(side, requests)| ComparedSide {
        name: side.plan.target.to_string(),
        plan: side.plan,
        addresses: side.addresses,
        driver: side.driver,
        requests: requests.requests,
        failed: requests.failed,
        failed_by_kind: requests.failed_by_kind,
        unanswered: requests.unanswered,
    });
    let mut side = || sides.next().expect("invariant: there are two sides");
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: Verdict::from_findings(&doubt.findings),
        kind: ComparisonKind::Interleaved,
        started_at: measured.started_at,
        interrupted: measured.interrupted,
        a: side(),
        b: side(),
        margin: question.margin,
        looks: question.look_plan(),
        seed: Some(live.seed),
        block_s: Some(measured.block.as_secs_f64()),
        metrics,
        pairs: measured
            .pairs
            .into_iter()
            .map(|pair| ComparedPair {
                order: pair.order,
                dropped: pair.dropped.map(str::to_owned),
                a: pair.blocks.0.summary,
                b: pair.blocks.1.summary,
            })
            .collect(),
        looks_taken: measured.looks,
        notes,
        findings: doubt.findings,
        environment: measured.environment,
    }
}

/// A client in the way makes rates and times its own, but not what the server spent on each request.
fn spare_cpu(metrics: &mut [MetricComparison], unforbidden: &[MetricComparison]) {
    for comparison in metrics.iter_mut().filter(|comparison| comparison.metric == Metric::Cpu) {
        if let Some(found) = unforbidden.iter().find(|found| found.metric == Metric::Cpu) {
            comparison.clone_from(found);
        }
    }
}

/// What became of requests that got no good answer.
fn request_notes(requests: &[SideRequests; 2]) -> Vec<String> {
    ["A", "B"].into_iter().zip(requests).filter_map(|(side, requests)| requests.note(side)).collect()
}
