//! How often a change is reported where there is none, and whether one is reported where there is.

use prony_stats::Certainty;

use super::histories::{Noise, World, delays, false_changes, false_changes_growing};

const SPREAD: f64 = 0.05;

#[test]
fn noise_has_no_changes() {
    for noise in [Noise::Normal, Noise::Heavy, Noise::Modes] {
        let alarms = false_changes(200, 21, World { noise, spread: SPREAD }, 100);
        assert!(alarms.suspected <= 2 && alarms.found <= 1, "{noise:?}: {alarms:?} of 200");
    }
}

/// A lab looks after every build: a hundred looks at one series must not find what one look doesn't.
#[test]
fn looking_often_finds_little_more() {
    let alarms = false_changes_growing(25, 22, World { noise: Noise::Normal, spread: SPREAD }, 60);
    assert!(alarms.suspected <= 1 && alarms.found == 0, "{alarms:?} of 25");
}

/// What docs/history.md warns of, and why an alert asks for a comparison.
#[test]
fn moods_that_last_look_like_changes() {
    let alarms = false_changes(20, 23, World { noise: Noise::Autocorrelated(0.9), spread: SPREAD }, 100);
    assert!(alarms.found >= 15, "{alarms:?} of 20");
}

#[test]
fn a_step_is_reported_after_a_few_points() {
    let result = delays(4, 24, World { noise: Noise::Normal, spread: 0.02 }, 0.1);
    assert_eq!((result.found(), result.near()), (1.0, 1.0), "{result:?}");
    let (suspected, found) =
        (result.median_delay(Certainty::Suspected), result.median_delay(Certainty::Found));
    assert!(suspected <= Some(4) && found <= Some(6), "{result:?}");
}
