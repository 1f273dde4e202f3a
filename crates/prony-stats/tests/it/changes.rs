//! How often a change is told where there is none, and whether one is told where there is.

use prony_stats::Certainty;

use super::histories::{Noise, World, delays, false_changes, false_changes_growing};

const SPREAD: f64 = 0.05;

#[test]
fn noise_has_no_changes() {
    for noise in [Noise::Normal, Noise::Heavy, Noise::Modes] {
        let told = false_changes(200, 21, World { noise, spread: SPREAD }, 100);
        assert!(told.suspected <= 2 && told.found <= 1, "{noise:?}: {told:?} of 200");
    }
}

/// A lab looks after every build: a hundred looks at one series must not find what one look doesn't.
#[test]
fn looking_often_finds_little_more() {
    let told = false_changes_growing(25, 22, World { noise: Noise::Normal, spread: SPREAD }, 60);
    assert!(told.suspected <= 1 && told.found == 0, "{told:?} of 25");
}

/// What docs/history.md warns of, and why an alert asks for a comparison.
#[test]
fn moods_that_last_look_like_changes() {
    let told = false_changes(20, 23, World { noise: Noise::Autocorrelated(0.9), spread: SPREAD }, 100);
    assert!(told.found >= 15, "{told:?} of 20");
}

#[test]
fn a_step_is_told_after_a_few_points() {
    let told = delays(4, 24, World { noise: Noise::Normal, spread: 0.02 }, 0.1);
    assert_eq!((told.found(), told.near()), (1.0, 1.0), "{told:?}");
    let (suspected, found) = (told.median_delay(Certainty::Suspected), told.median_delay(Certainty::Found));
    assert!(suspected <= Some(4) && found <= Some(6), "{told:?}");
}
