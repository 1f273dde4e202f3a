//! The report for issues and pull requests.

use crate::text::{all, healthy, late_client, mixed, not_found, over_tls, stamped};
use prony_model::{Environment, RunResult};
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
    check("markdown-over-tls", &over_tls());
    check("markdown-stamped", &stamped());
    check("markdown-late-client", &late_client());
    check("markdown-mixed", &mixed());
    check("markdown-not-found", &not_found());
}

#[test]
fn the_record_of_a_machine_with_every_fact() {
    let mut result = healthy();
    result.target_commit = Some("v1.2 | <patched>".to_owned());
    result.kernel_clock.reason = "this kernel has them".to_owned();
    result.environment = Environment {
        prony_version: "0.1.0".to_owned(),
        prony_commit: Some("0123456789ab".to_owned()),
        kernel: "Linux 6.18.1 #1 SMP".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_model: Some("A CPU @ 2GHz".to_owned()),
        cpus: 2,
        governor: Some("performance".to_owned()),
        clock_source: Some("tsc".to_owned()),
        memory_bytes: Some(8 << 30),
        open_files_limit: Some(20_000),
        port_range: Some((32_768, 60_999)),
        congestion_control: Some("cubic".to_owned()),
        load_average_before: Some(0.1),
        load_average_after: Some(0.5),
        cpus_online: Some(4),
        cores: Some(2),
        cpu_quota: Some(1.5),
        cpu_set: Some("0-1".to_owned()),
        memory_limit_bytes: Some(4 << 30),
        virtualisation: Some("KVM".to_owned()),
        container: Some("docker".to_owned()),
        hardware: Some("QEMU Standard PC".to_owned()),
        boot_id: Some("1b4e28ba-2fa1-11d2-883f-0016d3cca427".to_owned()),
        transparent_hugepages: Some("madvise".to_owned()),
        listen_backlog_limit: Some(4096),
        syn_backlog_limit: Some(2048),
        time_wait_reuse: Some(2),
        link_mbit_per_s: None,
    };
    check("markdown-record", &result);
}

#[test]
fn findings_alone() {
    let drawn = markdown::findings(&all().remove(0).findings);
    assert!(drawn.starts_with("- ") && drawn.ends_with(")\n"), "{drawn}");
}

#[test]
fn every_finding_is_reported_and_explained() {
    for result in all() {
        let drawn = markdown::run(&result);
        for finding in &result.findings {
            assert!(drawn.contains(&format!("docs/findings.md#{}", finding.code.name())), "{drawn}");
        }
    }
}
