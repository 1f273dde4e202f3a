//! What an operator is shown of a lab that needs one.

use prony_lab::model::Role;

use crate::front::Front;

#[test]
fn a_low_disk_shows_where_operators_look_and_is_an_alert() {
    // No disk has as much room.
    let front = Front::with(|options| options.disk_alert_bytes = u64::MAX);
    // The first look is right after the start.
    while front.get("/healthz", &[]).body != "the lab answers\ndegraded: disk\n" {
        std::thread::yield_now();
    }
    assert_eq!(front.get("/healthz", &[]).status, 200, "it answers all the same");
    let admin = front.admin();
    let home = front.get("/", &[("Cookie", &admin)]);
    assert!(home.body.contains("id=\"conditions\"") && home.body.contains("disk is low"), "{}", home.body);
    let viewer = format!("Bearer {}", front.token(&admin, Role::Viewer));
    let shown = |path: &str| front.get(path, &[("Authorization", &viewer)]).body;
    assert!(!shown("/").contains("disk is low"), "{}", shown("/"));
    assert!(shown("/agents").contains("disk is low"), "{}", shown("/agents"));
    let metrics = shown("/metrics");
    assert!(metrics.contains("prony_lab_condition{condition=\"disk\"} 1\n"), "{metrics}");
    assert!(metrics.contains("prony_lab_condition{condition=\"queue\"} 0\n"), "{metrics}");
    assert!(!metrics.contains("prony_lab_disk_free_bytes -1"), "{metrics}");
    // The alert follows the look by one write.
    while !shown("/alerts").contains("disk is low") {
        std::thread::yield_now();
    }
    assert!(front.get("/", &[("Cookie", &admin)]).body.contains("1 open alert"));
}

#[test]
fn a_lab_that_is_well_shows_nothing() {
    let front = Front::new();
    let admin = front.admin();
    assert!(!front.get("/", &[("Cookie", &admin)]).body.contains("conditions"));
    assert_eq!(front.get("/healthz", &[]).body, "the lab answers\n");
}
