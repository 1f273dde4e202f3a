//! Capacities compared by whether their bounds are apart. Searches were not made in turn, and each has bounds that hold its
//! own capacity; that bounds overlap does not show that two capacities are equal.

use std::collections::BTreeMap;

use prony_model::{
    COMPARISON_FORMAT, COMPARISON_VERSION, CapacityBounds, CapacityResult, ChangeInterval, ComparedSide,
    ComparisonKind, ComparisonMethod, ComparisonOutcome, ComparisonResult, LookPlan, Metric,
    MetricComparison, Verdict, since_1970,
};

use super::stored::{IncomparableRuns, StoredQuestion};

/// One search, and what its file is called.
#[derive(Debug)]
pub struct StoredSearch {
    /// What its file is called.
    pub name: String,
    /// The search.
    pub result: CapacityResult,
}

/// Compares the searches of A with those of B, at least one on each side. Searches with other settings are refused, or by
/// force compared without a verdict.
pub fn compare_searches(
    [a, b]: [Vec<StoredSearch>; 2],
    asked: &StoredQuestion,
) -> Result<ComparisonResult, IncomparableRuns> {
    let differences = differences(&a, &b);
    if !differences.is_empty() && !asked.force {
        return Err(IncomparableRuns::Different(differences));
    }
    let bounds = |searches: &[StoredSearch]| -> Vec<CapacityBounds> {
        searches.iter().map(|search| CapacityBounds::of_reading(&search.result.reading())).collect()
    };
    let mut metric = compare_bounds(&bounds(&a), &bounds(&b), asked.margin);
    if !differences.is_empty() {
        let reason = "these searches can't be compared: see the notes".to_owned();
        metric.outcome = ComparisonOutcome::NoVerdict { reason };
    }
    let (first, other) = (&a[0].result, &b[0].result);
    let is_earlier = since_1970(&first.started_at) <= since_1970(&other.started_at);
    let began = if is_earlier { first } else { other };
    Ok(ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: Verdict::Valid,
        kind: ComparisonKind::Searches,
        started_at: began.started_at.clone(),
        interrupted: false,
        a: side(&a),
        b: side(&b),
        margin: asked.margin,
        looks: LookPlan::Once,
        seed: None,
        block_s: None,
        pairs: Vec::new(),
        looks_taken: Vec::new(),
        metrics: vec![metric],
        notes: differences,
        findings: Vec::new(),
        environment: first.environment.clone(),
    })
}

/// B against A by the bounds of their searches, those of several taken together.
pub(crate) fn compare_bounds(a: &[CapacityBounds], b: &[CapacityBounds], margin: f64) -> MetricComparison {
    let pairs = a.len().min(b.len()) as u64;
    let around = |all| CapacityBounds::around(all).unwrap_or_default();
    let (a, b) = (around(a), around(b));
    let ratio = |over: Option<f64>, under: Option<f64>| {
        over.zip(under.filter(|under| *under > 0.0)).map(|(over, under)| over / under - 1.0)
    };
    // The least and the most that the bounds allow.
    let (low, high) = (ratio(b.low, a.high), ratio(b.high, a.low));
    let is_unknown = |bounds: &CapacityBounds| bounds.low.is_none() && bounds.high.is_none();
    let outcome = if is_unknown(&a) || is_unknown(&b) {
        ComparisonOutcome::NoVerdict { reason: "no search found a bound on one of the sides".to_owned() }
    } else if b.are_below(&a) {
        match high {
            Some(high) if high <= -margin => ComparisonOutcome::Slower,
            _ => ComparisonOutcome::SlowerSizeUncertain,
        }
    } else if a.are_below(&b) {
        match low {
            Some(low) if low >= margin => ComparisonOutcome::Faster,
            _ => ComparisonOutcome::FasterSizeUncertain,
        }
    } else {
        ComparisonOutcome::NoDifferenceSeen
    };
    MetricComparison {
        metric: Metric::Capacity,
        primary: true,
        method: ComparisonMethod::Bounds,
        pairs,
        a: a.estimate,
        b: b.estimate,
        change: ratio(b.estimate, a.estimate),
        interval: low.zip(high).map(|(low, high)| ChangeInterval { low, high }),
        spread: None,
        p: None,
        differs: a.are_below(&b) || b.are_below(&a),
        outcome,
    }
}

/// All settings that differ from those of the first search, each once.
fn differences(a: &[StoredSearch], b: &[StoredSearch]) -> Vec<String> {
    let reference = &a[0];
    let one = &reference.result;
    let mut found = Vec::new();
    for stored in a.iter().chain(b) {
        let other = &stored.result;
        let differ = [
            ("what is varied", one.method.varied != other.method.varied),
            ("the objectives", one.objectives != other.objectives),
            ("the share of errors", one.errors_max.total_cmp(&other.errors_max).is_ne()),
            (
                "the request (method, headers, body, version, keep-alive, pipeline)",
                one.plan.request != other.plan.request,
            ),
            ("the scenario", one.plan.scenario != other.plan.scenario),
            ("what makes an answer good", one.plan.checks != other.plan.checks),
            ("the threads", one.plan.threads != other.plan.threads),
            ("the machine", one.environment.fingerprint() != other.environment.fingerprint()),
        ];
        let of = |what: &str| format!("{} and {} differ in {what}", reference.name, stored.name);
        found.extend(differ.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| of(what)));
    }
    found
}

fn side(searches: &[StoredSearch]) -> ComparedSide {
    let StoredSearch { name, result } = &searches[0];
    let trials = || searches.iter().flat_map(|search| &search.result.trials);
    let mut failed_by_kind = BTreeMap::new();
    for (kind, count) in trials().flat_map(|trial| &trial.failed_by_kind) {
        *failed_by_kind.entry(*kind).or_default() += count;
    }
    let more = if searches.len() > 1 { format!(" and {} more", searches.len() - 1) } else { String::new() };
    ComparedSide {
        name: format!("{} ({name}{more})", result.plan.target),
        plan: result.plan.clone(),
        addresses: result.addresses.clone(),
        driver: result.driver.clone(),
        requests: trials().map(|trial| trial.requests).sum(),
        failed: trials().map(|trial| trial.failed).sum(),
        failed_by_kind,
        unanswered: trials().map(|trial| trial.unanswered).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> CapacityBounds {
        CapacityBounds { estimate: Some(f64::midpoint(low, high)), low: Some(low), high: Some(high) }
    }

    const AT_LEAST_500: CapacityBounds = CapacityBounds { estimate: None, low: Some(500.0), high: None };

    fn check(a: CapacityBounds, b: CapacityBounds, expected: &ComparisonOutcome) {
        assert_eq!(compare_bounds(&[a], &[b], 0.02).outcome, *expected, "{a:?} {b:?}");
    }

    #[test]
    fn only_bounds_that_are_apart_are_a_difference() {
        use ComparisonOutcome as O;
        check(between(95.0, 105.0), between(104.0, 110.0), &O::NoDifferenceSeen);
        check(between(95.0, 105.0), between(95.0, 105.0), &O::NoDifferenceSeen);
        check(between(95.0, 105.0), between(110.0, 120.0), &O::Faster);
        check(between(95.0, 105.0), between(106.0, 120.0), &O::FasterSizeUncertain);
        check(between(110.0, 120.0), between(95.0, 105.0), &O::Slower);
        check(between(106.0, 120.0), between(95.0, 105.0), &O::SlowerSizeUncertain);
        check(AT_LEAST_500, between(95.0, 105.0), &O::Slower);
        check(between(95.0, 105.0), AT_LEAST_500, &O::Faster);
        check(AT_LEAST_500, between(600.0, 700.0), &O::NoDifferenceSeen);
        let none = compare_bounds(&[CapacityBounds::default()], &[AT_LEAST_500], 0.02);
        assert!(matches!(none.outcome, O::NoVerdict { .. }) && !none.differs, "{none:?}");
    }

    #[test]
    fn the_interval_is_what_the_bounds_allow() {
        let compared = compare_bounds(&[between(90.0, 110.0)], &[between(45.0, 55.0)], 0.02);
        let interval = compared.interval.expect("both are known");
        assert!((interval.low - (45.0 / 110.0 - 1.0)).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - (55.0 / 90.0 - 1.0)).abs() < 1e-12, "{interval:?}");
        assert!((compared.change.expect("both are known") + 0.5).abs() < 1e-12);
        // One search with other bounds makes the difference uncertain.
        let wide = compare_bounds(&[between(90.0, 110.0)], &[between(45.0, 55.0), between(90.0, 95.0)], 0.02);
        assert_eq!((wide.outcome, wide.pairs), (ComparisonOutcome::NoDifferenceSeen, 1));
    }
}
