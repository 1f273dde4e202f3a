//! What agents say they measured, and `fleet.json`: any bytes are refused as a histogram, or hold what they say; whatever
//! passes for a result is merged with itself and with a good one, and the merged result is drawn, written and read back.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use prony_model::{
    AgentOutcome, ClockOffset, FleetResult, RunResult, fleet_from_json, fleet_to_json, from_json,
};
use prony_report::Style;
use prony_stats::Histogram;
use prony_summary::merge;

fuzz_target!(|bytes: &[u8]| {
    histogram(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(fleet) = fleet_from_json(text) {
        draw(&fleet);
    }
    let Ok(mut result) = from_json(text) else { return };
    // Half of the inputs have a distribution of their own.
    if result.requests.done % 2 == 0 {
        let lag = result.histograms.lag.clone();
        result.histograms.response = lag;
    }
    let good = good();
    let clock = Some(ClockOffset { offset_ns: i64::MIN, bound_ns: u64::MAX });
    let agent = |name: &str, result: &RunResult| AgentOutcome {
        name: name.to_owned(),
        clock,
        result: Ok(result.clone()),
    };
    let agents = vec![agent("a", good), agent("b", &result), agent("c", &result)];
    draw(&merge(&good.plan, u64::MAX, agents));
});

/// Bytes of an agent's histogram.
fn histogram(bytes: &[u8]) {
    let mut used: Histogram = [7, u64::MAX].into_iter().collect();
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(used.read_base64_v2(&text).is_ok(), Histogram::from_base64_v2(&text).is_ok());
    let Ok(found) = Histogram::from_v2_deflate(bytes) else { return };
    let again = Histogram::from_v2_deflate(&found.to_v2_deflate()).expect("what is written is read");
    assert_eq!(again.count(), found.count());
    assert!(again.buckets().eq(found.buckets()));
}

fn draw(fleet: &FleetResult) {
    prony_report::fleet::text(fleet, &Style::default());
    fleet.merged.check();
    // Secrets in headers are not written, so it is the second writing that must be the first again.
    let written = fleet_to_json(fleet);
    let again = fleet_from_json(&written).expect("what is written can be read");
    assert_eq!(fleet_to_json(&again), written);
}

fn good() -> &'static RunResult {
    static GOOD: OnceLock<RunResult> = OnceLock::new();
    GOOD.get_or_init(|| from_json(include_str!("../../crates/prony/tests/it/stored.json")).expect("a result"))
}
