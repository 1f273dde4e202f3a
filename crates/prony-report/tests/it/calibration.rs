//! The report of a calibration, and what every report of a run says of one.

use prony_model::{CalibrationPoint, CalibrationSetting, CalibrationUse, Rate, RunResult, Version};
use prony_report::{Style, calibration, markdown, text};

use crate::text::healthy;

fn check(name: &str, points: &[CalibrationPoint], doubts: Option<&[String]>, style: Style) {
    let drawn = calibration::text(points, doubts, &style);
    assert!(drawn.lines().all(|line| line.chars().count() <= style.width), "{drawn}");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

fn point(connections: u32, rate_per_s: f64, client: f64, server: Option<f64>) -> CalibrationPoint {
    CalibrationPoint {
        setting: CalibrationSetting {
            connections,
            threads: 1,
            keep_alive: true,
            version: Version::Http11,
            pipeline: 1,
            request_bytes: 0,
            response_bytes: 12,
            driver: "io_uring".to_owned(),
            asked_per_s: None,
            host: None,
        },
        measured_at: "2026-01-02T03:04:05Z".to_owned(),
        measured_s: 2.0,
        prony_version: "0.1.0".to_owned(),
        rate_per_s,
        client_cpu_share: client,
        server_cpu_share: server,
        p50_ms: Some(f64::from(connections) / rate_per_s * 1e3),
        p99_ms: Some(f64::from(connections) / rate_per_s * 2e3),
        doubt: None,
    }
}

fn points() -> Vec<CalibrationPoint> {
    let mut fresh = point(64, 31_000.0, 0.97, Some(0.88));
    fresh.setting.keep_alive = false;
    let mut open = point(16, 999.6, 0.041, Some(0.05));
    open.setting.asked_per_s = Rate::per_second(1_000.0);
    (open.p50_ms, open.p99_ms) = (Some(0.061), None);
    let mut there = point(16, 90_000.0, 0.6, None);
    there.setting.host = Some("10.0.0.7".to_owned());
    there.setting.response_bytes = 16_384;
    vec![open, point(64, 180_400.0, 0.71, Some(0.97)), fresh, point(1, 25_300.0, 0.34, Some(0.38)), there]
}

#[test]
fn reports() {
    check("calibration", &points(), Some(&[]), Style::default());
    let doubt = "the client waited 12 % of the time for a CPU";
    let mut disturbed = points();
    disturbed[1].doubt = Some(doubt.to_owned());
    let doubts = [format!("64 connections, keep-alive: {doubt}"), "and 3 more".to_owned()];
    check("calibration-doubtful", &disturbed[..2], Some(&doubts), Style::default());
    check("calibration-shown-narrow", &points(), None, Style { width: 50, ..Style::default() });
}

fn calibrated(null_rate_per_s: f64, capacity_per_s: f64, age_s: f64, prony_version: &str) -> RunResult {
    let mut result = healthy();
    "0.2.0".clone_into(&mut result.environment.prony_version);
    result.calibration = Some(CalibrationUse {
        measured_at: "2026-01-02T01:04:05Z".to_owned(),
        age_s,
        prony_version: prony_version.to_owned(),
        connections: 64,
        threads: 1,
        null_rate_per_s,
        capacity_per_s,
        floor_p50_ms: Some(0.05),
        floor_p99_ms: None,
        share: result.rate.answered_per_s / capacity_per_s,
    });
    result
}

fn check_line(result: &RunResult, expected: &str) {
    // As one line, however it was wrapped.
    let drawn: Vec<String> =
        text::run(result, &Style::default()).split_whitespace().map(str::to_owned).collect();
    let line = format!("VALID the client used 31 % of a core, at most 34 % in a second; {expected}");
    assert!(drawn.join(" ").contains(&line), "{line}\n{drawn:?}");
    assert!(markdown::run(result).contains(expected), "{expected}");
}

#[test]
fn a_run_says_how_much_more_the_client_could_do() {
    check_line(
        &calibrated(23_400.0, 23_400.0, 7_250.0, "0.2.0"),
        "against the null server it reaches 13x this rate (calibrated 2 h ago)",
    );
    check_line(
        &calibrated(4_000.0, 6_000.0, 90_000.0, "0.1.0"),
        "by its use of the CPU against the null server it can do about 3.3x this rate (calibrated 1 day ago with \
         prony 0.1.0)",
    );
}
