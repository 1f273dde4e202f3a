//! `--detect 5%`: how many pairs of loads it takes to see a difference of that size, from the noise that
//! `prony calibrate` measured on this machine.

use prony_model::Calibration;
use prony_stats::{BlockNoise, DetectPlan, plan_detection};

use crate::calibration;
use crate::cli_error::CliError;

/// Pairs at most: more take so long that the machine is another one at the end.
pub(crate) const PAIRS_MOST: u32 = 40;

/// The plan that finds `effect` (0.05: 5 %) on this machine, of blocks that are `block_s` long or longer.
pub(crate) fn plan(effect: f64, block_s: f64) -> Result<DetectPlan, CliError> {
    let known = calibration::load(&prony_engine::environment());
    of_calibration(effect, block_s, known.as_ref()).ok_or_else(|| {
        CliError::usage("--detect: how much two loads of the same server differ on this machine is not known")
            .hint("`prony calibrate` measures it, in about a minute")
    })
}

fn of_calibration(effect: f64, block_s: f64, known: Option<&Calibration>) -> Option<DetectPlan> {
    // Longer blocks differ less. Of those that were measured, the next shorter one is on the safe side.
    let noise = known?.noise.iter().filter(|noise| noise.block_s <= block_s);
    let longest = noise.max_by(|one, other| one.block_s.total_cmp(&other.block_s))?;
    let noise = BlockNoise { block_s: longest.block_s, deviation: longest.rate_deviation };
    plan_detection(effect, &[noise], PAIRS_MOST)
}

/// What a plan for `effect` comes to, in words; `pairs` is what they are called.
pub(crate) fn describe(effect: f64, plan: &DetectPlan, pairs: &str) -> String {
    let percent = |share: f64| format!("±{:.2} %", 100.0 * share).replace(".00 %", " %");
    let (target, needed) = (percent(effect), plan.pairs_needed);
    if plan.is_enough() {
        return format!(
            "--detect: {target} takes {needed} {pairs} here, by the noise that `prony calibrate` measured"
        );
    }
    format!(
        "--detect: {target} takes about {needed} {pairs} here; at most {}: can detect {}",
        plan.pairs,
        percent((100.0 * plan.finds).ceil() / 100.0)
    )
}

#[cfg(test)]
mod tests {
    use prony_model::{CalibrationNoise, Environment};

    use super::*;

    fn noise(block_s: f64, rate_deviation: f64) -> CalibrationNoise {
        CalibrationNoise {
            block_s,
            measured_at: String::new(),
            pairs: 16,
            rate_deviation,
            p50_deviation: None,
        }
    }

    #[test]
    fn what_it_takes_is_printed_before() {
        let known = Calibration {
            noise: vec![noise(0.2, 0.20), noise(1.0, 0.06)],
            ..Calibration::new(Environment::default())
        };
        let planned = |effect, block_s| {
            let plan = of_calibration(effect, block_s, Some(&known)).expect("there is noise");
            (plan.pairs, describe(effect, &plan, "pairs"))
        };
        let (pairs, words) = planned(0.05, 5.0);
        assert_eq!(pairs, 13);
        assert!(words.starts_with("--detect: ±5 % takes 13 pairs here"), "{words}");
        let (pairs, words) = planned(0.01, 1.0);
        assert_eq!(pairs, 40);
        assert!(
            words.contains("about 306 pairs") && words.ends_with("at most 40: can detect ±3 %"),
            "{words}"
        );
        assert_eq!(of_calibration(0.05, 0.1, Some(&known)), None);
        assert_eq!(of_calibration(0.05, 1.0, None), None);
    }
}
