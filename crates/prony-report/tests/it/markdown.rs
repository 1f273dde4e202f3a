//! The report for issues and pull requests.

use crate::text::{all, healthy, mixed, not_found, stamped};
use prony_model::RunResult;
use prony_report::markdown;

fn check(name: &str, result: &RunResult) {
    let drawn = markdown::run(result);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

#[test]
fn reports() {
    check("markdown-healthy", &healthy());
    check("markdown-stamped", &stamped());
    check("markdown-mixed", &mixed());
    check("markdown-not-found", &not_found());
}

#[test]
fn every_finding_is_told_and_explained() {
    for result in all() {
        let drawn = markdown::run(&result);
        for finding in &result.findings {
            assert!(drawn.contains(&format!("docs/findings.md#{}", finding.code.name())), "{drawn}");
        }
    }
}
