//! Reads any bytes as a stored study, comparison, capacity, overload, probe, timing of commands or calibration: whatever passes for one must be
//! drawn in every format without a panic, and must be read back as it was after it is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_model::{
    Calibration, capacity_from_json, capacity_to_json, comparison_from_json, comparison_to_json, exec_from_json, exec_to_json,
    overload_from_json, overload_to_json, probe_from_json,
    probe_to_json, study_from_json, study_to_json,
};
use prony_report::{Style, capacity, compare, exec, overload, probe, study};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let style = Style::default();
    if let Ok(result) = study_from_json(input) {
        let written = study_to_json(&result);
        assert_eq!(study_to_json(&study_from_json(&written).expect("it can be read")), written);
        study::text(&result, &style);
        study::markdown(&result);
        study::html(&result);
    }
    if let Ok(result) = comparison_from_json(input) {
        let written = comparison_to_json(&result);
        assert_eq!(comparison_to_json(&comparison_from_json(&written).expect("it can be read")), written);
        compare::text(&result, &style);
        compare::markdown(&result);
    }
    if let Ok(result) = capacity_from_json(input) {
        let written = capacity_to_json(&result);
        assert_eq!(capacity_to_json(&capacity_from_json(&written).expect("it can be read")), written);
        capacity::text(&result, &style);
        capacity::markdown(&result);
        capacity::html(&result);
    }
    if let Ok(result) = overload_from_json(input) {
        let written = overload_to_json(&result);
        assert_eq!(overload_to_json(&overload_from_json(&written).expect("it can be read")), written);
        overload::text(&result, &style);
        overload::markdown(&result);
        overload::html(&result);
    }
    if let Ok(result) = probe_from_json(input) {
        let written = probe_to_json(&result);
        assert_eq!(probe_to_json(&probe_from_json(&written).expect("it can be read")), written);
        probe::text(&result, &style);
        probe::markdown(&result);
    }
    if let Ok(result) = exec_from_json(input) {
        let written = exec_to_json(&result);
        assert_eq!(exec_to_json(&exec_from_json(&written).expect("it can be read")), written);
        exec::text(&result, &style);
        exec::markdown(&result);
    }
    if let Ok(calibration) = Calibration::from_json(input) {
        let written = calibration.to_json();
        assert_eq!(Calibration::from_json(&written).expect("it can be read").to_json(), written);
    }
});
