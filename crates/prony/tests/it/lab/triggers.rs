//! Builds that nobody asked for by hand.

use super::checkout::commit;
use super::worker::Bench;

/// Who requested the builds that there are, in their order.
fn requested(bench: &Bench) -> Vec<String> {
    let mut builds = bench.lab().open_builds(10).expect("read");
    builds.sort_by_key(|build| build.id);
    builds.into_iter().map(|build| format!("{} {}", build.requested_by, build.reference)).collect()
}

#[test]
fn a_new_commit_and_the_clock_have_a_project_built_once() {
    let task = "[[task]]\nname = \"wait\"\ncommand = \"sleep 600\"\n";
    let mut bench = Bench::new("triggers", &format!("{task}[trigger]\npoll = \"1m\"\nevery = \"1h\"\n"));
    let newest = super::checkout::git(&bench.repository, &["rev-parse", "HEAD"]);
    bench.wait_for("two builds", || requested(&bench).len() == 2);
    assert_eq!(requested(&bench), ["the schedule main".to_owned(), format!("a new commit {newest}")]);
    // A lab that comes back knows what it has built.
    bench.stop();
    bench.start();
    std::thread::sleep(std::time::Duration::from_secs(6));
    assert!(requested(&bench).len() <= 2, "{:?}", requested(&bench));
    // A commit that came while it was away is new to it.
    bench.stop();
    let second = commit(&bench.repository, "file", "two");
    bench.start();
    bench.wait_for("the new commit", || {
        requested(&bench).iter().any(|one| *one == format!("a new commit {second}"))
    });
}
