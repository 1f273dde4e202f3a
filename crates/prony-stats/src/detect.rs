//! How many pairs of blocks a comparison takes to find a difference of a given size, from how much two blocks of the
//! same server differ on a machine.

/// Pairs that a verdict takes at least: [`crate::LEAST_PAIRS`].
const PAIRS_LEAST: u32 = 6;
/// A difference that is found in four of five comparisons is so many standard deviations of a pair over √n: 1.96 + 0.84
/// for a test at 5 % with normal noise, and 4.5 % more because ranks are used (their efficiency is 3/π).
const EFFECT: f64 = 2.9;

/// How much blocks of one length differ where nothing does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockNoise {
    /// Length of a block, seconds.
    pub block_s: f64,
    /// Standard deviation of ln(B/A) over pairs of blocks.
    pub deviation: f64,
}

/// What a comparison takes, and what it finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectPlan {
    /// Length of a block, seconds.
    pub block_s: f64,
    /// Pairs for the wanted effect; as many as that takes, allowed or not.
    pub pairs_needed: u32,
    /// Pairs that are made.
    pub pairs: u32,
    /// The smallest difference that these find, as a share: 0.05 is 5 %.
    pub finds: f64,
}

impl DetectPlan {
    /// Whether the wanted effect is found.
    pub fn is_enough(&self) -> bool {
        self.pairs >= self.pairs_needed
    }

    /// Time that the blocks take together, seconds.
    pub fn blocks_s(&self) -> f64 {
        2.0 * f64::from(self.pairs) * self.block_s
    }

    /// Time that they would take for the wanted effect, seconds.
    pub fn needed_s(&self) -> f64 {
        2.0 * f64::from(self.pairs_needed) * self.block_s
    }
}

/// The plan that finds `effect` (0.05: 5 %) with at most `pairs_most` pairs in the shortest time; where none does, the
/// one that finds most. `None` without any noise that can be used.
pub fn plan_detection(effect: f64, noise: &[BlockNoise], pairs_most: u32) -> Option<DetectPlan> {
    let wanted = effect.ln_1p();
    let plan = |noise: &BlockNoise| {
        let pairs = (EFFECT * noise.deviation / wanted).powi(2).ceil();
        let pairs_needed = whole(pairs.clamp(f64::from(PAIRS_LEAST), f64::from(u32::MAX)));
        let pairs = pairs_needed.min(pairs_most.max(PAIRS_LEAST));
        let finds = (EFFECT * noise.deviation / f64::from(pairs).sqrt()).exp_m1();
        DetectPlan { block_s: noise.block_s, pairs_needed, pairs, finds }
    };
    let usable = noise.iter().filter(|noise| noise.block_s > 0.0 && noise.deviation.is_finite());
    let plans = usable.filter(|_| wanted > 0.0 && wanted.is_finite()).map(plan);
    plans.min_by(|one, other| {
        let by_enough = other.is_enough().cmp(&one.is_enough());
        let by_time = one.blocks_s().total_cmp(&other.blocks_s());
        let by_effect = one.finds.total_cmp(&other.finds);
        by_enough.then(if one.is_enough() { by_time } else { by_effect })
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the bounds that it was put in"
)]
fn whole(pairs: f64) -> u32 {
    pairs as u32
}

/// The standard deviation of the differences `d` = ln(B/A) of pairs, from their middle absolute deviation: a single pair
/// that a stall hit shows nothing about the others. `None` for fewer pairs than a verdict takes.
pub fn pair_deviation(differences: &[f64]) -> Option<f64> {
    /// Of a normal distribution: standard deviation over median absolute deviation.
    const NORMAL: f64 = 1.4826;
    if differences.len() < crate::LEAST_PAIRS {
        return None;
    }
    // Neither side is the better one: the middle is known.
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    crate::median(&sizes).map(|middle| middle * NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: BlockNoise = BlockNoise { block_s: 0.2, deviation: 0.10 };
    const LONG: BlockNoise = BlockNoise { block_s: 1.0, deviation: 0.06 };

    #[test]
    fn the_least_is_that_of_a_verdict() {
        assert_eq!(PAIRS_LEAST as usize, crate::LEAST_PAIRS);
    }

    #[test]
    fn pairs_follow_from_noise_and_effect() {
        let check = |effect, noise: &[BlockNoise], most, expected: (f64, u32, u32)| {
            let plan = plan_detection(effect, noise, most).expect("there is noise");
            assert_eq!((plan.block_s, plan.pairs_needed, plan.pairs), expected, "{plan:?}");
            assert!(!plan.is_enough() || plan.finds <= effect + 1e-9, "{plan:?}");
        };
        // (2.9 · 0.10 / ln 1.05)² = 35.3; (2.9 · 0.06 / ln 1.05)² = 12.7
        check(0.05, &[SHORT], 40, (0.2, 36, 36));
        check(0.05, &[LONG], 40, (1.0, 13, 13));
        // 36 pairs of 0.2 s are shorter than 13 of 1 s, but more than 20.
        check(0.05, &[SHORT, LONG], 40, (0.2, 36, 36));
        check(0.05, &[SHORT, LONG], 20, (1.0, 13, 13));
        check(0.5, &[SHORT], 40, (0.2, 6, 6));
        // Nothing finds 1 %: the longer blocks come nearest.
        check(0.01, &[SHORT, LONG], 40, (1.0, 306, 40));
    }

    #[test]
    fn unreachable_effects_are_reported() {
        let plan = plan_detection(0.01, &[SHORT], 40).expect("there is noise");
        assert!(!plan.is_enough());
        // 2.9 · 0.10 / √40
        assert!((plan.finds - 0.0469).abs() < 1e-3, "{plan:?}");
        assert!((plan.blocks_s() - 16.0).abs() < 1e-9 && plan.needed_s() > 300.0, "{plan:?}");
        assert_eq!(plan_detection(0.05, &[], 40), None);
        assert_eq!(plan_detection(0.0, &[SHORT], 40), None);
        assert_eq!(plan_detection(0.05, &[BlockNoise { deviation: f64::NAN, ..SHORT }], 40), None);
    }

    #[test]
    fn one_stall_is_not_the_noise() {
        let mut differences = vec![0.02, -0.02, 0.01, -0.01, 0.03, -0.03, 0.02];
        let calm = pair_deviation(&differences).expect("enough pairs");
        differences.push(2.0);
        let with_stall = pair_deviation(&differences).expect("enough pairs");
        assert!((calm - 0.02 * 1.4826).abs() < 1e-9 && (with_stall - calm).abs() < 1e-9);
        assert_eq!(pair_deviation(&[0.1; 5]), None);
    }
}
